"""Read the facts of hosts: one SSH session each, which runs the program `status` there."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sparkiac import engines
from sparkiac.fleet.facts import QUANTITIES, HostFacts
from sparkiac.model.answers import shown
from sparkiac.plan import HostPlan
from sparkiac.upstream import parallel, programs

THREADS: Final = 64
"""Maximum number of hosts queried at the same time. Each thread waits for one ssh process."""
DEADLINE_S: Final = 20
"""Time from the connection to the end of the output. A host needs about two seconds."""
_NEVER: Final = 90
_OLDER: Final = 91
SCRIPT: Final = f"""\
p=/usr/local/lib/sparkiac/status
[ -d "${{p%/*}}" ] || exit {_NEVER}
[ -x "$p" ] || exit {_OLDER}
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then exec sudo -n "$p" "$@"; fi
exec "$p" "$@"
"""
"""What runs on a host, with the names of metrics as arguments."""

AS_ROOT: Final = 'if [ "$(id -u)" != 0 ] && sudo -n true </dev/null 2>/dev/null; then exec sudo -n "$@"; fi; exec "$@"'
"""Script of sh that runs its arguments as root if it can."""


class SshEndpoint(NamedTuple):
    """Where a host is reached."""

    name: str
    address: str
    user: str | None
    port: int | None

    @property
    def target(self) -> str:
        """Return the argument of ssh."""
        return f"{self.user}@{self.address}" if self.user else self.address

    @property
    def words(self) -> str:
        """Return the arguments of a command line."""
        return f"{'' if self.port is None else f'-p {self.port} '}{self.target}"


def endpoint(host: HostPlan) -> SshEndpoint:
    """Return where a planned host is reached."""
    return SshEndpoint(host.name, host.address, host.user, host.ssh_port)


class HostFailure(Exception):  # noqa: N818  it is also a result
    """Why there are no facts of a host, what to do, and whether there was a connection."""

    def __init__(self, reason: str, hint: str = "", *, reachable: bool = True) -> None:
        """Store the reason."""
        super().__init__(reason)
        self.reason, self.hint, self.reachable = reason, hint, reachable


class Answer(NamedTuple):
    """Facts of a host, with the time of this machine at which they were requested and received."""

    host: str
    facts: HostFacts | None
    failure: HostFailure | None
    begin_s: float
    end_s: float


def query_all(hosts: Iterable[SshEndpoint]) -> Iterator[Answer]:
    """Query all hosts; return their answers in the order of arrival."""
    return (found for _, found in parallel.each(hosts, query, threads=THREADS))


def query_repeatedly(hosts: Iterable[SshEndpoint], *, period_s: float) -> Iterator[Answer | None]:
    """Query all hosts repeatedly; return their answers in the order of arrival, and None while none arrives."""
    for found in parallel.again(hosts, query, threads=THREADS, period_s=period_s):
        yield found[1] if found else None


def query(host: SshEndpoint) -> Answer:
    """Query one host."""
    begin_s = time.time()
    try:
        facts, failure = _facts(host), None
    except HostFailure as error:
        facts, failure = None, error
    return Answer(host.name, facts, failure, begin_s, time.time())


def _facts(host: SshEndpoint) -> HostFacts:
    """Return the facts of a host. Raises HostFailure."""
    done = run(host, ("sh", "-c", SCRIPT, "sh", *engines.metric_names(*QUANTITIES)), "", timeout_s=DEADLINE_S)
    if done.returncode:
        raise _failure(done.returncode, done.stderr)
    try:
        return HostFacts.of_output(done.stdout)
    except ValueError as error:
        raise HostFailure(f"status program: {error}", "apply again, or check what a login on the host prints") from None


def run(
    host: SshEndpoint | None,
    words: tuple[str, ...],
    text: str,
    *,
    timeout_s: float,
    most_bytes: int = programs.MOST_BYTES,
) -> programs.Completed:
    """Run a command with `text` as input, on a host or (None) on this machine. Raises HostFailure."""
    target, port = (host.target, host.port) if host else (None, None)
    try:
        done = programs.run(target, words, program=text, timeout_s=timeout_s, port=port, most_bytes=most_bytes)
    except programs.FloodedError as error:
        raise HostFailure(str(error), "check what a login on the host prints") from None
    except programs.ProgramError as error:
        hint = f"check the load of the host and the link: ssh {host.words} uptime" if host else ""
        raise HostFailure(str(error), hint, reachable=False) from None
    if host is not None and done.returncode == programs.FAILED:
        raise _no_connection(done.stderr, host)
    return done


def _failure(code: int, errors: str) -> HostFailure:
    if code == _NEVER:
        return HostFailure("sparkiac was never applied to this host", "run sparkiac apply")
    if code == _OLDER:
        return HostFailure("an older version of sparkiac was applied to this host", "run sparkiac apply")
    last = shown(programs.last_line(errors, "no message"))
    reason = f"the status program ended with exit status {code}: {last}"
    return HostFailure(reason, "run /usr/local/lib/sparkiac/status on the host")


def _no_connection(output: str, host: SshEndpoint) -> HostFailure:
    """Return why ssh has no connection, from what it printed."""
    last = shown(programs.last_line(output, "no message of ssh"))
    if "IDENTIFICATION HAS CHANGED" in output:
        named = host.address if host.port is None else shlex.quote(f"[{host.address}]:{host.port}")
        hint = f"if it was installed again, run ssh-keygen -R {named} and connect once by hand: ssh {host.words}"
        return HostFailure("its host key has changed", hint, reachable=False)
    if "Host key verification failed" in output:
        return HostFailure("its host key is unknown", f"connect once by hand: ssh {host.words}", reachable=False)
    if "Permission denied" in output:
        hint = f"log in with a key or an agent, such as: ssh-copy-id {host.words}"
        return HostFailure(f"ssh is refused without a password: {last}", hint, reachable=False)
    return HostFailure(last, f"check the host and the network: ssh {host.words}", reachable=False)
