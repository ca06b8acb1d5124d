"""What clients see of a real HAProxy between them and three stand-ins for model servers."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.gateway.certificate import pem
from tests.gateway.standins import FLEET, KEYS, Answer, Gateway, StandIn, bearer, chat, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1 << 20


class Site:
    """The gateway and its servers."""

    def __init__(self, root: Path) -> None:
        """Start the servers."""
        self.one, self.two, self.spare = StandIn(), StandIn(), StandIn()
        servers = {"one": self.one.port, "two": self.two.port, "spare": self.spare.port}
        self.gateway = Gateway(root, servers)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Return a running gateway with three servers."""
    found = Site(tmp_path)
    with found.gateway.running():
        yield found


@pytest.fixture
def gateway(site: Site) -> Gateway:
    """Return a running gateway."""
    return site.gateway


def test_haproxy_accepts_the_configuration(tmp_path: Path) -> None:
    code, said = Gateway(tmp_path, dict.fromkeys(("one", "two", "spare"), 9)).check()
    assert (code, "WARNING" in said) == (0, False), said


def test_the_model_is_found_at_the_end_of_a_body_of_8_mib(site: Site) -> None:
    body = chat("both", "x" * (8 * MIB - len(chat("both", ""))))
    assert len(body) == 8 * MIB
    assert site.gateway.ask("POST", "/v1/chat/completions", body, bearer()).status == 200
    [asked] = site.one.asked + site.two.asked
    assert asked.body == body


def test_a_larger_body_is_refused_with_a_reason(gateway: Gateway) -> None:
    large = chat("both", "x" * 12_000_000)
    for body in (large, iter([large])):  # with its length, and in chunks
        found = gateway.ask("POST", "/v1/chat/completions", body, bearer())
        assert (found.status, found.error["message"]) == (413, "the body is larger than 8 MiB")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (chat("unknown"), 404, "not_found_error"),
        (b'{"messages": []}', 400, "invalid_request_error"),
        (b"no JSON", 400, "invalid_request_error"),
    ],
)
def test_a_request_without_a_known_model_is_refused(gateway: Gateway, body: bytes, status: int, code: str) -> None:
    found = gateway.ask("POST", "/v1/chat/completions", body, bearer())
    assert (found.status, found.error["code"], found.error["type"]) == (status, code, code)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"x-api-key": KEYS["team_key"]}])
def test_a_wrong_key_or_none_is_refused(site: Site, headers: dict[str, str]) -> None:
    found = site.gateway.ask("POST", "/v1/chat/completions", chat("both"), headers)
    assert (found.status, found.error["code"]) == (401, "authentication_error")
    assert site.one.asked + site.two.asked == []


@pytest.mark.parametrize("header", ["Authorization", "x-api-key"])
def test_a_server_gets_its_own_key_and_never_that_of_the_client(site: Site, header: str) -> None:
    key = KEYS["laptop_key"]
    value = f"Bearer {key}" if header == "Authorization" else key
    assert site.gateway.ask("POST", "/v1/messages", chat("both"), {header: value}).status == 200
    [asked] = site.one.asked + site.two.asked
    assert asked.headers["authorization"] == f"Bearer {KEYS['team_key']}"
    assert key not in str(asked.headers)


def test_models_are_the_routes(gateway: Gateway) -> None:
    found = gateway.ask("GET", "/v1/models", None, bearer())
    assert [each["id"] for each in json.loads(found.body)["data"]] == ["both", "safe", "narrow"]
    assert gateway.ask("GET", "/v1/models").status == 401


def test_other_paths_are_not_passed_on(site: Site) -> None:
    for path in ("/tokenize", "/v1/load_lora_adapter", "/v1/chat/completions/x", "/metrics"):
        assert site.gateway.ask("POST", path, chat("both"), bearer()).status == 404
    assert site.one.asked + site.two.asked == []


def test_a_client_has_a_limit_of_requests_in_a_minute(gateway: Gateway) -> None:
    found = [gateway.chat(key=KEYS["laptop_key"]) for _ in range(6)]
    assert [each.status for each in found] == [200] * 5 + [429]
    assert (found[-1].headers["retry-after"], found[-1].error["code"]) == ("5", "rate_limit_error")
    assert gateway.chat().status == 200


def in_background(gateway: Gateway, count: int, model: str, key: str) -> tuple[list[Answer], list[threading.Thread]]:
    """Send requests at the same time; the list is filled when they are answered."""
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda: answers.append(gateway.chat(model, key)), daemon=True) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    return answers, threads


