"""A toy Git repository, a fleet that runs what is built from it, and the script with a stand-in for docker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparkiac import pipeline
from tests.conftest import Outcome
from tests.plan.fleets import ONES, checked

if TYPE_CHECKING:
    from sparkiac.plan import Plan

DOCKER: Final = Path(__file__).parent / "docker"
LOCK: Final = f"version: 1\nimages:\n  example.org/base:1: {{digest: '{ONES}', entrypoint: [/entry.sh]}}\n"
INSTALL: Final = "install: [python3, -m, pip, install, .]"
DATES: Final = {"GIT_AUTHOR_DATE": "2026-05-19T12:00:00+0200", "GIT_COMMITTER_DATE": "2026-05-20T12:00:00+0200"}
_WHO: Final = ("-c", "user.name=Toy", "-c", "user.email=toy@example.org", "-c", "protocol.file.allow=always")


@dataclass
class Toy:
    """A repository on this disk, made by real git without anybody's configuration."""

    path: Path

    def __post_init__(self) -> None:
        """Make it, with one commit."""
        self.path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.base = self.commit("engine.py", "one = 1\n", subject="start")

    @property
    def address(self) -> str:
        """Its address."""
        return f"file://{self.path}"

    def git(self, *words: str) -> str:
        """Run git there."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env = {**kept, **DATES, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        argv = ["git", "-C", str(self.path), *_WHO, *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, name: str, text: str, *, subject: str) -> str:
        """Write a file and commit it."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, at: str) -> None:
        """Start a branch and stand on it."""
        self.git("checkout", "--quiet", "-B", name, at)

    def forget(self) -> None:
        """Drop every commit that no branch holds."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "--quiet", "--prune=now")

    def head_of_pull_request(self, number: int, commit: str) -> None:
        """Make a commit the head of a pull request."""
        self.git("update-ref", f"refs/pull/{number}/head", commit)


def fleet(*lines: str, install: str = INSTALL, base: str = "base: example.org/base:1") -> str:
    """Write an inventory whose service runs the build `engine` with these lines."""
    body = "".join(f"    {line}\n" for line in ("why: the tests want it", base, install, *lines) if line)
    service = "services:\n  asr: {kind: container, image: engine, hosts: spark-01, port: 8765}\n"
    return f"name: lab\nhosts: {{spark-01: {{address: 192.168.1.11}}}}\n{service}builds:\n  engine:\n{body}"


def plan(text: str, *, locked: str | None = LOCK) -> Plan:
    """Plan an inventory, of which nothing but what the lock lacks may be found."""
    outcome = checked(text, locked=locked, allow_unlocked=True)
    assert outcome.plan is not None, outcome.report.findings
    assert {finding.code for finding in outcome.report.findings} <= {
        "IMG003",
        "IMG100",
        "ENT100",
        "MDL001",
        "MEM100",
        "MN013",
        "FLG106",
    }
    return outcome.plan


@dataclass
class Bench:
    """A folder with the rendered build, a cache, the stand-in, and its records."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the folders and put the stand-in where `docker` is looked for."""
        for name in ("bin", "stub/site", "home"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "bin" / "docker").symlink_to(DOCKER)

    @property
    def record(self) -> Path:
        """Where the script writes what came out."""
        return self.folder / "record.json"

    @property
    def build(self) -> Path:
        """Where the rendered build lies."""
        return self.folder / "tree" / "builds" / "engine"

    def render(self, text: str, *, locked: str = LOCK) -> None:
        """Write the rendered build."""
        for artifact in pipeline.render(plan(text, locked=locked)):
            if artifact.path.startswith("builds/"):
                path = self.folder / "tree" / artifact.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(artifact.content)
                path.chmod(artifact.mode)

    def run(self, *words: str) -> Outcome:
        """Run the script; it may end with a sentence, never with a traceback of its own."""
        given = words or (str(self.record), "--cache", str(self.folder / "cache"))
        path = f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {"PATH": path, "STUB": str(self.folder / "stub"), "HOME": str(self.folder / "home"), **self.env}
        done = subprocess.run([self.build / "build", *given], env=env, capture_output=True, text=True, check=False)
        assert f'File "{self.build}' not in done.stderr, done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    def made(self, text: str, **locked: str) -> dict[str, Any]:
        """Render and run; give the record."""
        self.render(text, **locked)
        done = self.run()
        assert done.code == 0, done.err
        return dict(json.loads(self.record.read_text()))

    def refused(self, text: str) -> str:
        """Render and run what must not go well; give the sentence. Nothing is recorded."""
        self.render(text)
        done = self.run()
        assert done.code == 1
        assert not self.record.exists()
        sentence = done.err.strip().split("\n")[-1]
        assert sentence.startswith("build: ")
        return sentence.removeprefix("build: ")

    def image(self, name: str) -> dict[str, Any]:
        """Return what the stand-in keeps of an image."""
        return dict(json.loads((self.folder / "stub" / "images.json").read_text())[name])

    def asked(self) -> list[list[str]]:
        """Return all that docker was asked."""
        file = self.folder / "stub" / "asked.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
