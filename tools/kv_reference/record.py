"""Start real servers for small networks and write what they print about their KV cache as JSON to standard output.

`record.py VENV [NETWORK …]`
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

OPTIONS: Final = {
    "max_model_len": 2048,
    "max_num_seqs": 4,
    "max_num_batched_tokens": 512,
    "dtype": "bfloat16",
    "block_size": 32,
    "enforce_eager": True,
    "async_scheduling": False,
}
"""What all servers are told. A CPU's attention takes blocks of 32 tokens and no fewer."""
BLOCKS: Final = {"latent": 16}
"""Block sizes of networks whose attention on a CPU takes another one."""
POOL_BYTES: Final = 1 << 30
"""VLLM_CPU_KVCACHE_SPACE is 1: the pool of a CPU server is told in GiB."""
_START_S: Final = 400
_LABELS: Final = (
    "effective_attention_block_size",
    "kv_cache_max_concurrency",
    "kv_cache_size_tokens",
    "mamba_cache_mode",
    "mamba_page_size_padded",
    "num_gpu_blocks",
)


def environment(venv: Path) -> dict[str, str]:
    """Return the environment of a server: that of the venv's env.sh, with network access turned off."""
    command = f". {venv}/env.sh && env -0" if (venv / "env.sh").exists() else "env -0"
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    variables = dict(line.split("=", 1) for line in said.split("\0") if "=" in line)
    return {**variables, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


def options(network: str) -> dict[str, Any]:
    """Return the options of one server."""
    return {**OPTIONS, "block_size": BLOCKS.get(network, OPTIONS["block_size"])}


def arguments(told: dict[str, Any]) -> list[str]:
    """Return options as words of a command line."""
    words: list[str] = []
    for name, value in told.items():
        flag = name.replace("_", "-")
        words += [f"--{flag if value else 'no-' + flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words


def free_port() -> int:
    """Return a free loopback port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def metrics(port: int, server: subprocess.Popen[bytes]) -> str:
    """Wait until the server answers, and return its metrics; empty if it ends before."""
    until = time.monotonic() + _START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(1)
    return ""


def run(venv: Path, model: Path) -> dict[str, Any]:
    """Start one server, request its metrics, stop it, and return log and metrics."""
    port = free_port()
    command = [f"{venv}/bin/vllm", "serve", str(model), "--load-format", "dummy", "--host", "127.0.0.1"]
    log = model / "log"
    with log.open("wb") as written:
        server = subprocess.Popen(
            [*command, "--port", str(port), *arguments(options(model.name))],
            stdout=written,
            stderr=subprocess.STDOUT,
            env=environment(venv),
            start_new_session=True,
        )
        try:
            said = metrics(port, server)
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
    config = json.loads((model / "config.json").read_text())
    return {"config": config, "options": options(model.name), **kept(log.read_text(), said)}


def kept(log: str, said: str) -> dict[str, Any]:
    """Return the parts of a log and of metrics that are stored."""
    found = re.search(r"^vllm:cache_config_info\{(.*)\}", said, re.MULTILINE)
    labels = dict(re.findall(r'(\w+)="([^"]*)"', found[1])) if found else {}
    lines = [
        re.sub(r"^.*?\] ", "", line) for line in log.splitlines() if re.search(r"KV cache size|block size|conc", line)
    ]
    failed = [line for line in log.splitlines() if re.search(r"\w+Error: ", line)]
    return {
        "labels": {name: labels[name] for name in _LABELS if name in labels},
        "log": [line for line in lines if "non-default" not in line and "Initializing" not in line],
        **({} if labels else {"failed": failed[-1:] or ["no answer in time"]}),
    }


def record(venv: Path, wanted: tuple[str, ...] = ()) -> dict[str, Any]:
    """Start a server for each network, one after the other."""
    python = f"{venv}/bin/python"
    command = "import importlib.metadata as m; print(m.version('vllm').split('+')[0])"
    release = subprocess.run([python, "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, str(Path(__file__).with_name("networks.py")), folder], check=True)
        models = sorted(path for path in Path(folder).iterdir() if not wanted or path.name in wanted)
        said = {model.name: run(venv, model) for model in models}
    return {"release": release, "pool_bytes": POOL_BYTES, "servers": said}


if __name__ == "__main__":
    print(json.dumps(record(Path(sys.argv[1]), tuple(sys.argv[2:])), indent=1))
