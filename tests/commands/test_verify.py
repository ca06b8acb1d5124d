"""`sparkiac verify` with a stand-in for ssh, which runs the commands for hosts on this machine, and a small server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.upstream import programs
from tests.host.conftest import SCRIPTS
from tests.host.probed import Service
from tests.plan.fleets import LOCK, deployment
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

KEY: Final = "canary-of-a-key"
SSH: Final = """\
#!/bin/sh
# Stand-in for ssh: runs a command as the host would, with the host's files below $STUB.
[ "$1 $2 $3 $4 $5" = "-o BatchMode=yes -o ConnectTimeout=10 --" ] || { echo "unexpected: $*" >&2; exit 64; }
echo "$6 $7" >>"$STUB/asked"
[ -e "$STUB/down" ] && { echo "ssh: connect to host: No route to host" >&2; exit 255; }
[ -e "$STUB/quiet" ] && { echo "Welcome!"; exit 1; }
places="s,/etc/sparkiac/,$STUB/,g; s,/usr/local/lib/sparkiac/,$PROGRAMS/,g"
exec sh -c "$(printf %s "$7" | sed "$places; s,check --all,& --secrets $STUB/secrets,")"
"""
DOCKER: Final = """\
#!/bin/sh
# Stand-in for docker: runs a command in a container, that is, here. The deployment is at another URL for it.
[ "$1 $2" = "exec --interactive" ] || exit 64
[ -e "$STUB/no-python" ] && { echo "exec: python3: executable file not found" >&2; exit 127; }
echo "$3" >>"$STUB/containers"
shift 3
sed "s,http://chat:8000,$SERVER," | "$@"
"""


@pytest.fixture
def server() -> Iterator[Service]:
    """Run a server that requires the key."""
    with serving(Service()) as found:
        found.authorization = f"Bearer {KEY}"
        found.answers["/v1/models"] = (200, {"data": [{"id": "example/model", "max_model_len": 65536}]})
        yield found


@pytest.fixture
def stub(
    folder: Path, server: Service, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Run the test in a folder with an inventory whose one deployment is the test server."""
    found = tmp_path_factory.mktemp("stub")
    for name, text in (("ssh", SSH), ("docker", DOCKER), ("sudo", '#!/bin/sh\nshift\nexec "$@"\n')):
        (found / "bin").mkdir(exist_ok=True)
        (found / "bin" / name).write_text(text)
        (found / "bin" / name).chmod(0o755)
    (found / "secrets").mkdir()
    (found / "secrets/team_key").write_text(f"{KEY}\n")
    monkeypatch.setenv("PATH", f"{found / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("STUB", str(found))
    monkeypatch.setenv("PROGRAMS", str(SCRIPTS))
    monkeypatch.setenv("SERVER", server.url)
    monkeypatch.setenv("COLUMNS", "140")
    text = deployment("api_key: {secret: team_key}", "bind: any").replace("8001", str(server.server_port))
    image = f"image: example.org/webui@sha256:{'1' * 64}"
    text += f"services:\n  front: {{kind: open-webui, {image}, hosts: spark-01, port: 3000, uses: [chat]}}\n"
    (folder / "lab.yaml").write_text(text.replace("192.168.1.11", "127.0.0.1"))
    (folder / "lab.lock.yaml").write_text(LOCK)
    return found


def reply(body: dict[str, Any]) -> tuple[int, object]:
    """Answer as a good server."""
    if body.get("stream"):
        parts: list[object] = [{"choices": [{"delta": {"content": "371"}, "finish_reason": "stop"}]}]
        parts.append({"choices": [], "usage": {"completion_tokens": 2}})
        return 200, "".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode() + b"data: [DONE]\n\n"
    content = '{"number": 371}' if "response_format" in body else body["messages"][0]["content"][-3:]
    return 200, {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


def states(outcome: Outcome) -> dict[str, str]:
    """Return step → state of the only unit."""
    [unit] = json.loads(outcome.out)["units"]
    assert KEY not in outcome.text
    return {step["name"]: step["state"] for step in unit["steps"]}


@pytest.fixture
def good(server: Service) -> Service:
    """Let the server keep its promises."""
    server.answers["/v1/chat/completions"] = reply
    return server


@pytest.mark.parametrize("origin", ["host", "controller", "front"])
def test_a_server_that_keeps_its_promises(good: Service, stub: Path, cli: Cli, origin: str) -> None:
    outcome = cli("verify", "lab.yaml", "chat", "--from", origin, "--format", "json")
    assert outcome.code == 0, outcome.text
    found = states(outcome)
    assert [name for name, state in found.items() if state == "ok"] == [
        *("health", "names", "length", "content", "readable", "answer", "reasoning", "channel", "marks", "together"),
        *("structured", "stream", "latency", "repeated"),
    ]
    containers = (stub / "containers").read_text() if origin == "front" else ""
    assert containers == ("sparkiac-front-server-1\n" if origin == "front" else "")
    assert KEY not in (stub / "asked").read_text()
    assert good.asked.count("POST /v1/chat/completions") == 7


def test_a_warning_fails_nothing(good: Service, stub: Path, cli: Cli) -> None:
    assert stub
    good.answers["/v1/chat/completions"] = (200, {"choices": [{"message": {"content": "371 and 864<|im_end|>"}}]})
    lines = [" ".join(line.split()) for line in cli("verify", "lab.yaml", "chat").out.splitlines()]
    assert any(line.startswith("marks warning 0.00 <|im_end|> in the content: clients show it") for line in lines)
    assert any(line.startswith("answer ok") for line in lines)


def test_a_page_shows_the_evidence_of_each_step(good: Service, stub: Path, cli: Cli) -> None:
    assert stub
    good.answers["/v1/chat/completions"] = (200, {"choices": [{"message": {"content": "!!!!\x1b[2J"}}]})
    outcome = cli("verify", "lab.yaml", "chat")
    assert outcome.code == 1
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[1] == "chat on spark-01"
    assert lines[-1] == "1 of 1 failed"
    assert any(line.startswith("health ok 0.") and line.endswith("/health returns 200") for line in lines)
    assert any(line.startswith("readable FAIL") for line in lines), outcome.out
    assert any(line.startswith("tools skipped") and line.endswith("no client sends tools") for line in lines)
    assert "\x1b" not in outcome.out


def test_everything_that_promises_something_is_checked(good: Service, stub: Path, cli: Cli) -> None:
    assert good
    assert stub
    outcome = cli("verify", "lab.yaml", "--format", "json")
    found = {unit["name"]: unit["passed"] for unit in json.loads(outcome.out)["units"]}
    assert found == {"chat": True, "front": False}, "nothing listens on the port of the front end"
    assert outcome.code == 1


@pytest.mark.parametrize(
    ("file", "origin", "reason"),
    [
        ("down", "host", "ssh: connect to host: No route to host"),
        ("down", "controller", "ssh: connect to host: No route to host"),
        ("quiet", "host", "the prober did not run: exit code 1"),
        ("no-python", "front", "the container of the client has no python3: exec: python3: executable file not found"),
    ],
)
def test_what_cannot_be_checked(stub: Path, cli: Cli, file: str, origin: str, reason: str) -> None:
    (stub / file).touch()
    outcome = cli("verify", "lab.yaml", "chat", "--from", origin)
    assert outcome.code == 6
    assert f"not checked: {reason}" in " ".join(outcome.out.split())


def test_a_key_that_cannot_be_read(stub: Path, cli: Cli) -> None:
    (stub / "secrets/team_key").unlink()
    outcome = cli("verify", "lab.yaml", "chat", "--from", "controller")
    assert outcome.code == 6
    assert "/etc/sparkiac/secrets/team_key cannot be read" in " ".join(outcome.out.split())


def test_what_listens_on_loopback_is_not_reached_from_here(stub: Path, folder: Path, cli: Cli) -> None:
    assert stub
    path = folder / "lab.yaml"
    path.write_text(path.read_text().replace("bind: any", "bind: loopback").partition("services:")[0])
    outcome = cli("verify", "lab.yaml", "--from", "controller")
    assert outcome.code == 6
    assert "it listens on loopback; set bind to lan or fabric, or use --from host" in " ".join(outcome.out.split())


@pytest.mark.parametrize(
    ("turn", "names"),
    [("day", ["always", "chat"]), ("night", ["always", "small"]), (None, ["always", "chat", "small"])],
)
def test_only_the_units_of_the_current_turn_are_checked(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, turn: str | None, names: list[str]
) -> None:
    """If the host does not say which turn it is, all are checked."""
    small = "  small: {recipe: base/single-spark, model: example/big, hosts: spark-01, port: 8002}\n"
    always = small.replace("small", "always", 1).replace("8002", "8003")
    turns = "turns: {day: [chat], night: [small]}\n"
    (folder / "lab.yaml").write_text(deployment() + small + always + turns)
    (folder / "lab.lock.yaml").write_text(LOCK)
    step = {"name": "health", "state": "ok", "evidence": "/health returns 200", "seconds": 0.1}
    probed: list[str] = []

    def run(_: str | None, words: Sequence[str], *, program: str, **_rest: object) -> programs.Completed:
        if "/usr/local/lib/sparkiac/probe.py" in words:
            probed.append(json.loads(program)["promise"]["url"].rpartition(":")[2])
            return programs.Completed(0, json.dumps({"steps": [step]}).encode())
        facts = {"clock": {"begin_s": 1.0, "end_s": 2.0}, "generation": {"turn": turn}}
        return programs.Completed(0, json.dumps(facts).encode())

    monkeypatch.setattr(programs, "run", run)
    outcome = cli("verify", "lab.yaml", "--format", "json")
    assert outcome.code == 0, outcome.text
    assert [unit["name"] for unit in json.loads(outcome.out)["units"]] == names
    assert sorted(probed) == sorted({"chat": "8001", "small": "8002", "always": "8003"}[name] for name in names)
    if turn == "day":
        outcome = cli("verify", "lab.yaml", "small")
        assert outcome.code == 6
        said = (
            "it does not run in the turn day, which is the current one on spark-01; run sparkiac turn INVENTORY night"
        )
        assert said in " ".join(outcome.out.split())
        assert cli("verify", "lab.yaml", "chat").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chatt"], "unknown deployment or service 'chatt'"),
        (["chat", "--from", "hots"], "unknown origin 'hots'"),
    ],
)
def test_wrong_usage(stub: Path, cli: Cli, words: list[str], message: str) -> None:
    assert stub
    outcome = cli("verify", "lab.yaml", *words)
    assert outcome.code == 2
    assert message in outcome.err


def test_a_broken_inventory(stub: Path, folder: Path, cli: Cli) -> None:
    assert stub
    (folder / "lab.yaml").write_text("name: lab\nhost: {}\n")
    assert cli("verify", "lab.yaml").code == 2
