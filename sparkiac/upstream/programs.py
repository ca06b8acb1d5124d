"""Start every process of sparkiac, on this machine or, with the user's ssh, on another one.

What a program prints is limited while it is read, and it has a deadline, except for a log that is followed and for
Ansible. Each program but Ansible has a process group of its own, which ends with it, so that nothing that it has
started lives on: also after an interrupt, and if sparkiac fails.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, Final, NamedTuple, Self, cast

from sparkiac.report.assets import directory, imported
from sparkiac.report.characters import escaped
from sparkiac.upstream import parallel

FAILED: Final = 255
"""Exit code of ssh if there is no connection."""
NO_COMMAND: Final = 127
"""Exit code of a shell if the command does not exist."""
MOST_BYTES: Final = 1 << 20
"""Most bytes of one stream of a program, unless the caller names another limit. A host's status has 50 kB."""
MOST_LOG_BYTES: Final = 12 << 20
"""Most bytes of a journal or of what a program on this machine prints."""
_SSH: Final = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_PARSER: Final = Lock()
_LONGEST_LINE: Final = 1 << 15
_BLOCK: Final = 1 << 16
_TICK_S: Final = 0.2
_GRACE_S: Final = 1
"""Time to end after SIGTERM, before SIGKILL."""
_PATIENCE_S: Final = 5
"""Time for Ansible to end after an interrupt. A terminal sends the interrupt to Ansible as well."""


class ProgramError(Exception):
    """A program is missing, failed, or was ended; the text gives the reason, and may say what to do."""


class FloodedError(ProgramError):
    """A program printed more than it may."""


class Completed(NamedTuple):
    """Result of a program."""

    returncode: int
    raw: bytes
    """What it printed."""
    stderr: str = ""

    @property
    def stdout(self) -> str:
        """Return what it printed as a text; what is not UTF-8 is replaced."""
        return self.raw.decode(errors="replace")


