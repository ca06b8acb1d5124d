"""Speculative decoding options of a command line → `speculative:` of the inventory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from sparkiac.foreign import redaction
from sparkiac.foreign.launch import Note, OptionValue, corrected, lost
from sparkiac.model.speculative import Dflash, Drafted, Dspark, Mtp, Ngram, Speculative, Suffix
from sparkiac.report import Path

_ADAPTER: Final[TypeAdapter[Any]] = TypeAdapter(Speculative)
_KINDS: Final[dict[str, type[BaseModel]]] = {
    "ngram": Ngram,
    "suffix": Suffix,
    "mtp": Mtp,
    "deepseek_mtp": Mtp,
    "dflash": Dflash,
    "dspark": Dspark,
    "eagle": Drafted,
    "eagle3": Drafted,
    "draft_model": Drafted,
}
_SUPPORTED: Final = f"`speculative:` supports the methods {', '.join(_KINDS)}"
_SGLANG_METHODS: Final = {
    "NGRAM": "ngram",
    "NEXTN": "mtp",
    "EAGLE": "mtp",
    "EAGLE3": "eagle3",
    "STANDALONE": "draft_model",
    "DFLASH": "dflash",
    "DSPARK": "dspark",
}
_KEYS: Final = {
    "speculative_algorithm": "method",
    "speculative_draft_model_path": "model",
    "speculative_draft_model": "model",
    "speculative_num_draft_tokens": "num_speculative_tokens",
}


class SpeculativeValue(NamedTuple):
    """The value of `speculative:` after one more option."""

    value: dict[str, Any]
    """All settings so far; empty if `speculative:` cannot express them."""
    notes: tuple[Note, ...]


def read(option: OptionValue, engine: str, before: Mapping[str, Any]) -> SpeculativeValue | None:
    """Read one option together with the earlier ones; None if it is not about speculation."""
    if option.name == "speculative_config":
        return _config(option) if isinstance(option.value, dict) else _refused(option)
    if engine != "sglang" or option.name not in _KEYS:
        return None
    value = option.value
    if option.name == "speculative_algorithm":
        value = _SGLANG_METHODS.get(str(value).upper(), value)
    elif option.name == "speculative_num_draft_tokens" and isinstance(value, int) and before.get("method") != "ngram":
        value -= 1
    return SpeculativeValue({**before, _KEYS[option.name]: value}, ())


def unknown_algorithm(leaves: dict[Path, Any], line: int) -> tuple[Note, ...]:
    """Remove an algorithm that `speculative:` cannot express, together with its options."""
    method = leaves.get(("speculative",), {}).get("method")
    if ("speculative",) not in leaves or method in _KINDS:
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