def test_a_client_has_a_limit_of_requests_at_once(site: Site) -> None:
    site.one.hold.clear()
    answers, threads = in_background(site.gateway, 2, "safe", KEYS["laptop_key"])
    until(lambda: len(site.one.asked) == 2)
    refused = site.gateway.chat("safe", KEYS["laptop_key"])
    assert (refused.status, refused.error["message"]) == (429, "more than 2 requests at once")
    site.one.hold.set()
    for thread in threads:
        thread.join()
    assert [each.status for each in answers] == [200, 200]


def test_429_comes_before_the_queue_grows(site: Site) -> None:
    site.one.hold.clear()
    answers, threads = in_background(site.gateway, 2, "narrow", KEYS["gate_key"])  # one runs, one waits
    until(lambda: site.gateway.measured('haproxy_server_current_queue{proxy="route:narrow"') == [1])
    assert site.gateway.chat("narrow").status == 429
    assert len(site.one.asked) == 1
    site.one.hold.set()
    for thread in threads:
        thread.join()
    assert [each.status for each in answers] == [200, 200]


def test_a_server_that_dies_in_a_stream_is_not_asked_again(site: Site) -> None:
    for server in (site.one, site.two):
        server.events, server.dies = [b"data: 1\n\n"], True
    with closing(site.gateway.connection()) as to:
        to.request("POST", "/v1/chat/completions", chat("both"), bearer())
        found = to.getresponse()
        assert found.status == 200
        with pytest.raises(http.client.IncompleteRead):
            found.read()
    assert len(site.one.asked) + len(site.two.asked) == 1


def test_a_server_that_answers_garbage_is_a_502_in_json(site: Site) -> None:
    site.one.garbage = True
    found = site.gateway.chat("narrow")
    assert (found.status, found.error["code"], len(site.one.asked)) == (502, "api_error", 1)


def test_nothing_fails_while_a_server_drains(site: Site) -> None:
    site.one.hold.clear()
    answers, threads = in_background(site.gateway, 1, "safe", KEYS["gate_key"])
    until(lambda: site.one.asked)
    site.one.refuse()
    found = [site.gateway.chat("both", **{"x-session-id": str(number)}) for number in range(40)]
    assert {(each.status, each.headers["x-sparkiac-deployment"]) for each in found} == {(200, "two")}
    site.one.hold.set()
    threads[0].join()
    assert [(each.status, each.headers["x-sparkiac-deployment"]) for each in answers] == [(200, "one")]


def test_the_fallback_says_who_it_is(site: Site) -> None:
    assert site.gateway.chat("safe").headers["x-sparkiac-deployment"] == "one"
    site.one.refuse()
    until(lambda: site.gateway.chat("safe").headers.get("x-sparkiac-deployment") == "spare")
    site.spare.refuse()
    until(lambda: site.gateway.chat("safe").status == 503)
    found = site.gateway.chat("safe")
    assert (found.headers["retry-after"], found.error["code"]) == ("5", "overloaded_error")


def test_a_session_stays_with_one_server(site: Site) -> None:
    for session in range(12):
        headers = {"x-session-id": f"session {session}"}
        found = set()
        for _ in range(3):
            found.add(site.gateway.chat(**headers).headers["x-sparkiac-deployment"])
            until(lambda: site.gateway.measured('haproxy_backend_current_sessions{proxy="route:both"}') == [0])
        assert len(found) == 1
    assert site.one.asked
    assert site.two.asked


TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}
TURNS = {
    "/v1/chat/completions": (
        {
            "messages": [{"role": "user", "content": "Weather?"}],
            "tools": [{"type": "function", "function": {"name": "w"}}],
        },
        {"messages": [{"role": "tool", "tool_call_id": "c1", "content": "rain"}], "model": "both", "stream": True},
    ),
    "/v1/responses": (
        {"input": "Weather?", "tools": [{"type": "function", "name": "w", "parameters": TOOL}]},
        {
            "input": [{"type": "function_call_output", "call_id": "c1", "output": "rain"}],
            "model": "both",
            "stream": True,
        },
    ),
    "/v1/messages": (
        {"messages": [{"role": "user", "content": "Weather?"}], "tools": [{"name": "w", "input_schema": TOOL}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]}], "stream": True},
    ),
}


@pytest.mark.parametrize("path", TURNS)
def test_the_two_turns_of_a_tool_call_pass_unchanged(site: Site, path: str) -> None:
    for turn in TURNS[path]:
        body = json.dumps({**turn, "model": "both"}, indent=1).encode()
        for server in (site.one, site.two):
            server.events = [b"event: a\ndata: {}\n\n", b"data: [DONE]\n\n"] if "stream" in turn else []
        found = site.gateway.ask("POST", path, body, bearer())
        assert found.body == (b"".join(site.one.events) or site.one.answer)
        [asked] = site.one.asked + site.two.asked
        assert (asked.path, asked.body) == (path, body)
        site.one.asked.clear()
        site.two.asked.clear()


