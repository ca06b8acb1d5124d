"""`make release`: two builds of a commit are the same bytes, and version and address are the same everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Final

from sparkiac import __version__
from tests.conftest import ROOT
from tests.packaging.test_wheel import NO_NETWORK

if TYPE_CHECKING:
    from pathlib import Path

SUMS: Final = "SHA256SUMS"
ADDRESS: Final = re.compile(r"https?://[\w.:/@-]*/sparkiac(?=[\s@'\"`).]|$)")
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS: Final = ("*.md", "docs/**/*.md", "templates/**/*", "schema/*", "sparkiac/**/*.py", "sparkiac/catalog/**/*.md")


def released(target: Path, mask: str) -> dict[str, bytes]:
    """Build a release with a mask of permissions; return its files."""
    command = f'umask {mask}; exec "$0" tools/release.py "$1"'
    words = ["sh", "-c", command, sys.executable, str(target)]
    done = subprocess.run(words, cwd=ROOT, env=os.environ | NO_NETWORK, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in target.iterdir()}


def test_two_builds_of_a_commit_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = released(tmp_path / "first", "022"), released(tmp_path / "second", "077")
    assert first == second
    assert [name.rpartition(".")[2] for name in sorted(first)] == [SUMS, "whl", "gz"]
    subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=tmp_path / "first", check=True)
    assert len(first[SUMS].splitlines()) == 2


def test_the_newest_version_of_the_changelog_is_this_one_with_its_date() -> None:
    versions = re.findall(r"^## ([\d.]+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == __version__


def test_every_text_has_the_address_of_the_project() -> None:
    address = PROJECT["urls"]["Repository"]
    paths = {path for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file() and path.suffix != ".pyc"}
    found = [(path, each) for path in sorted(paths) for each in ADDRESS.findall(path.read_text("utf-8"))]
    assert [path.name for path, _ in found].count("install.md") > 3
    assert [(path.relative_to(ROOT), each) for path, each in found if each != address] == []
