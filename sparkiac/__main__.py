"""The one place that turns an exception into an exit code."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

import click

from sparkiac.cli import cli
from sparkiac.commands.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer


_EXTRA_ARGUMENT: Final = "Got unexpected extra argument"
"""Start of click's message."""


class _Output(io.FileIO):
    """An output whose reader may close it early: the rest is discarded, and the command runs to its end."""

    def write(self, data: Buffer, /) -> int:
        """Write, or discard what nobody reads any more."""
        try:
            return super().write(data)
        except BrokenPipeError:
            discard = os.open(os.devnull, os.O_WRONLY)
            os.dup2(discard, self.fileno())
            os.close(discard)
            return memoryview(data).nbytes


def main() -> NoReturn:
    """Run the command line. A user's mistake ends with a sentence, only a defect with a traceback."""
    finish(lambda: run(sys.argv[1:]))


def finish(command: Callable[[], int]) -> NoReturn:
    """Run a command and end with its exit code, whether or not anybody reads its output."""
    # A command lives for a fraction of a second: collecting cycles, looking for plugins in every installed
    # distribution, and taking all modules apart at the end would cost a fifth of it.
    gc.disable()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.stdout, sys.stderr = _steady(sys.stdout), _steady(sys.stderr)
    code = command()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # a full disk: `run` has said so
            stream.flush()
    os._exit(code)


def _steady(stream: TextIO | None) -> TextIO:
    """Give an output that never fails for a reader that has gone: `sparkiac plan … | head`, or `>&-`."""
    if stream is None:  # closed before the start
        return Path(os.devnull).open("w", encoding="utf-8")
    raw = io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False))
    # A terminal that cannot show a character shows its code.
    return io.TextIOWrapper(raw, stream.encoding, "backslashreplace", line_buffering=stream.isatty())


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    try:
        code = cli.main(arguments, prog_name="sparkiac", standalone_mode=False)
    except click.UsageError as error:
        _show(error, as_json="--format json" in " ".join(arguments).replace("=", " "))
        return Exit.BAD_INPUT
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except SystemExit:  # click's answer to a broken pipe or connection; that of an output is caught before
        return _io_failed(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
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
    with contextlib.suppress(OSError):  # nothing can be said where standard error itself is the fault
        click.echo(f"sparkiac: {where}{error.strerror or error}", err=True)
    return Exit.IO


if __name__ == "__main__":
    main()
