"""Asking again when nobody answered: the first wait is short, and a server that says how long is believed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sparkiac.upstream.fault import Fault

T = TypeVar("T")

WAITS: Final = (1.0, 2.0, 4.0)
"""Seconds before the second and each later try."""
AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504})
"""Answers after which asking again may help."""
LONGEST_SECONDS: Final = 60
"""A server that wants a longer wait is not waited for."""


class Unanswered(Exception):  # noqa: N818  no error yet: it is asked again
    """Nobody answered, or too busily; the text says what came, and `hint` what to do."""

    def __init__(
        self, reason: str, *, after_seconds: int | None = None, hint: str = "try again later", lasting: bool = False
    ) -> None:
        """Take what came, when the server wants to be asked again, and whether that may help."""
        super().__init__(reason)
        self.after_seconds = after_seconds
        self.hint = hint
        self.lasting = lasting

    @classmethod
    def of(cls, fault: Fault) -> Unanswered:
        """Make it of what came instead of an answer."""
        return cls(fault.words, hint=fault.hint, lasting=fault.lasting)

    def __str__(self) -> str:
        """Say what came."""
        wanted = f"; it wants {self.after_seconds} s of peace" if self.after_seconds else ""
        return f"{self.args[0]}{wanted}"


def patiently(ask: Callable[[], T], *, waits: Sequence[float]) -> T:
    """Ask, and ask again after each of these seconds. Raises the last `Unanswered`."""
    for wait in waits:
        try:
            return ask()
        except Unanswered as error:
            after = error.after_seconds or 0
            if error.lasting or after > LONGEST_SECONDS:
                raise
        time.sleep(max(wait, after))
    return ask()
