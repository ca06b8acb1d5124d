"""Kill `sparkiac generate` before each call that changes the disk. A script: `generate_killer.py STRIDE`.

It works in the current directory, which holds lab.yaml, and forks the runs that it kills: a new interpreter each time
would take most of the time. STRIDE 1 kills before every call, 10 before every tenth, and always before and after the
exchange of the trees. Prints as JSON, to standard error, how often each tree was found after a kill.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Final

from sparkiac.console import run
from tests.write.faults import DELETING, WRITING, calls

ROOT: Final = Path("generated/lab")
INVENTORY: Final = Path("lab.yaml")
RECIPE: Final = "    recipe: unsloth/gemma-4-26b-a4b-it-nvfp4"
CONTEXTS: Final = (16384, 32768)


def tree() -> dict[str, str]:
    """Return the digest of each file."""
    return {
        path.relative_to(ROOT).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(ROOT.rglob("*"))
        if path.is_file()
    }


def generate() -> None:
    """Run the command; it must succeed."""
    assert run(["generate", str(INVENTORY)]) == 0


def traced() -> list[str]:
    """Run the command and give the names of the calls that could change the disk, in order."""
    names: list[str] = []
    with calls(*WRITING, *DELETING, before=names.append):
        generate()
    return names


def kill(nth: int) -> None:
    """Run the command in a child that dies before its n-th call."""
    child = os.fork()
    if not child:
        count = 0

        def before(_: str) -> None:
            nonlocal count
            count += 1
            if count == nth:
                os.kill(os.getpid(), signal.SIGKILL)

        with calls(*WRITING, *DELETING, before=before):
            os._exit(run(["generate", str(INVENTORY)]))
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the run ended before call {nth}"


def main(stride: int) -> None:
    """Kill at each chosen call, each time on the way from one tree to the other, and complete the run."""
    plain = INVENTORY.read_text()
    texts = [plain.replace(RECIPE, f"{RECIPE}\n    set: {{max_model_len: {context}}}") for context in CONTEXTS]
    whole, names = [], []
    for text in texts:
        INVENTORY.write_text(text)
        names = traced()
        whole.append(tree())
    assert whole[0] != whole[1]
    exchange = names.index("exchange") + 1
    chosen = sorted({*range(1, len(names) + 1, stride), exchange, exchange + 1})
    found: Counter[str] = Counter()
    for round_, nth in enumerate(chosen):
        new = round_ % 2
        INVENTORY.write_text(texts[new])
        kill(nth)
        assert tree() in whole, f"neither of the two trees after a kill before call {nth}"
        found["new" if tree() == whole[new] else "old"] += 1
        generate()
        assert tree() == whole[new]
        assert [path.name for path in ROOT.parent.iterdir()] == [ROOT.name]
    print(json.dumps({"calls": len(names), **found}), file=sys.stderr)  # noqa: T201  the script's result


if __name__ == "__main__":
    main(int(sys.argv[1]))
