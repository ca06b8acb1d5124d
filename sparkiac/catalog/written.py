"""Facts in the files of a fleet or of a source: the keys of the catalog's facts, checked before they are used.

A fact of others changes no setting and edits no inventory, and it has no regular expressions, which could run for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from sparkiac.catalog.evidence import Evidence, Fact, Releases, Verdict
from sparkiac.model.base import Model, ShortText

FOLDER: Final = "facts"
"""Folder beside those of vendors; files in it are no recipes."""
SPACES: Final = ("set", "env", "speculative", "recipe", "workload", "config", "stall")
PLAIN: Final = (
    *("model", "image", "repository", "name", "lacks", "release", "nodes", "clients", "upstream", "files", "pre_start"),
    *("mounted", "address", "port", "has_key", "remote_code"),
    *("network.kind", "network.native_context", "network.format", "network.checkpoint", "network.thinks"),
    *("network.modalities", "network.weights_bytes"),
)
"""Names without a key, or with few keys; tests compare them with those of the evaluator."""
OPERATORS: Final = frozenset({"not", "without", "over", "under", "indivisible_by"})
_NAME: Final = re.compile(rf"(?:{'|'.join(SPACES)})\.[A-Za-z0-9_][A-Za-z0-9_.-]*|{'|'.join(map(re.escape, PLAIN))}")
_DEEPEST: Final = 6
_MOST: Final = 200


def _condition(when: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a condition as the evaluator reads it. Raises ValueError."""
    if depth > _DEEPEST:
        raise ValueError(f"the condition has more than {_DEEPEST} levels")
    return {name: _wanted(name, wanted, depth) for name, wanted in when.items()}


def _wanted(name: str, wanted: Any, depth: int) -> Any:  # noqa: ANN401  plain data
    if name in {"any", "none"}:
        if not isinstance(wanted, tuple) or not all(isinstance(each, dict) for each in wanted):
            raise ValueError(f"{name} must be a list of conditions")
        return [_condition(each, depth + 1) for each in wanted]
    return _value(_named(name), wanted, depth)


def _value(name: str, wanted: Any, depth: int) -> Any:  # noqa: ANN401  plain data
    if isinstance(wanted, tuple):
        return [_value(name, each, depth) for each in wanted]
    if not isinstance(wanted, dict):
        return wanted
    if depth > _DEEPEST or (unknown := sorted(map(str, wanted.keys() - OPERATORS))):
        raise ValueError(f"{name}: operators are {', '.join(sorted(OPERATORS))}, not {', '.join(unknown)}")
    return {key: _operand(key, name, value, depth + 1) for key, value in wanted.items()}


def _operand(operator: str, name: str, value: Any, depth: int) -> Any:  # noqa: ANN401  plain data
    if operator == "not":
        return _value(name, value, depth)
    if isinstance(value, str):
        return _named(value)
    if operator == "without" or isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: {operator} needs a number or the name of a value")
    return value


def _named(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no value of a deployment; docs/facts.md lists them")
    return name


def _template(text: str) -> str:
    """Return a message whose placeholders can be filled in. Raises ValueError."""
    for _, name, form, conversion in _placeholders(text):
        _named(name)
        if form not in {"", "setting"} or conversion:
            raise ValueError(f"write {{{name}}} or {{{name}:setting}}")
    return text


def _placeholders(text: str) -> Iterator[tuple[str, str, str, str | None]]:
    for before, name, form, conversion in Formatter().parse(text):
        if name is not None:
            yield before, name, form or "", conversion


_Condition = Annotated[dict[str, Any], Field(min_length=1), AfterValidator(_condition)]
_Text = Annotated[ShortText, AfterValidator(_template)]
_Month = Annotated[str, StringConstraints(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]
_Release = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}([.][0-9]{1,4}){1,3}$")]


class WrittenEvidence(Model):
    """A source that supports or contradicts a fact."""

    kind: Literal[
        "parser", "source", "format", "arithmetic", "ab", "measured", "maker", "maintainer", "forum", "advice"
    ]
    source: ShortText
    date: _Month
    hardware: ShortText | None = None
    note: ShortText | None = None
    by: ShortText | None = None


class WrittenReleases(Model):
    """A range of engine releases."""

    first: _Release | None = Field(default=None, alias="from")
    before: _Release | None = None


class WrittenFact(Model):
    """One fact; docs/facts.md describes the keys."""

    when: _Condition
    at: Annotated[str, AfterValidator(_named)]
    message: _Text
    hint: _Text
    verdict: Verdict
    evidence: Annotated[tuple[WrittenEvidence, ...], Field(min_length=1)]
    against: tuple[WrittenEvidence, ...] = ()
    releases: WrittenReleases | None = None
    engine: ShortText = "vllm"
    hardware: ShortText | None = None

    def fact(self) -> Fact:
        """Return it as the evaluator reads it."""
        evidence, against = (
            tuple(Evidence(**each.model_dump(exclude_none=True)) for each in every)
            for every in (self.evidence, self.against)
        )
        releases = Releases(**self.releases.model_dump()) if self.releases else None
        told = (self.when, self.at, self.message, self.hint, self.verdict, evidence, against, releases)
        return Fact(*told, self.engine, self.hardware)


class FactFile(Model):
    """The facts of one file."""

    facts: Annotated[tuple[WrittenFact, ...], Field(min_length=1, max_length=_MOST)]
