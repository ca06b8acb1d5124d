"""What each rule says of its cases in cases_fleet.py, by their places there; nothing of the others."""

from __future__ import annotations

from typing import Final

_OTHER: Final = f"vllm/vllm-openai:v0.32.0@sha256:{'1' * 64}"

SAID: Final[dict[tuple[str, int], tuple[str, ...]]] = {
    ("DRV100", 0): (
        (
            "DRV100 3:51 driver 590 of spark-01: CUDA graphs hung with it (SM121 reference L20-23), but it also works "
            "(dual-Spark post L3): test it under load before it serves"
        ),
    ),
    ("MEM001", 1): ("MEM001 10:35 chat uses 0.91 of the memory; above 0.9, machines failed",),
    ("MEM001", 3): (
        "MEM001 11:35 chat uses 0.92 of the memory, the default of vLLM 0.20.0; above 0.9, machines failed",
    ),
    ("MEM001", 4): (
        (
            "MEM001 11:35 chat uses 0.92 of the memory, the default from vLLM 0.20.0 on (the release in the "
            "image is unknown); above 0.9, machines failed"
        ),
    ),
    ("MEM001", 10): ("MEM001 16:35 big uses 0.93 of the memory; above 0.9, machines failed",) * 2,
    ("MEM001", 12): ("MEM001 11:32 chat uses 0.75 of the memory; from 0.75 on, machines failed",),
    ("MEM003", 3): (
        ("MEM003 10:35 chat needs 24.9 GiB for weights and overhead, but its share of spark-01 is 24.2 GiB"),
    ),
    ("MEM003", 5): (
        ("MEM003 16:35 big needs 13.9 GiB for weights and overhead, but its share of spark-01 is 11.9 GiB"),
        ("MEM003 16:35 big needs 13.9 GiB for weights and overhead, but its share of spark-02 is 11.9 GiB"),
    ),
    ("MEM003", 6): (
        ("MEM003 5:3 chat needs 151.0 GiB for weights and overhead, but its share of spark-01 is 101.1 GiB"),
    ),
    ("MEM006", 2): (
        (
            "MEM006 10:5 chat has gpu_memory_utilization: 0.85 for at most 1 requests at once, but its "
            "weights need less than half of that memory"
        ),
    ),
    ("MEM006", 4): (
        (
            "MEM006 10:52 chat has no gpu_memory_utilization for at most 2 requests at once, but its weights "
            "need less than half of that memory"
        ),
    ),
    ("MEM010", 0): ("MEM010 3:19 spark-01 runs chat and small, which together use 0.90 of its memory",),
    ("MEM010", 1): ("MEM010 3:19 spark-01 runs chat and small, which together use 1.00 of its memory",),
    ("MEM010", 2): ("MEM010 3:19 spark-01 runs chat and small, which together use 1.60 of its memory",),
    ("MEM010", 3): (
        (
            "MEM010 3:19 spark-01 runs chat and small, which together use 0.70 of its memory, "
            "plus the unknown share of small"
        ),
    ),
    ("MEM010", 4): ("MEM010 3:19 spark-01 runs chat and small, which use unknown shares of its memory",),
    ("MEM016", 0): (("MEM016 16:12 big leaves 17.9 GiB free on spark-02, but 18.2 GiB on the largest machine"),),
    ("MEM016", 1): (("MEM016 16:12 big leaves 17.9 GiB free on spark-01, but 18.2 GiB on the largest machine"),),
    ("HST005", 1): (
        ("HST005 5:3 chat reads example/model from /root/.cache/huggingface, but nothing is mounted there"),
    ),
    ("HST005", 3): ("HST005 10:25 chat reads example/model from /models, but nothing is mounted there",),
    ("HST007", 1): (
        ("HST007 10:27 chat loads example/other as its hf_config_path, but does not list it under needs_models"),
    ),
    ("HST008", 1): (
        (
            "HST008 7:12 chat loads AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4 by its handle; "
            "aeon-7/dflash-qwen3.5-27b-nvfp4 serves it from a directory"
        ),
    ),
    ("SEC005", 0): ("SEC005 10:30 chat runs code from example/model, and nothing says why",),
    ("HST012", 2): ("HST012 11:5 chat has only 64 MB of shared memory",),
    ("HST013", 1): (
        "HST013 16:36 big uses RDMA on spark-01 with a limit on locked memory",
        "HST013 16:36 big uses RDMA on spark-02 with a limit on locked memory",
    ),
    ("VAL012", 3): (
        ("VAL012 16:24 big sets NCCL_IB_HCA to =rocep1, but the links of spark-01 have rocep1s0f1"),
        ("VAL012 16:24 big sets NCCL_IB_HCA to =rocep1, but the links of spark-02 have rocep1s0f1"),
    ),
    ("MN002", 0): ("MN002 14:12 big uses TCP on spark-01: no link names an RDMA device",),
    ("MN003", 2): ("MN003 16:28 big has RDMA devices, but NCCL_IB_DISABLE turns them off",),
    ("MN003", 4): ("MN003 15:28 big has RDMA devices, but NCCL_IB_DISABLE turns them off",),
    ("MN003", 5): (
        "MN003 16:30 big sets NCCL_IB_GID_INDEX to 3, so the index is not looked up on spark-01",
        "MN003 16:30 big sets NCCL_IB_GID_INDEX to 3, so the index is not looked up on spark-02",
    ),
    ("MN003", 7): ("MN003 16:50 big has RDMA devices, but NCCL_IB_DISABLE turns them off",),
    ("MN004", 2): (
        ("MN004 16:57 big sets GLOO_SOCKET_IFNAME to eth0, but the links of spark-01 use enp1s0f1np1"),
        ("MN004 16:57 big sets GLOO_SOCKET_IFNAME to eth0, but the links of spark-02 use enp1s0f1np1"),
    ),
    ("MN005", 1): (
        (
            "MN005 12:42 chat runs on Ray without RAY_memory_monitor_refresh_ms=0: Ray kills workers when "
            "95% of the unified memory is in use"
        ),
    ),
    ("MN006", 2): (
        (
            "MN006 5:3 chat runs Triton kernels in nvcr.io/nvidia/vllm:26.04-py3; a source saw the first request fail "
            "because Triton did not find ptxas"
        ),
    ),
    ("MN009", 1): (
        ("MN009 14:12 spark-01 (192.168.177.0/24) and spark-02 (192.168.177.128/25) of big share no network"),
    ),
    ("MN009", 3): (
        (
            "MN009 17:12 spark-01 (192.168.177.0/24, 192.168.179.0/24) and spark-03 "
            "(192.168.178.0/24, 192.168.180.0/24) of big share no network"
        ),
    ),
    ("MN105", 0): ("MN105 6:13 big runs with driver 580.126 on spark-02 and 580.142 on spark-01",),
    ("MN105", 1): ("MN105 6:13 big runs with driver 595.71.05 on spark-02 and 580 on spark-01",),
    ("MN105", 3): ("MN105 6:13 big runs with driver 580 on spark-02 and 58 on spark-01",),
    ("MN105", 5): ("MN105 6:13 big runs with driver 580 on spark-02 and 595 on spark-01",),
    ("MN105", 6): (f"MN105 16:34 big runs nvcr.io/nvidia/vllm:26.04-py3 on spark-02 and {_OTHER} on spark-01",),
    ("MN105", 7): (f"MN105 11:3 big runs {_OTHER} on spark-02 and nvcr.io/nvidia/vllm:26.04-py3 on spark-01",),
    ("MN100", 2): ("MN100 6:153 enp1s0f1np1 and enP2p1s0f1np1 of spark-01 are both in 192.168.177.0/24",),
    ("MN101", 0): (
        "MN101 6:73 enp1s0f1np1 of spark-01 is in 192.168.1.0/24, as the address 192.168.1.11 of the host",
        "MN101 9:73 enp1s0f1np1 of spark-02 is in 192.168.1.0/24, as the address 192.168.1.12 of the host",
    ),
    ("MN102", 1): ("MN102 9:97 enp1s0f1np1 of spark-02 has an MTU of 1500, but spark-01 has 9000 in 192.168.177.0/24",),
    ("MN103", 0): ("MN103 6:52 rocep1s0f0 is not the RDMA device of enp1s0f1np1 on spark-01",),
    ("MN103", 4): ("MN103 6:130 roceP2p1s0f0 is not the RDMA device of enP2p1s0f1np1 on spark-01",),
    ("MN106", 0): (
        "MN106 6:22 enp1s0f1np1 of spark-01 is one half of a port; enP2p1s0f1np1 is the other one",
        "MN106 9:22 enp1s0f1np1 of spark-02 is one half of a port; enP2p1s0f1np1 is the other one",
    ),
    ("MN106", 1): ("MN106 9:22 enp1s0f1np1 of spark-02 is one half of a port; enP2p1s0f1np1 is the other one",),
    ("MN106", 3): (
        "MN106 6:22 enP2p1s0f0np0 of spark-01 is one half of a port; enp1s0f0np0 is the other one",
        "MN106 9:22 enP2p1s0f0np0 of spark-02 is one half of a port; enp1s0f0np0 is the other one",
    ),
    ("MN106", 5): ("MN106 9:22 enp1s0f1np1 of spark-02 is one half of a port; enP2p1s0f1np1 is the other one",),
    ("MN013", 0): ("MN013 10:12 the build engine pins no nvidia-cutlass-dsl; a source saw 4.5.1 fail and 4.5.0 run",),
    ("MN013", 4): (
        ("MN013 10:12 the build engine pins nvidia-cutlass-dsl[cu13]==4.5.1; a source saw 4.5.1 fail and 4.5.0 run"),
    ),
    ("SEC002", 4): ("SEC002 16:11 big answers without a key on every interface of spark-02",),
    ("SEC002", 5): ("SEC002 4:27 a answers without a key on every interface of spark-01",),
    ("SEC100", 3): ("SEC100 10:11 chat answers without a key at 192.168.1.11:8001",),
    ("SEC100", 6): ("SEC100 11:3 big answers without a key at 192.168.1.12:8001",),
    ("SEC100", 7): ("SEC100 4:3 a answers without a key at 192.168.1.11:11434",),
    ("SEC004", 0): ("SEC004 10:37 chat allows requests to read the files under // in its container",),
    ("SEC006", 0): (("SEC006 10:26 chat downloads with `wget https://example.org/x` at each start"),),
    ("SEC006", 1): (
        ("SEC006 10:26 chat downloads with `sh -c mkdir /x && curl -O https://example.org/x` at each start"),
    ),
    ("SEC006", 2): (("SEC006 10:26 chat downloads with `/usr/bin/git clone https://example.org/x` at each start"),),
    ("SEC006", 3): (("SEC006 10:26 chat downloads with `pip install --no-cache-dir a==1 b` at each start"),),
    ("SEC008", 0): (
        ("SEC008 5:3 asr can start containers as root on its host: the socket of the container engine is mounted"),
    ),
    ("SEC012", 1): ("SEC012 9:11 asr listens on 22, a port below 1024, which the host may use itself",),
    ("SEC013", 0): (
        (
            "SEC013 11:12 vLLM 0.21.0 serves requests without the key of chat if their Host header is crafted: "
            "CVE-2026-48746"
        ),
    ),
    ("SEC007", 0): ("SEC007 7:12 chat serves example/Model-Heretic-v2, which was trained to refuse nothing",),
    ("SEC007", 1): (
        (
            "SEC007 7:12 chat serves sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4, "
            "which was trained to refuse nothing"
        ),
    ),
    ("SEC007", 2): (
        "SEC007 5:3 chat serves AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4, which was trained to refuse nothing",
    ),
    ("SYS002", 0): ("SYS002 10:25 chat times out after 899 s; loading took up to 900 s in the sources",),
    ("MON008", 1): (
        ("MON008 10:26 chat accepts prompts of 98401 tokens; processing one of that length takes more than 60 s"),
    ),
    ("MON008", 4): (
        ("MON008 10:26 chat accepts prompts of 1010000 tokens; processing one of that length takes more than 60 s"),
    ),
    ("MON008", 6): (
        ("MON008 10:26 chat accepts prompts of 301000 tokens; processing one of that length takes more than 60 s"),
    ),
    ("MON008", 7): (
        "MON008 10:57 while chat reads a long prompt, each other request waits at least 1.76 s for its next token",
    ),
}
