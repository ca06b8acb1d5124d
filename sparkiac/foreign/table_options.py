"""Options read by the tables of engines: those of engines other than vLLM, and those of speculation, of all engines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from sparkiac import engines
from sparkiac.engines import Engine, Option
from sparkiac.foreign import redaction, values
from sparkiac.foreign.launch import CommandLine, Launch, Note, OptionValue, corrected, lost
from sparkiac.model import forms
from sparkiac.model.settings import Speculative
from sparkiac.report import Path

_SEVERAL: Final = frozenset({"served_model_name"})
"""Options for which people write several words, as in vLLM."""
_LISTS: Final = frozenset({"words", "many"})
"""Kinds of options with several values."""
_OF_CATALOG: Final = "deepseek_mtp"
"""Another name for mtp that entries of the catalog have."""


def read(engine: str, words: Sequence[str], lines: Sequence[int]) -> CommandLine:
    """Read the arguments of a server."""
    return _TableReader(engine, words, lines).read()


class _TableReader:
    """Reads the arguments of one command line."""

    def __init__(self, engine: str, words: Sequence[str], lines: Sequence[int]) -> None:
        known = engines.named(engine)
        self.options = known.options or {}
        self.elsewhere = known.elsewhere
        self.former_switches = known.former_switches
        self.pairs = [*zip(words, lines, strict=True)]
        self.short = values.table(known.spellings)
        self.model: str | None = None
        self.found: dict[str, OptionValue] = {}
        self.notes: list[Note] = []

    def read(self) -> CommandLine:
        """Read all words."""
        while self.pairs:
            word, line = self.pairs.pop(0)
            if values.is_option(word):
                self._option(word, line)
            elif self.model is None:
                self.model = word
            else:
                self.notes.append(lost(line, word, "this word belongs to no option"))
        self._repository()
        return CommandLine(self.model, tuple(self.found.values()), tuple(self.notes))

    def _repository(self) -> None:
        """Use the repository that llama.cpp downloads from as the model; the file's name is not part of it."""
        option = self.found.pop("hf_repo", None)
        if option is None or "model" in self.found or self.model is not None:
            return
        self.model = str(option.value).partition(":")[0]
        files = [option, *([self.found.pop("hf_file")] if "hf_file" in self.found else ())]
        for each in files:
            why = "write the name of the GGUF file as `model_file`"
            self.notes.append(lost(each.line, f"{each.what} {each.value}", why))

    def _option(self, word: str, line: int) -> None:
        head, equals, value = word.partition("=")
        plain = head.lstrip("-").replace("-", "_")
        name = self.short.get(head, plain)
        negative = name.startswith("no_") and name.removeprefix("no_") in self.options and name not in self.options
        name = name.removeprefix("no_") if negative else name
        if not re.fullmatch(forms.OPTION, name):
            self.notes.append(lost(line, word, "not an option"))
            return
        known = self.options.get(name)
        known_here = known is not None or name in self.elsewhere
        found = self._value(name, known, [value] if equals else None, known=known_here)
        if known is not None and found is None and head in self.former_switches:
            found = self.former_switches[head]
            self.notes.append(corrected(line, head, f"current releases require a value; read as {found}"))
        if known is not None and found is None:
            self.notes.append(lost(line, head, "its value is missing"))
            return
        if name in self.found:
            self.notes.append(corrected(self.found[name].line, head, f"overridden in line {line}"))
        self.found[name] = OptionValue(name, False if negative else found, line, head)

    def _value(self, name: str, option: Option | None, given: list[str] | None, *, known: bool) -> Any:  # noqa: ANN401
        kind = option.kind if option else ("words" if name in _SEVERAL else "text") if known else None
        if kind == "switch":
            following = self.pairs[0][0] if self.pairs else ""
            return _switch(given[0]) if given else _switch(self.pairs.pop(0)[0]) if following in {"on", "off"} else True
        rest = [*(given or [])]
        several = kind in {None, *_LISTS}
        while given is None and self.pairs and not values.is_option(self.pairs[0][0]) and (several or not rest):
            rest.append(self.pairs.pop(0)[0])
        if kind in _LISTS:
            return tuple(rest) or None
        if kind is None:
            return values.guessed(tuple(rest))
        return values.read(kind, rest[0]) if rest else None


def _switch(word: str) -> bool:
    return word.lower() not in {"false", "0", "off", "no"}


def of_variables(engine: Engine, launch: Launch) -> CommandLine:
    """Read the environment variables of a launch as options."""
    given = {variable.name: variable for variable in launch.env if variable.value is not None}
    options = []
    for name, variable in given.items():
        if option := engine.variables.get(name):
            known = (engine.options or {}).get(option)
            value = values.read(known.kind if known else None, str(variable.value))
            options.append(OptionValue(option, value, variable.line, f"-e {name}"))
    drafting = {key: given[name] for name, key in engine.speculation.items() if name in given}
    drafter = drafting.get("model")
    if drafter is not None and drafter.value:
        read_as = {key: values.read("json", str(each.value)) for key, each in drafting.items() if each != drafter}
        chosen = {"method": min(engine.speculative), "model": drafter.value, **read_as}
        options.append(OptionValue("speculative_config", chosen, drafter.line, f"-e {drafter.name}"))
    return CommandLine(None, tuple(options), ())


class SpeculativeValue(NamedTuple):
    """The value of `speculative:` after one more option."""

    value: dict[str, Any]
    """All settings so far; empty if `speculative:` cannot express them."""
    notes: tuple[Note, ...]


def speculative(option: OptionValue, engine: Engine, before: Mapping[str, Any]) -> SpeculativeValue | None:
    """Read an option of speculation together with the earlier ones; None if it is another one."""
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
    read = (name for name, key in engine.speculation.items() if key in chosen.keys() - {"method"})
    what = ", ".join([str(method or "speculative decoding"), *(str(path[-1]) for path in own), *read])
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
