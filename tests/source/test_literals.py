"""A literal secret is refused wherever it stands, and appears in no output of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.catalog.interfaces import interface, versions
from sparkiac.engines.tables import table
from sparkiac.report import Report
from sparkiac.source.secrets import is_named
from sparkiac.words.findings import as_data as as_json
from sparkiac.words.findings import as_text
from tests.plan.fleets import deployment, service
from tests.source.reading import ROOT, findings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIGITS: Final = "0a1B2c3D4e5F6g7H8i9J0k1L"
TOKENS: Final = {
    "Hugging Face token": f"hf_{DIGITS}",
    "OpenAI key": f"sk-proj-{DIGITS}",
    "NVIDIA key": f"nvapi-{DIGITS}",
    "GitHub token": f"ghp_{DIGITS}",
    "GitLab token": f"glpat-{DIGITS}",
    "Slack token": f"xoxb-{DIGITS}",
    "AWS key": "AKIA0A1B2C3D4E5F6G7H",
    "Telegram token": f"123456789:{DIGITS}{DIGITS[:11]}",
    "bearer token": f"Authorization Bearer {DIGITS}",
    "Google API key": f"AIzaSy{DIGITS}0a1B2c3D4",
    "JSON web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{DIGITS}",
    "private key": f"-----BEGIN OPENSSH PRIVATE KEY----- {DIGITS} -----END OPENSSH PRIVATE KEY-----",
}
GITHUB: Final = f"github_pat_{DIGITS}"
PLACES: Final = {
    "variable": "env: {{PROXY_HEADER: '{}'}}",
    "option": "set: {{chat_template: '{}'}}",
    "list of an option": "set: {{middleware: [x, '{}']}}",
    "mapping of an option": "set: {{override_generation_config: {{a: '{}'}}}}",
    "key": "env: {{'{}': x}}",
    "block": "env:\n      OTHER: |\n        {}",
    "description": "description: 'runs with {}'",
    "command before the server": "container: {{prelude: [[login, '{}']]}}",
    "comment beside a fault": "bind: wan # {}",
    "broken text": "env: {{A: 'x'y}} # {}",
}
NAMES: Final = (
    "DB_PASS",
    "MY_PASSPHRASE",
    "MYSQL_PWD",
    "GITHUB_TOKEN",
    "VLLM_API_KEY",
    "HF_TOKEN",
    "API_SERVER_KEY",
    "NGC_API_KEY",
    "TELEGRAM_BOT_TOKEN",
    "PROXY_PASSWORD",
)


def printed(text: str) -> tuple[list[str], str]:
    """Return the codes of a text's findings, and all that is printed of them."""
    report = Report.of(findings(text))
    codes = [finding.code for finding in report.findings]
    return codes, as_text(report, colour=False) + repr(as_json(report)) + repr(report)


@pytest.mark.parametrize("name", TOKENS)
def test_each_form_is_known_by_its_looks(name: str) -> None:
    (found,) = findings(deployment(f"env: {{ANY: '{TOKENS[name]}'}}"))
    assert (found.code, found.message) == ("SEC003", f"literal secret (value hidden): it looks like a {name}")
    assert "change it now" in found.hint


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("token", [*TOKENS.values(), GITHUB])
def test_a_literal_is_shown_nowhere(place: str, token: str) -> None:
    codes, shown = printed(deployment(PLACES[place].format(token)))
    assert codes
    assert ("SEC003" in codes) is (place not in {"comment beside a fault", "broken text"})
    assert not [part for part in (token, DIGITS, DIGITS[:12], "0A1B2C3D") if part in shown], shown


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["hunter2canary", "'hunter2canary'", "[hunter2canary]", "4242421"])
def test_a_variable_that_is_called_a_secret_takes_no_literal(name: str, value: str) -> None:
    codes, shown = printed(deployment(f"env: {{{name}: {value}}}"))
    assert "SEC003" in codes
    assert "hunter2" not in shown
    assert "4242421" not in shown
    _, broken = printed(deployment(f"env: {{{name}: {value}}}", "bind: 'x'y"))
    assert "hunter2" not in broken


@pytest.mark.parametrize("value", ["[hunter2canary, b]", "hunter2canary", "4242421"])
@pytest.mark.parametrize("option", ["api_key", "hf_token", "ssl_keyfile_password", "api_key_x_secret", "credentials"])
def test_an_option_that_is_called_a_secret_takes_no_literal(option: str, value: str) -> None:
    codes, shown = printed(deployment(f"set: {{{option}: {value}}}"))
    assert set(codes) == {"SEC003"}
    assert "hunter2" not in shown
    assert "4242421" not in shown


def test_an_engine_option_that_is_called_a_secret_is_a_text_or_a_switch() -> None:
    """A switch takes true and false. If a release has such an option that is a number, SEC003 must allow numbers."""
    vllm = [found for version in versions() if (found := interface(version))]
    kinds = {(option.kind, option.type) for each in vllm for option in each.options.values() if is_named(option.name)}
    assert kinds == {("pair", None), ("value", "str")}
    others = [each for engine in ("sglang", "llama-cpp") for each in table(engine).options.items()]
    assert {option.kind for name, held in others if is_named(name) for option in held.values()} == {"switch", "text"}


