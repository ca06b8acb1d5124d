"""Print the journal of units: each line as [microseconds since 1970, unit, text], null after those that exist already.

Without units, it prints what the kernel logged about GPU, network and memory.

The values of the secrets of this host, and what looks like a token, are left out here, before anything is sent.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from ..local import COLOUR, SECRETS, LocalHost, clean, redacted, secret_parts

FIELDS = "MESSAGE,UNIT,_SYSTEMD_UNIT"
OF_KERNEL = re.compile(
    rb"NVRM|Xid|nvidia|mlx5|oom[-_]|Out of memory|panic|Oops|BUG:|Hardware Error|hung_task|blocked for more",
    re.IGNORECASE,
)
WIDTH = 2000
TOO_LONG = "(a message of more than 4 kB)"


def secrets_of(machine: LocalHost) -> list[str]:
    """Return the secrets and their lines, the longest first. Raises PermissionError if they cannot be read."""
    try:
        next(machine.path(SECRETS).iterdir(), None)
    except FileNotFoundError:
        return []
    return secret_parts(machine.path(SECRETS))


def text_of(message: Any) -> str:  # noqa: ANN401 - JSON
    """Return the text of a message; journalctl prints one that is not printable as bytes, and a long one as null."""
    return bytes(message).decode(errors="replace") if isinstance(message, list) else str(message or TOO_LONG)


def show(line: bytes, secrets: list[str]) -> str:
    """Print a line of the journal without secrets, and return its position."""
    entry = json.loads(line)
    unit = entry.get("UNIT") or entry.get("_SYSTEMD_UNIT") or ""
    text = redacted(COLOUR.sub("", text_of(entry.get("MESSAGE"))), secrets)
    sys.stdout.write(json.dumps([int(entry["__REALTIME_TIMESTAMP"]), unit, clean(text, WIDTH)]) + "\n")
    return str(entry["__CURSOR"])


def follow(argv: tuple[str, ...], each: Callable[[bytes], object]) -> None:
    """Call a function with each new line until the connection ends, which closes standard input."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:  # noqa: S603
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        poll, rest = select.poll(), b""
        for stream in (process.stdout, sys.stdin):
            poll.register(stream, select.POLLIN)
        try:
            while sys.stdin.fileno() not in dict(poll.poll()):
                block = os.read(process.stdout.fileno(), 1 << 16)
                if not block:
                    return
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    each(line)
                sys.stdout.flush()
        finally:
            process.kill()


def main(argv: list[str]) -> int:
    """Print the newest lines and, if the third argument says so, those that follow."""
    most, since, follows, *units = argv
    began = time.time()
    try:
        secrets = secrets_of(LocalHost())
    except PermissionError:
        sys.stderr.write(
            "the secrets that its log may show cannot be read: it needs root, or sudo without a password\n"
        )
        return 1
    matches = [f"--unit={unit}.service" for unit in units] or ["_TRANSPORT=kernel"]
    base = ("journalctl", "--no-pager", "--quiet", "--output=json", f"--output-fields={FIELDS}", *matches)
    read = (*base, f"--lines={most}", *([f"--since=-{since}s"] if since else []))
    done = subprocess.run(read, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)  # noqa: S603
    lines = [each for each in done.stdout.splitlines() if units or OF_KERNEL.search(each)]
    positions = [show(line, secrets) for line in lines]
    sys.stdout.write("null\n")
    sys.stdout.flush()
    if done.returncode == 0 and follows:
        start = f"--after-cursor={positions[-1]}" if positions else f"--since=@{int(began)}"
        follow((*base, "--follow", "--no-tail", start), lambda line: show(line, secrets))
    return done.returncode
