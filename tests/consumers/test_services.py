"""The stored output of every golden case, read by the programs that will read it on a host."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sparkiac.render import playbooks

GOLDEN = Path(__file__).parents[1] / "golden"
COMPOSE = Path(sys.executable).with_name("docker-compose")
PROJECTS = sorted(GOLDEN.glob("*/expected/hosts/*/etc/sparkiac/*/compose.yaml"))
AGENT = GOLDEN / "hermes-agent/expected/hosts/spark-01"
UNIT = "/etc/systemd/system/sparkiac-agent.service"
PROGRAM = "/home/spark/.local/bin/hermes"
USERS = "root:x:0:0::/root:/bin/sh\nspark:x:1000:1000::/home/spark:/bin/sh\nsparkiac:x:990:990::/:/usr/sbin/nologin\n"
AGENT_EXPOSURE = 5.0
"""An agent works in its user's home, with network and terminal: `systemd-analyze security` calls this medium."""


def test_there_are_projects_of_every_kind() -> None:
    kinds = {path.parts[len(GOLDEN.parts)] for path in PROJECTS}
    assert {"parakeet", "chatterbox", "gpu-exporter", "ollama", "open-webui"} <= kinds


@pytest.mark.parametrize(
    "project", PROJECTS, ids=lambda path: "/".join((path.parts[len(GOLDEN.parts)], path.parts[-2]))
)
def test_compose_reads_every_project(project: Path, tmp_path: Path) -> None:
    """Rows 10.1, 12.1, 12.2, 12.3."""
    argv = [COMPOSE, "--env-file", "/dev/null", "-f", project, "config", "-q"]
    done = subprocess.run(argv, env={"HOME": str(tmp_path), "PATH": ""}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def host() -> dict[str, bytes]:
    """Return every file of the agent's host, and the program that its user installed."""
    files = {"/" + path.relative_to(AGENT).as_posix(): path.read_bytes() for path in AGENT.rglob("*") if path.is_file()}
    scripts = {f"/{each.path}": each.content for each in playbooks.on_every_host()}
    return files | scripts | {PROGRAM: b"#!/bin/sh\n", "/etc/passwd": USERS.encode()}


def test_systemd_has_nothing_to_say_about_the_agents_unit(analyze) -> None:  # noqa: ANN001
    """Row 10.2."""
    done = analyze(["verify", UNIT], host())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_agents_unit_is_not_exposed_more_than_it_must(analyze) -> None:  # noqa: ANN001
    done = analyze(["security", "--offline=true", f"--threshold={int(AGENT_EXPOSURE * 10)}", UNIT], host())
    assert done.returncode == 0, done.stdout + done.stderr


def line(key: str) -> str:
    """Return the value of a key of the unit that is there once."""
    [found] = lines(key)
    return found


def lines(key: str) -> list[str]:
    """Return the values of a key of the unit."""
    found = (AGENT / UNIT[1:]).read_text().splitlines()
    return [each.partition("=")[2] for each in found if each.startswith(f"{key}=")]


def argv(value: str) -> list[str]:
    """Read an Exec line as systemd does, as far as this one goes: quotes, and `$$` for a dollar sign."""
    return [word.replace("$$", "$") for word in shlex.split(value.lstrip("+"))]


def start(folder: Path, **secrets: str) -> subprocess.CompletedProcess[str]:
    """Run the unit's own ExecStart with secrets in a folder, and a program that prints what it was given."""
    for name, value in secrets.items():
        (folder / name).write_text(value)
    program = folder / "hermes"
    program.write_text('#!/bin/sh\necho "$API_SERVER_KEY|$SPARKIAC_MODEL_KEY|$*"\ntr "\\0" " " </proc/$$/cmdline\n')
    program.chmod(0o755)
    moved = {"/run/credentials/sparkiac-agent.service": str(folder), PROGRAM: str(program)}
    words = argv(line("ExecStart"))
    for old, new in moved.items():
        words = [word.replace(old, new) for word in words]
    return subprocess.run(words, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)


def test_the_agent_gets_its_keys_in_its_environment_alone(tmp_path: Path) -> None:
    done = start(tmp_path, hermes_key="first $key ", vllm_api_key="second;'key'\"")
    said, command = done.stdout.split("\n", 1)
    assert (done.returncode, said) == (0, "first $key |second;'key'\"|gateway run")
    assert "key" not in command.replace(str(tmp_path), "")


@pytest.mark.parametrize("secrets", [{"hermes_key": "a"}, {"hermes_key": "a", "vllm_api_key": "\n"}])
def test_without_a_key_it_does_not_start(secrets: dict[str, str], tmp_path: Path) -> None:
    done = start(tmp_path, **secrets)
    assert done.returncode != 0
    assert done.stdout == ""


def test_no_file_contains_a_key_and_its_configuration_is_yaml() -> None:
    config = yaml.safe_load((AGENT / "etc/sparkiac/agent/config.yaml").read_text())
    assert config["model"]["api_key"] == "${SPARKIAC_MODEL_KEY}"
    environment = (AGENT / "etc/sparkiac/agent/environment").read_text()
    assert "KEY" not in environment
    assert 'NOTE="costs \\$5, 100 %, \\"quoted\\""' in environment


def test_ready_means_that_who_has_the_key_sees_the_agent() -> None:
    asks, opens = lines("ExecStartPost")
    assert asks.startswith("+")
    assert argv(asks) == ["/usr/local/lib/sparkiac/probe.py", "check", "--wait", "110", "sparkiac-agent"]
    assert opens == "+/usr/local/lib/sparkiac/switch opened sparkiac-agent", "after it has passed"
    units = json.loads((AGENT / "etc/sparkiac/generation.json").read_text())["units"]
    [promise] = [unit["promise"] for unit in units if unit["name"] == "sparkiac-agent"]
    found = {key: promise[key] for key in ("url", "models", "api_key")}
    assert found == {"url": "http://192.168.1.11:8642", "models": ["hermes-agent"], "api_key": "hermes_key"}


def test_it_starts_after_what_it_asks_on_its_host() -> None:
    """Row 10.3."""
    assert "sparkiac-qwen36.service" in line("After").split()
    assert "sparkiac-qwen36.service" in line("Wants").split()
