"""`sparkiac bench` against the engine stand-in, which generates as many tokens as requested, at a known speed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.bench import measuring
from sparkiac.model.bench import BenchRecord
from tests.conftest import ROOT
from tests.host.probed import Service
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

STANDIN: Final = ROOT / "tests/standin/vllm"
OPTIONS: Final = (
    *(
        "--max-model-len",
        "4096",
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        "hermes",
        "--served-model-name",
        "m",
    ),
    *("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}'),
)
QUICK: Final = ("--prompt-tokens", "60", "--output-tokens", "8", "--runs", "4", "--format", "json")
SOON_S: Final = 600
KEY: Final = "canary-of-a-key"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def started(**environment: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start a stand-in and wait until it listens."""
    port = free_port()
    argv = [sys.executable, STANDIN, "serve", "org/chat", "--host", "127.0.0.1", "--port", str(port), *OPTIONS]
    settings = os.environ | {"STANDIN_LOAD_SECONDS": "0", "VLLM_API_KEY": KEY} | environment
    process = subprocess.Popen(argv, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + SOON_S
    while True:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()  # noqa: S310
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return process, url


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run a stand-in that generates at once."""
    process, url = started()
    yield url
    process.terminate()
    process.wait()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKIAC_API_KEY", KEY)


def measured(cli: Cli, *arguments: str, code: int = 0) -> BenchRecord:
    """Run the bench and return its record, which is also in a file."""
    outcome = cli("bench", *arguments)
    assert outcome.code == code, outcome.text
    data: dict[str, Any] = json.loads(outcome.out)
    text = Path(data["path"]).read_text()
    assert KEY not in text + outcome.text
    found = BenchRecord.from_json(text)
    assert found.model_dump(mode="json") == data["record"]
    return found


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("thinking", [(), ("--thinking", "on"), ("--thinking", "off")])
def test_single(cli: Cli, server: str, thinking: tuple[str, ...]) -> None:
    record = measured(cli, "--url", server, "single", *QUICK, *thinking)
    [point] = record.points
    assert (record.mode, record.subject.model, record.subject.max_model_len) == ("single", "m", 4096)
    assert len(point.rounds) == 4
    for each in point.rounds:
        [tokens] = each.prompt_tokens
        assert 50 <= tokens <= 70
        assert (each.output_tokens, each.errors) == ((8,), ())
        assert 0 < each.ttft_s[0] <= each.total_s[0] <= each.seconds
    assert "single: fewer than 64 generated tokens; the decode speed is noisy" in record.notes
    assert record.thinking == ({"on": True, "off": False}[thinking[1]] if thinking else None)


@pytest.mark.usefixtures("folder")
def test_the_words_of_the_prompts_are_in_no_file(cli: Cli, server: str, folder: Path) -> None:
    measured(cli, "--url", server, *QUICK)
    [file] = (folder / "measurements/bench").iterdir()
    assert file.name.startswith("m-single-20")
    assert "Continue this text" not in file.read_text()


@pytest.mark.usefixtures("folder")
def test_scenarios_and_depth_leave_out_what_does_not_fit(cli: Cli, server: str) -> None:
    record = measured(cli, "--url", server, "scenarios", "--runs", "2", "--format", "json")
    assert [point.name for point in record.points] == [
        *("typical judge call", "medium prompt, short answer", "medium prompt, long answer"),
    ]
    assert record.notes[0] == "long prompt, short answer left out: 7483 tokens, max_model_len is 4096"
    depth = measured(cli, "--url", server, "depth", *QUICK, "--levels", "0,1000,100000")
    assert [(point.name, point.prompt_tokens) for point in depth.points] == [("depth 0", 60), ("depth 1000", 1060)]


@pytest.mark.usefixtures("folder")
def test_a_sweep_to_the_knee(cli: Cli, server: str) -> None:
    record = measured(cli, "--url", server, "sweep", *QUICK)
    assert record.points[0].concurrency == 1
    assert {len(point.rounds) for point in record.points} == {4}
    assert [len(point.rounds[0].ttft_s) for point in record.points[:3]] == [4, 4, 8]
    two = measured(cli, "--url", server, "sweep", *QUICK, "--levels", "1,3")
    assert [point.concurrency for point in two.points] == [1, 3]


@pytest.mark.usefixtures("folder")
def test_rates(cli: Cli, server: str) -> None:
    record = measured(cli, "--url", server, "rate", *QUICK, "--runs", "1")
    rates = [point.rate or 0 for point in record.points]
    assert rates == sorted(rates)
    assert len(rates) == 4
    given = measured(cli, "--url", server, "rate", *QUICK, "--runs", "1", "--levels", "200")
    [point] = given.points
    assert point.rate == 200
    assert len(point.rounds[0].ttft_s) == 16


@pytest.mark.usefixtures("folder")
def test_speculation_by_content(cli: Cli, server: str) -> None:
    outcome = cli("bench", "--url", server, "speculation", *QUICK[:-2])
    assert outcome.code == 0, outcome.text
    rows = {line.split()[0]: line.split()[1:3] for line in outcome.out.splitlines() if "%" in line and "of 2" in line}
    assert rows == {"code": ["75.0%", "25.0%"], "structured": ["70.0%", "30.0%"], "filler": ["50.0%", "50.0%"]}


@pytest.mark.usefixtures("folder")
def test_tool_calls(cli: Cli, server: str) -> None:
    """The stand-in always calls the first tool, with sample values."""
    record = measured(cli, "--url", server, "tools", "--runs", "2", "--format", "json")
    results = {case.name: case for case in record.tools}
    assert len(results) == 11
    assert results["direct"].passed == (False, False)
    assert results["direct"].fault == "another tool than get_time was called"
    assert results["no tool needed"].fault == "1 calls, expected 0"


@pytest.mark.usefixtures("folder")
def test_startup_from_a_log(cli: Cli, folder: Path) -> None:
    from tests.bench.test_parts import LOG  # noqa: PLC0415  the log of another test

    (folder / "start.log").write_text(LOG)
    record = measured(cli, "--url", "http://127.0.0.1:1", "startup", "--log", "start.log", "--format", "json")
    assert [phase.seconds for phase in record.phases] == [30, 30, 21.5, 5, 14.5, 2]
    (folder / "start.log").write_text("nothing")
    assert cli("bench", "--url", "http://127.0.0.1:1", "startup", "--log", "start.log").code == 1
    assert cli("bench", "--url", "http://127.0.0.1:1", "startup").code == 2


@pytest.mark.usefixtures("folder")
def test_a_paced_server_is_measured_as_it_is(cli: Cli) -> None:
    """80 ms to the first token and 20 ms for each further one: it is never faster."""
    process, url = started(STANDIN_FIRST_SECONDS="0.08", STANDIN_TOKEN_SECONDS="0.02")  # noqa: S106  a time
    try:
        [point] = measured(cli, "--url", url, *QUICK).points
    finally:
        process.terminate()
        process.wait()
    assert all(each.ttft_s[0] >= 0.08 for each in point.rounds)
    assert all(each.total_s[0] >= 0.08 + 7 * 0.02 for each in point.rounds)


@pytest.mark.usefixtures("folder")
def test_a_server_that_serves_clients_is_left_alone(cli: Cli) -> None:
    process, url = started(STANDIN_TOKEN_SECONDS="0.02")  # noqa: S106  a time
    try:
        body = {"messages": [{"role": "user", "content": "x"}], "ignore_eos": True, "max_tokens": 4000, "stream": True}
        request = urllib.request.Request(  # noqa: S310  the stand-in
            f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Authorization": f"Bearer {KEY}"}
        )
        with urllib.request.urlopen(request, timeout=SOON_S) as running:  # noqa: S310
            running.readline()
            outcome = cli("bench", "--url", url, *QUICK)
            assert (outcome.code, outcome.out) == (5, "")
            assert outcome.err.startswith("1 requests run or wait on the server")
            record = measured(cli, "--url", url, *QUICK, "--yes")
        assert "single: the server handled requests of other clients meanwhile" in record.notes
    finally:
        process.terminate()
        process.wait()


@pytest.mark.usefixtures("folder")
def test_a_server_without_metrics_needs_a_yes(cli: Cli) -> None:
    with serving(Service()) as service:
        service.authorization = f"Bearer {KEY}"
        service.answers["/v1/models"] = (200, {"data": [{"id": "m"}]})
        outcome = cli("bench", "--url", service.url)
        assert outcome.code == 5
        assert "unknown whether it serves clients" in outcome.err


def test_an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    process, url = started(STANDIN_TOKEN_SECONDS="0.01")  # noqa: S106  a time
    try:
        argv = [
            sys.executable,
            "-m",
            "sparkiac",
            "bench",
            "--url",
            url,
            *QUICK[:2],
            "--output-tokens",
            "50",
            "--runs",
            "999",
        ]
        with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
            until = time.monotonic() + SOON_S
            while "num_requests_running" not in (page := metrics(url)) or finished(page) < 8:
                assert time.monotonic() < until
                time.sleep(0.05)
            bench.send_signal(signal.SIGINT)
            out, err = bench.communicate(timeout=SOON_S)
        assert bench.returncode == 130, err
        [file] = (tmp_path / "measurements/bench").iterdir()
        record = BenchRecord.from_json(file.read_text())
        assert record.interrupted
        assert len(record.points[0].rounds) >= 1
        assert "interrupted: fewer rounds than requested" in out
        assert "Traceback" not in err
    finally:
        process.terminate()
        process.wait()


def metrics(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=SOON_S) as answer:  # noqa: S310
        text: str = answer.read().decode()
        return text


def finished(page: str) -> float:
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith("vllm:request_success_total"))


@pytest.mark.usefixtures("folder")
def test_the_time_is_limited(cli: Cli) -> None:
    process, url = started(STANDIN_TOKEN_SECONDS="0.05")  # noqa: S106  a time
    try:
        words = ("--prompt-tokens", "60", "--output-tokens", "40", "--runs", "999", "--minutes", "0.1")
        record = measured(cli, "--url", url, *words, "--format", "json")
    finally:
        process.terminate()
        process.wait()
    assert 1 <= len(record.points[0].rounds) < 999
    assert f"6 s ended after {len(record.points[0].rounds)} of 999 rounds; raise --minutes" in record.notes


@pytest.mark.usefixtures("folder")
def test_compare_and_show(cli: Cli, server: str, folder: Path) -> None:
    first = measured(cli, "--url", server, "sweep", *QUICK, "--levels", "1,2", "--output", "first.json")
    measured(cli, "--url", server, "sweep", *QUICK, "--levels", "1,2,3", "--output", "second.json")
    slow = first.model_dump(mode="json")
    for point in slow["points"]:
        for each in point["rounds"]:
            each["ttft_s"] = [value + 5 for value in each["ttft_s"]]
            each["total_s"] = [value + 5 for value in each["total_s"]]
    (folder / "slow.json").write_text(json.dumps(slow))
    outcome = cli("bench", "compare", "first.json", "first.json")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "cannot tell")
    outcome = cli("bench", "compare", "first.json", "second.json", "--format", "json")
    assert json.loads(outcome.out)["missing"] == ["concurrency 3"]
    outcome = cli("bench", "compare", "first.json", "slow.json", "--format", "markdown", "--plot", "two.svg")
    assert outcome.code in {0, 1}  # four rounds and six rows: the smallest p-value is 0.17
    assert outcome.out.startswith("# cannot tell\n\n| point | quantity |")
    for file in ("one.svg", "two.svg"):
        if file == "one.svg":
            assert cli("bench", "show", "first.json", "--plot", file).code == 0
        drawn = ET.parse(folder / file).getroot()  # noqa: S314  our own file
        texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
        assert "TTFT, ms" in texts
    assert cli("bench", "show", "first.json", "--format", "markdown").out.startswith("# m: sweep\n")
    assert json.loads(cli("bench", "show", "first.json", "--format", "json").out)["record"] == first.model_dump(
        mode="json"
    )


def test_a_slowdown_is_exit_1(cli: Cli, folder: Path) -> None:
    from tests.bench.test_noise import record  # noqa: PLC0415  the records of another test

    (folder / "a.json").write_text(measuring.text(record(1)))
    (folder / "b.json").write_text(measuring.text(record(2, slower=0.2)))
    outcome = cli("bench", "compare", "a.json", "b.json")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (1, "slower")
    assert cli("bench", "compare", "b.json", "a.json").code == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--url", "localhost:8000"), "--url contains no server; write it with http:// or https://, such as"),
        (("--url", "http://"), "--url contains no server"),
        ((), "Measure a model server"),
        (("lab.yaml",), "name INVENTORY and DEPLOYMENT, or --url"),
        (("--url", "http://127.0.0.1:1", "singel"), "unknown mode 'singel'; did you mean 'single'?"),
        (("--url", "http://127.0.0.1:1", "sweep", "--levels", "1,two"), "--levels must be whole numbers above 0"),
        (("--url", "http://127.0.0.1:1", "sweep", "--levels", "0"), "--levels must be whole numbers above 0"),
        (("--url", "http://127.0.0.1:1", "sweep", "--levels", "1.5"), "--levels must be whole numbers above 0"),
        (("--url", "http://127.0.0.1:1", "rate", "--levels", "0.5,0"), "--levels must be numbers above 0"),
        (("--url", "http://127.0.0.1:1", "rate", "--levels", "nan"), "--levels must be numbers above 0"),
        (("--url", "http://127.0.0.1:1", "depth", "--levels", "inf"), "--levels must be whole numbers separated"),
        (("show", "nothing.json"), "nothing.json: No such file or directory"),
        (("nothing.yaml", "chat"), "nothing.yaml does not exist"),
    ],
)
def test_wrong_input(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    outcome = cli("bench", *arguments)
    assert outcome.code == 2
    assert says in outcome.text


@pytest.mark.usefixtures("folder")
def test_a_server_that_is_not_there(cli: Cli, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = cli("bench", "--url", "http://127.0.0.1:1")
    assert (outcome.code, outcome.err) == (6, "127.0.0.1:1: Connection refused\n")
    outcome = cli("bench", "--url", server, "--model", "other")
    assert (outcome.code, outcome.err) == (6, f"{server} does not serve other; it serves: m\n")
    monkeypatch.delenv("SPARKIAC_API_KEY")
    assert "HTTP 401" in cli("bench", "--url", server).err


@pytest.mark.usefixtures("folder")
def test_another_program_measures(cli: Cli, server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for vllm writes a result as `vllm bench serve` does, and crashes afterwards, as 0.23.0 does on CPU."""
    from tests.bench.test_foreign import DETAILS, SERVE  # noqa: PLC0415  the results of another test

    (folder / "vllm").write_text(
        f"#!/bin/sh\necho \"$*\" >$STUB/asked\ncat >result.json <<'E'\n{json.dumps(SERVE | DETAILS)}\nE\nexit 139\n"
    )
    (folder / "vllm").chmod(0o755)
    monkeypatch.setenv("STUB", str(folder))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    record = measured(cli, "--url", server, "--with", "vllm-bench", *QUICK)
    assert record.tool == "vllm bench serve"
    assert len(record.points[0].rounds) == 3
    assert f"--base-url {server} --model org/chat --served-model-name m " in (folder / "asked").read_text()
    outcome = cli("bench", "--url", server, "--with", "llama-benchy")
    assert (outcome.code, outcome.err.splitlines()[-1]) == (
        6,
        "llama-benchy is not installed on this machine, or not in PATH",
    )


@pytest.mark.usefixtures("folder")
def test_the_stall_by_a_long_prompt(cli: Cli) -> None:
    """The stand-in reads 1,500 tokens in a second and a half, in which the other request gets none."""
    process, url = started(STANDIN_PROMPT_TOKEN_SECONDS="0.001", STANDIN_TOKEN_SECONDS="0.005")  # noqa: S106  seconds
    try:
        words = ("--prompt-tokens", "1500", "--output-tokens", "200", "--runs", "3", "--format", "json")
        record = measured(cli, "--url", url, "stall", *words)
    finally:
        process.terminate()
        process.wait()
    [point] = record.points
    assert (point.name, point.long_tokens, point.concurrency) == ("stall by 1500", 1500, 1)
    assert [len(each.gap_s) for each in point.rounds] == [1, 1, 1]
    assert all(gap > 1.0 for each in point.rounds for gap in each.gap_s)
    assert not any(each.others for each in point.rounds)
    shown = cli("bench", "show", next(Path("measurements/bench").glob("*.json")).as_posix())
    assert "longest wait, ms" in shown.out
