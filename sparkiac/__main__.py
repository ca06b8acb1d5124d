"""Entry point of the command line. It imports the rest when an interrupt can no longer show a traceback."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. A mistake of the user gives a message; only a defect of sparkiac gives a traceback."""
    try:
        # Python ignores an interrupt in callbacks of its import system.
        sys.unraisablehook = _unraisable
        import signal  # noqa: PLC0415  its import takes a millisecond, in which an interrupt can come

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # in the background of a script it is ignored
            signal.signal(signal.SIGINT, _interrupted)
    except KeyboardInterrupt:
        _interrupted()
    from sparkiac.console import finish, run  # noqa: PLC0415  an interrupt ends the process from here on

    finish(lambda: run(sys.argv[1:]))


def _interrupted(*_: object) -> None:
    try:
        os.write(2, b"sparkiac: interrupted\n")
    finally:
        os._exit(130)


def _unraisable(ignored: sys.UnraisableHookArgs) -> None:
    if ignored.exc_type is KeyboardInterrupt:
        _interrupted()
    sys.__unraisablehook__(ignored)


if __name__ == "__main__":
    main()
