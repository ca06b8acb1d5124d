"""CPU time of `sparkiac generate` for 1,000 hosts: the first run, an unchanged inventory, one changed host.

Whole processes are measured.

`python tools/benchmarks/large.py` prints the median of 3 rounds, user and system time together. The measure is a
process that writes the same files with the same content and nothing else. Byte code is written once before, as an
installation has it.
"""

from __future__ import annotations

import os
import pickle
import statistics
import sys
import tempfile
from pathlib import Path

import check
import cold

HOSTS = 1000
ROUNDS = 3
PLAIN = """
import pathlib, pickle, sys
for path, content in pickle.load(open(sys.argv[1], "rb")).items():
    file = pathlib.Path(sys.argv[2], path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
"""


def main() -> None:
    """Print the table."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    rounds = []
    for _ in range(1 + ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(one(Path(folder), kept | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "large"))}))
    medians = {name: statistics.median(each[name] for each in rounds[1:]) for name in rounds[0]}
    for name, found in medians.items():
        print(f"{name:<20}{found:7.2f} s  {found / medians['plain writing']:5.2f} x plain writing")


def one(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Time one round."""
    inventory, target, content = folder / "large.yaml", folder / "tree", folder / "content"
    text = check.fleet(HOSTS).replace(", api_key: {secret: vllm_api_key}", "")  # one of the engines takes no key
    inventory.write_text(text, encoding="utf-8")
    generate = (sys.executable, "-m", "sparkiac", "generate", str(inventory), "--output", str(target))
    command = (*generate, "--allow-unlocked", "--format", "json")
    found = {"full run": cold.seconds(command, environment)}
    write_content(target, content)
    found["no change"] = cold.seconds(command, environment)
    inventory.write_text(text.replace("seed: 7}", "seed: 70000}"), encoding="utf-8")
    found["one host changed"] = cold.seconds(command, environment)
    found["plain writing"] = cold.seconds(
        (sys.executable, "-c", PLAIN, str(content), str(folder / "plain")), environment
    )
    return found


def write_content(target: Path, content: Path) -> None:
    """Store all files of a tree in one file, for the reference process that only writes them."""
    files = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    content.write_bytes(pickle.dumps(files))
    print(f"{len(files)} files, {sum(map(len, files.values())) / 1e6:.1f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
