"""Whether everything on a host fits into its memory, in a word and a reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from sparkiac.memory.values import GIB, Unknown
from sparkiac.plan.memory_use import HostMemoryUse
from sparkiac.plan.numbers import count, gib, over_budget

TIGHT_BYTES: Final = 2 * GIB
"""Less free memory than this is tight: Sparks have 119 to 121 GiB (dual-Spark post; DeepSeek-V4 thread)."""


class Verdict(NamedTuple):
    """The result for one host, or for one of its turns."""

    word: Literal["fits", "tight", "does not fit", "unknown"]
    reason: str

    def __str__(self) -> str:
        """Return both."""
        return f"{self.word}: {self.reason}"


def of(use: HostMemoryUse) -> Verdict:
    """Return the verdict. A proven failure counts before an unknown value, and an unknown value is no pass."""
    if failed := next(_failures(use), None):
        return Verdict("does not fit", failed)
    if missing := next(_unknowns(use), None):
        return Verdict("unknown", missing)
    left = use.headroom_bytes
    assert not isinstance(left, Unknown)  # noqa: S101  it would be among the unknown values
    estimate = ", an estimate" if any(each.assumes for each in use.accounts) else ""
    return Verdict("tight" if left < TIGHT_BYTES else "fits", f"{gib(left)} left free{estimate}")


def _failures(use: HostMemoryUse) -> Iterator[str]:
    left = use.most_bytes if isinstance(use.headroom_bytes, Unknown) else use.headroom_bytes
    if left is not None and left < 0:
        yield over_budget(-left)
    for each in use.accounts:
        if each.shortage_bytes:
            yield f"weights and overhead of {each.name} exceed its memory by {gib(each.shortage_bytes)}"
        elif not isinstance(each.fit, Unknown) and not each.fit.one and not isinstance(each.context, Unknown):
            yield f"the KV cache of {each.name} does not hold one request of {count(each.context)} tokens"


def _unknowns(use: HostMemoryUse) -> Iterator[str]:
    if isinstance(use.headroom_bytes, Unknown):
        yield _missing(use.headroom_bytes)
    for each in use.accounts:
        if isinstance(each.fit, Unknown):
            yield f"KV cache of {each.name}; {_missing(each.fit)}"


def _missing(found: Unknown) -> str:
    return f"missing {', '.join(dict.fromkeys(found.missing)) or 'figures'}"
