"""Run programs on this machine or, with the user's ssh, on another one, and read the JSON that they print.

A host may have another version of a program: unknown keys are ignored. Texts come from the host, so control characters
are escaped and long texts cut before anything is shown.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Final, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sparkiac.model.base import MOST_BYTES
from sparkiac.report.assets import directory
from sparkiac.report.characters import escaped, escaped_line
from sparkiac.upstream import parallel

FAILED: Final = 255
"""Exit code of ssh if there is no connection."""
NO_COMMAND: Final = 127
"""Exit code of a shell if the command does not exist."""
TimedOut = subprocess.TimeoutExpired
"""Exception of `run` after a timeout; under this name, callers need no import of subprocess."""
Completed = subprocess.CompletedProcess[str]
"""Result of `run`."""
_SSH: Final = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_LONGEST: Final = 300
_LONGEST_LINE: Final = 1 << 15
Number = Annotated[int, Field(ge=0, le=MOST_BYTES)]
"""A count, a size or a speed."""


def run(
    target: str | None, words: Sequence[str], *, program: str, timeout_s: float, port: int | None = None
) -> Completed:
    """Run a command with `program` as its input, at `target` ([USER@]ADDRESS) or on this machine.

    Output that is not UTF-8 is replaced. Raises FileNotFoundError if this machine has no such command, and
    TimedOut.
    """
    return subprocess.run(  # noqa: S603  no shell here, and the target is a word of its own, behind `--`
        _command(target, words, port),
        input=program,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )


def _command(target: str | None, words: Sequence[str], port: int | None) -> tuple[str, ...]:
    ports = ("-p", str(port)) if port else ()
    return (*_SSH, *ports, "--", target, shlex.join(words)) if target else tuple(words)


class RunningProgram:
    """A program at `target` ([USER@]ADDRESS) whose output is read while it runs; its input stays open."""

    def __init__(self, target: str, words: Sequence[str], *, program: str, port: int | None) -> None:
        """Start it, with processes of its own that end with it. Raises FileNotFoundError."""
        self._program = program
        self._process = subprocess.Popen(  # noqa: S603  as in `run`
            _command(target, words, port), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        self._errors = parallel.start(self._last_error)

    def lines(self) -> Iterator[str]:
        """Yield its lines until it ends; a line that is too long arrives in pieces. Raises ProgramError if it fails."""
        with self.started() as output:
            while line := output.readline(_LONGEST_LINE):
                yield line.decode(errors="replace")

    @contextmanager
    def started(self, more: Iterable[bytes] | None = None) -> Iterator[IO[bytes]]:
        """Send the program, and then `more`, the rest of its input; yield its output.

        Raises ProgramError at the end if it has failed.
        """
        assert self._process.stdin is not None  # noqa: S101  both are pipes
        assert self._process.stdout is not None  # noqa: S101
        with suppress(BrokenPipeError):  # it has failed; its exit code and errors say why
            self._process.stdin.write(self._program.encode())
            for block in more or ():
                self._process.stdin.write(block)
            self._process.stdin.flush()
            if more is not None:
                self._process.stdin.close()
        yield self._process.stdout
        if code := self._process.wait():
            raise ProgramError(last_line(self._errors.result(), f"ssh ended with {code}"))

    def _last_error(self) -> str:
        assert self._process.stderr is not None  # noqa: S101  it is a pipe
        end = b""
        while block := os.read(self._process.stderr.fileno(), _LONGEST_LINE):
            end = (end + block)[-_LONGEST_LINE:]
        return end.decode(errors="replace")

    def end(self) -> None:
        """End it and the processes that it has started."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)


def last_line(output: str, default: str) -> str:
    """Return the last line of a program's output in printable characters."""
    lines = output.strip().splitlines()
    return escaped(lines[-1].strip()) if lines else default


class Bundle(NamedTuple):
    """Arguments of a Python, and its standard input."""

    words: tuple[str, ...]
    text: str


def bundled(program: str, files: Iterable[str], *arguments: str, text: str = "") -> Bundle:
    """Return the bundle that runs `main` of a module of the package `host`, which imports these files of it.

    It is for a Python that does not have the program: `playbooks/bundle.py` imports the files from standard input.
    """
    host = directory("sparkiac/host")
    modules = {f"host/{file}": (host / file).read_text(encoding="utf-8") for file in files}
    lines = (json.dumps(f"host.{program}"), json.dumps(modules), json.dumps(arguments), text)
    return Bundle(("-c", (directory("playbooks") / "bundle.py").read_text(encoding="utf-8")), "\n".join(lines))


class ProgramError(Exception):
    """A program is missing or failed; the text gives the reason, and may say what to do."""


def output(words: Sequence[str], result: str | None, *, key: str | None, timeout_s: float) -> str:
    """Return the text of the file `result`, or without one what the program printed. Raises ProgramError.

    The API key is passed in the environment, as OPENAI_API_KEY. The result counts even if the program fails after it
    was written.
    """
    environment = os.environ | ({"OPENAI_API_KEY": key} if key else {}) | {"NO_COLOR": "1", "COLUMNS": "200"}
    with tempfile.TemporaryDirectory(prefix="sparkiac-bench-") as folder:
        try:
            done = subprocess.run(  # noqa: S603  no shell; the words are built from checked options
                tuple(words), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=max(1.0, timeout_s), check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise ProgramError(f"{words[0]} is not installed on this machine, or not in PATH") from None
        except subprocess.TimeoutExpired:
            raise ProgramError(f"{words[0]} did not end within {timeout_s:.0f} s") from None
        found = Path(folder, result) if result else None
        if found is not None and found.is_file():
            return found.read_text(encoding="utf-8", errors="replace")
    if done.returncode or found is not None:
        reason = last_line(done.stderr or done.stdout, "no message")
        raise ProgramError(f"{words[0]} failed with exit code {done.returncode}: {reason}")
    return done.stdout


def shown(text: str) -> str:
    """Return a text of a host in one line of printable characters, with a limited length."""
    line = escaped_line(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


Text = Annotated[str, AfterValidator(shown)]


class ReportedFacts(BaseModel):
    """What a program or a server of a host reports; a newer one may report more."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)

    @classmethod
    def of_output(cls, output: str) -> Self:
        """Read the last line of a program's output. Raises ValueError with what is wrong."""
        return cls.of_json(output.strip().rpartition("\n")[2])

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Read a JSON text. Raises ValueError with what is wrong."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            message = f"unexpected output, at {place}: {shown(str(first['input']))[:60]!r}" if text else "no output"
            raise ValueError(message) from None
