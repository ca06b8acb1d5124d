"""The one place that turns an exception into an exit code."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from typing import NoReturn

import click

from sparkiac.cli import cli
from sparkiac.commands.exits import Exit


def main() -> NoReturn:
    """Run the command line. A user's mistake ends with a sentence, only a defect with a traceback."""
    # A command lives for a fraction of a second: collecting cycles, looking for plugins in every installed
    # distribution, and taking all modules apart at the end would cost a fifth of it.
    gc.disable()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its code
    code = run(sys.argv[1:])
    with contextlib.suppress(BrokenPipeError):  # the reader has seen enough: `sparkiac plan … | head`
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    try:
        code = cli.main(arguments, prog_name="sparkiac", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return Exit.BAD_INPUT
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click and rich exit by themselves when the reader of a pipe has gone
        return Exit.OK
    except OSError as error:
        return _io_failed(error)
    return int(code or 0)


def _io_failed(error: OSError) -> int:
    where = f"{error.filename}: " if error.filename else ""
    click.echo(f"sparkiac: {where}{error.strerror or error}", err=True)
    return Exit.IO


if __name__ == "__main__":
    main()
