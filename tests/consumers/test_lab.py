"""What the shipped inventories render, read by the programs that will read it: no output is the only good output."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import pipeline
from sparkiac.pipeline import InputFile
from sparkiac.report import Severity

if TYPE_CHECKING:
    from sparkiac.report.artifact import Artifact

ROOT = Path(__file__).parent.parent.parent
FOUND = {
    "lab": [],
    "solo": [],
    "pair": ["ENT100", "IMG003"],
    "ring3": ["MEM100"],
    "switch4": ["MEM100"],
}
"""Inventory → warnings and errors with its shipped lock."""
BIN = Path(sys.executable).parent
WORST_EXPOSURE = 1.0
"""Highest score of `systemd-analyze security` (0 is best, 10 worst)."""
WORST_EXPOSURE_OF_RECOVER = 3.0
"""sparkiac-recover.service runs as root, because it installs files."""
WORST_EXPOSURE_OF_GROUP = 1.2
"""The unit of a node of a group is connected to those of the other nodes."""


def rendered(name: str) -> tuple[Artifact, ...]:
    inventory, lock = (ROOT / f"inventories/{name}{suffix}" for suffix in (".yaml", ".lock.yaml"))
    outcome = pipeline.check(InputFile(inventory.name, inventory.read_bytes()), InputFile(lock.name, lock.read_bytes()))
    assert outcome.plan is not None
    found = [each.code for each in outcome.report.findings if each.severity > Severity.INFO]
    assert found == FOUND[name], "what a complete lock would settle, and nothing else"
    return pipeline.render(outcome.plan)


@pytest.fixture(scope="module", params=FOUND)
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the whole rendered tree of one shipped inventory."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    for artifact in rendered(request.param):
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
        path.chmod(artifact.mode)
    return folder


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_compose_reads_every_project(tree: Path) -> None:
    projects = sorted(tree.glob("hosts/*/etc/sparkiac/*/compose.yaml"))
    assert projects
    for project in projects:
        done = run("docker-compose", "--env-file", "/dev/null", "-f", str(project), "config", "-q", cwd=tree)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_ansible_reads_the_playbooks(tree: Path) -> None:
    done = run("ansible-playbook", "site.yml", "--syntax-check", cwd=tree)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_ansible_sees_the_hosts_and_their_variables(tree: Path) -> None:
    done = run("ansible-inventory", "--list", cwd=tree)
    assert done.returncode == 0, done.stderr
    assert '"sparkiac"' in done.stdout


@pytest.mark.deep
def test_ansible_lint_has_nothing_to_say(tree: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tree, tmp_path / "tree")
    done = run("ansible-lint", "--offline", "--profile", "production", "--strict", "-q", "site.yml", cwd=copy)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def units(tree: Path) -> dict[str, bytes]:
    """Return every file that systemd would see, by its path on the host."""
    return {
        "/" + path.relative_to(host).as_posix(): path.read_bytes()
        for host in (*sorted(tree.glob("hosts/*")), tree / "playbooks/roles/programs/files")
        for path in sorted(host.rglob("*"))
        if path.is_file()
    }


def test_systemd_has_nothing_to_say_about_the_units(tree: Path, analyze) -> None:  # noqa: ANN001
    files = units(tree)
    names = [path for path in files if path.endswith(".service")]
    assert names
    done = analyze(["verify", *names], files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_units_are_hardly_exposed(tree: Path, analyze) -> None:  # noqa: ANN001
    files = units(tree)
    for name in (path for path in files if path.endswith(".service")):
        worst = WORST_EXPOSURE_OF_GROUP if b"/lib/sparkiac/group " in files[name] else WORST_EXPOSURE
        worst = WORST_EXPOSURE_OF_RECOVER if name.endswith("/sparkiac-recover.service") else worst
        done = analyze(["security", "--offline=true", f"--threshold={int(worst * 10)}", name], files)
        assert done.returncode == 0, done.stdout + done.stderr


def test_verify_would_notice_an_unknown_key(tree: Path, analyze) -> None:  # noqa: ANN001
    """The check can fail: systemd-analyze exits 0 for this, so only its output tells."""
    files = units(tree)
    name = next(path for path in files if path.endswith(".service"))
    files[name] = files[name].replace(b"Restart=always", b"Restart=always\nRestrat=always")
    assert "Restrat" in analyze(["verify", name], files).stderr
