"""`sparkiac apply` on a terminal: the question, Ansible's prompts, colours, and the end of it by Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.commands.inputs import Exit
from tests.commands import fleet
from tests.commands.fleet import LOCAL, RESTART
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORD: Final = "open-sesame"
COMMITTED: Final = """echo '{"outcome": "committed", "changed": true}'"""


def plain(text: str) -> str:
    """Remove colours; a line that is drawn again is a line of its own."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n").replace("\r", "\n")


def on_terminal(
    root: Path, folder: Path, dialog: Sequence[tuple[str, str | Path]], *words: str, columns: int = 100, **env: str
) -> tuple[int, str]:
    """Run sparkiac with a terminal of its own; when a text appears, type its answer or touch its file.

    Give exit code and output.
    """
    process, ours = pty.fork()
    if process == 0:
        os.chdir(folder)
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # noqa: PTH120
        kept = {
            "PATH": path,
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "HOME": str(folder),
            "TMPDIR": str(root),
        }
        command = [sys.executable, "-m", "tests.commands.fleet", str(root), *words]
        os.execve(sys.executable, command, kept | env)  # noqa: S606
    termios.tcsetwinsize(ours, (30, columns))
    said, seen, answers = "", 0, list(dialog)
    with contextlib.suppress(OSError):  # Linux ends a terminal's stream with an error
        while block := os.read(ours, 4096):
            said += block.decode(errors="replace")
            if answers and answers[0][0] in plain(said)[seen:]:
                seen, answer = len(plain(said)), answers.pop(0)[1]
                if isinstance(answer, str):
                    os.write(ours, answer.encode())
                else:
                    answer.touch()
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


