"""What `sparkiac bench` measured is in the next plan: its speeds, and with a startup log its memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.commands.apply.tree import generation_in
from sparkiac.model.bench import BenchHost
from sparkiac.model.records import StartRecord
from tests.bench.test_parts import LOG as PHASES
from tests.commands.test_bench_tune import Handler, Server
from tests.commands.test_memory import LOG
from tests.plan.fleets import COMMIT, LOCK, deployment
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SIZES: Final = ("--prompt-tokens", "1200", "--output-tokens", "64", "--runs", "4")


class Slow(Handler):
    """Answers after 10 ms."""

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        """Stream a response."""
        self.pause.wait(0.01)
        super().do_POST()


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Return the generation that the host says it runs; the test may change it."""
    found: list[str | None] = [None]
    monkeypatch.setattr(
        "sparkiac.bench.target.host_facts",
        lambda hosts: {host.name: BenchHost(generation=found[0]) for host in hosts},
    )
    return found


@pytest.fixture(autouse=True)
def fast(folder: Path, cli: Cli, running: list[str | None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run the test in a folder with an inventory, its lock, and a server that generates a token in a millisecond."""
    made = tmp_path_factory.mktemp("hosts")
    (made / "applied").write_text("--max-num-batched-tokens=16384")
    with serving(Server(made)) as server:
        server.RequestHandlerClass = Slow
        options = "set: {gpu_memory_utilization: 0.5, max_model_len: 8192}"
        text = deployment(options, "bind: any", host="spark-01: {address: 127.0.0.1}")
        (folder / "lab.yaml").write_text(text.replace("8001", str(server.server_port)))
        (folder / "lab.lock.yaml").write_text(LOCK)
        assert cli("generate", "lab.yaml").code == 0
        running[0] = generation_in((folder / "generated/lab/host_vars/spark-01/hashes.yml").read_bytes())
        yield


def bench(cli: Cli, *arguments: str) -> dict[str, Any]:
    outcome = cli("bench", "lab.yaml", "chat", *arguments, "--format", "json")
    assert outcome.code == 0, outcome.text
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def recorded(folder: Path) -> StartRecord:
    [path] = (folder / "measurements").glob("*.json")
    return StartRecord.model_validate_json(path.read_bytes())


def planned(cli: Cli) -> str:
    return " ".join(cli("plan", "lab.yaml").out.split())


def _has_what_was_measured(record: dict[str, Any]) -> None:
    """Image, commit, options and command of the lock and the plan are in the record of a bench."""
    subject = record["subject"]
    assert subject["digest"] == f"sha256:{'1' * 64}"
    assert subject["commits"] == {subject["weights"]: COMMIT}
    assert subject["options"]["max_model_len"] == 8192
    assert "--max-model-len=8192" in " ".join(subject["argv"]).replace("--max-model-len ", "--max-model-len=")
    assert record["before"]["spark-01"]["generation"]


def test_the_next_plan_has_the_measured_speed_and_names_the_record(cli: Cli, folder: Path) -> None:
    found = bench(cli, *SIZES)
    name = Path(found["path"]).name
    record = recorded(folder)
    _has_what_was_measured(found["record"])
    decode, prefill = record.speeds
    assert (found["start"], found["not_used"]) == (str(next(Path("measurements").glob("*.json"))), None)
    assert (decode.kind, decode.context, prefill.kind) == ("decode", 1200, "prefill")
    assert (record.source.grade, record.source.link) == ("bench", f"bench/{name}")
    [host] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"]
    [account] = host["memory"]["accounts"]
    [speed] = [each for each in account["decode"] if each["context"] == 1200]
    assert (speed["low"], speed["high"]) == (decode.low, decode.high)
    assert speed["source"] == f"measured: bench/{name}"
    said = planned(cli)
    assert f"predicted from a recorded start of the same server: bench/{name}" in said
    assert f"sources of the speeds: measured: bench/{name}" in said


def test_memory_and_speeds_of_one_server_are_one_record(cli: Cli, folder: Path) -> None:
    (folder / "start.log").write_text(LOG.replace("65,536", "8,192").replace("65536", "8192"))
    assert cli("memory", "lab.yaml", "chat", "--from-log", "start.log").code == 0
    before = recorded(folder)
    first = bench(cli, *SIZES)
    bench(cli, "sweep", "--prompt-tokens", "1200", "--output-tokens", "64", "--runs", "3", "--levels", "2")
    after = recorded(folder)
    assert (after.terms, after.cached, after.source) == (before.terms, before.cached, before.source)
    assert [(each.kind, each.concurrency) for each in after.speeds] == [("decode", 1), ("prefill", 1), ("aggregate", 2)]
    assert after.speeds[0].source == f"bench/{Path(first['path']).name}"
    assert "predicted from a recorded start of the same server: start.log" in planned(cli)


def test_a_startup_log_that_the_bench_reads_is_in_the_plan_as_well(cli: Cli, folder: Path) -> None:
    given = "{'model': 'example/model', 'max_model_len': 8192, 'gpu_memory_utilization': 0.5, 'max_num_seqs': 4}"
    log = PHASES.replace("{'model': 'x'}", given).replace("0.23.0", "0.19.0")
    pool = "INFO [gpu_worker.py:437] Available KV cache memory: 38.5 GiB\n"
    (folder / "start.log").write_text(log + pool)
    found = bench(cli, "startup", "--log", "start.log")
    assert found["start"] is not None
    assert recorded(folder).terms.weights_bytes == round(15.27 * (1 << 30))
    assert "38.5 GiB" in planned(cli)


def test_a_startup_log_of_another_server_is_not_in_the_plan(cli: Cli, folder: Path) -> None:
    (folder / "start.log").write_text(PHASES)
    found = bench(cli, "startup", "--log", "start.log")
    assert found["start"] is None
    assert found["not_used"].startswith(
        "model is x in the log and example/model in the inventory; vLLM release is 0.23.0"
    )
    assert list((folder / "measurements").glob("*.json")) == []


@pytest.mark.parametrize(
    ("generation", "reason"),
    [
        ("0" * 64, "spark-01 runs another generation than lab.yaml gives; run sparkiac apply, then measure"),
        (None, "spark-01 did not report its generation"),
    ],
)
def test_a_host_that_runs_something_else_tells_the_plan_nothing(
    cli: Cli, folder: Path, running: list[str | None], generation: str | None, reason: str
) -> None:
    running[0] = generation
    found = bench(cli, *SIZES)
    assert (found["start"], found["not_used"]) == (None, reason)
    assert list((folder / "measurements").glob("*.json")) == []


def test_a_run_without_a_usable_speed_says_so(cli: Cli, folder: Path) -> None:
    outcome = cli("bench", "lab.yaml", "chat", "--prompt-tokens", "60", "--output-tokens", "8", "--runs", "3")
    assert "Not used by the next plan: it has no speed that a plan uses" in " ".join(outcome.out.split())
    assert list((folder / "measurements").glob("*.json")) == []


def test_without_pins_nothing_is_recorded(cli: Cli, folder: Path) -> None:
    (folder / "lab.lock.yaml").unlink()
    found = bench(cli, *SIZES)
    assert found["not_used"] == "the lock does not pin its image and its model; run sparkiac lock"
