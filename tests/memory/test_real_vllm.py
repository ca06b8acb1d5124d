"""What was recorded of vLLM, asked again: real servers on a CPU, and vLLM's own functions.

Opt-in: SPARKIAC_REAL_VLLM=1, and SPARKIAC_VLLM_VENVS names a folder of virtual environments, one per release, each
with that vLLM for CPUs and, if it needs variables to start, an `env.sh`. See tools/kv_reference/README.md.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.memory.known import HERE
from tests.memory.test_recorded import check_answer, check_server
from tools.kv_reference import record

pytestmark = pytest.mark.skipif(
    os.environ.get("SPARKIAC_REAL_VLLM") != "1",
    reason="opt-in: SPARKIAC_REAL_VLLM=1, with real releases in SPARKIAC_VLLM_VENVS",
)


def venv(release: str) -> Path:
    found = Path(os.environ["SPARKIAC_VLLM_VENVS"]) / release
    assert found.is_dir(), f"no virtual environment for vLLM {release} in {found.parent}"
    return found


@pytest.mark.parametrize("network", ["dense", "experts", "latent", "linear", "mamba", "window"])
def test_a_server_that_starts_now_has_the_predicted_blocks(network: str) -> None:
    run = record.record(venv("0.32.0"), (network,))
    check_server(run["servers"][network], release=run["release"], pool_bytes=run["pool_bytes"])


@pytest.mark.parametrize("release", ["0.19.0", "0.32.0"])
def test_vllms_functions_give_the_predicted_blocks_now(release: str) -> None:
    place = venv(release)
    answered = subprocess.run(
        [place / "bin/python", ROOT / "tools/kv_reference/asked.py"],
        input=(HERE / "models.json").read_text(),
        capture_output=True,
        text=True,
        check=True,
        env={**record.environment(place), "VLLM_CONFIGURE_LOGGING": "0"},
    )
    run = json.loads(answered.stdout)
    assert run["release"] == release
    for case in run["cases"]:
        check_answer(case, release=release, pool_bytes=run["pool_bytes"])
