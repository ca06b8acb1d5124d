"""Folders, hosts and a catalog for the command line in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog
from tests.commands import fleet, small
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lab(folder: Path) -> Path:
    """Run the test in a folder with an inventory and its lock."""
    (folder / "lab.yaml").write_text(deployment())
    (folder / "lab.lock.yaml").write_text(LOCK)
    return folder


@pytest.fixture
def hosts(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let Ansible run the stand-in playbooks of `fleet`; return the folder of the hosts' answers."""
    made = tmp_path_factory.mktemp("hosts")
    fleet.make(made)
    fleet.use(made, monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("logs")))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield made
    fleet.forget()


@pytest.fixture
def small_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a catalog of a few entries in the place of the shipped one."""
    small.write(tmp_path / "catalog")
    monkeypatch.setattr(catalog, "_ROOT", tmp_path / "catalog")
    small.forget()
    yield
    monkeypatch.undo()
    small.forget()
