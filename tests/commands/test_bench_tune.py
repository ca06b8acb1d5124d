"""`sparkiac bench tune`: the changes, the search, and a whole run with stand-in playbooks and a stand-in server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import pipeline
from sparkiac.bench import tuning
from sparkiac.bench.target import leading
from sparkiac.bench.tuning import OptionChange
from sparkiac.model.bench import BenchRecord
from sparkiac.pipeline import InputFile
from sparkiac.report import Edit
from tests.bench.test_noise import record
from tests.commands import fleet
from tests.commands.fleet import LOCAL
from tests.plan.fleets import LOCK, deployment
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkiac.plan import Container
    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

MTP: Final = "speculative: {method: mtp, num_speculative_tokens: 2}"
APPLIED: Final = (
    'cp "$(dirname "$ANSIBLE_CONFIG")/hosts/spark-01/etc/sparkiac/chat/compose.yaml" "$STUB/applied"; '
    """echo '{"outcome": "committed", "changed": true}'"""
)
"""What a host does in a switch: the server runs with the options of the new tree."""


def change(name: str) -> OptionChange:
    return OptionChange(name, 1, (Edit(("deployments", "chat", "set", name), 1),))


def container(*lines: str) -> Container:
    outcome = pipeline.check(
        InputFile("lab.yaml", deployment(*lines).encode()),
        InputFile("lab.lock.yaml", LOCK.encode()),
        allow_unlocked=True,
    )
    assert outcome.plan is not None, outcome.report
    return leading(outcome.plan, "chat")[1]


def test_the_changes_of_a_deployment() -> None:
    options = "set: {gpu_memory_utilization: 0.5, max_num_seqs: 4, max_num_batched_tokens: 8192, max_model_len: 8192}"
    found = tuning.changes(container(options, MTP))
    assert [each.text for each in found] == [
        *("num_speculative_tokens: 3", "num_speculative_tokens: 1", "max_num_batched_tokens: 16384"),
        *("max_num_batched_tokens: 4096", "max_num_seqs: 8", "max_num_seqs: 2", "gpu_memory_utilization: 0.55"),
    ]
    assert set(found[0].edits) == {
        Edit(("deployments", "chat", "speculative", "method"), "mtp"),
        Edit(("deployments", "chat", "speculative", "num_speculative_tokens"), 3),
    }


def searched(speeds: dict[str, float | str | None]) -> tuple[list[tuple[str, bool]], tuple[Edit, ...]]:
    """Search with servers that are slower by these shares; return the trials and the result."""
    tried: list[frozenset[str]] = []

    def try_(edits: tuple[Edit, ...]) -> BenchRecord | str | None:
        names = frozenset(str(edit.path[-1]) for edit in edits)
        tried.append(names)
        [last] = [name for name in names if name not in kept]
        found = speeds[last]
        slower = sum(each for name in kept if isinstance(each := speeds[name], float))
        return record(len(tried), slower=slower + found) if isinstance(found, float) else found

    kept: list[str] = []
    trials = []
    for trial in tuning.search(record(0), tuple(map(change, speeds)), "decode", try_):
        trials.append(trial)
        kept += [trial.change.option] if trial.kept else []
    better = tuning.result(trials, record(99), "decode")
    return [(trial.change.option, trial.kept) for trial in trials], better.edits


def test_faster_changes_are_kept_and_add_up() -> None:
    trials, edits = searched({"a": 0.0, "b": -0.2, "c": 0.3, "d": "the gate refused it", "e": -0.2})
    assert trials == [("a", False), ("b", True), ("c", False), ("d", False), ("e", True)]
    assert [edit.path[-1] for edit in edits] == ["b", "e"]


def test_a_search_ends_when_the_time_is_over_and_can_find_nothing() -> None:
    assert searched({"a": 0.0, "b": None, "c": -0.5}) == ([("a", False)], ())


def test_a_gain_that_the_original_options_have_at_the_end_as_well_does_not_count() -> None:
    row = tuning.goal_row(record(1), record(2, slower=-0.2), "decode")
    assert row is not None
    trial = tuning.Trial(change("a"), record(2, slower=-0.2), "", row, kept=True)
    assert tuning.result([trial], record(3), "decode").edits == trial.change.edits
    assert tuning.result([trial], record(3, slower=-0.2), "decode").edits == ()


class Server(ThreadingHTTPServer):
    """A model server whose speed depends on the options that were applied last."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        """Use the options in this folder."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root

    @property
    def token_s(self) -> float:
        """Return the time of a token: 40 ms, and 1 ms with a large batch."""
        applied = self.root / "applied"
        return 0.001 if applied.exists() and "--max-num-batched-tokens=16384" in applied.read_text() else 0.04


