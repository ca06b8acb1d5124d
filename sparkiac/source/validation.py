"""Pydantic's errors as findings: position, message and hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel

from sparkiac.model.base import SECRET_KEYS, SecretRef
from sparkiac.model.settings import Settings
from sparkiac.report import Finding, Severity
from sparkiac.report.hints import closest, nearest, slip_of
from sparkiac.source import secrets, tagged, wording
from sparkiac.source.tagged import models_at
from sparkiac.source.wording import dotted

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from sparkiac.report import Loc, Path
    from sparkiac.source.document import Document

_UNKNOWN_KEY: Final = ("INV001", "unknown-key")
_BAD_VALUE: Final = ("INV002", "value")
_MISSING_KEY: Final = ("INV003", "missing-key")

_OTHER_BRANCH: Final = {*wording.TYPES, "string_pattern_mismatch", "literal_error"}
_DETAILS: Final = 20
"""Errors of pydantic that are read for each finding: a union reports one error for each alternative."""
_LIKE_A_SECRET: Final = re.compile(r"api|key|secret|token|pass|credential", re.IGNORECASE)


_RANGES: Final = {"greater_than", "greater_than_equal", "less_than_equal", "literal_error"}
_MIB_PER_GIB: Final = 1024


class _Position(NamedTuple):
    """Position of a fault; all errors of pydantic at one position are one fault."""

    path: Path
    kind: str
    """`[key]`, `missing`, `extra_forbidden`, `reference`, or nothing for a value."""


def explain(
    error: ValidationError, *, document: Document, model: type[BaseModel], limit: int
) -> tuple[tuple[Finding, ...], Document]:
    """Turn the first errors of a validation into findings; return also the document without likely secrets.

    Errors about the alternatives of one union become one finding.
    """
    faults: dict[_Position, list[ErrorDetails]] = {}
    for detail in map(tagged.at_key, error.errors(include_url=False)[: limit * _DETAILS]):
        if not _is_consequence(detail):
            faults.setdefault(_position(detail, document, model), []).append(detail)
    inner = {place.path[:length] for place in faults for length in range(len(place.path))}
    chosen = [
        place
        for place, details in faults.items()
        if not (place.kind == "missing" and _instead(place.path, document) in faults)
        and (place.kind or place.path not in inner or not {detail["type"] for detail in details} <= _OTHER_BRANCH)
    ]
    document = _without_likely_secrets(document, chosen)
    first = sorted(chosen, key=lambda place: _loc(place, document).mark)[:limit]
    return tuple(_finding(place, faults[place], document, model) for place in first), document


def _is_consequence(detail: ErrorDetails) -> bool:
    """Return whether pydantic reports a collection as too short only because some entries are invalid."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _position(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> _Position:
    kind = detail["type"] if detail["type"] in {"missing", "extra_forbidden"} else ""
    kind = "[key]" if detail["loc"][-1:] == ("[key]",) else kind
    path = _path(detail, document, exact=kind in {"", "missing"})
    reference = _reference(model, path, document)
    if reference is not None:
        return _Position(reference, "reference")
    return _Position((*path, detail["loc"][-1]) if kind == "missing" else path, kind)


def _path(detail: ErrorDetails, document: Document, *, exact: bool) -> Path:
    """Return the deepest path of the document in `loc`, which also contains names of types and markers.

    A key of the document can have the name of a type. So the value at the path must be the one with the error.
    """
    paths: list[Path] = [()]
    for part in detail["loc"]:
        if (*paths[-1], part) in document.values:
            paths.append((*paths[-1], part))
    exactly = [path for path in paths if _at(document, path) is detail["input"]] if exact else []
    return (exactly or paths)[-1]


def _at(document: Document, path: Path) -> object:
    found: Any = document.data
    for part in path:
        found = found[part]
    return found


def _reference(model: type[BaseModel], path: Path, document: Document) -> Path | None:
    """Return the part of a path up to a reference to a secret."""
    for length, part in enumerate(path, start=1):
        if part in SECRET_KEYS and SecretRef in models_at(model, path[:length], document.data):
            return path[:length]
    return None


def _without_likely_secrets(document: Document, places: list[_Position]) -> Document:
    """Redact the values of unknown keys whose names look like secrets."""
    unknown = [place.path for place in places if place.kind == "extra_forbidden"]
    likely = [path for path in unknown if _LIKE_A_SECRET.search(str(path[-1])) and not _is_count(document, path)]
    marks = [document.values[path] for path in likely]
    if not marks:
        return document
    return document._replace(lines=tuple(secrets.without("\n".join(document.lines), marks).split("\n")))


def _is_count(document: Document, path: Path) -> bool:
    """Return whether the value is a number of tokens, the one number whose key looks like a secret."""
    return str(path[-1]).lower().endswith("tokens") and isinstance(_at(document, path), int)


def _loc(place: _Position, document: Document) -> Loc:
    if place.kind == "missing":
        return document.at_key(place.path[:-1])
    if place.kind in {"[key]", "extra_forbidden"}:
        return document.at_key(place.path)
    return document.at_value(place.path)


