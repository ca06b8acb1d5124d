"""`sparkiac secrets rotate` with the real Ansible, on hosts that are this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.commands.inputs import Exit
from sparkiac.commands.secrets import store as secrets
from tests.commands import fleet
from tests.commands.fleet import LOCAL, SAME
from tests.gateway.standins import FLEET
from tests.plan.fleets import planned

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

CHANGED: dict[str, Any] = SAME | {
    "differs": True,
    "secrets": ["k"],
    "units": [{"unit": "sparkiac-chat", "action": "restart", "because": "changed: /etc/sparkiac/secrets/k"}],
    "effects": [{"action": "write", "subject": "secret k", "because": "new or changed"}],
}
COMMITTED = """echo '{"outcome": "committed", "changed": true}'"""
FORMER, NEXT = "former-value", "canary-next-value"
VALUES = Path("secrets/lab.json")
PENDING = Path("secrets/lab.k.new")
ROTATE = ("secrets", "rotate", "lab.yaml", "k", "--yes")


@pytest.fixture
def root(folder: Path, hosts: Path, cli: Cli) -> Path:
    """Run the test in a folder with a generated fleet whose server reads the secret `k`; return the hosts' answers."""
    fleet.write(folder)
    text = fleet.INVENTORY.replace("    model: example/model\n", "    model: example/model\n    api_key: {secret: k}\n")
    (folder / "lab.yaml").write_text(text)
    assert cli("generate", "lab.yaml").code == 0
    store(VALUES, k=FORMER, other="of another service")
    fleet.looks(hosts, "spark-01", CHANGED)
    fleet.answers(hosts, "spark-01", "services", COMMITTED)
    return hosts


def store(path: Path, **values: str) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(0o600)
    path.write_text(json.dumps({"sparkiac_secrets": values}))


def stored(path: Path = VALUES) -> dict[str, str]:
    values: dict[str, str] = json.loads(path.read_text())["sparkiac_secrets"]
    return values


def everything(folder: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


@pytest.mark.usefixtures("root")
def test_the_new_value_replaces_the_former_one_everywhere(folder: Path, cli: Cli) -> None:
    Path("next").write_text(f"{NEXT}\n")
    outcome = cli(*ROTATE, "--from", "next", "--", *LOCAL)
    assert outcome.code == 0, outcome.text
    said = " ".join(outcome.out.split())
    assert "spark-01 chat restarts" in said
    assert "example/model: only chat on spark-01 serves it, which may take" in said
    assert "write secret k" in said
    assert stored() == {"k": NEXT, "other": "of another service"}
    assert VALUES.stat().st_mode & 0o777 == 0o600
    assert FORMER not in everything(folder)
    assert not PENDING.exists()
    assert NEXT not in outcome.text


@pytest.mark.usefixtures("root")
def test_a_key_of_our_own_is_generated(cli: Cli) -> None:
    assert cli(*ROTATE, "--", *LOCAL).code == 0
    assert len(stored()["k"]) == 64


def test_a_second_run_completes_a_rotation_with_the_same_value(root: Path, cli: Cli) -> None:
    fleet.answers(root, "spark-01", "services", "echo the host lost its power; exit 1")
    outcome = cli(*ROTATE, "--", *LOCAL)
    assert outcome.code == Exit.FINDINGS
    assert "not complete: secrets/lab.k.new has the new value until the same command has succeeded" in outcome.err
    pending = stored(PENDING)["k"]
    assert stored()["k"] == FORMER, "no host may have the new one"
    assert PENDING.stat().st_mode & 0o777 == 0o600
    fleet.answers(root, "spark-01", "services", COMMITTED)
    assert cli(*ROTATE, "--", *LOCAL).code == 0
    assert stored()["k"] == pending
    assert not PENDING.exists()


def test_a_run_that_was_killed_before_it_ended_is_completed_where_no_host_differs(root: Path, cli: Cli) -> None:
    fleet.looks(root, "spark-01", SAME)
    store(PENDING, k=NEXT)
    assert cli(*ROTATE, "--", *LOCAL).code == 0
    assert stored()["k"] == NEXT
    assert not PENDING.exists()


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("secrets", "rotate", "lab.yaml", "kk", "--yes"), "unknown secret 'kk'"),
        (("secrets", "rotate", "lab.yaml", "k"), "a confirmation needs a terminal: add --yes\n"),
        ((*ROTATE, "--", "--limit", "spark-02"), "a rotation has no --limit"),
        ((*ROTATE, "--", "-C"), "a rotation has no --check"),
        ((*ROTATE, "--from", "empty"), "the new value of k is empty"),
        ((*ROTATE, "--from", "binary"), "the new value of k is empty, or not UTF-8 text"),
    ],
)
def test_wrong_usage_changes_nothing(cli: Cli, words: tuple[str, ...], sentence: str) -> None:
    Path("empty").write_text("\n")
    Path("binary").write_bytes(b"\xff")
    outcome = cli(*words)
    assert outcome.code == Exit.BAD_INPUT
    assert sentence in outcome.err
    assert stored()["k"] == FORMER
    assert not PENDING.exists()


def test_the_former_key_of_a_client_stays_valid_until_the_next_rotation(tmp_path: Path) -> None:
    """Keys that a server reads as well, and certificates, do not: the server knows one key."""
    values = tmp_path / "secrets/lab.json"
    values.parent.mkdir(0o700)
    tls = FLEET.replace("    kind: gateway\n", "    kind: gateway\n    tls: {secret: gateway_tls}\n")
    found = {each.name: each for each in secrets.secrets_of(planned(tls), {})}
    assert {name for name, each in found.items() if each.overlaps} == {"gate_key", "laptop_key"}
    store(values, laptop_key="one", team_key="t")
    for value, former in (("two", "one"), ("three", "two"), ("three", "three")):
        new = secrets.rotation(values, found["laptop_key"], value, None)
        assert stored(new) == {"laptop_key": value, "laptop_key.previous": former}
        assert secrets.settle(values, new, None)
    assert stored(secrets.rotation(values, found["team_key"], "u", None)) == {"team_key": "u"}
