"""Compare the files that the catalog cites with their newest state, and print what moved.

A citation is `github.com/OWNER/NAME at COMMIT, PATH` or, for a source in docs/sources.md, `TITLE, PATH at COMMIT`.
`--git OWNER/NAME=FOLDER` reads a git directory, `--raw URL` any other repository, for example from
`https://raw.githubusercontent.com/{repository}/{commit}/{path}`. Files that neither of them has are listed as unknown.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).parents[1]
CATALOG: Final = ROOT / "sparkiac/catalog"
FOLDERS: Final = ("recipes", "images", "fragments", "builds")
CITED: Final = re.compile(r'github\.com/([\w.-]+/[\w.-]+) at ([0-9a-f]{7,40}), ([^:,;"]+)')
ROW: Final = re.compile(r"^\| ([^|]+) \| \[([\w.-]+/[\w.-]+)\]\(https://github\.com/", re.MULTILINE)
NEWEST: Final = "HEAD"
SECONDS: Final = 30
STATES: Final = ("gone", "moved", "unknown", "same")


class Citation(NamedTuple):
    """One file, or folder, of a public repository, at the commit that was read."""

    repository: str
    commit: str
    path: str


class Found(NamedTuple):
    """What became of it."""

    state: str
    why: str = ""
    change: str = ""
    """The difference as a unified diff."""


def titles() -> dict[str, str]:
    """Return the repositories of the sources that have a title."""
    return {title.strip(): repository for title, repository in ROW.findall((ROOT / "docs/sources.md").read_text())}


def citations(text: str, named: Mapping[str, str]) -> Iterator[Citation]:
    """Yield the files that a text cites."""
    line = " ".join(text.split())
    for repository, commit, paths in CITED.findall(line):
        yield from (Citation(repository, commit, path) for path in _paths(paths))
    for title, repository in named.items():
        for paths, commit in re.findall(rf'{re.escape(title)}, ([^:,;"]+?) at ([0-9a-f]{{7,40}})', line):
            yield from (Citation(repository, commit, path) for path in _paths(paths))


def _paths(words: str) -> Iterator[str]:
    """Yield the paths of `one/file.md and another.md`, without the words around them."""
    for part in words.split(" and "):
        path = part.strip().strip("`')}]").rstrip(".")
        if " " not in path and ("/" in path or "." in path):
            yield path


def cited(catalog: Path, named: Mapping[str, str]) -> dict[Citation, list[str]]:
    """Return every cited file with the files of the catalog that cite it."""
    found: dict[Citation, list[str]] = {}
    files = [path for folder in FOLDERS for path in sorted((catalog / folder).rglob("*.yaml"))]
    for file in (*files, *catalog.glob("configs.json")):
        for each in dict.fromkeys(citations(file.read_text(), named)):
            found.setdefault(each, []).append(file.relative_to(catalog).as_posix())
    return found


def in_git(each: Citation, folder: Path) -> Found:
    """Compare a file in a git directory."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)

    if git("cat-file", "-e", f"{each.commit}^{{commit}}").returncode:
        return Found("unknown", "the commit is not in the git directory")
    if git("cat-file", "-e", f"{each.commit}:{each.path}").returncode:
        return Found("unknown", "the commit has no such file")
    if git("cat-file", "-e", f"{NEWEST}:{each.path}").returncode:
        return Found("gone", "the newest commit has no such file")
    change = git("diff", each.commit, NEWEST, "--", each.path).stdout
    if not change:
        return Found("same")
    commits = git("log", "--format=%h", f"{each.commit}..{NEWEST}", "--", each.path).stdout.split()
    return Found("moved", f"{_counted(change)}, last in {commits[0] if commits else 'another branch'}", change)


def by_url(each: Citation, template: str) -> Found:
    """Compare a file behind a URL."""
    texts: list[list[str]] = []
    for commit in (each.commit, NEWEST):
        url = template.format(repository=each.repository, commit=commit, path=each.path)
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                texts.append(answer.read().decode("utf-8", "replace").splitlines())
        except urllib.error.HTTPError as error:
            gone = commit == NEWEST and error.code == 404  # noqa: PLR2004
            return Found("gone" if gone else "unknown", f"HTTP {error.code} at {commit}")
        except OSError as error:
            return Found("unknown", f"{error} at {commit}")
    read, newest = texts
    change = "\n".join(difflib.unified_diff(read, newest, each.commit, NEWEST, lineterm=""))
    return Found("moved", _counted(change), change) if change else Found("same")


def _counted(change: str) -> str:
    lines = change.splitlines()
    added, removed = (sum(each.startswith(sign) and not each.startswith(sign * 3) for each in lines) for sign in "+-")
    return f"+{added} -{removed} lines"


def compared(each: Citation, folders: Mapping[str, Path], raw: str | None) -> Found:
    """Compare a file where it can be read."""
    if each.repository in folders:
        return in_git(each, folders[each.repository])
    return by_url(each, raw) if raw else Found("unknown", "no --git for this repository, and no --raw")


def report(found: Iterable[tuple[Citation, list[str], Found]], *, diff: bool) -> Iterator[str]:
    """Yield the lines of the report, first what is gone or moved, and the number of each state."""
    ordered = sorted(found, key=lambda each: (STATES.index(each[2].state), each[0]))
    for citation, files, now in ordered:
        if now.state != "same":
            yield f"{now.state}: {citation.repository} at {citation.commit}, {citation.path}: {now.why}"
            yield from (f"    {file}" for file in files)
            yield from (f"    {line}" for line in now.change.splitlines() if diff)
    yield ", ".join(f"{sum(now.state == state for *_, now in ordered)} {state}" for state in STATES)


def main(arguments: Sequence[str]) -> int:
    """Compare all citations; 1 if a file moved or is gone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", action="append", default=[], metavar="OWNER/NAME=FOLDER")
    parser.add_argument("--raw", metavar="URL", help="with {repository}, {commit} and {path}")
    parser.add_argument("--diff", action="store_true", help="print the differences")
    parser.add_argument("--catalog", type=Path, default=CATALOG, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    folders = {name: Path(folder) for name, _, folder in (each.partition("=") for each in given.git)}
    files = cited(given.catalog, titles())
    found = [(each, files[each], compared(each, folders, given.raw)) for each in files]
    print("\n".join(report(found, diff=given.diff)))
    return int(any(now.state in STATES[:2] for *_, now in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
