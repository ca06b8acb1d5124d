"""Speculative decoding options of a command line → `speculative:` of the inventory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from sparkiac.engines import Engine
from sparkiac.foreign import redaction
from sparkiac.foreign.launch import Note, OptionValue, corrected, lost
from sparkiac.model.settings import Speculative
from sparkiac.report import Path

_ADAPTER: Final[TypeAdapter[Any]] = TypeAdapter(Speculative)
_KINDS: Final[dict[str, type[BaseModel]]] = {
    method: kind
    for kind in get_args(get_args(Speculative)[0])
    for method in get_args(kind.model_fields["method"].annotation)
}
"""Method → its class."""
_SUPPORTED: Final = f"`speculative:` supports the methods {', '.join(_KINDS)}"


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


def unknown_algorithm(leaves: dict[Path, Any], line: int) -> tuple[Note, ...]:
    """Remove an algorithm that `speculative:` cannot express, together with its options."""
    chosen = leaves.get(("speculative",), {})
    method = chosen.get("method")
    if method == "eagle" and "model" not in chosen:
        chosen["method"] = "mtp"  # without a drafter, the server uses the heads in the checkpoint
    if not chosen or method in _KINDS:
        return ()
    own = [path for path in leaves if path[0] == "set" and str(path[-1]).startswith("speculative_")]
    for path in [("speculative",), *own]:
        del leaves[path]
    what = ", ".join([str(method or "speculative decoding"), *(str(path[-1]) for path in own)])
    return (lost(line, what, _SUPPORTED),)


def _config(option: OptionValue) -> SpeculativeValue:
    chosen, notes = dict(option.value), list[Note]()
    method = chosen.get("method")
    if isinstance(method, str) and method not in _KINDS and method.endswith("_mtp"):
        chosen["method"] = "mtp"
        notes.append(corrected(option.line, method, "vLLM's other name for mtp"))
    kind = _KINDS.get(str(chosen.get("method")))
    if kind is None:
        return _refused(option)
    notes += _unknown(option, chosen, kind.model_fields)
    chosen = {key: value for key, value in chosen.items() if key in kind.model_fields and value is not None}
    try:
        _ADAPTER.validate_python(chosen)
    except ValidationError as error:
        wrong = {str(each["loc"][-1]) for each in error.errors() if each["loc"]}
        return _refused(option, f"; invalid with this {', '.join(sorted(wrong & chosen.keys()))}")
    return SpeculativeValue(chosen, tuple(notes))


def _unknown(option: OptionValue, chosen: Mapping[str, Any], fields: Mapping[str, object]) -> Iterator[Note]:
    for key in chosen:
        if key == "revision":
            yield corrected(option.line, f"{option.what} {key}", "the lock pins the drafter's commit")
        elif key not in fields:
            what = f"{option.what} {key}"
            yield lost(option.line, what, f"`speculative:` has no setting {redaction.redacted(key)} for this method")


def _refused(option: OptionValue, why: str = "") -> SpeculativeValue:
    return SpeculativeValue({}, (lost(option.line, option.what, f"{_SUPPORTED}{why}"),))
