"""What Ansible did: failures by host, the exit code, and the lines that explain it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sparkiac.commands.inputs import Exit
from sparkiac.model import answers
from sparkiac.report.characters import escaped
from sparkiac.upstream.playbook import Event

_INTERRUPTED: Final = frozenset({99, 130, -2})
"""Exit codes of Ansible after an interrupt."""
_HELD: Final = 5
"""Exit code of `switch lease` if another apply holds the lease."""
_LEASE: Final = "lease"
_STATUS: Final = "status"
SWITCHES: Final = "services"
"""The role that starts the switch of a host."""
_OF_ALL: Final = frozenset({"begin", "finish", "lease", "look", "pins", "tree"})
"""Roles that report for all hosts."""
_LONGEST: Final = 10
"""Lines of the failure of one host."""
_LONGEST_OF_ALL: Final = 60
_MOST_CAUSES: Final = 2
"""Known causes that are named for one failure."""
_TRACEBACK: Final = "Traceback (most recent call last):"
_ERROR: Final = re.compile(r"^(?:\[ERROR\]|ERROR!)", re.MULTILINE)
"""How a line of Ansible's own errors starts."""
_USAGE: Final = re.compile(r"^\S+: error: .*", re.MULTILINE)
"""Line about a wrong option; the help of all options is around it."""
_EXIT_CODE: Final = ("non-zero return code", "non-zero return code.")
"""How Ansible's message ends that says only that a command failed: before ansible-core 2.21, and since."""
_NOT_STARTED: Final = "Error executing command."
"""Ansible's message for a program that it could not start; the command has its name."""
_BACK: Final = "went back"
_UNDECIDED: Final = "undecided"
_OUTCOMES: Final = {"committed": "switched", "back": _BACK, "undecided": _UNDECIDED}


class Results:
    """Collects the events of a run. Values of variables on the command line are hidden in every text."""

    def __init__(self, hidden: Sequence[str]) -> None:
        """Start without events."""
        self._hidden = hidden
        self._leases: dict[str, object] = {}
        self._targets: dict[str, tuple[object, object]] = {}
        self.failed: dict[str, str] = {}
        """Host → why it failed first."""
        self.unreachable: dict[str, str] = {}
        self.summary: list[str] = []
        """Messages about all hosts."""
        self.outcomes: dict[str, str] = {}
        """Host → result of its switch in words."""
        self.switched: set[str] = set()
        """Hosts whose switch was started."""
        self.changed: set[str] = set()
        """Hosts with a task that changed something, or would in check mode."""
        self.said: dict[str, list[str]] = {}
        """Host → what was done there, or in check mode what would be done."""
        self.states: dict[str, str] = {}
        """Host → what its program `switch status` printed."""

    def on_event(self, event: Event) -> None:
        """Record failures and the results of switches."""
        kind, host, role = event["event"], str(event.get("host")), event.get("role")
        if kind == "unreachable":
            self.unreachable[host] = self._text(event, _LONGEST)
        elif is_summary(event):
            self.summary.append(self._text(event, _LONGEST_OF_ALL))
        elif kind == "failed":
            self.failed.setdefault(host, self._text(event, _LONGEST))
        elif "rc" in event:  # a command ran there
            self.unreachable.pop(host, None)
        self._collect(host, event)
        if role == _LEASE and "rc" in event:
            self._leases[host] = event["rc"]
        if role == SWITCHES and "rc" in event:
            self.switched.add(host)
        if role == SWITCHES and (found := _switch(event.get("stdout"))):
            self._note(host, found)

    def _collect(self, host: str, event: Event) -> None:
        """Record what was done on a host, and what its programs say of it."""
        if event.get("changed"):
            self.changed.add(host)
        if "said" in event:
            self.said.setdefault(host, []).extend(self._shown(line, _LONGEST) for line in event["said"])
        if event.get("role") == _STATUS and "stdout" in event:
            self.states[host] = event["stdout"]

    def code(self, returned: int) -> Exit:
        """Return the exit code of `sparkiac apply` for an exit code of Ansible."""
        if returned == 0:
            return Exit.OK
        if returned in _INTERRUPTED:
            return Exit.INTERRUPTED
        if _HELD in self._leases.values():
            return Exit.BUSY
        if self.failed or {_BACK, _UNDECIDED}.intersection(self.outcomes.values()):
            return Exit.FINDINGS
        if self.unreachable:
            return Exit.IO
        return Exit.FINDINGS if self.summary else Exit.BAD_INPUT

    def reasons(self, log: Path) -> list[str]:
        """Return the failures, or the end of Ansible's output if it did not reach a host."""
        found = [f"{host}: {text}" for host, text in sorted(self.failed.items())]
        found += [f"{host} is unreachable: {text}" for host, text in sorted(self.unreachable.items())]
        found += dict.fromkeys(self.summary)
        return found or [self._last(log.read_text(encoding="utf-8", errors="replace"))]

    def _note(self, host: str, found: dict[str, Any]) -> None:
        """Record the result of a switch. A second one to another generation or turn is the way back."""
        target = found.get("generation"), found.get("turn")
        first = self._targets.setdefault(host, target)
        outcome = _OUTCOMES.get(str(found["outcome"]), _UNDECIDED)
        self.outcomes[host] = _BACK if target != first else outcome

    def _last(self, output: str) -> str:
        """Return Ansible's last error message, or the last lines of its output."""
        starts = [found.start() for found in _ERROR.finditer(output)]
        lines = output[starts[-1] :].splitlines() if starts else output.splitlines()[-_LONGEST:]
        return self._explained(_USAGE.findall(output)[-1:] or lines, _LONGEST)

    def _text(self, event: Event, most: int) -> str:
        """Return why a task failed: the message of a module, the end of what a program printed."""
        message = str(event.get("msg", "")).strip()
        ends = [str(event.get(key, "")).strip().splitlines() for key in ("stderr", "module_stderr")]
        if message == _NOT_STARTED:
            message = f"{str(event.get('cmd')).partition(' ')[0]} cannot be run"
        about = [str(event[key]) for key in ("response", "url") if key in event]
        lines = [] if message.endswith(_EXIT_CODE) else [*message.splitlines(), *about]
        for end in ends:
            lines += end[-1:] if _TRACEBACK in end else end[-most:]
        return self._explained(lines or [f"task failed: {event['task']}"], most)

    def _explained(self, lines: Sequence[str], most: int) -> str:
        shown = self._shown("\n".join(lines), most)
        return "\n".join([shown, *_causes(shown)])

    def _shown(self, text: str, most: int) -> str:
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        text = escaped("\n".join(lines[:most]))
        for value in self._hidden:
            text = text.replace(value, "***")
        return text


def is_summary(event: Event) -> bool:
    """Return whether a task failed on one host with a message about all hosts: no command ran there."""
    return event["event"] == "failed" and event["role"] in _OF_ALL and "rc" not in event


def _causes(text: str) -> Iterator[str]:
    """Return cause and remedy of each known failure in a text."""
    from sparkiac.fleet.diagnosis import lines, matching  # reads all symptoms

    log = lines.read("", [text.encode()])
    for found in matching.diagnosed([log], matching.DiagnosedServer())[:_MOST_CAUSES]:
        yield f"cause: {found.symptom.cause} ({found.symptom.code})"
        yield f"to do: {' '.join(found.symptom.remedy)}"


def _switch(text: object) -> dict[str, Any] | None:
    """Return the result that the program `switch` printed; None if the text is something else."""
    try:
        found = answers.plain(str(text))
    except ValueError:
        return None
    return found if isinstance(found, dict) and "outcome" in found else None
