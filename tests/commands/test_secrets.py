"""`sparkiac secrets new`: values are generated once, stored where only their owner reads them, and not printed."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.upstream import playbook
from sparkiac.upstream.playbook import program
from tests.plan.test_weights import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

INVENTORY: Final = """\
name: lab
defaults: {model_store: /srv/models, api_key: {secret: vllm_key}}
hub: {api_key: {secret: hub_token}}
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
deployments:
  small:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    port: 8001
services:
  chat:
    kind: open-webui
    image: ghcr.io/open-webui/open-webui:v0.12.4
    hosts: spark-02
    port: 3000
    uses: [small]
    secret_key: {secret: chat_sessions}
"""
PATH: Final = "secrets/lab.json"
VALUE: Final = re.compile(r"[0-9a-f]{64}")


pytestmark = pytest.mark.usefixtures("fleet")


@pytest.fixture
def fleet(folder: Path) -> Path:
    (folder / "lab.yaml").write_text(INVENTORY)
    (folder / "lab.lock.yaml").write_text(KNOWN)
    return folder


def stored(folder: Path) -> dict[str, str]:
    values: dict[str, str] = json.loads((folder / PATH).read_text())["sparkiac_secrets"]
    return values


def store(folder: Path, text: str) -> None:
    (folder / "secrets").mkdir(mode=0o700)
    (folder / PATH).touch(0o600)
    (folder / PATH).write_text(text)


def test_values_are_stored_for_their_owner_only_and_printed_nowhere(fleet: Path, cli: Cli) -> None:
    outcome = cli("secrets", "new", "lab.yaml")
    values = stored(fleet)
    assert values.keys() == {"vllm_key", "chat_sessions"}
    assert all(VALUE.fullmatch(value) for value in values.values())
    assert len(set(values.values())) == len(values)
    assert not any(value in outcome.out + outcome.err for value in values.values())
    assert (fleet / PATH).stat().st_mode & 0o777 == 0o600
    assert (fleet / "secrets").stat().st_mode & 0o777 == 0o700


def test_a_key_is_rotated_alone(fleet: Path, cli: Cli) -> None:
    cli("secrets", "new", "lab.yaml")
    former = stored(fleet)
    outcome = cli("secrets", "new", "lab.yaml", "--replace", "vllm_key", "--format", "json")
    states = {each["name"]: each["state"] for each in json.loads(outcome.out)["secrets"]}
    assert states["vllm_key"] == "generated"
    assert states["chat_sessions"] == "kept"
    assert VALUE.fullmatch(stored(fleet)["vllm_key"])
    assert {name for name, value in stored(fleet).items() if value != former[name]} == {"vllm_key"}


@pytest.mark.parametrize("name", ["vllm_kye", "hub_token"])
def test_only_a_generated_secret_of_the_fleet_is_replaced(fleet: Path, cli: Cli, name: str) -> None:
    store(fleet, json.dumps({"sparkiac_secrets": {"hub_token": "hf_1"}}))
    outcome = cli("secrets", "new", "lab.yaml", "--replace", name)
    assert outcome.code == 2
    assert f"unknown generated secret '{name}'" in outcome.err
    assert stored(fleet) == {"hub_token": "hf_1"}


def test_each_host_is_listed_with_what_it_needs(cli: Cli) -> None:
    outcome = cli("secrets", "new", "lab.yaml")
    rows = [line.split() for line in outcome.out.splitlines()[2:]]
    assert rows == [
        ["spark-01", "hub_token", "missing"],
        ["spark-01", "vllm_key", "generated"],
        ["spark-02", "chat_sessions", "generated"],
        ["spark-02", "vllm_key", "generated"],
    ]
    assert outcome.err == (
        "secrets/lab.json: 2 generated, 0 kept (mode 0600, ignored by Git)\n"
        "hub_token (hub.api_key) has no value: get it from its issuer and add it to secrets/lab.json\n"
        "to put them on the hosts: sparkiac apply lab.yaml -- -e @secrets/lab.json\n"
    )


def test_existing_values_are_kept_and_an_issued_one_completes_the_file(fleet: Path, cli: Cli) -> None:
    assert cli("secrets", "new", "lab.yaml").code == 1
    values = stored(fleet) | {"hub_token": "hf_of_the_user", "of_another": "stays"}
    (fleet / PATH).write_text(json.dumps({"sparkiac_secrets": values}))
    outcome = cli("secrets", "new", "lab.yaml", "--format", "json")
    assert outcome.code == 0
    assert {each["name"]: each["state"] for each in json.loads(outcome.out)["secrets"]} == {
        "chat_sessions": "kept",
        "hub_token": "kept",
        "vllm_key": "kept",
    }
    assert stored(fleet) == values
    assert (fleet / PATH).stat().st_mode & 0o777 == 0o600


def test_an_empty_value_is_replaced(fleet: Path, cli: Cli) -> None:
    """The play refuses an empty secret."""
    store(fleet, '{"sparkiac_secrets": {"vllm_key": " "}}')
    cli("secrets", "new", "lab.yaml")
    assert VALUE.fullmatch(stored(fleet)["vllm_key"])


def test_they_are_printed_on_request(fleet: Path, cli: Cli) -> None:
    text = cli("secrets", "new", "lab.yaml", "--show").out
    data = json.loads(cli("secrets", "new", "lab.yaml", "--show", "--format", "json").out)
    assert {each["name"]: each.get("value") for each in data["secrets"]} == stored(fleet) | {"hub_token": None}
    assert f"\nvllm_key: {stored(fleet)['vllm_key']}\n" in text


def test_git_ignores_the_directory(fleet: Path, cli: Cli) -> None:
    subprocess.run(["git", "init", "-q"], cwd=fleet, check=True)
    cli("secrets", "new", "lab.yaml")
    status = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=fleet, capture_output=True, text=True, check=True
    )
    assert "lab.yaml" in status.stdout
    assert "secrets" not in status.stdout


def test_a_directory_that_git_does_not_ignore_gets_no_secret(fleet: Path, cli: Cli) -> None:
    (fleet / "secrets").mkdir(mode=0o700)
    (fleet / "secrets/.gitignore").write_text("*.yml\n")
    outcome = cli("secrets", "new", "lab.yaml")
    assert outcome.code == 2
    assert "secrets/.gitignore does not ignore all files" in outcome.err
    assert not (fleet / PATH).exists()


def test_a_symbolic_link_gets_no_secret(fleet: Path, cli: Cli, tmp_path: Path) -> None:
    (fleet / "elsewhere").mkdir()
    (fleet / "secrets").symlink_to(tmp_path / "elsewhere")
    assert cli("secrets", "new", "lab.yaml").code == 2
    assert list((fleet / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("secrets", "secrets must be a directory: move what is there"),
        (PATH, "secrets/lab.json must be a file: move what is there"),
    ],
)
def test_something_else_in_its_place_stays(fleet: Path, cli: Cli, wrong: str, message: str) -> None:
    if wrong == PATH:
        (fleet / PATH).mkdir(parents=True)
    else:
        (fleet / wrong).write_text("mine\n")
    outcome = cli("secrets", "new", "lab.yaml")
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert (fleet / PATH).is_dir() if wrong == PATH else (fleet / wrong).read_text() == "mine\n"


def test_an_empty_password_file(fleet: Path, cli: Cli) -> None:
    (fleet / "password").touch()
    outcome = cli("secrets", "new", "lab.yaml", "--vault-password-file", "password")
    assert outcome.code == 2
    assert "; the first line of password must be the password" in outcome.err
    assert not (fleet / PATH).exists()


@pytest.mark.parametrize(
    ("place", "mode", "remedy"), [("secrets", 0o755, "chmod 700 secrets"), (PATH, 0o640, f"chmod 600 {PATH}")]
)
def test_what_others_can_access_is_refused(fleet: Path, cli: Cli, place: str, mode: int, remedy: str) -> None:
    before = '{"sparkiac_secrets": {}}'
    store(fleet, before)
    (fleet / place).chmod(mode)
    outcome = cli("secrets", "new", "lab.yaml")
    assert outcome.code == 2
    assert f"{place} can be accessed by other users (mode {mode:04o}): run {remedy}" in outcome.err
    assert (fleet / PATH).read_text() == before
    (fleet / place).chmod(mode & 0o700)
    assert cli("secrets", "new", "lab.yaml").code == 1


@pytest.mark.parametrize("value", ["1", "true", "null", '["a"]', r'"a\u0000b"', r'"\ud800"'])
def test_a_value_that_is_not_text_is_refused_by_its_name(fleet: Path, cli: Cli, value: str) -> None:
    text = f'{{"sparkiac_secrets": {{"vllm_key": "hunter22", "chat_sessions": {value}}}}}'
    store(fleet, text)
    outcome = cli("secrets", "new", "lab.yaml")
    assert outcome.code == 2
    assert "the value of chat_sessions is not UTF-8 text without NUL; correct it or remove it" in outcome.err
    assert "hunter22" not in outcome.err
    assert (fleet / PATH).read_text() == text


@pytest.mark.parametrize("text", ["", "[]", "sparkiac_secrets: {}", '{"vllm_key": "hunter22"}'])
def test_another_file_is_not_overwritten_or_quoted(fleet: Path, cli: Cli, text: str) -> None:
    store(fleet, text)
    outcome = cli("secrets", "new", "lab.yaml")
    assert outcome.code == 2
    assert "secrets/lab.json is not JSON of the form" in outcome.err
    assert "hunter22" not in outcome.err
    assert (fleet / PATH).read_text() == text


def test_a_vault_is_encrypted_read_and_completed(fleet: Path, cli: Cli) -> None:
    """A plain file becomes a vault with the same values; a later secret is added to it."""
    (fleet / "password").write_text("of the test\n")
    cli("secrets", "new", "lab.yaml")
    values = stored(fleet)
    outcome = cli("secrets", "new", "lab.yaml", "--vault-password-file", "password")
    assert "2 kept (encrypted, mode 0600, ignored by Git)" in outcome.err
    assert outcome.err.endswith("-e @secrets/lab.json --vault-password-file password\n")
    assert playbook.is_encrypted((fleet / PATH).read_bytes())
    grown = INVENTORY.replace("    port: 8001", "    port: 8001\n    api_key: {secret: another}")
    (fleet / "lab.yaml").write_text(grown)
    assert cli("secrets", "new", "lab.yaml", "--vault-password-file", "password").code == 1
    words = [program("ansible-vault"), "view", "--vault-password-file", "password", PATH]
    seen = subprocess.run(words, cwd=fleet, capture_output=True, check=True)
    after = json.loads(seen.stdout)["sparkiac_secrets"]
    assert after == values | {"another": after["another"]}
    assert (fleet / PATH).stat().st_mode & 0o777 == 0o600


def test_a_vault_needs_its_password(fleet: Path, cli: Cli) -> None:
    (fleet / "password").write_text("right\n")
    (fleet / "wrong").write_text("wrong\n")
    cli("secrets", "new", "lab.yaml", "--vault-password-file", "password")
    before = (fleet / PATH).read_bytes()
    without = cli("secrets", "new", "lab.yaml")
    assert (without.code, "is encrypted; add --vault-password-file FILE" in without.err) == (2, True)
    wrong = cli("secrets", "new", "lab.yaml", "--vault-password-file", "wrong")
    assert (wrong.code, "ansible-vault decrypt with the password of wrong" in wrong.err) == (2, True)
    assert (fleet / PATH).read_bytes() == before


def test_an_inventory_without_secrets_gets_no_file(fleet: Path, cli: Cli) -> None:
    plain = INVENTORY.partition("services:")[0].replace(", api_key: {secret: vllm_key}", "")
    (fleet / "lab.yaml").write_text(plain.replace("hub: {api_key: {secret: hub_token}}\n", ""))
    outcome = cli("secrets", "new", "lab.yaml")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "lab.yaml: no host needs a secret\n")
    assert not (fleet / "secrets").exists()


def test_an_inventory_with_errors_gets_no_file(fleet: Path, cli: Cli) -> None:
    (fleet / "lab.yaml").write_text(INVENTORY.replace("hosts: spark-01", "hosts: spark-09"))
    assert cli("secrets", "new", "lab.yaml").code == 2
    assert not (fleet / "secrets").exists()


def test_what_somebody_else_issues_is_not_generated(fleet: Path, cli: Cli) -> None:
    watched = """\
monitoring:
  timer: {hosts: spark-02, heartbeat: {secret: heartbeat_url}}
  alerts: {webhook: {url: "http://192.168.1.9:8080/hook"}}
"""
    (fleet / "lab.yaml").write_text(INVENTORY + watched)
    outcome = cli("secrets", "new", "lab.yaml")
    assert outcome.code == 1
    assert "heartbeat_url (monitoring.timer.heartbeat) has no value" in outcome.err
    assert "heartbeat_url" not in stored(fleet)
