"""Programs that flood, hang or leave processes behind, and how they end."""

from __future__ import annotations

import ast
import os
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.report import assets
from sparkiac.upstream import parallel, programs
from sparkiac.upstream.programs import Child, Completed, FloodedError, ProgramError, execute
from tests.hostile import measured

if TYPE_CHECKING:
    from pathlib import Path

LONG_S: Final = 300
SLEEPER: Final = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(900)'])"


def python(text: str, given: bytes = b"", *, timeout_s: float = LONG_S, **env: str) -> Completed:
    """Run a program of Python."""
    return execute((sys.executable, "-c", text), given, timeout_s=timeout_s, env={**os.environ, **env})


def test_output_errors_and_the_exit_code_are_returned() -> None:
    found = python(
        "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.stderr.write('why'); sys.exit(3)", b"a\xff"
    )
    assert (found.returncode, found.stderr) == (3, "why")
    assert found.stdout == "a\ufffd"


@pytest.mark.parametrize("stream", [1, 2])
def test_each_stream_is_limited_while_it_is_read(stream: int) -> None:
    with pytest.raises(FloodedError, match=r"^python[0-9.]* printed more than 1048576 bytes$"):
        python(f"import os\nwhile True: os.write({stream}, b'x' * 65536)")
    text = f"import os\nfor _ in range(16): os.write({stream}, b'x' * 65536)"
    assert len(python(text).raw or python(text).stderr) == programs.MOST_BYTES


def test_input_that_nobody_reads_does_not_hold_it_up() -> None:
    assert python("print('done')", b"x" * 10_000_000).stdout == "done\n"


@pytest.mark.parametrize("closed", ["", "os.close(1); os.close(2); "])
def test_a_program_that_hangs_ends_with_what_it_has_started(closed: str) -> None:
    mark = f"hang{closed}{os.getpid()}"
    with pytest.raises(ProgramError, match=r"^python[0-9.]* did not end within 3 s$"):
        python(f"import os, time\n{SLEEPER}\n{closed}time.sleep(900)", timeout_s=3, **{measured.MARK: mark})
    assert measured.left(mark) == []


def test_a_process_that_a_program_leaves_behind_ends_with_it() -> None:
    mark = f"left{os.getpid()}"
    assert python(f"{SLEEPER}\nprint('done')", **{measured.MARK: mark}).stdout == "done\n"
    assert measured.left(mark) == []


def test_a_program_that_ignores_the_first_signal_is_killed() -> None:
    with Child(
        (
            sys.executable,
            "-c",
            "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(900)",
        )
    ) as child:
        assert child.stdout.readline() == b"\n"
        begun = time.monotonic()
    assert child.process.returncode == -9
    assert time.monotonic() - begun < LONG_S


def test_a_program_that_is_missing_or_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"^sparkiac-none is not installed on this machine, or not in PATH$"):
        execute(("sparkiac-none",), timeout_s=1)
    (tmp_path / "script").write_text("#!/none\n")
    for mode, reason in ((0o755, "No such file or directory"), (0o644, "Permission denied")):
        (tmp_path / "script").chmod(mode)
        with pytest.raises(ProgramError, match=f"^script cannot be started: {reason}$"):
            execute((str(tmp_path / "script"),), timeout_s=1)


def test_programs_for_several_hosts_are_never_parsed_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 may raise SystemError when two threads convert a syntax tree."""
    parsing, most, parse = [0], [0], ast.parse

    def slow(source: bytes) -> ast.Module:
        parsing[0] += 1
        most[0] = max(most[0], parsing[0])
        time.sleep(0.005)
        tree = parse(source)
        parsing[0] -= 1
        return tree

    assets.imported.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", slow)
        bundles = list(parallel.each(range(4), lambda _: programs.bundled("sent.ports"), threads=4))
    assert len({bundle for _, bundle in bundles}) == 1
    assert most == [1]
