"""Texts that look dangerous and are not refused: they come out byte for byte in the compose file.

A real YAML parser reads the file; Compose's `$$` is then one `$`. All texts go through one run of the command line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac.source import secrets
from tests.plan.fleets import pins
from tests.render.hostile import SPECULATIVE_CONFIG, corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LEGAL = {
    "c05-variable": "$FOO ${BAR:-x} $$ $(id) `id`",
    "c05-specifier": "50%n %% %i",
    "c08-template": "{{ lookup('pipe', 'id') }} {% raw %} {# x",
    "c15-unclosed-brace": "{{ nope",
    "c18-comment": "a # b",
    "c19-json": json.dumps(SPECULATIVE_CONFIG, ensure_ascii=False),
    "c20-longest": "x" * 130_900,
    "c22-emoji": "😀 é 中文 👩\u200d💻",
    "c23-backslash": "ends with \\",
    "a22-no": "no",
    "a23-octal": "010",
    "a24-base-60": "22:22",
    "a26-commit": "1234567e12",
    "a27-version": "1.10",
    "b-quotes": "'\"' \"'\"",
    "b-blanks": "  two  ",
    "b-nothing": "",
    "b-option": "--privileged",
    "b-yaml": "!unsafe {a: [b, *c, &d]} | > - ? :",
}
LONGEST = 130_900
CORPUS = tuple(
    text
    for text in corpus()
    if not {"\n", "\t"} & set(text) and len(text.encode()) < LONGEST and not secrets.literals(text)
)
OPTIONS: dict[str, Any] = {
    "hf_overrides": SPECULATIVE_CONFIG,
    "chat_template": "{% for m in messages %}{{ m['content'] }}\n{% endfor %}$HOME\\",
    "lora_modules": ["a=b c", "$c=$d"],
}
DIGEST = "@sha256:" + "1" * 64


def inventory() -> str:
    """Write an inventory with every text in every place that takes it; JSON in UTF-8 is YAML."""
    texts = [*LEGAL.values(), *CORPUS]
    asr = {
        "kind": "container",
        "image": f"example.org/asr{DIGEST}",
        "hosts": "spark-01",
        "command": texts,
        "env": {f"V{number}": text for number, text in enumerate(texts)},
    }
    chat = {
        "recipe": "base/single-spark",
        "model": "google/gemma-4-26B-A4B-it",
        "image": f"vllm/vllm-openai{DIGEST}",
        "hosts": "spark-01",
        "port": 8000,
        "set": OPTIONS,
    }
    fleet = {
        "name": "lab",
        "defaults": {"model_store": "/srv/models", "bind": "loopback"},
        "hosts": {"spark-01": {"address": "192.168.1.11"}},
        "services": {"asr": asr},
        "deployments": {"chat": chat},
        "allow": [{"code": code, "reason": "the image has no tag"} for code in ("FLG106", "MEM100")],
    }
    return json.dumps(fleet, ensure_ascii=False, indent=1)


def text_of(value: object) -> object:
    """Undo Compose's escape, at any depth."""
    if isinstance(value, str):
        return value.replace("$$", "$")
    if isinstance(value, dict):
        return {key: text_of(inner) for key, inner in value.items()}
    return [text_of(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture
def generated(sparkiac: Callable[..., Any], tmp_path: Path) -> Path:
    """Return the folder of the rendered compose projects."""
    (tmp_path / "lab.yaml").write_text(inventory(), encoding="utf-8")
    (tmp_path / "lab.lock.yaml").write_text(pins(inventory()))
    done = sparkiac("generate", "lab.yaml", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    return tmp_path / "generated/lab/hosts/spark-01/etc/sparkiac"


def server(generated: Path, name: str) -> dict[str, Any]:
    """Read the service in a compose file."""
    rendered: dict[str, Any] = yaml.safe_load((generated / name / "compose.yaml").read_bytes())["services"]["server"]
    return {key: text_of(value) for key, value in rendered.items()}


def test_texts_come_out_as_they_went_in(generated: Path) -> None:
    rendered = server(generated, "asr")
    assert len(CORPUS) > 400
    for number, (name, text) in enumerate([*LEGAL.items(), *(("corpus", text) for text in CORPUS)]):
        assert rendered["command"][number] == text, name
        assert rendered["environment"][f"V{number}"] == text, name


def test_engine_options_come_out_as_they_went_in(generated: Path) -> None:
    command = server(generated, "chat")["command"]
    overrides = next(word for word in command if word.startswith("--hf-overrides="))
    assert json.loads(overrides.partition("=")[2]) == SPECULATIVE_CONFIG
    assert f"--chat-template={OPTIONS['chat_template']}" in command
    assert command[command.index("--lora-modules") + 1 :][:2] == OPTIONS["lora_modules"]
