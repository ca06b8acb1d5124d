"""The logs of units from their hosts: the last starts and errors of the kernel for a diagnosis, or all lines."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from queue import Empty, Queue
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis import lines
from sparkiac.fleet.diagnosis.lines import Log
from sparkiac.fleet.query import AS_ROOT, endpoint
from sparkiac.model import answers
from sparkiac.plan.values import HostPlan
from sparkiac.report.characters import escaped_line
from sparkiac.upstream import parallel, programs
from sparkiac.upstream.programs import ProgramError, RunningProgram

_TIMEOUT_S: Final = 60
_MARK: Final = "== sparkiac: kernel log ==\n"
_SCRIPT: Final = rf"""
read_journal() {{
    sudo -n journalctl --no-pager --quiet --utc --output=short-iso-precise --boot --lines=20000 "$@" 2>/dev/null ||
        journalctl --no-pager --quiet --utc --output=short-iso-precise --boot --lines=20000 "$@"
}}
read_journal --unit="$1" | tail --bytes=8388608
echo '{_MARK.strip()}'
read_journal --dmesg | grep --extended-regexp 'NVRM|Out of memory|oom-kill' | tail --lines=500 | cut --bytes=-2000
exit 0
"""
"""Prints at most 9 MB of the current boot."""
_STARTS: Final = 2
"""Starts that are read: a unit that restarts has its error in the one before the last."""


def printed(target: str, unit: str, *, port: int | None) -> tuple[str, str]:
    """Return the journal of a unit, and the lines of the kernel about GPU and memory, since the last boot.

    `target` is [USER@]ADDRESS. Raises `ProgramError`.
    """
    done = programs.run(
        target, ("sh", "-s", "--", f"{unit}.service"), program=_SCRIPT, timeout_s=_TIMEOUT_S, port=port,
        most_bytes=programs.MOST_LOG_BYTES,
    )  # fmt: skip
    if done.returncode:
        raise ProgramError(programs.last_line(done.stderr, f"ssh ended with {done.returncode}"))
    journal, _, kernel = done.stdout.partition(_MARK)
    if not journal.strip():
        reason = programs.last_line(done.stderr, f"{unit} has not started since the last boot")
        raise ProgramError(f"the journal has no lines: {reason}")
    return journal, kernel


class HostLogs(NamedTuple):
    """Logs of one host, or the reason why they could not be read."""

    logs: tuple[Log, ...]
    fault: str = ""


def fetch(hosts: Iterable[HostPlan], unit: str) -> dict[str, HostLogs]:
    """Read the logs of a unit on all its hosts in parallel; return host → logs, sorted by host."""
    found = {host.name: logs for host, logs in parallel.each(hosts, partial(_read, unit=unit))}
    return dict(sorted(found.items()))


def _read(host: HostPlan, *, unit: str) -> HostLogs:
    there = endpoint(host)
    try:
        journal, kernel = printed(there.target, unit, port=there.port)
    except ProgramError as error:
        return HostLogs((), str(error))
    log = lines.read(host.name, [journal.encode()])
    recent = log._replace(lines=tuple(line for line in log.lines if line.start > log.starts - _STARTS))
    logs = (recent, lines.read(f"{host.name} kernel", [kernel.encode()]))
    return HostLogs(tuple(log for log in logs if log.lines))


_TOGETHER_S: Final = 0.3
"""Lines that arrive within this time are put in order."""
_WAITING: Final = 1000
"""Lines that wait to be shown; a host that sends more is slowed down."""
_LATEST_US: Final = 1 << 53
_LONGEST: Final = 4000


class JournalLine(NamedTuple):
    """A line of a journal; lines sort by time."""

    time_us: int
    """Microseconds since 1970, by the clock of the host."""
    host: str
    unit: str
    text: str

    @property
    def moment(self) -> str:
        """Return its time in UTC."""
        return datetime.fromtimestamp(self.time_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]

    @property
    def source(self) -> str:
        """Return the name of its deployment or service."""
        return self.unit.removeprefix("sparkiac-").removesuffix(".service")


class LogFault(NamedTuple):
    """Why no more lines of a host arrive."""

    host: str
    reason: str


class _HistorySent(NamedTuple):
    """A host has sent the lines that existed already, or has ended."""

    host: str
    ended: bool


_Item = JournalLine | LogFault | _HistorySent


class LogRequest(NamedTuple):
    """What is read on each host."""

    lines: int
    """Most lines of a host that exist already."""
    since_s: int | None
    """How old they may be."""
    follow: bool
    """Whether new lines are read, too, without end."""


def merged(
    hosts: Mapping[str, tuple[HostPlan, tuple[str, ...]]], wanted: LogRequest
) -> Iterator[JournalLine | LogFault]:
    """Yield the lines of all hosts (name → host and units) by time, then new ones as they come. Raises ProgramError.

    Without units, they are those of the kernel about GPU, network and memory.
    """
    arriving, running = Queue[_Item](_WAITING), list[RunningProgram]()
    try:
        for name, (host, units) in hosts.items():
            running.append(_started(host, units, wanted))
            parallel.start(partial(_forward, name, running[-1], arriving))
        open_hosts = yield from _existing(arriving, set(hosts), wanted.lines)
        while open_hosts:
            batch = _batch(arriving)
            open_hosts -= {each.host for each in batch if isinstance(each, _HistorySent) and each.ended}
            yield from sorted(each for each in batch if isinstance(each, JournalLine))
            yield from (each for each in batch if isinstance(each, LogFault))
    finally:
        for program in running:
            program.end()


def _started(host: HostPlan, units: tuple[str, ...], wanted: LogRequest) -> RunningProgram:
    since, follows = "" if wanted.since_s is None else str(wanted.since_s), "follow" if wanted.follow else ""
    sent = programs.bundled("sent.logs", str(wanted.lines), since, follows, *units)
    there, words = endpoint(host), ("sh", "-c", AS_ROOT, "sh", "python3", *sent.words)
    return RunningProgram(there.target, words, program=sent.text, port=there.port)


def _forward(host: str, program: RunningProgram, arriving: Queue[_Item]) -> None:
    """Pass on what a host sends, to the end."""
    try:
        for line in program.lines():
            arriving.put(_item(host, line))
    except (ProgramError, OSError) as error:
        arriving.put(LogFault(host, str(error)))
    except (ValueError, TypeError):
        arriving.put(LogFault(host, "unexpected output; check what a login on the host prints"))
    arriving.put(_HistorySent(host, ended=True))


def _item(host: str, line: str) -> _Item:
    """Return what a line of the program means. Raises ValueError or TypeError for one of another program."""
    found = answers.plain(line)
    if found is None:
        return _HistorySent(host, ended=False)
    time_us, unit, text = found
    if not 0 <= int(time_us) < _LATEST_US:
        raise ValueError(f"a line with the time {time_us}")
    return JournalLine(int(time_us), host, escaped_line(str(unit)), escaped_line(str(text))[:_LONGEST])


def _existing(arriving: Queue[_Item], hosts: set[str], most: int) -> Generator[JournalLine | LogFault, None, set[str]]:
    """Yield the lines of all hosts that exist already, and return the hosts that go on."""
    waiting, going = set(hosts), set(hosts)
    found = {name: deque[JournalLine](maxlen=most) for name in hosts}
    until = time.monotonic() + _TIMEOUT_S
    while waiting:
        try:
            item = arriving.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            yield from (LogFault(name, f"no response within {_TIMEOUT_S} s") for name in sorted(waiting))
            break
        if isinstance(item, JournalLine):
            found[item.host].append(item)
        elif isinstance(item, LogFault):
            yield item
        else:
            waiting.discard(item.host)
            going -= {item.host} if item.ended else set()
    yield from sorted(line for lines in found.values() for line in lines)
    return going - waiting


def _batch(arriving: Queue[_Item]) -> list[_Item]:
    """Wait for an item, and return it with those that arrive shortly after it."""
    batch = [arriving.get()]
    time.sleep(_TOGETHER_S)
    while not arriving.empty():
        batch.append(arriving.get_nowait())
    return batch