def test_a_stream_is_passed_on_part_by_part(site: Site) -> None:
    site.one.events = [b"data: 1\n\n", b"data: 2\n\n"]
    site.one.hold.clear()
    with closing(site.gateway.connection()) as to:
        to.request("POST", "/v1/messages", chat("narrow"), bearer())
        found = to.getresponse()
        assert found.read(9) == b"data: 1\n\n"
        site.one.hold.set()
        assert found.read() == b"data: 2\n\n"


def opens(gateway: Gateway, key: str) -> bool:
    """Return whether a key is valid."""
    return gateway.ask("GET", "/v1/models", None, bearer(key)).status == 200


def test_a_changed_key_needs_a_reload_and_no_running_request_ends(site: Site) -> None:
    gateway = site.gateway
    site.one.events = [b"data: 1\n\n", b"data: 2\n\n"]
    site.one.hold.clear()
    with closing(gateway.connection()) as to:
        to.request("POST", "/v1/messages", chat("narrow"), bearer())
        running = to.getresponse()
        gateway.secret("gate_key", "the new key")
        gateway.secret("gate_key.previous", KEYS["gate_key"])
        gateway.write_keys()
        gateway.reload(lambda: opens(gateway, "the new key"))
        assert opens(gateway, KEYS["gate_key"])
        site.one.hold.set()
        assert running.read() == b"data: 1\n\ndata: 2\n\n"
    gateway.host.path("/etc/sparkiac/secrets/gate_key.previous").unlink()
    gateway.write_keys()
    gateway.reload(lambda: not opens(gateway, KEYS["gate_key"]))
    assert opens(gateway, "the new key")


def test_no_request_fails_while_the_key_of_the_servers_changes(site: Site) -> None:
    gateway, key = site.gateway, "the new key of the servers"
    site.one.key = site.two.key = KEYS["team_key"]
    gateway.secret("team_key", key)
    gateway.secret("gate_key.previous", "shows that it has reloaded")
    gateway.write_keys()
    with steadily(gateway) as answers:
        gateway.reload(lambda: opens(gateway, "shows that it has reloaded"))
        until(partial(is_ready, gateway, (0, 2)))
        for server, stopped, started in ((site.one, (0, 1), (1, 1)), (site.two, (1, 0), (2, 0))):
            server.refuse()
            until(partial(is_ready, gateway, stopped))
            server.key = key
            server.listen()
            until(partial(is_ready, gateway, started))
        before = len(answers)
        until(lambda: len(answers) > before + 40)
    assert {each.status for each in answers} == {200}
    assert {each.headers["x-sparkiac-deployment"] for each in answers[before:]} == {"one", "two"}


def is_ready(gateway: Gateway, wanted: tuple[int, int]) -> bool:
    """Return whether so many servers of a route accept the new key, and so many are thought to have the former one."""
    proxies = ("route:both", "route:both:former")
    found = (gateway.measured(f'haproxy_backend_active_servers{{proxy="{each}"}}') for each in proxies)
    return [*found] == [[number] for number in wanted]


@contextmanager
def steadily(gateway: Gateway) -> Iterator[list[Answer]]:
    """Send requests of changing sessions one after the other; the list has their answers."""
    answers: list[Answer] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            answers.append(gateway.chat("both", **{"x-session-id": str(len(answers))}))
            ended.wait(0.02)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    yield answers
    ended.set()
    asking.join()


def test_the_log_has_neither_prompts_nor_keys(site: Site) -> None:
    gateway = site.gateway
    assert gateway.chat("both", KEYS["laptop_key"]).status == 200
    gateway.ask("POST", "/v1/a-secret-path", chat("a-secret-model"), bearer("a-secret-key"))
    gateway.ask("POST", "/v1/chat/completions", chat("a-secret-model"), bearer())
    until(lambda: gateway.log.read_text().count('"status"') >= 4)
    lines = [json.loads(line) for line in gateway.log.read_text().splitlines() if line.startswith('{"client"')]
    [found] = [line for line in lines if line["client"] == "laptop"]
    assert found["model"] == "both"
    assert found["deployment"] in {"one", "two"}
    assert found["path"] == "/v1/chat/completions"
    text = gateway.log.read_text()
    assert not [each for each in (*KEYS.values(), "a prompt", "a-secret") if each in text]


def test_metrics_are_on_their_own_port(site: Site) -> None:
    assert site.gateway.chat().status == 200
    until(lambda: site.gateway.measured('haproxy_backend_http_requests_total{proxy="route:both"}') == [1])


