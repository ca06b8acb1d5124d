"""Speculative decoding options of a command line → `speculative:` of the inventory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from sparkiac.engines import Engine
from sparkiac.foreign import redaction
from sparkiac.foreign.launch import Note, OptionValue, corrected, lost
from sparkiac.model.settings import Speculative
from sparkiac.report import Path

_OF_CATALOG: Final = "deepseek_mtp"
"""Another name for mtp that entries of the catalog have."""


class SpeculativeValue(NamedTuple):
    """The value of `speculative:` after one more option."""

    value: dict[str, Any]
    """All settings so far; empty if `speculative:` cannot express them."""
    notes: tuple[Note, ...]


def read(option: OptionValue, engine: Engine, before: Mapping[str, Any]) -> SpeculativeValue | None:
    """Read one option together with the earlier ones; None if it is not about speculation."""
    if option.name == "speculative_config":
        return _config(option) if isinstance(option.value, dict) else _refused(option)
    key, value = engine.speculation.get(option.name), option.value
    if key is None:
        return None
    if key == "method":
        value = next((method for method, name in engine.methods.items() if name == str(value).upper()), value)
    elif key == "num_speculative_tokens" and isinstance(value, int) and before.get("method") != "ngram":
        value -= engine.counts_start
    return SpeculativeValue({**before, key: value}, ())


def unknown_algorithm(leaves: dict[Path, Any], engine: Engine, line: int) -> tuple[Note, ...]:
    """Remove an algorithm that `speculative:` cannot express, together with its options."""
    chosen = leaves.get(("speculative",), {})
    method = chosen.get("method")
    notes: tuple[Note, ...] = ()
    if method == "eagle" and "model" not in chosen:
        chosen["method"] = "mtp"
        why = "without a drafter the server uses the heads in the checkpoint, which is the method mtp"
        notes = (corrected(line, "--speculative-algorithm", why),)
    if not chosen or engine.interfaces or method in engine.speculative:
        return notes
    own = [path for path in leaves if path[0] == "set" and str(path[-1]).startswith("speculative_")]
    for path in [("speculative",), *own]:
        del leaves[path]
    what = ", ".join([str(method or "speculative decoding"), *(str(path[-1]) for path in own)])
    return (lost(line, what, f"`speculative:` supports the methods {', '.join(sorted(engine.speculative))}"),)


def _config(option: OptionValue) -> SpeculativeValue:
    chosen, notes = {key: value for key, value in option.value.items() if value is not None}, list[Note]()
    method = chosen.get("method")
    if isinstance(method, str) and method.endswith("_mtp") and method != _OF_CATALOG:
        chosen["method"] = "mtp"
        notes.append(corrected(option.line, method, "vLLM's other name for mtp"))
    if chosen.pop("revision", None) is not None:
        notes.append(corrected(option.line, f"{option.what} revision", "the lock pins the drafter's commit"))
    try:
        Speculative.model_validate(chosen)
    except ValidationError as error:
        wrong = {str(each["loc"][-1]) for each in error.errors() if each["loc"]}
        return _refused(option, f": missing or invalid {', '.join(sorted(map(redaction.redacted, wrong)))}")
    return SpeculativeValue(chosen, tuple(notes))


def _refused(option: OptionValue, why: str = "") -> SpeculativeValue:
    return SpeculativeValue({}, (lost(option.line, option.what, f"`speculative:` cannot express it{why}"),))
