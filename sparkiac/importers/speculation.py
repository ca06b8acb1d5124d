"""Speculative decoding of a command line → the typed key that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from sparkiac.importers import hiding
from sparkiac.importers.launch import Note
from sparkiac.model.speculative import Dflash, Drafted, Dspark, Mtp, Ngram, Speculative, Suffix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.importers.said import Said
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
_OF_SGLANG: Final = {
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


class Found(NamedTuple):
    """What an option says of speculation."""

    value: dict[str, Any]
    """The whole of it so far; nothing if it cannot be said."""
    notes: tuple[Note, ...]


def read(said: Said, engine: str, before: Mapping[str, Any]) -> Found | None:
    """Read one option, with what others said before it; None if it is an option of its own."""
    if said.name == "speculative_config":
        return _config(said) if isinstance(said.value, dict) else _refused(said)
    if engine != "sglang" or said.name not in _KEYS:
        return None
    value = _OF_SGLANG.get(str(said.value).upper(), said.value) if said.name == "speculative_algorithm" else said.value
    if said.name == "speculative_num_draft_tokens" and isinstance(value, int) and before.get("method") != "ngram":
        value -= 1
    return Found({**before, _KEYS[said.name]: value}, ())


def unknown_algorithm(leaves: dict[Path, Any], line: int) -> tuple[Note, ...]:
    """Take away an algorithm that `speculative:` cannot say, with the options that belong to it."""
    method = leaves.get(("speculative",), {}).get("method")
    if ("speculative",) not in leaves or method in _KINDS:
        return ()
    own = [path for path in leaves if path[0] == "set" and str(path[-1]).startswith("speculative_")]
    for path in [("speculative",), *own]:
        del leaves[path]
    what = ", ".join([str(method or "speculative decoding"), *(str(path[-1]) for path in own)])
    return (Note("lost", line, hiding.shown(what), f"`speculative:` takes the methods {', '.join(_KINDS)}"),)


def _config(said: Said) -> Found:
    chosen, notes = dict(said.value), list[Note]()
    method = chosen.get("method")
    if isinstance(method, str) and method not in _KINDS and method.endswith("_mtp"):
        chosen["method"] = "mtp"
        notes.append(Note("corrected", said.line, hiding.shown(method), "one of vLLM's names for mtp"))
    kind = _KINDS.get(str(chosen.get("method")))
    if kind is None:
        return _refused(said)
    notes += _unknown(said, chosen, kind.model_fields)
    chosen = {key: value for key, value in chosen.items() if key in kind.model_fields and value is not None}
    try:
        _ADAPTER.validate_python(chosen)
    except ValidationError as error:
        wrong = {str(each["loc"][-1]) for each in error.errors() if each["loc"]}
        return _refused(said, f"; it is not taken with this {', '.join(sorted(wrong & chosen.keys()))}")
    return Found(chosen, tuple(notes))


def _unknown(said: Said, chosen: Mapping[str, Any], fields: Mapping[str, object]) -> Iterator[Note]:
    for key in chosen:
        if key == "revision":
            yield Note("corrected", said.line, f"{said.what} {key}", "the lock pins the drafter's commit")
        elif key not in fields:
            what = f"{said.what} {key}"
            yield Note(
                "lost", said.line, hiding.shown(what), f"`speculative:` has no {hiding.shown(key)} for this method"
            )


def _refused(said: Said, why: str = "") -> Found:
    listed = ", ".join(_KINDS)
    note = Note("lost", said.line, said.what, f"`speculative:` takes the methods {listed}{why}")
    return Found({}, (note,))
