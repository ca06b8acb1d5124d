"""What each rule says of its cases in cases_fleet.py, by their places there; nothing of the others."""

from __future__ import annotations

from typing import Final

SAID: Final[dict[tuple[str, int], tuple[str, ...]]] = {
    ("DRV100", 0): (
        (
            "DRV100 3:51 driver 590 of spark-01: CUDA graphs hung with it (SM121 reference L20-23), but it also works "
            "(dual-Spark post L3): test it under load with CUDA graphs before it serves"
        ),
    ),
    ("DRV100", 1): (
        (
            "DRV100 3:51 driver 595.71.05 of spark-01: the only source that uses it (DeepSeek-V4 thread L346) runs "
            "deepseek-ai/DeepSeek-V4-Flash and nothing else"
        ),
    ),
    ("MEM001", 1): ("MEM001 10:35 chat takes 0.88 of the memory; up to 0.87 is safe",),
    ("MEM001", 2): ("MEM001 10:35 chat takes 0.92 of the memory; up to 0.87 is safe",),
    ("MEM001", 3): ("MEM001 10:35 chat takes 0.93 of the memory; up to 0.87 is safe",),
    ("MEM001", 4): ("MEM001 10:35 chat takes 0.92 of the memory; up to 0.87 is safe",),
    ("MEM001", 6): ("MEM001 10:35 chat takes 0.9 of the memory, the default of vLLM 0.19.0; up to 0.87 is safe",),
    ("MEM001", 7): ("MEM001 11:35 chat takes 0.92 of the memory, the default of vLLM 0.20.0; up to 0.87 is safe",),
    ("MEM001", 8): (
        (
            "MEM001 11:35 chat takes 0.92 of the memory, the default from vLLM 0.20.0 on (the release in the image is "
            "unknown); up to 0.87 is safe"
        ),
    ),
    ("MEM001", 13): (
        (
            "MEM001 16:35 big takes 0.85 of the memory; up to 0.82 is safe with 131072 tokens and more on several "
            "machines"
        ),
    ),
    ("MEM001", 16): ("MEM001 16:35 big takes 0.93 of the memory; up to 0.87 is safe",),
    ("MEM003", 3): (("MEM003 10:35 chat needs 24.9 GiB for weights and overhead, and may take 24.2 GiB on spark-01"),),
    ("MEM003", 5): (
        ("MEM003 16:35 big needs 13.9 GiB for weights and overhead, and may take 11.9 GiB on spark-01"),
        ("MEM003 16:35 big needs 13.9 GiB for weights and overhead, and may take 11.9 GiB on spark-02"),
    ),
    ("MEM003", 6): (("MEM003 5:3 chat needs 151.0 GiB for weights and overhead, and may take 101.1 GiB on spark-01"),),
    ("MEM006", 2): ("MEM006 10:5 chat keeps 79.3 GiB beside its weights for 1 requests at once",),
    ("MEM006", 4): ("MEM006 10:52 chat keeps 85.2 GiB beside its weights for 2 requests at once",),
    ("MEM010", 0): ("MEM010 3:19 spark-01 runs chat and small, which take 0.90 of its memory together",),
    ("MEM010", 1): ("MEM010 3:19 spark-01 runs chat and small, which take 1.00 of its memory together",),
    ("MEM010", 2): ("MEM010 3:19 spark-01 runs chat and small, which take 1.60 of its memory together",),
    ("MEM011", 0): ("MEM011 11:40 chat sets VLLM_SKIP_INIT_MEMORY_CHECK, which vLLM 0.23.0 does not read",),
    ("MEM016", 0): ("MEM016 16:9 big leaves 17.9 GiB free on spark-02, and 18.2 GiB on the largest machine",),
    ("MEM016", 1): ("MEM016 16:9 big leaves 17.9 GiB free on spark-01, and 18.2 GiB on the largest machine",),
    ("MEM020", 3): (("MEM020 10:12 chat runs the build vllm-ds4-pinned, which names neither PR 41834 nor its mod"),),
    ("HST005", 1): (
        ("HST005 5:3 chat looks for example/model under /root/.cache/huggingface, and nothing is mounted there"),
    ),
    ("HST005", 3): ("HST005 10:25 chat looks for example/model under /models, and nothing is mounted there",),
    ("HST007", 1): (
        ("HST007 10:27 chat loads example/other as its hf_config_path, and does not ask for it in the store"),
    ),
    ("HST008", 1): (
        (
            "HST008 7:12 chat loads AEON-7/DFlash-Qwen3.5-27B-Uncensored-NVFP4 by its handle; "
            "aeon-7/dflash-qwen3.5-27b-nvfp4 serves it from a directory"
        ),
    ),
    ("HST012", 2): ("HST012 11:22 chat has 64 MB of shared memory of its own",),
    ("HST013", 1): (
        "HST013 16:36 big uses RDMA on spark-01 under Docker's limit of locked memory",
        "HST013 16:36 big uses RDMA on spark-02 under Docker's limit of locked memory",
    ),
    ("MN002", 0): ("MN002 14:9 big runs on spark-01 without NCCL_IB_HCA",),
    ("MN003", 1): (
        (
            "MN003 16:5 big runs over RDMA, and leaves open or off: NCCL_IB_GID_INDEX, "
            "NCCL_NET_PLUGIN, NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_TIMEOUT"
        ),
    ),
    ("MN003", 2): ("MN003 16:28 big runs over RDMA, and leaves open or off: NCCL_IB_DISABLE",),
    ("MN003", 4): ("MN003 15:28 big runs over RDMA, and leaves open or off: NCCL_IB_DISABLE",),
    ("MN004", 2): (
        "MN004 16:57 big binds GLOO_SOCKET_IFNAME to eth0, and spark-01 has enp1s0f1np1",
        "MN004 16:57 big binds GLOO_SOCKET_IFNAME to eth0, and spark-02 has enp1s0f1np1",
    ),
    ("MN005", 1): ("MN005 12:42 chat runs on Ray, and does not set RAY_memory_monitor_refresh_ms=0",),
    ("MN006", 2): (
        ("MN006 10:30 chat compiles with Triton, which does not find ptxas in nvcr.io/nvidia/vllm:26.04-py3"),
    ),
    ("MN009", 1): (
        ("MN009 14:9 the first links of big do not meet: spark-01 in 192.168.177.0/24, spark-02 in 192.168.177.128/25"),
    ),
    ("MN013", 0): ("MN013 10:12 the build engine pins no nvidia-cutlass-dsl; its code runs with 4.5.0",),
    ("MN013", 4): (("MN013 10:12 the build engine pins nvidia-cutlass-dsl[cu13]==4.5.1; its code runs with 4.5.0"),),
    ("MN014", 1): ("MN014 10:12 chat reads prompts of up to 32768 tokens without PR 43447",),
    ("SEC002", 4): ("SEC002 16:11 big answers whoever reaches spark-02, on every interface",),
    ("SEC002", 5): ("SEC002 4:27 a answers whoever reaches spark-01, on every interface",),
    ("SEC100", 3): ("SEC100 10:11 chat answers whoever reaches 192.168.1.11:8001",),
    ("SEC100", 6): ("SEC100 11:3 big answers whoever reaches 192.168.1.12:8001",),
    ("SEC100", 7): ("SEC100 4:3 a answers whoever reaches 192.168.1.11:11434",),
    ("SEC004", 0): ("SEC004 10:37 chat lets requests read every file in its container",),
    ("SEC006", 0): ("SEC006 10:26 chat runs `wget https://example.org/x` at each start",),
    ("SEC006", 1): ("SEC006 10:26 chat runs `sh -c mkdir /x && curl -O https://example.org/x` at each start",),
    ("SEC006", 2): ("SEC006 10:26 chat runs `/usr/bin/git clone https://example.org/x` at each start",),
    ("SEC006", 3): ("SEC006 10:26 chat runs `pip install --no-cache-dir a==1 b` at each start",),
    ("SEC007", 0): ("SEC007 7:12 chat serves example/Model-Heretic-v2, which was trained to refuse nothing",),
    ("SEC007", 1): (
        (
            "SEC007 7:12 chat serves sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4, "
            "which was trained to refuse nothing"
        ),
    ),
    ("SYS002", 0): ("SYS002 10:25 chat gives up after 899 s; loading was seen to take 900 s",),
    ("MON008", 1): ("MON008 10:26 chat needs about 60 s to read a prompt of 98401 tokens",),
    ("MON008", 5): ("MON008 10:26 chat needs about 162 s to read a prompt of 1010000 tokens",),
}
