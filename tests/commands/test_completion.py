"""Completion, typed into real shells on a terminal: what a Tab writes, and that nothing else appears."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from sparkiac.commands import docs
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE: Final = (ROOT / "docs/install.md").read_text()
INTERACTIVE: Final = {"bash": ("--norc", "-i"), "zsh": ("-f", "-i"), "fish": ("--no-config", "-i")}
FIRST: Final = {"zsh": "autoload -Uz compinit && compinit -u"}
DEADLINE_S: Final = 600
TYPED: Final = {
    "sparkiac gen": "sparkiac generate ",
    "sparkiac add redhatai/qwen3.6": "sparkiac add redhatai/qwen3.6-35b-a3b-nvfp4 ",
    "sparkiac export inventories/lab.yaml qw": "sparkiac export inventories/lab.yaml qwen36 ",
    "sparkiac remove --from inventories/lab.yaml gem": "sparkiac remove --from inventories/lab.yaml gemma4 ",
    "sparkiac status inventories/lab.yaml spark-02": "sparkiac status inventories/lab.yaml spark-02 ",
    "sparkiac drain inventories/lab.yaml gem": "sparkiac drain inventories/lab.yaml gemma4 ",
    "sparkiac logs inventories/lab.yaml spark-01": "sparkiac logs inventories/lab.yaml spark-01 ",
    "sparkiac undr": "sparkiac undrain ",
    "sparkiac bench inventories/lab.yaml qwe": "sparkiac bench inventories/lab.yaml qwen36 ",
    "sparkiac rules explain double-v": "sparkiac rules explain double-vllm-serve ",
    "sparkiac docs trouble": "sparkiac docs troubleshooting ",
}
"""What is typed before Tab → the line after it."""


class Terminal(NamedTuple):
    """An interactive shell on a terminal of its own."""

    descriptor: int
    process: int

    def type(self, text: str) -> None:
        """Type keys."""
        os.write(self.descriptor, text.encode())

    def shown(self, wanted: str) -> str:
        """Read until a text appears, and return everything that was shown; fail after the deadline."""
        found, end = "", time.monotonic() + DEADLINE_S
        while wanted not in plain(found) and time.monotonic() < end:
            if select.select([self.descriptor], [], [], 0.2)[0]:
                found += os.read(self.descriptor, 4096).decode(errors="replace")
        assert wanted in plain(found), f"{wanted!r} did not appear: {plain(found)!r}"
        return plain(found)


def plain(text: str) -> str:
    """Return the text without control sequences and without what a backspace removes."""
    text = re.sub(r"\x1b\[[0-9;?>=]*[A-Za-z]|\x1b[\](P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>()][0-9A-B]?", "", text)
    return text.replace("\r", "")


@pytest.fixture(params=sorted(INTERACTIVE))
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Terminal]]:
    """Return the name of a shell and a terminal in which it runs, with the completion of docs/install.md."""
    shell = str(request.param)
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/sparkiac"
    program.write_text(f"#!{sys.executable}\nfrom sparkiac.__main__ import main\nmain()\n")
    program.chmod(0o755)
    process, descriptor = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb", "PS1": "$ "}
        os.execvpe(shell, [shell, *INTERACTIVE[shell]], environment | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"})  # noqa: S606
    found = Terminal(descriptor, process)
    try:
        yield shell, found
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(descriptor)


def line_of(shell: str) -> str:
    """Return the line that docs/install.md gives for a shell."""
    found = re.search(rf"^\| {shell} \|[^|]*\| `(.+?)` \|$", PAGE, re.MULTILINE)
    assert found
    return found[1].replace("\\|", "|")


def test_tab_prints_only_completions(terminal: tuple[str, Terminal]) -> None:
    shell, typed = terminal
    typed.type(f"{FIRST[shell]}\r" if shell in FIRST else "")
    typed.type(f"{line_of(shell)}; echo ready\r")
    assert "Broken pipe" not in typed.shown("ready")
    for before, after in TYPED.items():
        typed.type(f"{before}\t")
        shown = typed.shown(after)
        assert "sparkiac:" not in shown, "an error message of sparkiac"
        typed.type('\x15echo nex""t\r')  # Ctrl-U removes the line
        typed.shown("next")


def test_a_broken_inventory_completes_nothing_and_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("deployments: {a: [}\n")
    for words in ("sparkiac export bad.yaml ", "sparkiac export missing.yaml ", "sparkiac export . "):
        asked = {"COMP_WORDS": words, "COMP_CWORD": "3", "_SPARKIAC_COMPLETE": "bash_complete"}
        argv = [sys.executable, "-c", "from sparkiac.__main__ import main; main()"]
        environment = os.environ | asked | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_every_page_completes() -> None:
    """The list is that of `sparkiac docs`, so no page is missing."""
    pages = {each.value for each in docs.docs.params[0].shell_complete(docs.docs.make_context("docs", []), "")}
    assert pages >= {path.stem for path in (ROOT / "docs").glob("*.md")}
    after = docs.docs.make_context("docs", ["tasks"])
    found = {each.value for each in docs.docs.params[0].shell_complete(after, "")}
    assert found == {path.stem for path in (ROOT / "docs/tasks").glob("*.md")}
