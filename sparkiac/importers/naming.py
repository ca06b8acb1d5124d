"""Names for what a draft holds."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Container

_LONGEST: Final = 40
_RESERVED: Final = frozenset({"secrets"})


def plain(*texts: str | None) -> str:
    """Make a name of the first text that has letters: 1 to 40 lower-case letters, digits and hyphens."""
    for text in texts:
        letters = unicodedata.normalize("NFKD", text or "").encode("ascii", "ignore").decode("ascii")
        name = re.sub(r"[^a-z0-9]+", "-", letters.lower().rpartition("/")[2])
        name = re.sub(r"^[^a-z]+", "", name)[:_LONGEST].strip("-")
        if name and name not in _RESERVED:
            return name
    return "server"


def implied(engine: str, target: str | None) -> tuple[str, ...]:
    """Give the name under which an engine serves this handle or path if it is told none.

    vLLM and SGLang take it as it is written, TensorRT-LLM the last part of a path. llama.cpp answers to any name.
    """
    if target is None or engine not in {"vllm", "sglang", "tensorrt-llm"}:
        return ()
    name = target.rpartition("/")[2] if engine == "tensorrt-llm" and target.startswith("/") else target
    return (name,) if re.fullmatch(forms.SERVED, name) else ()


def free(name: str, taken: Container[str]) -> str:
    """Give the name, or the first one with a number that is not taken."""
    number, chosen = 2, name
    while chosen in taken:
        ending = f"-{number}"
        chosen, number = name[: _LONGEST - len(ending)].rstrip("-") + ending, number + 1
    return chosen
