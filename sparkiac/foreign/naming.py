"""Names of imported deployments and services."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from typing import Final

from sparkiac.engines import Engine
from sparkiac.model import forms

_MAX_LENGTH: Final = 40
_RESERVED: Final = frozenset({"secrets"})


def slug(*texts: str | None) -> str:
    """Make a name from the first text that has letters: at most 40 lower-case letters, digits and hyphens."""
    for text in texts:
        letters = unicodedata.normalize("NFKD", text or "").encode("ascii", "ignore").decode("ascii")
        name = re.sub(r"[^a-z0-9]+", "-", letters.lower().rpartition("/")[2])
        name = re.sub(r"^[^a-z]+", "", name)[:_MAX_LENGTH].strip("-")
        if name and name not in _RESERVED:
            return name
    return "server"


def default_served(engine: Engine, target: str | None) -> tuple[str, ...]:
    """Return the name under which an engine serves a handle or path if none is configured; none if it takes any."""
    if target is None or engine.default_name == "any":
        return ()
    name = target.rpartition("/")[2] if engine.default_name == "last part" and target.startswith("/") else target
    return (name,) if re.fullmatch(forms.SERVED, name) else ()


def unused(name: str, taken: Container[str]) -> str:
    """Return the name, with a number appended if it is already taken."""
    number, chosen = 2, name
    while chosen in taken:
        ending = f"-{number}"
        chosen, number = name[: _MAX_LENGTH - len(ending)].rstrip("-") + ending, number + 1
    return chosen
