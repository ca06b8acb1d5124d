"""Texts of the fleet timer: one message for all changes of a run."""

from __future__ import annotations

import time
from typing import Any

from ..local import redacted
from .state import FAILING, FLAPPING, FLAPPING_CHANGES, STABLE_RUNS, WORKING, Alert, Change, Message

LONGEST = 3_800
"""Characters of a message. Telegram accepts 4,096 UTF-16 code units; most characters are one."""
EVIDENCE = 300
"""Characters of the evidence of one endpoint."""
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
WORDS = {
    FAILING: ("FAILING", "fails", "fail"),
    FLAPPING: ("UNSTABLE", "is unstable", "are unstable"),
    WORKING: ("WORKING AGAIN", "works again", "work again"),
}
"""State → its heading, and its verb for one endpoint and for several."""


def clean(text: str, secrets: list[str]) -> str:
    """Return one printable line without the secrets, cut to the length of an evidence."""
    line = "".join(char if char.isprintable() else " " for char in redacted(text, secrets))
    line = " ".join(line.split())
    return line if len(line) <= EVIDENCE else line[: EVIDENCE - 1] + "…"


def message(fleet: dict[str, Any], changes: dict[str, Change], working: int, now: float) -> Message:
    """Return the message about the changes of a run: its time, its text, and its parts for the webhook."""
    entries = {entry["name"]: entry for entry in fleet["endpoints"]}
    order = sorted(changes, key=lambda name: (list(WORDS).index(changes[name].state), list(entries).index(name)))
    blocks = [block(entries[name], changes[name], fleet["period_s"], now) for name in order]
    head = f"sparkiac, fleet {fleet['fleet']}: {summary(changes)}"
    foot = f"{working} of {len(entries)} endpoints work. Checked from {fleet['host']} at {moment(now)}."
    return {
        "time": now,
        "text": joined(head, blocks, foot),
        "alerts": [alert(entries[name], changes[name]) for name in order],
    }


def summary(changes: dict[str, Change]) -> str:
    """Return how many endpoints are in which state, such as `1 endpoint fails, 2 work again`."""
    states = [change.state for change in changes.values()]
    counts = [(state, states.count(state)) for state in WORDS if state in states]
    parts = [f"{count} {WORDS[state][1 if count == 1 else 2]}" for state, count in counts]
    number, _, rest = parts[0].partition(" ")
    return ", ".join([f"{number} endpoint{'' if number == '1' else 's'} {rest}", *parts[1:]])


def block(entry: dict[str, Any], change: Change, period_s: int, now: float) -> str:
    """Return the lines about one endpoint."""
    heading = ("STILL " if change.again else "") + WORDS[change.state][0]
    below = [entry["url"], *details(change, period_s, now)]
    lines = [f"{heading}: {entry['name']}", *(f"  {line}" for line in below)]
    if change.state != WORKING:
        lines.append(f"  what to do: {entry['remedy']}")
    return "\n".join(lines)


def details(change: Change, period_s: int, now: float) -> list[str]:
    """Return the evidence and the times of one endpoint."""
    before, after = change.before, change.after
    if change.state == WORKING and before.reported == FLAPPING:
        return [f"It has worked since {moment(after.since)}."]
    if change.state == WORKING:
        return [f"It failed from {moment(before.since)}, for {duration(after.since - before.since)}."]
    if change.state == FLAPPING:
        quiet = duration(STABLE_RUNS * period_s)
        changed = f"It has changed {FLAPPING_CHANGES} times."
        next_one = f"{changed} The next message follows when it has been stable for {quiet}."
        return [f"last failure: {after.evidence or before.evidence}", next_one]
    worked = "" if after.worked is None else f", last worked at {moment(after.worked)}"
    return [after.evidence, f"since {moment(after.since)}, for {duration(now - after.since)}{worked}"]


def joined(head: str, blocks: list[str], foot: str) -> str:
    """Return the text; if it is too long, later endpoints are only named, and then only counted."""
    for shown in (list(blocks), [text.partition("\n")[0] for text in blocks]):
        if len(text := "\n\n".join([head, *shown, foot])) <= LONGEST:
            return text
    while len("\n".join([head, *shown])) > LONGEST - len(foot) - 40:
        shown.pop()
    return "\n".join([head, *shown, f"… and {len(blocks) - len(shown)} more", foot])


def alert(entry: dict[str, Any], change: Change) -> Alert:
    """Return the part of the message about one endpoint, for the webhook."""
    failed = change.before if change.state == WORKING else change.after
    return {
        "name": entry["name"],
        "host": entry["host"],
        "url": entry["url"],
        "state": change.state,
        "again": change.again,
        "since": failed.since,
        "evidence": failed.evidence,
    }


def moment(seconds: float) -> str:
    """Return a time in UTC, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def duration(seconds: float) -> str:
    """Return a duration in days, hours and minutes."""
    minutes = max(0, int(seconds)) // MINUTE_S
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [f"{days} d" if days else "", f"{hours} h" if hours else "", f"{rest} min" if rest else ""]
    return " ".join(part for part in parts if part) or "less than a minute"
