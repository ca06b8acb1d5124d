"""Restart a real vLLM on a CPU with the options of a compose file, and wait until it answers.

`real_vllm.py FOLDER COMPOSE_FILE`: FOLDER keeps its process ID, log and words. Options that need a GPU are left out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Final

import yaml

KEPT: Final = ("--max-model-len=", "--max-num-seqs=", "--max-num-batched-tokens=")
ON_A_CPU: Final = ("--dtype=float32", "--enforce-eager", "--no-enable-prefix-caching", "--load-format=dummy")
START_S: Final = 400


def restart(folder: Path, compose: Path) -> None:
    """End the former server and start the next one."""
    pid = folder / "vllm.pid"
    if pid.exists():
        os.kill(int(pid.read_text()), signal.SIGTERM)
        _wait_for_end(int(pid.read_text()))
    [service] = yaml.safe_load(compose.read_text())["services"].values()
    command = [str(word) for word in service["command"]]
    name = command[command.index("serve") + 1]  # this deployment has no other name
    options = [word for word in command if word.startswith(KEPT)]
    (folder / "vllm.words").write_text("\n".join(options))
    place, port = os.environ["VLLM_VENV"], os.environ["VLLM_TEST_PORT"]
    words = [f"{place}/bin/vllm", "serve", os.environ["SPARKIAC_VLLM_MODEL"], "--served-model-name", name]
    words += ["--host=127.0.0.1", f"--port={port}", *ON_A_CPU, *options]
    with (folder / "vllm.log").open("ab") as log:
        script = f'[ ! -e {place}/env.sh ] || . {place}/env.sh; exec "$@"'
        process = subprocess.Popen(["bash", "-c", script, "vllm", *words], stdout=log, stderr=log)
    pid.write_text(str(process.pid))
    _wait_for_answer(process, f"http://127.0.0.1:{port}/health")


def _wait_for_answer(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310
        except OSError:
            assert process.poll() is None, "vLLM ended"
            time.sleep(1)
        else:
            return
    message = f"vLLM did not answer within {START_S} s"
    raise TimeoutError(message)


def _wait_for_end(pid: int) -> None:
    until = time.monotonic() + START_S
    while Path(f"/proc/{pid}/stat").exists() and time.monotonic() < until:
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.2)


if __name__ == "__main__":
    restart(Path(sys.argv[1]), Path(sys.argv[2]))
