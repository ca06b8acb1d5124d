"""`sparkiac bench tune` with a real vLLM on a CPU: each switch restarts it with the options of the new tree.

Opt-in: SPARKIAC_REAL_VLLM=1, SPARKIAC_VLLM_VENVS names a folder of virtual environments, one per release, each with
that vLLM for CPUs and, if it needs variables to start, an `env.sh`; SPARKIAC_VLLM_MODEL names the directory of a small
model with a tokenizer and a chat template. The playbooks are stand-ins; it takes about ten minutes.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.commands import fleet, real_vllm
from tests.commands.fleet import LOCAL
from tests.commands.test_bench import free_port
from tests.conftest import ROOT
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

pytestmark = pytest.mark.skipif(
    os.environ.get("SPARKIAC_REAL_VLLM") != "1",
    reason="opt-in: SPARKIAC_REAL_VLLM=1, with a vLLM for CPUs in SPARKIAC_VLLM_VENVS and SPARKIAC_VLLM_MODEL",
)
RELEASE: Final = "0.23.0"
SWITCH: Final = (
    f'"{sys.executable}" "{ROOT}/tests/commands/real_vllm.py" "$STUB" '
    '"$(dirname "$ANSIBLE_CONFIG")/hosts/spark-01/etc/sparkiac/chat/compose.yaml" && '
    """echo '{"outcome": "committed", "changed": true}'"""
)


@pytest.fixture
def root(folder: Path, hosts: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Start the server of a generated fleet, whose only host is this machine."""
    port = free_port()
    fleet.answers(hosts, "spark-01", "services", SWITCH)
    monkeypatch.setenv("VLLM_VENV", str(Path(os.environ["SPARKIAC_VLLM_VENVS"], RELEASE)))
    monkeypatch.setenv("VLLM_TEST_PORT", str(port))
    options = "set: {max_num_seqs: 2, max_model_len: 2048}"
    text = deployment(options, "bind: any", host="spark-01: {address: 127.0.0.1}")
    (folder / "lab.yaml").write_text(text.replace("8001", str(port)))
    (folder / "lab.lock.yaml").write_text(LOCK)
    assert cli("generate", "lab.yaml").code == 0
    monkeypatch.setattr("sparkiac.bench.target.host_facts", lambda _: {})  # no ssh in this test
    real_vllm.restart(hosts, Path("generated/lab/hosts/spark-01/etc/sparkiac/chat/compose.yaml"))
    yield hosts
    os.kill(int((hosts / "vllm.pid").read_text()), signal.SIGTERM)


def test_more_requests_at_once_are_found_and_the_server_goes_back(root: Path, cli: Cli) -> None:
    sizes = ("--prompt-tokens", "64", "--output-tokens", "32", "--runs", "8", "--minutes", "40", "--yes")
    tree = Path("generated/lab").resolve()
    arguments = ("--goal", "throughput", "--generated", str(tree), "--", *LOCAL)
    outcome = cli("bench", "tune", "lab.yaml", "chat", *sizes, *arguments)
    (root / "tune.log").write_text(outcome.text)  # for whoever runs it by hand
    assert outcome.code == 0, outcome.text
    assert "max_num_seqs: 4: throughput +" in outcome.err
    assert "+    set: {max_num_seqs: 4, max_model_len: 2048}" in outcome.out
    assert "--max-num-seqs=2" in (root / "vllm.words").read_text()