def _finding(place: _Position, details: list[ErrorDetails], document: Document, model: type[BaseModel]) -> Finding:
    path, loc = place.path, _loc(place, document)
    where = dotted(path[:-1]) or "the top level"
    match place.kind:
        case "missing":
            message = f"{where} needs the key {wording.shown(path[-1])}"
            return _error(_MISSING_KEY, message, loc, _slip(path, document) or _description(model, path, document))
        case "extra_forbidden":
            message = f"unknown key {wording.shown(path[-1])} in {where}"
            return _error(_UNKNOWN_KEY, message, loc, _known_key(model, path, document))
        case "[key]":
            hint = wording.of_text(str(path[-1]), details[0])
            return _error(_BAD_VALUE, f"name in {where}: {wording.reason(details)}", loc, hint)
        case "reference":
            message = f"{dotted(path)}: must be a reference to a secret (value hidden)"
            return _error(_BAD_VALUE, message, loc, secrets.USE_REFERENCE)
        case _:
            message = f"{dotted(path) or 'the file'}: {wording.reason(details)}"
            return _error(_BAD_VALUE, message, loc, _hint(details, loc) or _expected(model, path, details, document))


def _error(code: tuple[str, str], message: str, loc: Loc, hint: str) -> Finding:
    return Finding(*code, Severity.ERROR, message, loc, hint)


def _hint(details: list[ErrorDetails], loc: Loc) -> str:
    detail = details[0]
    given = detail["input"]
    if detail["type"] == "string_type" and isinstance(given, int | float):
        return f"to make it a text, quote it: '{loc.text[loc.mark.column - 1 : loc.mark.end_column - 1]}'"
    if isinstance(given, str) and (hint := wording.of_text(given, detail)):
        return hint
    if (detail["type"] == "dict_type" or not detail["loc"]) and isinstance(given, str | tuple):
        return "write `name: value` for each, on separate lines or inside { }"
    return ""


def _expected(model: type[BaseModel], path: Path, details: list[ErrorDetails], document: Document) -> str:
    """Return a hint for a value of another kind or size: its keys, the value in the unit of the key, or its meaning."""
    given, context, kind = details[0]["input"], details[0].get("ctx", {}), details[0]["type"]
    if len(details) == 1 and kind in wording.MAPPINGS and len(owners := models_at(model, path, document.data)) == 1:
        return f"its keys are {', '.join(sorted(owners[0].model_fields))}"
    if kind in {"too_short", "float_type", "int_type"}:
        return _description(model, path, document)
    if not isinstance(given, int | float) or kind not in _RANGES or " or " in context.get("expected", ""):
        return ""
    if str(path[-1]).endswith("_gib") and given / _MIB_PER_GIB <= context.get("le", 0):
        return f"the unit is GiB: {given:g} MiB are {given / _MIB_PER_GIB:g} GiB"
    return _description(model, path, document)


def _instead(path: Path, document: Document) -> _Position:
    """Return the unknown key that was written instead of a missing one; the missing one itself if there is none."""
    given, needed = _at(document, path[:-1]), str(path[-1])
    keys = [str(key) for key in given] if isinstance(given, dict) else []
    of_others = (key for key in keys if wording.of_key(key, {needed})[0])
    return _Position((*path[:-1], slip_of(needed, keys) or next(of_others, needed)), "extra_forbidden")


def _slip(path: Path, document: Document) -> str:
    found = _instead(path, document).path[-1]
    return "" if found == path[-1] else f"did you mean {path[-1]!r} instead of {found!r}?"


def _known_key(model: type[BaseModel], path: Path, document: Document) -> str:
    owners, key = models_at(model, path[:-1], document.data), str(path[-1])
    if not owners:
        return ""
    fields = owners[0].model_fields
    if key != key.strip():
        return "remove the character before or after the value that only looks like a space"
    if hint := wording.of_key(key, fields)[1]:
        return hint
    if len(path) == 1 and (section := _section(_at(document, path), model)):
        return f"indent it, so that it is under `{section}`"
    engines_own = "_" in key.replace("-", "_") and issubclass(owners[0], Settings)
    return closest(key, fields) or ("put engine options under `set`" if engines_own else nearest(key, fields))


def _section(entry: object, model: type[BaseModel]) -> str:
    """Return the first section of which this can be an entry; empty if there is none."""
    if not isinstance(entry, dict) or not entry:
        return ""
    for section in model.model_fields:
        for each in models_at(model, (section, ""), {section: {"": entry}}):
            needed = {name for name, field in each.model_fields.items() if field.is_required()}
            if needed <= entry.keys() <= each.model_fields.keys():
                return section
    return ""


def _description(model: type[BaseModel], path: Path, document: Document) -> str:
    from sparkiac.model.schema import descriptions  # noqa: PLC0415  reads source files; only for a hint

    owners, key = models_at(model, path[:-1], document.data), str(path[-1])
    if words := tagged.tags(owners, key):
        return f"one of: {', '.join(sorted(words))}"
    return descriptions(owners[0]).get(key, "") if owners else ""
