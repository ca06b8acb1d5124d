"""The changes of a lock, and its comparison with the servers, as text and as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sparkiac.lock.comparison import LockChange, PinChange, PinComparison
from sparkiac.lock.hosts import HostChange
from sparkiac.lock.required import RequiredPin
from sparkiac.plan import Plan
from sparkiac.report.characters import escaped_line as shown
from sparkiac.words.page import Data

_SIGNS: Final = {"new": "+", "moved": "~", "completed": "~", "gone": "-"}
_ARROW: Final = " → "
_NAMES: Final = {"size_bytes": "size", "tensor_bytes": "tensors", "remote_code": "remote code", "left_out": "left out"}
_FOLLOWS: Final = frozenset({"manifest", "config"})
"""Digests that change with the one that is shown."""
_FACTS: Final = "config."
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024
_SHORT: Final = {"digest": len("sha256:") + 12, "commit": 12, "sha256": 12}
"""Number of characters that are shown; the lock contains all of them."""


def text(changes: Iterable[PinChange]) -> str:
    """Return a line for each changed pin, followed by its changed values."""
    return "".join(f"{shown(line)}\n" for pin in changes for line in _lines(pin))


def demands(plan: Plan) -> str:
    """Return a line for each gated or private model: its hosts, and the secret with their token."""
    secret = plan.hub.secret
    token = f"it is the secret {secret}" if secret else "add `hub: {api_key: {secret: hub_token}}` to the inventory"
    return "".join(f"model {each.demand}; {token}\n" for each in plan.restricted)


def data(changes: Iterable[PinChange]) -> list[Data]:
    """Return the changes as plain data, with full values."""
    return [_plain(pin) for pin in changes]


def size(size_bytes: int) -> str:
    """Return a size with its unit."""
    amount, unit = float(size_bytes), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size_bytes} B"


def hosts(changes: Iterable[HostChange]) -> Iterator[str]:
    """Return a line for each host whose pins change, followed by the changed values; alike hosts share the lines."""
    groups: dict[tuple[str, tuple[tuple[str, str, str], ...]], list[str]] = {}
    for host, state, values in changes:
        groups.setdefault((state, values), []).append(host)
    for (state, values), names in groups.items():
        yield shown(f"{_SIGNS[state]} {'host' if len(names) == 1 else 'hosts'} {', '.join(names)}")
        width = max((len(name) for name, _, _ in values), default=0)
        for name, before, after in values:
            yield shown(f"    {name:{width}}  {after if state == 'new' else f'{before}{_ARROW}{after}'}")


def _lines(pin: PinChange) -> Iterator[str]:
    state = " (completed)" if pin.state == "completed" else ""
    yield f"{_SIGNS[pin.state]} {pin.kind} {pin.name}{state}"
    pairs = [*_pairs(pin)]
    width = max((len(label) for label, _ in pairs), default=0)
    yield from (f"    {label:{width}}  {value}" for label, value in pairs)


def _pairs(pin: PinChange) -> Iterator[tuple[str, str]]:
    facts = [change.what.removeprefix(_FACTS) for change in pin.changes if change.what.startswith(_FACTS)]
    for change in pin.changes:
        if change.what not in _FOLLOWS and not change.what.startswith(_FACTS):
            label = change.what.removeprefix("versions.")
            yield _NAMES.get(label, label), _change(change, fresh=pin.state == "new")
    if pin.state != "new" and facts:
        yield "config", ", ".join(facts)
    files = pin.files
    if files is not None and pin.state != "new" and files != (0, 0, 0, 0):
        counts = f"{files.added} new, {files.changed} changed, {files.removed} removed"
        yield "files", f"{counts}; {size(files.fetched_bytes)} to download"


def _change(change: LockChange, *, fresh: bool) -> str:
    after = _value(change.what, change.after)
    return after if fresh else f"{_value(change.what, change.before)}{_ARROW}{after}"


def _value(what: str, value: Any) -> str:  # noqa: ANN401  plain data of a lock
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, int):
        return size(value)
    if isinstance(value, tuple):
        return shlex.join(value) or "-"
    return str(value)[: _SHORT.get(what)]


def _plain(pin: PinChange) -> Data:
    changes = {each.what: {"before": each.before, "after": each.after} for each in pin.changes}
    files = {} if pin.files is None else {"files": pin.files._asdict()}
    return {"kind": pin.kind, "name": pin.name, "state": pin.state, "changes": changes, **files}


def compared(found: PinComparison) -> str:
    """Return how many pins their servers confirm, and the names of those that were not compared."""
    differing = {each.pin.key for each in found.differences}
    total = len(found.confirmed) + len(differing) + len(found.failed)
    line = f"{len(found.confirmed)} of {total} pins confirmed"
    skipped = ", ".join(f"{pin.kind} {shown(pin.name)}" for pin, _ in found.failed)
    return f"{line}; not compared: {skipped}" if skipped else line


def compared_data(found: PinComparison) -> Data:
    """Return the comparison as plain data."""
    differences = [
        {**_named(each.pin), "path": list(each.path), "lock": each.locked, "upstream": each.upstream}
        for each in found.differences
    ]
    return {
        "confirmed": _all(found.confirmed),
        "differences": differences,
        "not_compared": _all(pin for pin, _ in found.failed),
    }


def _all(pins: Iterable[RequiredPin]) -> list[dict[str, str]]:
    return [_named(pin) for pin in pins]


def _named(pin: RequiredPin) -> dict[str, str]:
    return {"kind": pin.kind, "name": pin.name}
