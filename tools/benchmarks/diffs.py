"""How much of a reviewed change is hashes: what `generate` changes for each of 13 changes of an inventory.

`python tools/benchmarks/diffs.py` generates inventories/lab.yaml in a temporary Git repository, makes one change at a
time and counts the lines that `git diff` shows: all, those with a hash that only one side has, and both in the files
that reviewers read, which .gitattributes does not mark as generated. It ends with 1 if more than 30 % of the lines of a
change that reviewers read are hashes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
LARGEST = 0.30
_HASH = re.compile(r"(?<![0-9a-f])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{12,}(?![0-9a-f])")
"""A digest, a commit, a generation, a cache; a number of bytes has no letter."""
_MARKED = "linguist-generated"
_QWEN = "    hosts: spark-01\n    port: 8001\n"
_GEMMA_IMAGE = "nvcr.io/nvidia/vllm:26.07-py3@sha256:95c498a475142c20c989c65e5d223348c09fed83ba17ddf44f117610c0bd3268"
CHANGES = {
    "max_num_seqs": (_QWEN, f"{_QWEN}    set: {{max_num_seqs: 5}}\n"),
    "max_model_len": (_QWEN, f"{_QWEN}    set: {{max_model_len: 131072}}\n"),
    "gpu_memory_utilization": (_QWEN, f"{_QWEN}    set: {{gpu_memory_utilization: 0.5}}\n"),
    "port": (_QWEN, _QWEN.replace("8001", "8010")),
    "environment": (_QWEN, f"{_QWEN}    env: {{VLLM_LOGGING_LEVEL: DEBUG}}\n"),
    "served name": (_QWEN, f"{_QWEN}    served_names: [thinker]\n"),
    "ready_s": (_QWEN, f"{_QWEN}    timeouts: {{ready_s: 900}}\n"),
    "image": (_QWEN, f"{_QWEN}    image: {_GEMMA_IMAGE}\n"),
    "description": ("heavy reasoning, coding", "reasoning, coding"),
    "driver": ('driver: "580.142"  ', 'driver: "580.126"  '),
    "reserve": ("memory: {total_gib: 119}  ", "memory: {total_gib: 119, reserve_gib: 12}  "),
    "address": ("192.168.1.11", "192.168.1.21"),
    "canary": ("defaults:\n", "rollout: {canary: spark-02}\ndefaults:\n"),
}
"""Name → what is replaced in the inventory, once, and by what."""


class Lines(NamedTuple):
    """The changed lines of some files."""

    files: int
    changed: int
    hashes: int


def main() -> int:
    """Print the table."""
    worst = 0.0
    print(f"{'change':<24} files  lines  hashes   read: files  lines  hashes  share")
    with tempfile.TemporaryDirectory() as folder:
        text = _start(Path(folder))
        for name, (before, after) in CHANGES.items():
            assert before in text, f"inventories/lab.yaml has no {before!r}"  # noqa: S101
            _generate(Path(folder), text.replace(before, after, 1))
            every, read = _counted(Path(folder))
            share = read.hashes / max(read.changed, 1)
            worst = max(worst, share)
            print(f"{name:<24}{every.files:>6}{every.changed:>7}{every.hashes:>8}   "
                  f"{read.files:>11}{read.changed:>7}{read.hashes:>8}{share:>7.0%}")  # fmt: skip
    return int(worst > LARGEST)


def _start(folder: Path) -> str:
    """Commit the inventory and what it generates; return its text."""
    (folder / "inventories").mkdir()
    for name in ("lab.yaml", "lab.lock.yaml"):
        shutil.copy(ROOT / "inventories" / name, folder / "inventories")
    text = (folder / "inventories/lab.yaml").read_text()
    _git(folder, "init", "--quiet")
    _generate(folder, text)
    _git(folder, "add", "--all")
    _git(folder, "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "--quiet", "--message", "start")
    return text


def _generate(folder: Path, text: str) -> None:
    (folder / "inventories/lab.yaml").write_text(text)
    command = (sys.executable, "-m", "sparkiac", "generate", "inventories/lab.yaml")
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _counted(folder: Path) -> tuple[Lines, Lines]:
    """Return the changed lines of all generated files and of those that are not marked."""
    paths = _git(folder, "diff", "--name-only", "--", "generated").split()
    marks = _git(folder, "check-attr", _MARKED, "--", *paths).splitlines()
    read = [path for path, mark in zip(paths, marks, strict=True) if not mark.endswith(": set")]
    return _lines(folder, paths), _lines(folder, read)


def _lines(folder: Path, paths: list[str]) -> Lines:
    found = list(_changed(folder, paths)) if paths else []
    hashes = [set(_HASH.findall(line)) for line in found]
    sides = [set().union(*(each for line, each in zip(found, hashes, strict=True) if line[0] == sign)) for sign in "+-"]
    differing = sides[0] ^ sides[1]
    return Lines(len(paths), len(found), sum(not each.isdisjoint(differing) for each in hashes))


def _changed(folder: Path, paths: list[str]) -> Iterator[str]:
    for line in _git(folder, "diff", "--unified=0", "--", *paths).splitlines():
        if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
            yield line


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
