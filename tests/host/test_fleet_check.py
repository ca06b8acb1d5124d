"""The fleet timer: one message when something changes, and otherwise nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.fleet import messages
from tests.host.fleet import KEY, PROGRAM, ask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.host.fleet import Timer
    from tests.host.probed import Service
    from tests.host.receivers import Receiver

CHAT = "/v1/chat/completions"
STANDIN = Path(__file__).parents[1] / "standin/vllm"
DOWN = (503, "down")
SILENT = (0, "", "")


def test_seven_endpoints_that_work_send_nothing(timer: Timer, bot: Receiver, service: Service) -> None:
    """The seven addresses of the dual-Spark post; what it calls alert is one message about all that failed."""
    service.answers |= {"/api/tags": (200, {"models": []})}
    timer.watch("qwen36", service.url)
    timer.watch("gemma4", service.url, models=["fast"])
    timer.watch("asr", service.url, kind="service", models=[])
    timer.watch("tts", service.url, kind="service", models=[])
    timer.watch("ollama", service.url, kind="service", models=[], health="/api/tags")
    timer.watch_url("m3-ultra", f"{service.url}/v1/models")
    timer.watch_url("m5-max", f"{service.url}/v1/models")
    assert [timer.run() for _ in range(3)] == [SILENT] * 3
    assert bot.requests == []
    del service.answers["/api/tags"]
    assert timer.run().code == 0
    [text] = bot.texts
    assert text.splitlines() == [
        "sparkiac, fleet lab: 1 endpoint fails",
        "",
        "FAILING: ollama on spark-01",
        f"  {service.url}",
        '  /api/tags: HTTP 404 {"detail": "Not Found"}',
        "  since 2026-11-18 12:06 UTC, for less than a minute, last worked at 2026-11-18 11:51 UTC",
        "  what to do: sparkiac verify lab.yaml ollama",
        "",
        "7 of 8 endpoints work. Checked from spark-02 at 2026-11-18 12:06 UTC.",
    ]


def test_one_message_when_it_fails_silence_and_one_when_it_works_again(
    timer: Timer, bot: Receiver, service: Service
) -> None:
    timer.watch_url("other", f"{service.url}/health")
    assert timer.run() == SILENT
    service.answers["/health"] = DOWN
    assert [timer.run() for _ in range(5)] == [(0, "", "other fails: HTTP 503\n")] * 5
    assert len(bot.got) == 1
    service.answers["/health"] = (200, "")
    assert [timer.run() for _ in range(3)] == [SILENT] * 3
    assert len(bot.got) == 2
    assert "WORKING AGAIN: other" in bot.texts[1]
    assert "It failed from 2026-11-18 11:36 UTC, for 1 h 15 min." in bot.texts[1]


def test_all_changes_of_a_run_are_one_message(timer: Timer, bot: Receiver, service: Service) -> None:
    for name in ("a", "b", "other"):
        timer.watch_url(name, f"{service.url}/{name}")
    service.answers |= {"/a": DOWN, "/b": (200, ""), "/other": (200, "")}
    timer.run()
    service.answers |= {"/a": (200, ""), "/b": DOWN, "/other": DOWN}
    timer.run()
    heads = [text.partition("\n")[0] for text in bot.texts]
    assert heads == ["sparkiac, fleet lab: 1 endpoint fails", "sparkiac, fleet lab: 2 endpoints fail, 1 works again"]
    assert [line for line in bot.texts[1].splitlines() if line[:1].isupper()] == [
        "FAILING: b",
        "FAILING: other",
        "WORKING AGAIN: a",
    ]


def test_a_lost_packet_sends_nothing(timer: Timer, bot: Receiver, service: Service) -> None:
    """What fails is checked a second time in the same run."""
    timer.watch("chat", service.url)
    answers = iter([(500, "lost")])
    good = service.answers[CHAT]
    service.answers[CHAT] = lambda _body: next(answers, good)
    assert timer.run() == SILENT
    assert service.asked.count(f"POST {CHAT}") == 2
    assert bot.requests == []


def test_a_cut_cable_is_one_message_although_all_servers_answer(
    timer: Timer, bot: Receiver, service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(PROGRAM, "LINKS", str(tmp_path))
    state = tmp_path / "enp1s0f1np1/operstate"
    state.parent.mkdir()
    state.write_text("up\n")
    timer.config["links"] = ["enp1s0f1np1"]
    timer.watch("chat", service.url)
    timer.run()
    assert bot.requests == []
    state.write_text("down\n")
    for _ in range(3):
        timer.run()
    [text] = bot.texts
    assert "FAILING: link enp1s0f1np1 on spark-02" in text
    assert "the link is down" in text
    assert "check the cable" in text


def test_a_reminder_once_a_day(timer: Timer, bot: Receiver, service: Service) -> None:
    timer.watch_url("other", f"{service.url}/health")
    service.answers["/health"] = DOWN
    day = 24 * 4
    for _ in range(2 * day + 1):
        timer.run()
    assert [text.splitlines()[2] for text in bot.texts] == ["FAILING: other", *["STILL FAILING: other"] * 2]
    assert "for 2 d" in bot.texts[2]


def test_flapping_is_one_message_until_it_is_stable(timer: Timer, bot: Receiver, service: Service) -> None:
    timer.watch_url("other", f"{service.url}/health")
    for number in range(20):
        service.answers["/health"] = DOWN if number % 2 else (200, "")
        timer.run()
    words = [text.splitlines()[2].partition(":")[0] for text in bot.texts]
    assert words == ["FAILING", "WORKING AGAIN", "FAILING", "WORKING AGAIN", "UNSTABLE"]
    assert "It has changed 5 times. The next message follows when it has been stable for 1 h." in bot.texts[4]
    service.answers["/health"] = (200, "")
    for _ in range(10):
        timer.run()
    assert len(bot.got) == 6
    assert "WORKING AGAIN: other" in bot.texts[5]
    service.answers["/health"] = DOWN
    timer.run()
    assert "FAILING: other" in bot.texts[6]


@pytest.fixture
def engine() -> Iterator[str]:
    """Run the stand-in of vLLM."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    argv = [
        sys.executable,
        STANDIN,
        "serve",
        "a/b",
        "--served-model-name",
        "chat",
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
    ]
    env = {**os.environ, "STANDIN_LOAD_SECONDS": "0", "VLLM_API_KEY": KEY}
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    for line in process.stdout:
        if "loading" in line:
            break
    threading.Thread(target=process.stdout.read, daemon=True).start()
    url = f"http://127.0.0.1:{port}"
    while True:
        try:
            urllib.request.urlopen(f"{url}/health").close()  # noqa: S310 - http
            break
        except OSError:
            assert process.poll() is None
    yield url
    process.kill()
    process.wait()


