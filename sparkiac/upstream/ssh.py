"""Commands on other machines, by the ssh that the user has: it must let us in without a question."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from sparkiac.characters import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED: Final = 255
"""How ssh ends when it does not get there."""
NO_COMMAND: Final = 127
"""How a shell ends that does not find a command."""
_SSH: Final = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--")


def command(target: str, words: Sequence[str]) -> tuple[str, ...]:
    """Give the command that runs `words` at `target`, [USER@]ADDRESS."""
    return (*_SSH, target, shlex.join(words))


def last_line(said: str, otherwise: str) -> str:
    """Give the last line of what a program said, fit to be shown."""
    lines = said.strip().splitlines()
    return escaped(lines[-1].strip()) if lines else otherwise
