"""The watchdog: when an idle, a busy, a hung and a wrong server is asked, and what counts as healthy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sparkiac.host import generation
from sparkiac.host.probe import metrics as probe_metrics
from sparkiac.host.probe import watch as probe_watch
from sparkiac.host.switch import effective

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.host.probed import Ask, Service

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RIGHT = (200, {"choices": [{"message": {"content": "371"}}]})
GARBAGE = (200, {"choices": [{"message": {"content": "!!!!"}, "finish_reason": "length"}]})
ALERT = f"sparkiac-alert: {CHAT}: one token repeated: '!!!!'\n"
TWICE = f"{ALERT[:-1]}, 2 times in a row\n"
"""Said of a ready server, whose port closes."""
ENDED = ", 3 times in a row: the server is ended"
NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template"
)
WITH_METRICS = {"metrics": "/metrics"}


def refusal(message: str) -> tuple[int, object]:
    return 400, {"error": {"message": message, "type": "BadRequestError", "code": 400}}


def count(tokens: float, usage: float = 0, *, running: int = 0, waiting: int = 0) -> tuple[int, bytes]:
    """Return metrics as vLLM has them, with requests to the server itself, which always move."""
    labels = '{engine="0",model_name="chat"}'
    lines = [
        "# TYPE vllm:generation_tokens_total counter",
        f"vllm:generation_tokens_total{labels} {tokens}",
        f"vllm:kv_cache_usage_perc{labels} {usage}",
        f"vllm:num_requests_running{labels} {running}",
        f"vllm:num_requests_waiting{labels} {waiting}",
        f'http_requests_total{{handler="/metrics"}} {os.urandom(4).hex()}',
    ]
    return 200, "\n".join(lines).encode()


class Clock:
    """A clock that a test moves."""

    now = 1_000_000.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(probe: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of the watchdog."""
    assert probe
    found = Clock()
    monkeypatch.setattr(probe_watch, "time", found)
    return found


def answers_asked(service: Service) -> int:
    """Count the requests for an answer since this was asked last."""
    found = service.asked.count(f"POST {CHAT}")
    service.asked.clear()
    return found


