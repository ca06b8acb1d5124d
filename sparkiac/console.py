"""Run one command of the command line and turn exceptions into exit codes."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import io
import json
import os
import signal
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import click

from sparkiac.cli import cli
from sparkiac.commands.inputs import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Buffer


_EXTRA_ARGUMENT: Final = "Got unexpected extra argument"
"""Start of click's message."""
_COMPLETES: Final = "_SPARKIAC_COMPLETE"
"""A shell sets this variable to complete a command line; click prints the words and exits."""
_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_COLLECT_AFTER: Final = 100_000
"""Threshold of Python's garbage collector for the youngest generation, in new container objects."""


class _Output(io.FileIO):
    """An output stream that discards the rest when its reader closes the pipe, so that the command runs to its end."""

    def write(self, data: Buffer, /) -> int:
        """Write, or discard the data if the pipe is closed."""
        try:
            return super().write(data)
        except BrokenPipeError:
            discard = os.open(os.devnull, os.O_WRONLY)
            os.dup2(discard, self.fileno())
            os.close(discard)
            return memoryview(data).nbytes


def finish(command: Callable[[], int]) -> NoReturn:
    """Run a command and exit with its exit code, even if the reader of its output has gone."""
    # A command runs for a fraction of a second. Garbage collection, the search for pydantic plugins and the
    # interpreter's shutdown would take a fifth of that time. With this threshold, garbage is collected only for large
    # fleets, where it would double the memory.
    gc.set_threshold(_COLLECT_AFTER)
    _disable_pydantic_plugins()
    sys.stdout, sys.stderr = _without_broken_pipe(sys.stdout), _without_broken_pipe(sys.stderr)
    with interruptible():
        code = command()
    _leave(code)


def _leave(code: int, came: int = signal.SIGINT) -> NoReturn:
    """End the processes that were started, remove temporary directories, and end: threads may still wait."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # a full disk: `run` has reported it
            stream.flush()
    atexit._run_exitfuncs()  # noqa: SLF001  os._exit does not run them, and sys.exit waits for threads
    if came != signal.SIGINT:  # who sent it sees that it worked
        os.kill(os.getpid(), came)
    os._exit(code)


def _disable_pydantic_plugins() -> None:
    """Let pydantic find no plugins. Its own loader would import importlib.metadata first, even if they are disabled."""
    loader: Any = types.ModuleType("pydantic.plugin._loader")
    loader.get_plugins = tuple
    sys.modules[loader.__name__] = loader


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt raise KeyboardInterrupt, so that commands clean up; before and afterwards it ends at once.

    Libraries turn KeyboardInterrupt into other exceptions.
    """
    former = {each: signal.getsignal(each) for each in _INTERRUPTS}
    came: int = 0

    def interrupt(number: int, _: object) -> NoReturn:
        nonlocal came
        came = number
        raise KeyboardInterrupt

    try:
        for each in _INTERRUPTS:
            if former[each] is not signal.SIG_IGN:
                signal.signal(each, interrupt)
        yield
    except BaseException:
        if came == signal.SIGINT:
            _leave(Exit.INTERRUPTED)
        raise
    finally:
        for each in _INTERRUPTS:
            signal.signal(each, former[each])
        if came not in {0, signal.SIGINT}:
            _leave(Exit.INTERRUPTED, came)


def _without_broken_pipe(stream: TextIO | None) -> TextIO:
    """Return an output stream that does not fail if its reader closes it, as in `sparkiac plan … | head` or `>&-`."""
    if stream is None:  # it was closed before the start
        return Path(os.devnull).open("w", encoding="utf-8")
    raw = io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False))
    # A character that the terminal's encoding lacks is written as an escape.
    return io.TextIOWrapper(raw, stream.encoding, "backslashreplace", line_buffering=stream.isatty())


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = cli.main(arguments, prog_name="sparkiac", standalone_mode=False)
    except click.UsageError as error:
        _show(error, as_json="--format json" in " ".join(arguments).replace("=", " "))
        return Exit.BAD_INPUT
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("sparkiac: interrupted", err=True)
        return Exit.INTERRUPTED
    except SystemExit as done:
        # click exits after a completion, and on EPIPE; not of a closed output, because `_Output` discards the data
        broken = BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return int(done.code or 0) if _COMPLETES in os.environ else _io_failed(broken)
    except OSError as error:
        return _io_failed(error)
    return int(code or 0)


def _show(error: click.UsageError, *, as_json: bool) -> None:
    """Print a user's mistake as text to standard error, or as JSON to standard output."""
    arguments = [each for each in error.ctx.command.params if isinstance(each, click.Argument)] if error.ctx else []
    if error.ctx and error.message.startswith(_EXTRA_ARGUMENT) and [each.name for each in arguments] == ["inventory"]:
        error = click.UsageError(f"{error.ctx.info_name} takes one inventory; run it once for each", error.ctx)
    if as_json:
        click.echo(json.dumps({"format_version": 1, "error": error.format_message()}, indent=1))
    else:
        error.show()


def _io_failed(error: OSError) -> int:
    where = f"{error.filename}: " if error.filename else ""
    with contextlib.suppress(OSError):  # standard error itself may be the file that fails
        click.echo(f"sparkiac: {where}{error.strerror or error}", err=True)
    return Exit.IO