def test_the_gateways_own_key_alone_opens_its_metrics(site: Site) -> None:
    site.one.refuse()
    site.two.refuse()
    down = b'haproxy_backend_status{proxy="route:both",state="UP"} 0'
    until(lambda: down in site.gateway.ask("GET", "/metrics", None, bearer()).body.splitlines())
    found = site.gateway.ask("GET", "/metrics", None, bearer()).body.splitlines()
    assert b'haproxy_server_status{proxy="route:both",server="one",state="DOWN"} 1' in found
    for path in ("/metrics", "/metrics/clients"):
        assert site.gateway.ask("GET", path, None, bearer()).status == 200
        assert site.gateway.ask("GET", path, None, bearer(KEYS["laptop_key"])).status == 404
        assert site.gateway.ask("GET", path).status == 401


USAGE = b'"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":3}}}'
OTHER_USAGE = b'"usage":{"input_tokens":11,"output_tokens":7,"cache_read_input_tokens":3}}'
FORGED = b'{"text":"\\"usage\\":{\\"prompt_tokens\\":999}",'
FILLER = b'"x":"' + b"x" * 100_000 + b'",'


def counted(gateway: Gateway, kind: str) -> list[float]:
    """Return the tokens of a kind that are counted for the default client."""
    series = f'sparkiac_gateway_tokens_total{{client="default",model="narrow",kind="{kind}"}}'
    return gateway.measured(series, "/metrics/clients")


@pytest.mark.parametrize("usage", [USAGE, OTHER_USAGE], ids=["openai", "anthropic"])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_tokens_of_a_client_are_counted_by_model(site: Site, usage: bytes, *, streamed: bool) -> None:
    site.one.answer = FORGED + FILLER + usage
    if streamed:  # `usage` arrives in two parts, and the text before it is a model's
        site.one.events = [b"data: " + FORGED + b"}\n\n", b"data: {" + usage[:30], usage[30:] + b"\n\ndata: [DONE]\n\n"]
    for _ in range(2):
        assert site.gateway.chat("narrow").status == 200
    until(lambda: counted(site.gateway, "prompt") == [22])
    assert (counted(site.gateway, "completion"), counted(site.gateway, "cached")) == ([14], [6])


def test_an_answer_without_usage_has_no_tokens(site: Site) -> None:
    site.one.answer = FORGED + b'"usage":null}'
    assert site.gateway.chat("narrow").status == 200
    until(lambda: requests(site.gateway, "narrow", "200") == [1])
    assert counted(site.gateway, "prompt") == []


def requests(gateway: Gateway, model: str, status: str, client: str = "default") -> list[float]:
    """Return the number of requests of a client that had a status."""
    labels = f'client="{client}",model="{model}",status="{status}"'
    return gateway.measured(f"sparkiac_gateway_requests_total{{{labels}}}", "/metrics/clients")


def test_requests_are_counted_by_client_model_and_status(site: Site) -> None:
    gateway = site.gateway
    for _ in range(6):
        gateway.chat(key=KEYS["laptop_key"])
    gateway.chat("unknown")
    site.one.garbage = True
    gateway.chat("narrow")
    until(lambda: requests(gateway, "narrow", "502") == [1])
    assert requests(gateway, "both", "200", "laptop") == [5]
    assert requests(gateway, "", "429", "laptop") == [1]
    assert requests(gateway, "", "404") == [1]
    assert len(gateway.measured("sparkiac_gateway_requests_total", "/metrics/clients")) == 4


def test_a_request_that_its_client_gives_up_ends_at_the_server_and_is_counted(site: Site) -> None:
    site.one.hold.clear()
    with closing(site.gateway.connection()) as to:
        to.request("POST", "/v1/chat/completions", chat("narrow"), bearer())
        until(lambda: site.one.asked)
    until(lambda: requests(site.gateway, "narrow", "400") == [1])
    site.one.events = [b"data: 1\n\n", b"data: 2\n\n"]
    with closing(site.gateway.connection()) as to:
        to.request("POST", "/v1/chat/completions", chat("safe"), bearer())
        assert to.getresponse().read(9) == b"data: 1\n\n"
    until(lambda: requests(site.gateway, "safe", "200") == [1])
    assert len(site.gateway.measured("sparkiac_gateway_requests_total", "/metrics/clients")) == 2


def test_an_encrypted_gateway_is_accepted(tmp_path: Path) -> None:
    text = FLEET.replace(
        "    api_key: {secret: gate_key}\n", "    api_key: {secret: gate_key}\n    tls: /etc/ssl/gateway.pem\n"
    )
    (tmp_path / "etc/ssl").mkdir(parents=True)
    (tmp_path / "etc/ssl/gateway.pem").write_text(pem())
    code, said = Gateway(tmp_path, dict.fromkeys(("one", "two", "spare"), 9), text).check()
    assert code == 0, said