class Child:
    """A process and its group, which end at the end of a `with` block and with sparkiac."""

    _running: Final[set[Child]] = set()
    _lock: Final = Lock()

    def __init__(self, words: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        """Start it. Raises ProgramError."""
        self.name = Path(words[0]).name
        try:
            with self._lock:
                self.process = subprocess.Popen(  # noqa: S603  no shell
                    tuple(words), cwd=cwd, env=env, start_new_session=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
                self._running.add(self)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError) and "/" not in words[0]
            fault = "is not installed on this machine, or not in PATH" if missing else "cannot be started: "
            raise ProgramError(f"{self.name} {fault}{'' if missing else error.strerror}") from None
        pipes = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.stdin, self.stdout, self.stderr = cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", pipes)

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.end()
        self.stdout.close()
        self.stderr.close()

    def end(self) -> None:
        """End the process, if it has not ended, and what it has left behind in its group."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):  # the latter on macOS, for a process that has ended
                os.killpg(self.process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_S)
        self.stdin.close()
        self._running.discard(self)

    @classmethod
    def end_all(cls) -> None:
        """End those that threads have left behind, and start no other one."""
        cls._lock.acquire()
        for child in tuple(cls._running):
            child.end()

    def result(self, given: bytes, *, timeout_s: float, most_bytes: int) -> Completed:
        """Pass its input, and wait until it ends. Raises ProgramError."""
        until, received = time.monotonic() + timeout_s, {self.stdout: bytearray(), self.stderr: bytearray()}
        parallel.start(partial(self._pass, given))
        with selectors.DefaultSelector() as selector:
            for pipe in received:
                selector.register(pipe, selectors.EVENT_READ, pipe)
            while selector.get_map() and time.monotonic() < until:
                ready = selector.select(_TICK_S)
                if not ready and self.process.poll() is not None:
                    break  # a process that it has left behind keeps the pipes open
                for key, _ in ready:
                    block = os.read(key.fd, _BLOCK)
                    received[key.data] += block
                    if len(received[key.data]) > most_bytes:
                        raise FloodedError(f"{self.name} printed more than {most_bytes} bytes")
                    if not block:
                        selector.unregister(key.fd)
        try:
            code = self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise ProgramError(f"{self.name} did not end within {timeout_s:g} s") from None
        return Completed(code, bytes(received[self.stdout]), received[self.stderr].decode(errors="replace"))

    def send(self, given: bytes) -> None:
        """Send input; a program need not read it."""
        rest = memoryview(given)
        with suppress(OSError, ValueError):  # ValueError: `end` has closed the pipe
            while rest:  # not with the file's own `write`, whose lock would hold up `end`
                rest = rest[os.write(self.stdin.fileno(), rest) :]

    def _pass(self, given: bytes) -> None:
        self.send(given)
        self.stdin.close()


atexit.register(Child.end_all)


def execute(  # noqa: PLR0913
    words: Sequence[str],
    given: bytes = b"",
    *,
    timeout_s: float,
    most_bytes: int = MOST_BYTES,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Completed:
    """Run a program on this machine. Raises ProgramError if it is missing, floods or hangs."""
    with Child(words, cwd=cwd, env=env) as child:
        return child.result(given, timeout_s=timeout_s, most_bytes=most_bytes)


def run(  # noqa: PLR0913
    target: str | None,
    words: Sequence[str],
    *,
    program: str,
    timeout_s: float,
    port: int | None = None,
    most_bytes: int = MOST_BYTES,
) -> Completed:
    """Run a command with `program` as its input, at `target` ([USER@]ADDRESS) or on this machine, as `execute`."""
    return execute(_command(target, words, port), program.encode(), timeout_s=timeout_s, most_bytes=most_bytes)


def _command(target: str | None, words: Sequence[str], port: int | None) -> tuple[str, ...]:
    ports = ("-p", str(port)) if port else ()
    return (*_SSH, *ports, "--", target, shlex.join(words)) if target else tuple(words)


class RunningProgram(Child):
    """A program at `target` ([USER@]ADDRESS) whose output is read while it runs; its input stays open."""

    def __init__(self, target: str, words: Sequence[str], *, program: str, port: int | None) -> None:
        """Start it. Raises ProgramError."""
        super().__init__(_command(target, words, port))
        self._program = program
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
        self.send(self._program.encode())
        for block in more or ():
            self.send(block)
        if more is not None:
            self.stdin.close()
        yield self.stdout
        if code := self.process.wait():
            self.end()  # a process that it has left behind keeps its errors open
            raise ProgramError(last_line(self._errors.result(), f"ssh ended with {code}"))

    def _last_error(self) -> str:
        end = b""
        while block := os.read(self.stderr.fileno(), _LONGEST_LINE):
            end = (end + block)[-_LONGEST_LINE:]
        return end.decode(errors="replace")


class AttachedProgram:
    """A program in the process group of sparkiac: it prompts on the terminal, and a ctrl-C there reaches it as well."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], log: IO[bytes], events: int) -> None:
        """Start it with its output in a file, and with the file descriptor `events`. Raises OSError."""
        self._process = subprocess.Popen(  # noqa: S603  no shell; the options are the user's own
            tuple(words), env=env, stdin=subprocess.DEVNULL if os.isatty(0) else None, stdout=log, stderr=log,
            pass_fds=(events,),
        )  # fmt: skip
        self.wait, self.poll = self._process.wait, self._process.poll

    def interrupt(self) -> None:
        """Wait until it ends after an interrupt; send SIGINT if it continues, and then SIGKILL."""
        for signalled in (None, signal.SIGINT, signal.SIGKILL):
            if signalled is not None:
                self._process.send_signal(signalled)
            with suppress(subprocess.TimeoutExpired):
                self.wait(_PATIENCE_S)
                return


def last_line(output: str, default: str) -> str:
    """Return the last line of a program's output in printable characters."""
    lines = output.strip().splitlines()
    return escaped(lines[-1].strip()) if lines else default


class Bundle(NamedTuple):
    """Arguments of a Python, and its standard input."""

    words: tuple[str, ...]
    text: str


def bundled(program: str, *arguments: str, text: str = "") -> Bundle:
    """Return the bundle that runs `main` of a module of the package `host`, with all that it imports of it.

    It is for a Python that does not have the program: `playbooks/bundle.py` imports the files from standard input.
    """
    host = directory("sparkiac/host")
    with _PARSER:  # Python 3.11 may raise SystemError when two threads convert a syntax tree (CPython issue 106905)
        files = imported(f"{program.replace('.', '/')}.py")
    modules = {f"host/{file}": (host / file).read_text(encoding="utf-8") for file in files}
    lines = (json.dumps(f"host.{program}"), json.dumps(modules), json.dumps(arguments), text)
    return Bundle(("-c", (directory("playbooks") / "bundle.py").read_text(encoding="utf-8")), "\n".join(lines))


def output(words: Sequence[str], result: str | None, *, key: str | None, timeout_s: float) -> str:
    """Return the text of the file `result`, or without one what the program printed. Raises ProgramError.

    The API key is passed in the environment, as OPENAI_API_KEY. The result counts even if the program fails after it
    was written.
    """
    environment = os.environ | ({"OPENAI_API_KEY": key} if key else {}) | {"NO_COLOR": "1", "COLUMNS": "200"}
    with tempfile.TemporaryDirectory(prefix="sparkiac-bench-") as folder:
        limit_s = max(1.0, timeout_s)
        done = execute(words, timeout_s=limit_s, most_bytes=MOST_LOG_BYTES, cwd=Path(folder), env=environment)
        found = Path(folder, result) if result else None
        if found is not None and found.is_file():
            with found.open("rb") as file:
                return file.read(MOST_LOG_BYTES).decode(errors="replace")
    if done.returncode or found is not None:
        reason = last_line(done.stderr or done.stdout, "no message")
        raise ProgramError(f"{words[0]} failed with exit code {done.returncode}: {reason}")
    return done.stdout