@pytest.fixture
def root(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of what two hosts answer; the fleet in tmp_path is generated, and spark-01 differs."""
    made = tmp_path_factory.mktemp("hosts")
    fleet.make(made)
    fleet.write(tmp_path)
    command = [sys.executable, "-m", "tests.commands.fleet", str(made), "generate", "lab.yaml"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    fleet.looks(made, "spark-01", RESTART)
    fleet.answers(made, "spark-01", "services", COMMITTED)
    return made


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it prints."""
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_it_asks_and_shows_the_hosts_in_place(root: Path, tmp_path: Path) -> None:
    seen = root / "seen"
    until_seen = "for i in $(seq 6000); do [ ! -e $STUB/seen ] || exit 0; sleep 0.1; done; exit 1"
    fleet.answers(root, "spark-01", "verify", until_seen)
    dialog = [("[y/N]", "y\n"), ("spark-01  gate", seen)]
    code, said = on_terminal(root, tmp_path, dialog, "apply", "lab.yaml", "--", *LOCAL)
    text = plain(said)
    assert code == 0, text
    assert "Apply to spark-01? [y/N]: y" in text
    assert "\x1b[33mrestart\x1b[0m chat" in said
    assert re.search(r"spark-01  gate +\d+ s", text)
    assert re.search(r"spark-01  done +\d+ s\nApplied to 1 host in \d+ s\.\n$", text)


def test_without_colours_it_says_the_same(root: Path, tmp_path: Path) -> None:
    words = ("apply", "lab.yaml", "--yes", "--", *LOCAL)
    code, said = on_terminal(root, tmp_path, [], *words, columns=80, NO_COLOR="1")
    assert code == 0
    assert re.findall(r"\x1b\[[0-9;]*3[0-7]m", said) == []
    assert max(map(len, plain(said).splitlines())) <= 80


def test_no_is_an_answer(root: Path, tmp_path: Path) -> None:
    fleet.answers(root, "spark-01", "preflight", "touch $STUB/applied")
    code, said = on_terminal(root, tmp_path, [("[y/N]", "n\n")], "apply", "lab.yaml", "--", *LOCAL)
    assert code == Exit.INTERRUPTED
    assert plain(said).endswith("Nothing was changed.\n")
    assert not (root / "applied").exists()
    assert list(root.rglob("ansible.log")) == []


@pytest.mark.parametrize(
    ("answers", "code", "last"), [("yy", 0, "Applied to 1 host in"), ("n", 130, "Nothing was changed.")]
)
def test_an_older_tree_is_a_question_of_its_own(root: Path, tmp_path: Path, answers: str, code: int, last: str) -> None:
    """Before the question of every apply; `no` ends both."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    for subject in ("old", "new"):
        git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", subject)
    newest = git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "reset", "--quiet", "--soft", "HEAD~1")
    fleet.looks(root, "spark-01", RESTART | {"commit": newest})
    fleet.answers(root, "spark-01", "services", f"touch $STUB/applied; {COMMITTED}")
    dialog = [("[y/N]", f"{answer}\n") for answer in answers]
    ended, said = on_terminal(root, tmp_path, dialog, "apply", "lab.yaml", "--", *LOCAL)
    text = plain(said)
    assert ended == code, text
    told, asked = re.search(r"\n(spark-01 runs .*)\n(.*)\n", text).groups()  # type: ignore[union-attr]
    assert re.fullmatch(rf"spark-01 runs {newest[:12]} \([\d-]+, new\), which is newer than the tree here", told)
    assert asked == f"Go back to the older tree? [y/N]: {answers[0]}"
    assert ("Apply to spark-01? [y/N]: y" in text) == (root / "applied").exists() == (code == 0)
    assert text.splitlines()[-1].startswith(last)


def test_a_verb_asks_after_its_list(root: Path, tmp_path: Path) -> None:
    fleet.answers(root, "spark-01", "services", "touch $STUB/restarted")
    words = ("restart", "lab.yaml", "chat", "--", *LOCAL)
    code, said = on_terminal(root, tmp_path, [("[y/N]", "n\n")], *words)
    assert code == Exit.INTERRUPTED
    shown = [line.rstrip() for line in plain(said).splitlines()]
    assert shown[-4:] == ["spark-01", "  would do it", "Restart chat on spark-01? [y/N]: n", "Nothing was changed."]
    assert not (root / "restarted").exists()
    code, said = on_terminal(root, tmp_path, [("[y/N]", "y\n")], *words)
    assert code == 0, said
    assert re.search(r"\nRestarted chat on 1 host in \d+ s\.\n$", plain(said))
    assert (root / "restarted").exists()


def test_a_verb_that_is_interrupted_says_what_may_go_on(root: Path, tmp_path: Path) -> None:
    fleet.answers(root, "spark-01", "services", "exec sleep 60")
    dialog = [("spark-01  switch", "\x03")]
    code, said = on_terminal(root, tmp_path, dialog, "restart", "lab.yaml", "chat", "--yes", "--", *LOCAL)
    assert code == Exit.INTERRUPTED, said
    assert "Interrupted. What has begun on a host may go on there" in plain(said)
    assert "Traceback" not in said


def test_ansible_prompts_for_passwords_on_the_terminal(root: Path, tmp_path: Path) -> None:
    """Once for each of its two runs; what is typed is shown nowhere."""
    prompt = ("BECOME password:", f"{WORD}\n")
    code, said = on_terminal(
        root, tmp_path, [prompt, ("[y/N]", "y\n"), prompt], "apply", "lab.yaml", "--", *LOCAL, "--ask-become-pass"
    )
    assert code == 0, said
    assert said.count("BECOME password:") == 2
    assert WORD not in said


def test_interrupted_by_the_terminal_both_end(root: Path, tmp_path: Path) -> None:
    fleet.answers(root, "spark-01", "services", "exec sleep 60")
    dialog = [("spark-01  switch", "\x03")]
    code, said = on_terminal(root, tmp_path, dialog, "apply", "lab.yaml", "--yes", "--", *LOCAL)
    text = plain(said)
    assert code == Exit.INTERRUPTED, text
    assert "Interrupted. A host that was switching ends on the new or the former generation by itself." in text
    assert "Traceback" not in text
