"""Make the hosts of a group switch together: all to the new generation, or all back.

One host, the coordinator, collects the votes of all members over HTTP and decides (two-phase commit). A member that has
voted for the new generation does nothing until it knows the decision; any other member may go back at any time. The
coordinator writes a decision to its disk before it tells anybody. It answers "back" for a switch that it does not know:
that switch was interrupted before a decision.

A member that loses the coordinator stops its units of the group after LOST_S; the coordinator takes a member as lost
after SILENT_S, which is longer, and gives it DOWN_S and the time in which systemd stops a unit before it starts the
former generation. So the former generation never starts while a unit of the new one may still run.

At first they agree on the units of the group that restart: those of which one host says so. The others keep running.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ..local import LocalHost
from ..network.peers import admit
from .http import BACK, GO, WAIT, Answer, Members, Vote, ask, serve

POLL_S = 1.0
FIRST_CONTACT_S = 120.0
"""How long a member may take to send its first message. Ansible starts all of them at almost the same time."""
LOST_S = 10.0
SILENT_S = 20.0
DOWN_S = 30.0
"""How long a host that cannot reach another waits, beside the time in which systemd stops a unit, before it starts the
former generation. Longer than SILENT_S: until then the other host may not have begun to stop."""
RESTARTING, DRAINED, STOPPED, READY, DOWN, DONE = "restarting", "drained", "stopped", "ready", "down", "done"


def open_port(machine: LocalHost, plan: dict[str, Any], *, required: bool) -> None:
    """On the coordinator, let only the members connect; if nft does not work, raise DoorsError or say that it is open.

    What has begun must end, also without nft.
    """
    group = plan["group"]
    if group is not None and group["coordinator"] == plan["host"]:
        admit(machine, str(group["port"]), group["peers"], required=required)


class Brake:
    """Stops the units of the group from another thread, until the main thread starts them again."""

    def __init__(self, stop: Callable[[], None]) -> None:
        """Store the function that stops the units."""
        self.stop = stop
        self.lock = threading.Lock()
        self.pulled = self.released = False

    def pull(self) -> None:
        """Stop the units unless the brake was released."""
        with self.lock:
            if not self.released:
                self.pulled = True
                self.stop()

    def release(self) -> None:
        """Wait for a stop that is running in another thread, and prevent every later stop."""
        with self.lock:
            self.released = True


class Alone:
    """The votes of a host that is in no group."""

    lost = False
    brake = Brake(lambda: None)

    def agree(self, _round: str, *, ok: Vote, decide: Callable[[], None]) -> Answer:
        """Return the result of this host alone as the decision."""
        if ok:
            decide()
        return GO if ok else BACK

    def all_down(self) -> None:
        """No other host runs units of this group."""

    def finish(self) -> list[str]:
        """Return the members that have not confirmed the end of the switch."""
        return []


class Ballot:
    """The votes that the coordinator has received. Every method may be called by several threads."""

    def __init__(self, members: Members) -> None:
        """Create empty rounds. No member has been heard yet."""
        self.members = members
        self.changed = threading.Condition()
        self.votes: dict[str, dict[str, Vote]] = {}
        self.seen: dict[str, float] = {}
        self.passed: set[str] = set()
        self.back = False
        self.began = time.monotonic()

    def hear(self, host: str, name: str | None, vote: Vote) -> Answer:
        """Record that a member is alive and, if it sent one, its vote in a round; return the answer for it."""
        with self.changed:
            self.seen[host] = time.monotonic()
            if name is not None:
                self.votes.setdefault(name, {})[host] = vote
                # A member that goes back without a decision may never have been able to vote.
                against = name == DOWN or (vote is not True and name in (DRAINED, STOPPED, READY))
                self.back = self.back or (against and READY not in self.passed)
                self.changed.notify_all()
            return self.answer(name)

    def answer(self, name: str | None) -> Answer:
        """Return the answer for a member that waits for a round."""
        if name in (DOWN, DONE):
            return GO if name in self.passed or name == DONE else WAIT
        if self.back:
            return BACK
        if name not in self.passed:
            return WAIT
        lists = [vote for vote in self.votes[name].values() if isinstance(vote, list)]
        return sorted({unit for vote in lists for unit in vote}) if name == RESTARTING else GO

    def silent(self) -> list[str]:
        """Return the members whose last message is older than the limit."""
        limits = {host: SILENT_S if host in self.seen else FIRST_CONTACT_S for host in self.members.others}
        return [host for host, limit in limits.items() if self.silence(host) > limit]

    def silence(self, host: str) -> float:
        """Return the seconds since the last message of a member."""
        return time.monotonic() - self.seen.get(host, self.began)

    def missing(self, name: str) -> list[str]:
        """Return the members that have not voted in a round."""
        return [host for host in self.members.others if host not in self.votes.get(name, {})]


class Coordinator:
    """The host that collects the votes."""

    lost = False

    def __init__(self, members: Members, on_back: Callable[[], None], *, stop_s: int = 0, back: bool = False) -> None:
        """Listen for votes; call `on_back` in another thread as soon as the group cannot switch any more."""
        self.ballot = Ballot(members)
        self.stop_s = stop_s
        self.ballot.back = back
        self.brake = Brake(on_back)
        self.server = serve(members, self.ballot.hear)
        self.over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        ballot = self.ballot
        while not self.over.wait(POLL_S / 4):
            with ballot.changed:
                ballot.back = ballot.back or (bool(ballot.silent()) and READY not in ballot.passed)
                if not ballot.back:
                    continue
                ballot.changed.notify_all()
            self.brake.pull()
            return

    def agree(self, name: str, *, ok: Vote, decide: Callable[[], None]) -> Answer:
        """Wait for the votes of all members; call `decide` before anybody learns that the round has passed."""
        ballot = self.ballot
        with ballot.changed:
            ballot.votes.setdefault(name, {})[ballot.members.host] = ok
            ballot.back = ballot.back or ok is False
            while not ballot.back and ballot.missing(name):
                ballot.changed.wait(POLL_S)
            if ballot.back:
                return BACK
            try:
                decide()
            except OSError:
                ballot.back = True
                raise
            ballot.passed.add(name)
            return ballot.answer(name)

    def all_down(self) -> None:
        """Wait until every member has stopped its units of the group, or has been silent for so long that it has."""
        self.brake.release()
        ballot = self.ballot
        with ballot.changed:
            while any(ballot.silence(host) < DOWN_S + self.stop_s for host in ballot.missing(DOWN)):
                ballot.changed.wait(POLL_S / 4)
            ballot.passed.add(DOWN)

    def finish(self) -> list[str]:
        """Wait until the members have done what was decided; return those that have not confirmed it."""
        ballot = self.ballot
        with ballot.changed:
            while set(ballot.missing(DONE)) - set(ballot.silent()):
                ballot.changed.wait(POLL_S)
            missing = ballot.missing(DONE)
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        return missing


class Member:
    """A host that votes and waits for the decision. A thread polls the coordinator until the switch ends."""

    def __init__(self, members: Members, on_back: Callable[[], None], *, stop_s: int = 0) -> None:
        """Start the polling thread. It calls `on_back` when the group goes back or the coordinator is lost."""
        self.members = members
        self.stop_s = stop_s
        self.brake = Brake(on_back)
        self.changed = threading.Condition()
        self.asked: tuple[str | None, Vote] = (None, True)
        self.answers: dict[str | None, Answer] = {}
        self.heard = time.monotonic()
        self.limit = FIRST_CONTACT_S
        self.stopped = False
        self.lost = False
        """Whether the units of the group were stopped because the coordinator could not be reached."""
        self.over = threading.Event()
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        while not self.over.is_set():
            name, vote = self.asked
            answer = ask(self.members, name, vote=vote)
            with self.changed:
                if answer is not None:
                    self.heard, self.limit = time.monotonic(), LOST_S
                    self.answers[name] = answer
                gone = time.monotonic() - self.heard > self.limit
                self.lost = self.lost or gone
                stop = (answer == BACK or gone) and not self.stopped
                self.stopped = self.stopped or stop
                self.changed.notify_all()
            if stop:
                self.brake.pull()
            self.over.wait(POLL_S)

    def agree(self, name: str, *, ok: Vote, decide: Callable[[], None]) -> Answer:
        """Vote in a round and wait for its result. After a vote for the new generation, only an answer ends this."""
        with self.changed:
            self.asked = (name, ok)
            while self.answers.get(name, WAIT) == WAIT:
                if self.lost and not (name == READY and ok):
                    return BACK
                if ok is False and name in self.answers:
                    return BACK
                self.changed.wait(POLL_S)
            answer = self.answers[name]
        passed = answer != BACK
        if passed and name == READY:
            self.brake.release()
        if passed:
            decide()
        return answer

    def all_down(self) -> None:
        """Say that the units of the group are stopped, and wait until the others say so."""
        self.brake.release()
        end = time.monotonic() + DOWN_S + self.stop_s
        with self.changed:
            self.asked = (DOWN, True)
            # BACK: the coordinator was interrupted and does not know this switch any more.
            while self.answers.get(DOWN) not in (GO, BACK) and time.monotonic() < end:
                self.changed.wait(POLL_S)

    def finish(self) -> list[str]:
        """Confirm the end of the switch, if the coordinator can be reached."""
        end = time.monotonic() + SILENT_S
        with self.changed:
            self.asked = (DONE, True)
            while DONE not in self.answers and time.monotonic() < end:
                self.changed.wait(POLL_S)
        self.over.set()
        return []
