"""`sparkiac generate`, killed 200 times at random moments: the tree is the old one or the new one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

KILLS = 200
LAB = Path(__file__).parent.parent / "inventories"
MANIFEST = ".sparkiac-manifest.json"


def tree(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def write_inventory(folder: Path, *, context: int) -> None:
    text = (LAB / "lab.yaml").read_text()
    recipe = "    recipe: google/gemma-4-26b-a4b-it-fp8"
    (folder / "lab.yaml").write_text(text.replace(recipe, f"{recipe}\n    set: {{max_model_len: {context}}}"))


def killed_generate(folder: Path, *, after_s: float) -> bool:
    """Start the command, kill it after a time, and say whether it was still running."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sparkiac", "generate", "lab.yaml"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_s)
    running = process.poll() is None
    process.kill()
    process.wait()
    return running


def test_killed_generate_leaves_one_whole_tree(tmp_path: Path, sparkiac: Callable[..., Outcome]) -> None:
    (tmp_path / "lab.lock.yaml").write_bytes((LAB / "lab.lock.yaml").read_bytes())
    root, whole = tmp_path / "generated/lab", []
    start = time.monotonic()
    for context in (16384, 32768):
        write_inventory(tmp_path, context=context)
        assert sparkiac("generate", "lab.yaml").code == 0
        whole.append(tree(root))
    usual_s = (time.monotonic() - start) / 2
    chance, hit, seen = random.Random(1), 0, set()
    for number in range(KILLS):
        write_inventory(tmp_path, context=(16384, 32768)[number % 2])
        # The tree is exchanged near the end of the run, so most kills fall there: what comes too late, as the machine
        # has less to do by now, brings the next ones forward.
        running = killed_generate(tmp_path, after_s=usual_s * chance.triangular(0.2, 1.3, 0.9))
        usual_s *= 1.06 if running else 0.9
        hit += running
        assert tree(root) in whole
        seen.add(json.loads((root / MANIFEST).read_text())["inputs"]["lab.yaml"])
    assert hit > KILLS // 4, "the kills came too late to show anything"
    assert len(seen) == len(whole)
    assert sparkiac("generate", "lab.yaml").code == 0
    assert tree(root) == whole[(KILLS - 1) % 2]
    assert [path.name for path in root.parent.iterdir()] == ["lab"]