def limited(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Limit an answer of the watchdog."""
    monkeypatch.setattr(probe_watch, "ANSWER_TIMEOUT_S", seconds)


def test_an_idle_model_is_asked_every_five_minutes(service: Service, watch: Ask, clock: Clock) -> None:
    service.answers["/metrics"] = count(7)
    asked = []
    for _ in range(40):
        assert watch(service.url, **WITH_METRICS) == (0, "")
        asked.append(answers_asked(service))
        clock.now += 15
    assert [index for index, times in enumerate(asked) if times] == [0, 20]
    assert max(asked) == 1


OTHER_VALUES: dict[str, object] = {"answer_s": 1, "clients": ["tools"], "max_model_len": 7}
"""Key of a promise → another value; for other keys, true."""


@pytest.mark.parametrize("kind", ["chat", "generate", "service"])
@pytest.mark.parametrize("key", effective.READ_AT_START)
def test_what_restarts_no_unit_changes_no_check_of_a_ready_server(
    service: Service, watch: Ask, clock: Clock, key: str, kind: str
) -> None:
    """The container has the former promise until its next start."""
    service.answers[COMPLETIONS] = (200, {"choices": [{"text": "371"}]})
    promised = {"kind": kind, **WITH_METRICS}
    seen = []
    for other in ({}, {}, {key: OTHER_VALUES.get(key, True)}):
        service.answers["/metrics"] = count(7)
        service.asked.clear()
        said = watch(service.url, **promised, **other)
        seen.append((said, list(service.asked)))
        clock.now += 300
    assert seen[2] == seen[1]
    assert seen[1][1]


@pytest.mark.parametrize("moving", ["tokens", "usage"])
def test_a_model_that_works_is_not_asked(service: Service, watch: Ask, clock: Clock, moving: str) -> None:
    """Tokens come, or a long prompt fills the cache."""
    assert watch(service.url, **WITH_METRICS) == (0, "")
    assert answers_asked(service) == 1
    for step in range(60):
        service.answers["/metrics"] = count(**{"tokens": 9, moving: step + 10}, running=1)
        clock.now += 15
        assert watch(service.url, **WITH_METRICS) == (0, "")
    assert answers_asked(service) == 0
    service.answers["/metrics"] = count(**{"tokens": 9, moving: 69})
    clock.now += 15
    assert watch(service.url, **WITH_METRICS) == (0, "")
    assert answers_asked(service) == 1


def test_a_hung_idle_engine_is_found_by_one_request(
    service: Service, watch: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second request would only occupy the engine: the token counters tell that it still hangs."""
    service.answers["/metrics"] = count(7)
    assert watch(service.url, **WITH_METRICS) == (0, "")
    service.answers[CHAT] = 600.0
    limited(monkeypatch, 1)
    clock.now += 300
    answers_asked(service)
    assert watch(service.url, **WITH_METRICS) == (1, f"{CHAT}: no answer within 1 s\n")
    for _ in range(3):
        clock.now += 15
        code, said = watch(service.url, **WITH_METRICS)
        assert (code, said) == (1, "no answer within 60 s, and the token counters have not moved since\n")
    assert answers_asked(service) == 1
    service.answers |= {CHAT: RIGHT, "/metrics": count(8)}
    assert watch(service.url, **WITH_METRICS) == (0, "")


def test_a_hang_without_metrics_is_found_by_requests(
    service: Service, watch: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert watch(service.url) == (0, "")
    service.answers[CHAT] = 600.0
    limited(monkeypatch, 1)
    clock.now += 15
    assert watch(service.url) == (0, "")
    clock.now += 300
    answers_asked(service)
    for _ in range(4):
        assert watch(service.url) == (1, f"{CHAT}: no answer within 1 s\n")
        assert answers_asked(service) == 1
        clock.now += 15


def test_a_hang_of_running_requests_is_found_without_another_one(service: Service, watch: Ask, clock: Clock) -> None:
    service.answers["/metrics"] = count(7)
    assert watch(service.url, **WITH_METRICS) == (0, "")
    answers_asked(service)
    service.answers["/metrics"] = count(9, running=1)
    found = []
    for _ in range(8):
        clock.now += 15
        found.append(watch(service.url, **WITH_METRICS)[0])
    assert found == [0] * 5 + [1] * 3, "the last token came at the first check, and 60 s are no hang yet"
    assert answers_asked(service) == 0
    service.answers["/metrics"] = count(10, running=1)
    assert watch(service.url, **WITH_METRICS) == (0, "")


def test_nothing_is_asked_while_requests_wait(service: Service, watch: Ask, clock: Clock) -> None:
    service.answers["/metrics"] = count(7)
    assert watch(service.url, **WITH_METRICS) == (0, "")
    answers_asked(service)
    for step in range(60):
        service.answers["/metrics"] = count(8 + step // 2, running=4, waiting=3)
        clock.now += 15
        assert watch(service.url, **WITH_METRICS) == (0, "")
    assert answers_asked(service) == 0


def test_a_full_queue_at_the_start(service: Service, watch: Ask, clock: Clock) -> None:
    """Tokens make a server ready whose queue does not become empty; the answer is requested as soon as it is."""
    service.answers["/metrics"] = count(0, 1, running=1, waiting=3)
    code, said = watch(service.url, **WITH_METRICS)
    assert (code, said) == (1, "no answer yet: 1 requests running, 3 waiting, KV cache use 100%\n")
    clock.now += 15
    assert watch(service.url, **WITH_METRICS)[0] == 1, "no token came"
    service.answers["/metrics"] = count(5, 1, running=1, waiting=3)
    assert watch(service.url, **WITH_METRICS) == (0, "")
    assert answers_asked(service) == 0
    service.answers |= {"/metrics": count(9), CHAT: GARBAGE}
    assert watch(service.url, **WITH_METRICS) == (0, TWICE)


def test_garbage_is_an_alert_and_restarts_after_an_hour(service: Service, watch: Ask, clock: Clock) -> None:
    assert watch(service.url) == (0, "")
    service.answers[CHAT] = GARBAGE
    clock.now += 300
    answers_asked(service)
    for _ in range(8):
        assert watch(service.url) == (0, TWICE)
        clock.now += 15
    assert answers_asked(service) == 4, "twice in a minute"
    clock.now += 3600
    for _ in range(4):
        assert watch(service.url) == (1, TWICE)
        clock.now += 15
    service.answers[CHAT] = RIGHT
    assert watch(service.url) == (0, "")


def test_three_wrong_answers_at_the_start_end_the_server(service: Service, watch: Ask, tmp_path: Path) -> None:
    wrong = iter(["forty-two", "42", "!!!!"])  # other bytes each time
    service.answers[CHAT] = lambda _: (200, {"choices": [{"message": {"content": next(wrong)}}]})
    said = f"{CHAT}: wrong answer: 'forty-two' instead of 371{ENDED}"
    assert watch(service.url) == (1, f"sparkiac-alert: {said}\n")
    assert answers_asked(service) == 3
    assert (tmp_path / "ended").exists()
    assert (tmp_path / "log").read_text() == f"ERROR [sparkiac] {said}\n"


def test_one_odd_answer_at_the_start_does_not_end_it(service: Service, watch: Ask, tmp_path: Path) -> None:
    answers = iter([GARBAGE, GARBAGE, RIGHT, RIGHT])
    service.answers[CHAT] = lambda _: next(answers)
    assert watch(service.url) == (1, ALERT)
    assert watch(service.url) == (0, "")
    assert not (tmp_path / "ended").exists()


def test_one_odd_answer_of_a_ready_server_closes_nothing(service: Service, watch: Ask, clock: Clock) -> None:
    assert watch(service.url) == (0, "")
    answers = iter([GARBAGE, RIGHT, GARBAGE, GARBAGE, RIGHT])
    service.answers[CHAT] = lambda _: next(answers)
    for said in (ALERT, TWICE, ""):
        clock.now += 300
        assert watch(service.url) == (0, said)


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that the version has passed its gate on this host before."""
    monkeypatch.setenv(generation.PASSED, "1")


@pytest.mark.usefixtures("passed")
def test_a_version_that_has_passed_is_ready_when_its_health_answers(
    service: Service, watch: Ask, clock: Clock, tmp_path: Path
) -> None:
    """As often as its answers are wrong, it is not ended; it passes its gate as soon as they are right."""
    service.answers |= {CHAT: GARBAGE, "/health": (503, "")}
    assert watch(service.url, clients=["tools"])[0] == 1
    service.answers["/health"] = (200, "")
    assert watch(service.url, clients=["tools"]) == (0, "")
    assert answers_asked(service) == 0
    for _ in range(8):
        clock.now += 15
        assert watch(service.url, clients=["tools"])[0] == 0
    assert not (tmp_path / "ended").exists()
    assert watch(service.url, clients=["tools"]) == (0, TWICE)
    service.answers[CHAT] = lambda body: refusal("no tools") if "tools" in body else RIGHT
    code, said = watch(service.url, clients=["tools"])
    assert (code, "a request with tools is rejected" in said) == (0, True), "the gate asks for them too"
    service.answers[CHAT] = RIGHT
    assert watch(service.url, clients=["tools"]) == (0, "")


@pytest.mark.usefixtures("passed")
def test_a_hang_fails_the_check_of_a_version_that_has_passed_too(
    service: Service, watch: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_watch, "FIRST_ANSWERS_S", 1)
    service.answers[CHAT] = 600.0
    assert watch(service.url) == (0, "")
    assert watch(service.url) == (1, f"{CHAT}: no answer within 1 s\n")


def test_a_hang_after_a_wrong_answer_does_not_end_it(
    service: Service, watch: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_watch, "FIRST_ANSWERS_S", 3)
    seconds = iter([0.0, 600.0])
    service.answers[CHAT] = lambda _: service.hang.wait(next(seconds)) or GARBAGE
    assert watch(service.url)[0] == 1
    assert not (tmp_path / "ended").exists()


def test_tokens_do_not_hide_an_alert(service: Service, watch: Ask, clock: Clock) -> None:
    assert watch(service.url, **WITH_METRICS) == (0, "")
    service.answers[CHAT] = GARBAGE
    clock.now += 300
    for step in range(5):
        assert watch(service.url, **WITH_METRICS) == (0, TWICE)
        service.answers["/metrics"] = count(step)
        clock.now += 15


@pytest.mark.parametrize("text", ["", "[1]", "null", '{"answered": 1'])
def test_a_damaged_state_is_no_state(service: Service, watch: Ask, tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    assert watch(service.url) == (0, "")
    assert answers_asked(service) == 1


def test_a_request_with_tools_must_be_taken(service: Service, watch: Ask, tmp_path: Path) -> None:
    message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    service.answers[CHAT] = lambda body: refusal(message) if "tools" in body else RIGHT
    code, said = watch(service.url, clients=["tools"])
    assert code == 1
    assert said.startswith(f"sparkiac-alert: a request with tools is rejected: {CHAT}: HTTP 400 ")
    assert watch(service.url) == (0, "")
    (tmp_path / "state").unlink()
    service.answers[CHAT] = RIGHT
    assert watch(service.url, clients=["tools"]) == (0, "")


@pytest.mark.parametrize("message", [NO_TEMPLATE, "tokenizer.chat_template is not set and no template was passed"])
def test_a_base_model_continues_a_text(service: Service, watch: Ask, message: str) -> None:
    """No answer is known: it may say what it likes, but no garbage."""
    service.answers[CHAT] = refusal(message)
    for text, fault in (
        (None, "null answer"),
        ("", "empty answer"),
        ("!!!!", "one token repeated: '!!!!'"),
    ):
        service.answers[COMPLETIONS] = (200, {"choices": [{"text": text}]})
        assert watch(service.url, kind="generate") == (1, f"sparkiac-alert: {COMPLETIONS}: {fault}{ENDED}\n")
    service.answers[COMPLETIONS] = (200, {"choices": [{"text": " six, seven, eight"}]})
    assert watch(service.url, kind="chat")[0] == 1, "a chat is promised"
    assert watch(service.url, kind="generate", clients=["tools"])[0] == 1
    assert watch(service.url, kind="generate") == (0, "")


@pytest.mark.parametrize(
    "answer", [refusal("The model does not support Chat Completions API"), (404, {"detail": "Not Found"})]
)
def test_an_embedding_model_gets_no_text_request(service: Service, watch: Ask, answer: tuple[int, object]) -> None:
    service.answers[CHAT] = answer
    assert watch(service.url, kind="generate", clients=["tools"])[0] == 1
    service.answers["/v1/embeddings"] = (200, {"data": [{"embedding": [1.0, 1.0]}, {"embedding": [1.0, 1.0]}]})
    code, said = watch(service.url, kind="generate")
    assert (code, said) == (1, f"sparkiac-alert: /v1/embeddings: all values of a vector are equal{ENDED}\n")
    service.answers["/v1/embeddings"] = (200, {"data": [{"embedding": [0.1, 0.2]}, {"embedding": [0.2, 0.1]}]})
    assert watch(service.url, kind="generate") == (0, "")


@pytest.mark.parametrize("answer", [(404, {"error": {"message": "The model `chat` does not exist."}}), refusal("no")])
def test_another_refusal_is_a_failure(service: Service, watch: Ask, answer: tuple[int, object]) -> None:
    service.answers[CHAT] = answer
    code, said = watch(service.url, kind="generate")
    assert (code, f"{CHAT}: HTTP 40" in said) == (1, True)


LISTEN, TO_LEADER = "0100007F:733D", "02B1A8C0:733D"
OTHER = "0BB1A8C0:D431"


def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *lines: tuple[str, str, str]) -> None:
    """Write connections of a host as the kernel lists them: local end, remote end, state."""
    text = "".join(f"   0: {local} {remote} {state} 0 0 0 0 0 0\n" for local, remote, state in lines)
    (tmp_path / "tcp").write_text(f"  sl  local_address rem_address   st\n{text}")
    module = probe_metrics
    monkeypatch.setattr(module, "TABLES", (tmp_path / "tcp", tmp_path / "tcp6"))


def test_a_worker_needs_its_connection_to_the_store(
    watch: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = {"kind": "worker", "store": "192.168.177.2:29501", "workers": 1, "health": None, "models": []}
    tables(tmp_path, monkeypatch, (OTHER, TO_LEADER, "01"))
    assert watch(None, **worker) == (0, "")
    for line in ((OTHER, TO_LEADER, "08"), (OTHER, "02B1A8C0:1F41", "01"), (TO_LEADER, OTHER, "01")):
        tables(tmp_path, monkeypatch, line)
        assert watch(None, **worker) == (1, "no connection to the leader's store at 192.168.177.2:29501\n")


def test_the_store_may_be_at_a_name(watch: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = {"kind": "worker", "store": "localhost:29501", "workers": 1, "health": None, "models": []}
    tables(tmp_path, monkeypatch, (OTHER, LISTEN, "01"))
    assert watch(None, **worker) == (0, "")
    tables(tmp_path, monkeypatch, (OTHER, TO_LEADER, "01"))
    assert watch(None, **worker) == (1, "no connection to the leader's store at localhost:29501\n")
    code, message = watch(None, **worker | {"store": "leader.invalid:29501"})
    assert (code, message.startswith("leader.invalid, the leader of the group: ")) == (1, True)


def test_a_leader_sees_a_dead_worker_while_health_is_200(
    service: Service, watch: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = {"store": "192.168.177.2:29501", "workers": 1}
    own = (TO_LEADER, "02B1A8C0:D431", "01")
    tables(tmp_path, monkeypatch, own, (TO_LEADER, OTHER, "01"))
    assert watch(service.url, **leader) == (0, "")
    tables(tmp_path, monkeypatch, own, (TO_LEADER, OTHER, "06"))
    code, said = watch(service.url, **leader)
    assert (code, said) == (1, "0 of 1 workers are connected to the store at 192.168.177.2:29501\n")
    assert "GET /health" in service.asked


def test_addresses_of_both_families(probe: ModuleType) -> None:
    assert probe
    end_of = probe_metrics.end_of
    assert end_of("0100007F:733D") == ("127.0.0.1", 29501)
    assert end_of("0000000000000000FFFF000002B1A8C0:733D") == ("192.168.177.2", 29501)
    assert end_of("B80D0120000000000000000001000000:0050") == ("2001:db8::1", 80)