def behave(url: str, behaviour: str) -> None:
    """Set how the stand-in answers."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    body = json.dumps({"behaviour": behaviour}).encode()
    request = urllib.request.Request(f"{url}/standin", body, headers)  # noqa: S310 - http
    urllib.request.urlopen(request).close()  # noqa: S310


@pytest.mark.parametrize(
    ("behaviour", "evidence"),
    [
        ("garbage", "one token repeated"),
        ("repeating", "one token repeated"),
        ("null", "null answer"),
        ("empty", "empty answer"),
        ("wrong", "wrong answer"),
        ("unhealthy", "/health: HTTP 503"),
        ("stall", "no answer within"),
    ],
)
def test_a_model_server_that_misbehaves(  # noqa: PLR0913, PLR0917  fixtures
    timer: Timer, bot: Receiver, engine: str, monkeypatch: pytest.MonkeyPatch, behaviour: str, evidence: str
) -> None:
    """One message, silence, and one message when it works again; with its API key, which no message contains."""
    timer.watch("chat", engine, api_key="key")
    assert timer.run() == SILENT
    behave(engine, behaviour)
    with monkeypatch.context() as patched:
        if behaviour == "stall":
            patched.setattr(ask, "LONGEST_S", 5)
        runs = [timer.run() for _ in range(2)]
    assert [ran.code for ran in runs] == [0, 0]
    assert len(bot.got) == 1
    assert evidence in bot.texts[0]
    behave(engine, "ok")
    assert [timer.run(), timer.run()] == [SILENT] * 2
    assert [text.splitlines()[0] for text in bot.texts] == [
        "sparkiac, fleet lab: 1 endpoint fails",
        "sparkiac, fleet lab: 1 endpoint works again",
    ]
    assert KEY not in "".join(bot.texts) + timer.everything() + "".join(ran.err for ran in runs)


def test_nobody_listens_and_the_wrong_key(timer: Timer, bot: Receiver, engine: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    timer.watch("gone", f"http://127.0.0.1:{port}")
    timer.watch("locked", engine)
    timer.run()
    assert "Connection refused" in bot.texts[0]
    assert "HTTP 401" in bot.texts[0]


def test_external_endpoints(timer: Timer, bot: Receiver, service: Service) -> None:
    """200 is good, also after a redirect; everything else and every error is a failure."""
    service.answers |= {"/ok": (200, "x"), "/empty": (204, ""), "/no": (404, "no"), "/hang": 600.0}
    for path in ("ok", "empty", "no"):
        timer.watch_url(path, f"{service.url}/{path}")
    timer.watch_url("nowhere", "http://name.invalid/")
    timer.run()
    failing = [line.partition(": ")[2] for line in bot.texts[0].splitlines() if line.startswith("FAILING")]
    assert failing == ["empty", "no", "nowhere"]
    assert "HTTP 204" in bot.texts[0]
    assert "HTTP 404" in bot.texts[0]


def test_an_endpoint_that_left_the_inventory_is_forgotten(timer: Timer, bot: Receiver, service: Service) -> None:
    timer.watch_url("other", f"{service.url}/health")
    service.answers["/health"] = DOWN
    timer.run()
    del timer.config["endpoints"][0]
    assert timer.run() == SILENT
    assert len(bot.got) == 1
    assert '"other"' not in timer.everything()


def test_a_hundred_endpoints(timer: Timer, bot: Receiver, service: Service) -> None:
    """All in one message, whose text fits into one of Telegram's, and in one run."""
    for number in range(100):
        service.answers[f"/{number}"] = (200, "")
        timer.watch_url(f"e{number}", f"{service.url}/{number}")
    assert timer.run() == SILENT
    service.answers |= {f"/{number}": (500, "x" * 500) for number in range(100)}
    assert timer.run().code == 0
    [text] = bot.texts
    assert text.startswith("sparkiac, fleet lab: 100 endpoints fail\n")
    assert text.endswith("1 of 101 endpoints work. Checked from spark-02 at 2026-11-18 11:36 UTC.")
    assert all(f"FAILING: e{number}\n" in text for number in range(100))
    service.answers |= {f"/{number}": (200, "") for number in range(100)}
    assert timer.run() == SILENT
    assert bot.texts[1].startswith("sparkiac, fleet lab: 100 endpoints work again\n")