def test_a_key_over_many_lines_is_hidden_in_broken_text_too() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n        hunter2canary: 'x'y\n        -----END RSA PRIVATE KEY-----"
    for line in (f"env:\n      A: |\n        {key}", f"env: {{A: 'x'y}}\n    # {key}", f"env:\n      {key}"):
        codes, shown = printed(deployment(line))
        assert codes
        assert "hunter2" not in shown


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("command: [run, --token=hunter2canary]", "is the value of --token"),
        ("command: [run, '--api-key=hunter2canary']", "is the value of --api-key"),
        ("command: [run, --api-key, hunter2canary]", "is the value of --api-key"),
        ("command: [sh, -c, 'run --api-key hunter2canary']", "is the value of --api-key"),
        ("command: [sh, -c, 'DB_PASS=hunter2canary run']", "is the value of DB_PASS"),
        ("command: [sh, -c, 'export AWS_SECRET_ACCESS_KEY=hunter2canary']", "is the value of AWS_SECRET_ACCESS_KEY"),
        ("env: {X: 'https://user:hunter2canary@example.org/x'}", "is the password in a URL"),
        ("env: {X: 'postgres://u:hunter2canary@db'}", "is the password in a URL"),
        ("env: {X: 'postgres://u:a@hunter2canary@db'}", "is the password in a URL"),
        ("env: {X: 'https://0canaryhunter2canary@example.org/x'}", "looks like a token in a URL"),
    ],
)
def test_options_and_urls_take_no_literal(line: str, what: str) -> None:
    text = service(line)
    (found,) = findings(text)
    assert (found.code, found.message) == ("SEC003", f"literal secret (value hidden): it {what}")
    assert "hunter2" not in printed(text)[1]
    assert "hunter2" not in printed(f"{text}broken: 'x'y # {line}\n")[1]


@pytest.mark.parametrize("key", ["files: [{url: '%s', to: /x}]", "env_file: '%s'", "image: '%s'", "health: '%s'"])
def test_a_refused_address_is_printed_without_its_password(key: str) -> None:
    codes, shown = printed(service(key % "https://user:hunter2canary@example.org/x.py"))
    assert "SEC003" in codes
    assert "hunter2" not in shown


def test_services_and_builds_too() -> None:
    for text in (
        service("env: {HF_TOKEN: hunter2canary}"),
        deployment() + "builds: {x: {arguments: {HF_TOKEN: hunter2canary}, environment: {HF_TOKEN: hunter2canary}}}\n",
    ):
        codes, shown = printed(text)
        assert set(codes) == {"SEC003"}
        assert "hunter2" not in shown


@pytest.mark.parametrize(
    "line",
    [
        "env: {HF_TOKEN: null, OTHER_API_KEY: ''}",
        "set: {allow_credentials: true, cors_credentials: False, hf_token: null}",
        "env: {VLLM_API_KEY_FILE: x, TOKENIZERS_PARALLELISM: 1, SSL_PRIVATE_KEY: /run/secrets/key}",
        "set: {hf_overrides: {architectures: [NemotronH_Nano_VL_V2]}, max_model_len: 4096}",
        "env: {EOS_TOKEN: '</s>', SORT_KEYS: x, BYPASS: x, A: 'postgres://u@db/x', P: 'http://u:$PW@h', Q: 'http://h:80/@x'}",
        "container: {prelude: [[run, --api-key, $KEY], [run, --token-file, x], [run, --api-key=/run/secrets/k]]}",
        "description: write --api-key before it, as in --token=$TOKEN or --token=your-token; --max-tokens=4096",
        "description: the bearer of task-0-and-its-long-name-12345, hf_xxx and sk-short",
    ],
)
def test_what_is_not_a_secret_is_let_through(line: str) -> None:
    assert findings(deployment(line)) == ()


@pytest.mark.parametrize("path", sorted((ROOT / "inventories").glob("*.yaml")), ids=lambda path: path.name)
def test_the_shipped_files_contain_none(path: Path) -> None:
    codes, _ = printed(path.read_text())
    assert "SEC003" not in codes


def test_no_command_prints_it(cli: Callable[..., Any], tmp_path: Path) -> None:
    inventory_file = tmp_path / "lab.yaml"
    inventory_file.write_text(deployment(f"env: {{A: {TOKENS['GitHub token']}, HF_TOKEN: hunter2canary}}"))
    for command in ("check", "plan", "generate", "lock"):
        done = cli(command, str(inventory_file))
        assert done.code != 0
        assert "hunter2" not in done.text
        assert DIGITS not in done.text
    assert "SEC003" in cli("check", str(inventory_file)).text


def test_no_file_has_it(sparkiac: Callable[..., Any], tmp_path: Path) -> None:
    """Neither a generated file, nor a lock, nor what a command keeps."""
    inventory_file = tmp_path / "lab.yaml"
    inventory_file.write_text(deployment("env: {HF_TOKEN: hunter2canary}"))
    for command in ("generate", "lock"):
        assert sparkiac(command, inventory_file).code == 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"hunter2" in path.read_bytes()] == [inventory_file]
