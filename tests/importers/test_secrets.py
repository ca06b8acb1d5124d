"""No secret of a file is written out, whatever it stands in."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from sparkiac.foreign import Unreadable, redaction
from tests.every import every
from tests.importers.texts import imported

TOKEN = "hf_" + "Ab3" * 9
KEY = "geheim-Werkstatt-17"
SERVE = "nvcr.io/nvidia/vllm:26.04-py3 vllm serve a/b"


@pytest.mark.parametrize(
    "text",
    [
        f"docker run -e HF_TOKEN={TOKEN} {SERVE}",
        f"export HF_TOKEN={TOKEN}\ndocker run -e HF_TOKEN=$HF_TOKEN {SERVE}",
        f"docker run -e WANDB_API_KEY={KEY} {SERVE} --x-note {KEY}",
        f"docker run {SERVE} --api-key {KEY}",
        f"docker run {SERVE} --api-key={KEY} --served-model-name {KEY}",
        f"docker run -e VLLM_API_KEY={KEY} --name {KEY} {SERVE}",
        f"docker run {SERVE} --hf-token {TOKEN} --strange {TOKEN}",
        f'docker run {SERVE} --hf-overrides \'{{"a": "{TOKEN}"}}\'',
        f"docker run {SERVE} --ssl-key-password {KEY} a b {KEY}",
        f'docker run --entrypoint bash nvcr.io/nvidia/vllm:26.04-py3 -c "export HF_TOKEN={TOKEN}; vllm serve a/b"',
        f'docker run {SERVE.partition(" ")[0]} bash -c "hf auth login --token {TOKEN} && vllm serve a/b"',
        f"docker login -u me -p {TOKEN}\ndocker run {SERVE}",
        f"curl -H 'Authorization: Bearer {TOKEN}' http://x\ndocker run {SERVE}",
        f"docker run -d -e DB_PASSWORD={KEY} example.org/db:1 --password {KEY}",
        f"docker run -d -e URL=http://me:{KEY}@host/ example.org/db:1",
        f"docker run -d --label token={KEY} example.org/db:1",
        f"docker run -v /a/{TOKEN}:/b:ro -p {TOKEN}:80 {SERVE}",
        f"docker run --unknown-token={KEY} -e A_TOKEN='{KEY}' {SERVE} $A_TOKEN",
        f"docker run -v /a:/b/{TOKEN} {SERVE} --default-chat-template-kwargs '{{\"{TOKEN}\": 1}}'",
        f"docker run --A --api-key {KEY} {SERVE}",
    ],
)
def test_a_secret_is_in_neither_the_draft_nor_the_report(text: str) -> None:
    found = imported(text)
    assert TOKEN not in found.text + found.report
    assert KEY not in found.text + found.report


WITH_PASSWORD = (
    "docker login -u me -p {} registry.example",
    "docker login -u me -p{} registry.example",
    "sudo docker --config /root/x -D login --password {} registry.example",
    "podman login --username=me --password={}",
    "helm registry login example.org -u me -p {}",
    "docker login \\\n  -u me \\\n  -p {}",
    "sshpass -p {} ssh -p 22 me@spark-02 uptime",
    "sshpass -v -p{} scp a b",
    "mysql -u root -p{} -h db -P 3306 db",
    "mysqldump --password={} db",
)
FOREIGN = {
    "shell": "{line}\ndocker run {serve}",
    "shell in the container": "docker run --entrypoint bash {image} -c '{line} && vllm serve a/b'",
    "markdown": "Run `{line}` first:\n\n```bash\n{line}\ndocker run {serve}\n```\n",
    "systemd": "[Service]\nExecStartPre=/usr/bin/{line}\nExecStart=/usr/bin/docker run {serve}\n",
    "eugr": "recipe_version: '1'\nname: x\ncontainer: c\ncommand: |\n  {line}\n  vllm serve a/b\n  {line}\n",
    "compose": "services:\n  a:\n    image: example.org/a:1\n    command: {line}\n",
}
"""Kind of file → a file with a command."""


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("command", WITH_PASSWORD)
def test_a_password_of_a_command_is_shown_for_no_kind_of_file(command: str, kind: str) -> None:
    line = command.format("hunter").replace("\\\n", " ")
    text = FOREIGN[kind].format(line=line, serve=SERVE, image=SERVE.partition(" ")[0])
    found = imported(text, kind.partition(" ")[0])
    assert "hunter" not in found.text + found.report
    assert "***" in found.text + found.report


@pytest.mark.parametrize("once", ["--rm", "-d"])
def test_a_password_after_an_entrypoint_is_shown_nowhere(once: str) -> None:
    found = imported(f"docker run {once} --entrypoint sshpass example.org/a:1 -p hunter ssh -p 22 me@spark-02\n")
    assert "hunter" not in found.text + found.report
    assert "-p ****** ssh -p 22 me@spark-02" in found.report


@pytest.mark.parametrize("password", ["Kanarie-4711", "two words", "semi;colon", "back\\slash", "pipe|fitter", "root"])
@pytest.mark.parametrize("command", WITH_PASSWORD)
def test_the_whole_password_of_a_command_is_redacted(command: str, password: str) -> None:
    line = command.format(f"'{password}'")
    argv = json.dumps([word for word in shlex.split(line) if word.strip()])
    for form, text in (
        ("shell", f"{line}\ndocker run {SERVE}"),
        ("compose", f"services:\n  a:\n    image: example.org/a:1\n    command: {argv}\n"),
    ):
        found = imported(text, form)
        for part in re.split(r"[ ;|\\]", password):
            assert not re.search(rf"\b{part}\b", re.sub("-u root", "", found.text + found.report)), (form, found.report)


@pytest.mark.parametrize(
    "line",
    [
        "docker run -p 8000:8000 -p8001:8001 example.org/x",
        "docker run --name mysql -p3306:3306 mysql:8",
        "docker run --name mysql -p127.0.0.1:3306:3306 mysql:8",
        "docker run --name login -p 8000:8000 example.org/x",
        "docker login -u me --password-stdin registry.example",
        "docker login -u me -p $TOKEN registry.example",
        "ssh -p 22 me@spark-02",
        "sshpass -e ssh -p 22 me@spark-02",
        "sshpass -f file ssh -p 22 me@spark-02",
        '["sshpass", "-e", "ssh", "-p", "22"]',
        "mysql -u root -p db",
        '["mysql", "-u", "root", "-p", "db"]',
        "mkdir -p /var/lib/mysql -p",
    ],
)
def test_a_port_or_a_path_after_p_stays(line: str) -> None:
    assert redaction.redacted_line(line) == line
    assert redaction.joined(line.split()) == line
    assert not redaction.holds_secret(line.split())


def test_a_command_with_a_password_is_not_imported() -> None:
    argv = ["sshpass", "-p", "Kanarie-4711", "ssh", "-p", "22", "me@spark-02"]
    found = imported(f"services:\n  a:\n    image: example.org/a:1\n    command: {json.dumps(argv)}\n", "compose")
    assert "command" not in found.entry.data
    assert found.whys("lost") == {
        f"sshpass -p {'*' * 12} ssh -p 22 me@spark-02": (
            "a command with secrets, the caller's variables or several lines"
        )
    }


@pytest.mark.parametrize("remark", ["# KEY: EAGLE is faster", "# key: EAGLE", "notes: 'the KEY: EAGLE is faster'"])
def test_a_word_after_a_colon_of_a_remark_is_not_a_secret(remark: str) -> None:
    text = (
        f"recipe_version: '1'\nname: x\ndescription: Qwen with EAGLE\ncontainer: c\n{remark}\n"
        """command: |\n  vllm serve a/b --hf-overrides '{{"architectures": ["EAGLE"]}}'\n"""
    )
    found = imported(text, "eugr")
    assert found.entry.data["description"] == "Qwen with EAGLE"
    assert found.entry.data["set"]["hf_overrides"] == {"architectures": ("EAGLE",)}
    assert found.whys("lost") == {}


def test_a_key_for_clients_becomes_a_reference() -> None:
    found = imported(f"docker run -p 1:8000 {SERVE} --api-key {KEY}")
    assert found.entry.data["api_key"] == {"secret": "vllm_api_key"}
    assert "it was readable in this file, so change it now" in found.whys("corrected")["api_key"]


def test_a_token_of_the_callers_is_not_needed_and_a_literal_one_is_lost() -> None:
    assert "HF_TOKEN" in imported(f'docker run -e HF_TOKEN="$HF_TOKEN" {SERVE}').whys("corrected")
    assert "HF_TOKEN" in imported(f"docker run -e HF_TOKEN=hf_xxx {SERVE}").whys("corrected")
    lost = imported(f"docker run -e HF_TOKEN={TOKEN} {SERVE}").whys("lost")
    assert lost["HF_TOKEN"].endswith("it was readable in this file, so change it now")


def test_a_refusal_holds_nothing_of_a_value() -> None:
    with pytest.raises(Unreadable) as refused:
        imported(f"docker run -e HF_TOKEN='{TOKEN}")
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(("HF_TOKEN", True), ("GITHUB_TOKEN", True), ("api_key", True), ("--api-key", True), ("DB_PASSWORD", True)),
        *(("WANDB_API_KEY", True), ("MY_SECRET", True), ("DFLASH_NUM_SPEC_TOKENS", False), ("MAX_TOKENS", False)),
        *(
            ("max_num_batched_tokens", False),
            ("num_speculative_tokens", False),
            ("HF_HOME", False),
            ("TOKENIZER", False),
        ),
    ],
)
def test_names_of_secrets_are_distinguished_from_names_that_count_tokens(name: str, *, secret: bool) -> None:
    assert redaction.is_secret_name(name) is secret


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  -e 'A=b \\", True),
        (f"-e HF_TOKEN='{TOKEN}", False),
        (f"--x '{TOKEN}", False),
        ("-e A='correct-horse", False),
    ],
)
def test_a_line_is_shown_only_if_it_contains_no_secret(line: str, shown: bool) -> None:  # noqa: FBT001  a case
    text = f"docker run \\\n{line}\nexport DB_PASSWORD=correct-horse\n"
    assert redaction.safe_line(text, 2) == (line if shown else "")
    assert redaction.safe_line(text, 99) == ""


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("# KEY: EAGLE is faster", set()),
        ("    # KEY: EAGLE3 is faster", set()),
        ("a: b  # the token: Medusa", set()),
        ("// Key: MTP", set()),
        ("KEY: EAGLE", {"EAGLE"}),
        ("# password: geheim17", {"geheim17"}),
        ("# HF_TOKEN=geheim17", {"geheim17"}),
        ("# key: 8f7a9c2d8f7a9c2d", {"8f7a9c2d8f7a9c2d"}),
        ("url: https://a/#x token: Medusa1", {"Medusa1"}),
        ("X=postgres://u:geheim17@db", {"geheim17"}),
        ("--api-key: 'X_TOKEN: geheim17'", {"X_TOKEN:", "geheim17"}),
    ],
)
def test_a_word_behind_a_key_in_a_comment_is_not_a_secret(text: str, hidden: set[str]) -> None:
    assert redaction.secret_values(text) == hidden


def test_a_comment_with_a_key_leaves_the_draft_whole() -> None:
    text = f'# KEY: EAGLE is faster\ndocker run {SERVE} --hf-overrides \'{{"architectures": ["EAGLE"]}}\''
    assert imported(text).entry.data["set"]["hf_overrides"] == {"architectures": ("EAGLE",)}


MIXED = "Zq81/secretPw9"
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYZZZZZZKEY1"
NGC = "Ab1" * 28
BY_FORM = {
    "a password with a slash in a URL": ("https://joe:{}@mirror.example/x", MIXED),
    "a user and a password without a scheme": ("joe:{}@mirror.example", "Zq81secretpw9"),
    "a token as the user of a URL": ("https://{}@git.example/a.git", "Zq81secretpw9abcdef"),
    "a password of another scheme": ("postgres://joe:{}@db.example/x", "Zq81secretpw9"),
    "a key of AWS": ("{}", AWS),
    "an older key of NGC": ("{}", NGC),
    "an ID of AWS": ("{}", "ASIAIOSFODNN7EXAMPLQ"),
    "basic authentication": ("Authorization: Basic {}", "YWRtaW46WnE4MXNl"),
    "a bearer token": ("Authorization: Bearer {}", "Zq81secretpw9abcdef"),
    "a token of Hugging Face": ("{}", TOKEN),
    "a key of OpenAI": ("{}", "sk-proj-9x" + "9xAb" * 6),
    "a key of NVIDIA": ("{}", "nvapi-" + "Ab3_" * 8),
    "a token of GitHub": ("{}", "ghp_" + "Ab3" * 12),
    "a fine-grained token of GitHub": ("{}", "github_pat_" + "Ab3" * 12),
    "a token of GitLab": ("{}", "glpat-" + "Ab3-" * 5),
    "a token of Slack": ("{}", "xoxb-" + "12345-" * 3 + "Ab3"),
    "a key of Google": ("{}", "AIza" + "Ab3-_" * 7),
    "a JSON web token": ("{}", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK"),
    "a token of Telegram": ("{}", "123456789:" + "Ab3-_" * 7),
    "a private key": ("-----BEGIN RSA PRIVATE KEY----- {} -----END RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA7"),
}
"""Form → text and its secret. No name marks them; in a path, random letters are a digest."""
PLACES = {
    "a variable": ("shell", "docker run -e THING='{}' SERVE"),
    "a value in a variable": ("shell", "docker run -e 'THING=a, {} b' SERVE"),
    "an option": ("shell", "docker run SERVE --thing '{}'"),
    "an option of JSON": ("shell", """docker run SERVE --hf-overrides '{"a": ["{}"]}'"""),
    "a name": ("shell", "docker run --name '{}' SERVE"),
    "served names": ("shell", "docker run SERVE --served-model-name '{}'"),
    "a device": ("shell", "docker run --device '{}' SERVE"),
    "a comment": ("shell", "# {}\ndocker run SERVE # --thing {}"),
    "a command": ("shell", "deploy '{}'\ndocker run SERVE"),
    "a header": ("shell", "curl -H '{}' http://x\ndocker run SERVE"),
    "a label": ("shell", "docker run --label 'a={}' SERVE"),
    "an assignment": ("shell", "X='{}'\ndocker run -e THING=\"$X\" SERVE"),
    "a here-document": ("shell", "cat > a <<EOF\n{}\nEOF\ndocker run SERVE"),
    "a script that cannot be read": ("shell", "docker run -e THING='{} SERVE"),
    "a command in a container": ("shell", "docker run --entrypoint bash IMAGE -c \"deploy '{}'; vllm serve a/b\""),
    "a page": ("markdown", "Use {} here.\n\n```bash\ndeploy '{}'\ndocker run -e THING='{}' SERVE\n```\n"),
    "a service": ("compose", "services:\n  a:\n    image: example.org/a:1\n    command: [run, '{}']\n"),
    "a variable of a service": ("compose", "services:\n  a:\n    image: x\n    environment: ['THING={}']\n"),
    "a key of a project": ("compose", "x: '{}'\nservices:\n  a:\n    image: x\n    thing: '{}'\n"),
    "a unit": (
        "systemd",
        "[Service]\nEnvironment='THING={}'\nExecStartPre=/bin/a '{}'\nExecStart=/bin/docker run SERVE\n",
    ),
    "a description": ("systemd", "[Unit]\nDescription={}\n[Service]\nExecStart=/usr/bin/docker run SERVE\n"),
    "an inspected container": ("inspect", '[{"Config": {"Image": "x", "Env": ["THING={}"], "Labels": {"a": "{}"}}}]'),
    "a recipe of eugr": ("eugr", "name: x\ncontainer: c\nenv: {THING: '{}'}\ncommand: vllm serve a/b --thing '{}'\n"),
    "a recipe of sparkrun": (
        "sparkrun",
        "model: a/b\nruntime: vllm\ncontainer: c\ndefaults: {thing: '{}'}\npre_exec: ['deploy {}']\nthing: '{}'\n",
    ),
}
"""Place → format and text."""


@pytest.mark.parametrize("place", PLACES)
@every(BY_FORM)
def test_a_secret_is_known_by_its_form_under_any_name(form: str, place: str) -> None:
    around, secret = BY_FORM[form]
    kind, text = PLACES[place]
    text = text.replace("SERVE", SERVE).replace("IMAGE", SERVE.partition(" ")[0])
    assert secret not in written(text.replace("{}", around.format(secret)), kind)


def written(text: str, kind: str = "shell") -> str:
    """Return all that an import of a text prints: draft and report, or the error with its line."""
    try:
        found = imported(text, kind)
    except Unreadable as error:
        return str(error) + redaction.safe_line(text, error.line)
    return found.text + found.report


@pytest.mark.parametrize("option", ["-u ", "-u", "--user ", "--user=", "--proxy-user "])
def test_the_password_of_basic_authentication_is_starred(option: str) -> None:
    found = imported(
        f"curl {option}admin:hunter http://x.example\ndeploy curl {option}admin:hunter x\ndocker run {SERVE}"
    )
    assert "hunter" not in found.text + found.report


@pytest.mark.parametrize(
    "text",
    [
        "docker run -e fp8_kv_calibration_tokens=512 -p 8000:8000 " + SERVE,
        "jq '{{prompt_tokens: .usage.prompt_tokens}}' a.json\ndocker run -p 8000:8000 " + SERVE,
        "docker pull docker://registry.example:5000/a@sha256:0123abcd\ndocker run -p 8000:8000 " + SERVE,
        "pip install git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567\ndocker run -p 8000:8000 "
        + SERVE,
        "mail mailto:joe1234@mirror.example\nnpm install npm:vite777@4.1.0\ndocker run -p 8000:8000 " + SERVE,
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    found = imported(text)
    assert "***" not in found.text + found.report
    assert "secret" not in found.report