def test_a_thousand_endpoints_are_counted() -> None:
    blocks = [f"FAILING: endpoint-{number} on spark-01\n  evidence" for number in range(1000)]
    text = messages.joined("head", blocks, "foot")
    assert len(text) <= messages.LONGEST
    named = text.count("FAILING")
    assert 50 < named < 200
    assert text.splitlines()[-2:] == [f"… and {1000 - named} more", "foot"]


def test_more_hung_endpoints_than_threads_fit_into_the_period(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The time of one check shrinks, so that all endpoints are asked twice within the period."""
    limits = []

    def result(_entry: Any, limit_s: int, *_: object) -> Any:  # noqa: ANN401
        limits.append(limit_s)
        return ask.Result("hung")

    monkeypatch.setattr(ask, "result_of", result)
    monkeypatch.setattr(ask, "PAUSE_S", 0)
    for count in (1, 100, 400):
        limits.clear()
        ask.check([{"name": str(number)} for number in range(count)], 900, tmp_path, {})
        assert len(limits) == 2 * count
        assert 2 * -(-count // ask.PARALLEL) * max(limits) + 15 < 900
        assert min(limits) >= ask.SHORTEST_S


def test_a_check_that_never_ends_does_not_stop_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    never = threading.Event()

    def result(entry: Any, *_: object) -> Any:  # noqa: ANN401
        return ask.Result("" if entry["name"] == "good" else str(never.wait(600)))

    monkeypatch.setattr(ask, "result_of", result)
    monkeypatch.setattr(ask, "SHARE", 0.1)
    found = ask.check([{"name": "good"}, {"name": "bad"}], 20, tmp_path, {})
    never.set()
    assert found == {"good": ask.Result(""), "bad": ask.Result("no answer within the time of this run")}


def waiting(tokens: int, requests: int = 3) -> tuple[int, bytes]:
    """Return metrics of vLLM with a full KV cache."""
    found = {"generation_tokens_total": tokens, "kv_cache_usage_perc": 1.0, "num_requests_running": 2}
    found["num_requests_waiting"] = requests
    return 200, "".join(f"vllm:{name} {value}\n" for name, value in found.items()).encode()


def test_a_queue_that_stands_still_between_two_checks_is_a_failure(
    timer: Timer, bot: Receiver, service: Service
) -> None:
    """The KV cache is full, requests wait, and no token is generated; /health is 200 all the time."""
    timer.watch("qwen36", service.url, metrics="/metrics")
    for tokens in (100, 200):
        service.answers |= {"/metrics": waiting(tokens)}
        assert timer.run() == SILENT
    ran = timer.run()
    assert "2 requests running, 3 waiting, KV cache use 100%, and no token since the last check" in ran.err
    assert "FAILING: qwen36 on spark-01" in bot.texts[0]
    service.answers |= {"/metrics": waiting(201)}
    assert timer.run() == SILENT
    assert "WORKING AGAIN: qwen36 on spark-01" in bot.texts[1]


def test_what_did_not_move_while_nothing_waited_is_no_failure(timer: Timer, bot: Receiver, service: Service) -> None:
    timer.watch("qwen36", service.url, metrics="/metrics")
    for requests in (3, 0, 3):
        service.answers |= {"/metrics": waiting(100, requests)}
        assert timer.run() == SILENT
    assert bot.requests == []


@pytest.mark.parametrize("text", ["", "{", '{"run": 1}', "[]"])
def test_a_damaged_state_is_said_and_replaced(timer: Timer, bot: Receiver, service: Service, text: str) -> None:
    timer.watch_url("other", f"{service.url}/health")
    (timer.folder / "state/state.json").write_text(text)
    ran = timer.run()
    assert ran.code == 0
    assert "state.json cannot be used, failures may be reported again" in ran.err
    assert timer.run() == SILENT
    assert bot.got == []


def test_a_clock_that_goes_back(timer: Timer, bot: Receiver, service: Service) -> None:
    timer.watch_url("other", f"{service.url}/health")
    service.answers["/health"] = DOWN
    timer.run()
    timer.now -= 1e8
    service.answers["/health"] = (200, "")
    timer.run()
    assert "for less than a minute." in bot.texts[1]


def test_evidence_is_one_printable_line_without_secrets(timer: Timer, bot: Receiver, service: Service) -> None:
    """A server may send the key that it was asked with back, or control characters."""
    timer.watch("chat", service.url, api_key="key")
    service.answers["/health"] = (500, f"\x1b[31m{KEY}\n\u202e{'x' * 2000}".encode())
    ran = timer.run()
    shown = "".join(bot.texts) + ran.err + timer.everything()
    assert KEY not in shown
    assert "***" in bot.texts[0]
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert max(len(line) for line in bot.texts[0].splitlines()) < 310


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fleett": "x"}, "this fleet_check does not know fleett: generate and apply again"),
        ({"period_s": "900"}, "this fleet_check expects another type for period_s: generate and apply again"),
    ],
)
def test_another_file_than_was_generated(timer: Timer, change: dict[str, Any], said: str) -> None:
    timer.config |= change
    ran = timer.run()
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"{timer.folder}/fleet.json: {said}\n"


def test_a_missing_configuration_file_is_an_error(timer: Timer, capsys: pytest.CaptureFixture[str]) -> None:
    assert PROGRAM.main(["--config", str(timer.folder / "none.json")]) == 1
    assert "No such file" in capsys.readouterr().err
