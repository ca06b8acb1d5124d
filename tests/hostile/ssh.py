"""Stand-in for ssh: checks how it is called, and then does what $HOSTILE_SSH names, like a host that was taken over."""

import os
import signal
import subprocess
import sys
import time


def flood(descriptor: int, block: bytes) -> None:
    """Write for ever."""
    while True:
        os.write(descriptor, block)


def drip() -> None:
    """Write a byte ten times a second, for ever."""
    while True:
        os.write(1, b"[")
        time.sleep(0.1)


def leave() -> None:
    """Answer, and leave a process that keeps the pipes open."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"])
    os.write(1, b"{}\n")


def ignore() -> None:
    """Ignore SIGTERM, like a child of it, and do nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.run([sys.executable, "-c", "import time; time.sleep(900)  # is deaf"], check=False)


BEHAVIOURS = {
    "floods": lambda: flood(1, b"[" * 65_536),
    "floods lines": lambda: flood(1, b"{}\n" * 20_000),
    "floods errors": lambda: flood(2, b"remote: 99%\r" * 5_000),
    "many items": lambda: os.write(1, b'{"ports":[' + b"{}," * 300_000 + b'{}],"units":[]}\n'),
    "deep": lambda: os.write(1, b"[" * 100_000 + b"\n"),
    "deep and closed": lambda: os.write(1, b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n"),
    "long word": lambda: os.write(1, b'{"name":"' + b"x" * 1_000_000 + b'"}\n'),
    "no number": lambda: os.write(1, b'{"clock":{"begin_s":NaN,"end_s":1e400}}\n'),
    "cut off": lambda: os.write(1, b'{"clock":{"begin_s":1.0,'),
    "not text": lambda: os.write(1, bytes(range(256)) * 100),
    "control characters": lambda: os.write(2, b"\x1b[2J\x1b]0;pwn\x07" * 1_000) and sys.exit(255),
    "leaves a process": leave,
    "drips": drip,
    "is silent and deaf": ignore,
    "is silent": lambda: time.sleep(3600),
}

options, (target, command) = sys.argv[1:-3], sys.argv[-2:]
if sys.argv[-3] != "--" or options[:4] != ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"] or not command:
    sys.exit(f"stand-in for ssh: called with {sys.argv[1:]}")
BEHAVIOURS[os.environ["HOSTILE_SSH"]]()