class Handler(BaseHTTPRequestHandler):
    """Answers as vLLM does, as far as the bench needs it."""

    server: Server

    def do_GET(self) -> None:
        """Answer a GET."""
        models = json.dumps({"data": [{"id": "example/model", "max_model_len": 8192}]})
        metrics = "vllm:num_requests_running 0.0\nvllm:num_requests_waiting 0.0\n"
        self.reply((models if self.path == "/v1/models" else metrics).encode())

    def do_POST(self) -> None:
        """Stream a response at the speed of the server."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        for _ in range(body["max_tokens"]):
            self.event({"choices": [{"delta": {"content": "x"}}]})
            self.pause.wait(self.server.token_s)
        usage = {"prompt_tokens": len(body["messages"][0]["content"].split()), "completion_tokens": body["max_tokens"]}
        self.event({"choices": [], "usage": usage})

    pause = threading.Event()

    def event(self, data: object) -> None:
        """Send one event."""
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def reply(self, content: bytes) -> None:
        """Send a whole response."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def root(folder: Path, hosts: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a folder with a generated fleet of one host, this machine; yield the folder of its answers."""
    fleet.answers(hosts, "spark-01", "services", APPLIED)
    with serving(Server(hosts)) as server:
        options = "set: {max_num_batched_tokens: 8192, max_model_len: 8192}"
        text = deployment(options, "bind: any", host="spark-01: {address: 127.0.0.1}")
        (folder / "lab.yaml").write_text(text.replace("8001", str(server.server_port)))
        (folder / "lab.lock.yaml").write_text(LOCK)
        assert cli("generate", "lab.yaml").code == 0
        monkeypatch.setattr("sparkiac.bench.target.host_facts", lambda _: {})  # no ssh in this test
        listed = tuning.changes
        monkeypatch.setattr(tuning, "changes", lambda container: listed(container)[:3])  # each is applied by Ansible
        yield hosts


def tuned(cli: Cli, *arguments: str) -> Outcome:
    sizes = ("--prompt-tokens", "60", "--output-tokens", "20", "--runs", "6", "--yes")
    tree = Path("generated/lab").resolve()
    return cli("bench", "tune", "lab.yaml", "chat", *sizes, "--generated", str(tree), *arguments, "--", *LOCAL)


def test_a_better_option_is_found_and_the_hosts_go_back(root: Path, cli: Cli, folder: Path) -> None:
    before = (folder / "lab.yaml").read_bytes()
    outcome = tuned(cli, "--output", "better.patch")
    assert outcome.code == 0, outcome.text
    assert "max_num_batched_tokens: 16384: decode +" in outcome.err
    assert "max_num_batched_tokens: 4096: decode -" in outcome.err
    assert "max_num_seqs: 8: decode" in outcome.err
    assert (folder / "lab.yaml").read_bytes() == before
    assert "--max-num-batched-tokens=8192" in (root / "applied").read_text()
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "apply", "better.patch"], check=True)
    assert "max_num_batched_tokens: 16384" in (folder / "lab.yaml").read_text()
    names = sorted(path.name for path in (folder / "measurements/bench").iterdir())
    assert [name.partition("Z-")[2] for name in names] == [
        *("the-present-options.json", *(f"trial-{number}.json" for number in range(1, 4))),
        "the-present-options-again.json",
    ]
    [trial] = (folder / "measurements/bench").glob("*-trial-1.json")
    assert BenchRecord.from_json(trial.read_text()).subject.options["max_num_batched_tokens"] == 16384
    assert "Not used by the next plan: spark-01 did not report its generation" in outcome.err


def test_nothing_is_measured_without_ansible(
    root: Path, cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")
    outcome = tuned(cli)
    assert outcome.code == 2
    assert outcome.err.endswith("ansible-playbook is not installed on this machine: pip install ansible-core\n")
    assert not (root / "applied").exists()
    assert not (folder / "measurements").exists()


def test_a_trial_that_the_gate_refuses_is_left_out(root: Path, cli: Cli) -> None:
    fleet.answers(root, "spark-01", "services", "echo 'the gate refused it' >&2; exit 1")
    outcome = tuned(cli)
    assert outcome.code == 1, outcome.text  # the way back fails here as well
    assert "max_num_batched_tokens: 16384: not measured: " in outcome.err
    assert "The hosts were not switched back to " in outcome.err
