"""A kind of service is one file: a copy of the package with one more gets its defaults, checks, plan and import."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import sparkiac
from tests.plan.fleets import ONES

KIND: Final = """\
title: Toyspeech, speech to text
sources: [invented for a test]
port: 8770
container_port: 9000
health: /ready
memory_gib: 2
speech: transcription
images: toyspeech
"""
INVENTORY: Final = f"""\
name: lab
hosts: {{spark-01: {{address: 192.168.1.11}}}}
services:
  asr: {{kind: toyspeech, image: example.org/toyspeech@{ONES}, hosts: spark-01}}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package, as links, that has one kind of service more."""
    folder = tmp_path_factory.mktemp("package")
    shipped = Path(sparkiac.__file__).parent
    for beside in ("templates", "playbooks", "site.yml", "ansible.cfg"):
        (folder / beside).symlink_to(shipped.parent / beside)
    shutil.copytree(shipped, folder / "sparkiac", copy_function=os.symlink)
    (folder / "sparkiac" / "catalog" / "services" / "toyspeech.yaml").write_text(KIND)
    return folder


def run(package: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (cwd / "lab.yaml").write_text(INVENTORY)
    (cwd / "lab.lock.yaml").write_text("version: 1\nimages: {}\n")
    environment = os.environ | {"PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "sparkiac", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_check_and_plan_accept_it_with_its_defaults(package: Path, tmp_path: Path) -> None:
    assert run(package, tmp_path, "check", "lab.yaml").returncode == 0
    found = run(package, tmp_path, "plan", "lab.yaml")
    assert found.returncode == 0, found.stderr
    for text in ("192.168.1.11:8770", "2.0 GiB", "Toyspeech, speech to text"):
        assert text in found.stdout


def test_generate_writes_its_container_and_its_promise(package: Path, tmp_path: Path) -> None:
    found = run(package, tmp_path, "generate", "lab.yaml")
    assert found.returncode == 0, found.stdout + found.stderr
    host = tmp_path / "generated" / "lab" / "hosts" / "spark-01"
    texts = "\n".join(path.read_text() for path in host.rglob("*") if path.is_file() and "asr" in str(path))
    assert re.search(r"published: .8770.\s+target: 9000", texts)
    assert "/ready" in texts


def test_an_unknown_kind_is_refused_with_the_nearest_name(package: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(INVENTORY.replace("kind: toyspeech", "kind: toyspech"))
    found = run(package, tmp_path, "check", "wrong.yaml")
    assert found.returncode == 2
    assert "wrong.yaml:4:15: error INV002" in found.stderr
    assert "did you mean 'toyspeech'?" in found.stderr


def test_import_recognises_its_image(package: Path, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("docker run -p 8771:9000 example.org/toyspeech:1.0\n")
    found = run(package, tmp_path, "import", "run.sh").stdout
    assert "kind: toyspeech" in found
    assert "port: 8771" in found
    assert "container_port" not in found
