"""vLLM's command line, read as the release in the image reads it.

`engines.vllm_check` parses the words, as for `check`: abbreviations, underscores, dotted keys, switches with a
negative form, options with several values. An option that the release does not have is kept, and `check` reports it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from sparkiac.catalog import interfaces
from sparkiac.catalog.interfaces import Interface, OptionSpec
from sparkiac.engines.vllm_check import words as of_vllm
from sparkiac.engines.vllm_check.words import Fault
from sparkiac.foreign import values
from sparkiac.foreign.launch import CommandLine, Note, OptionValue, corrected, lost
from sparkiac.model import forms

_MAX_CORRECTIONS: Final = 30
"""Maximum number of corrections; the rest of the line is then lost."""
_TRUE: Final = frozenset({"true", "1", "yes"})


def read(words: Sequence[str], lines: Sequence[int], version: str | None) -> CommandLine:
    """Read the arguments of `vllm serve`; `version` is the release in the image, or None for the newest known one."""
    interface = interfaces.interface(interfaces.nearest(version) if version else interfaces.versions()[-1])
    assert interface is not None, "a known release"  # noqa: S101
    return _VllmReader(words, lines, interface).read()


class _VllmReader:
    """Corrects words until the parser accepts them."""

    def __init__(self, words: Sequence[str], lines: Sequence[int], interface: Interface) -> None:
        self.pairs = [*zip(words, lines, strict=True)]
        self.interface = interface
        self.model: str | None = None
        self.notes: list[Note] = []
        self.found: dict[str, OptionValue] = {}
        self.taken: Counter[str] = Counter()

    def read(self) -> CommandLine:
        """Read all words."""
        if self.pairs and not self.pairs[0][0].startswith("-"):
            self.model = self.pairs.pop(0)[0]
        for _ in range(_MAX_CORRECTIONS):
            found = self._parsed([word for word, _ in self.pairs])
            wrong = [fault for fault in found.faults if fault.kind in {"option", "value"}]
            if not wrong:
                break
            for fault in wrong:
                self._correct(fault)
        else:
            self.notes.append(lost(self.pairs[0][1], "…", "the rest of the line cannot be read"))
            return CommandLine(self.model, tuple(self.found.values()), tuple(self.notes))
        self._shortened(found.faults)
        for given in found.given:
            self._take(given.option, given.spelling, given.words)
        self._late_model(found)
        return CommandLine(self.model, tuple(self.found.values()), tuple(self.notes))

    def _parsed(self, words: Sequence[str]) -> of_vllm.Read:
        """Parse a command line. A known model is added, so that the parser does not read another word as the model."""
        return of_vllm.read((*(("model",) if self.model is not None else ()), *words), self.interface)

    def _correct(self, fault: Fault) -> None:
        if not fault.option.startswith("-"):
            self._stray(fault.option)
            return
        places = [at for at, (word, _) in enumerate(self.pairs) if _name(word) == fault.option]
        if not places:
            places = [at for at, (word, _) in enumerate(self.pairs) if self._means(word, fault.option)]
        for at in reversed(places):
            self._correct_word(at, fault)
        if not places and self.pairs:
            word, line = self.pairs.pop()
            self.notes.append(lost(line, word, "this word cannot be read"))

    def _means(self, word: str, option: str) -> bool:
        """Return whether a word spells an option, also abbreviated or with a dotted key."""
        name = _name(word)
        known = self.interface.spellings.get(name)
        return name.startswith("-") and (known == option or (known is None and option.startswith(name)))

    def _correct_word(self, at: int, fault: Fault) -> None:
        word, line = self.pairs[at]
        name, equals, value = word.partition("=")
        if fault.kind == "option":
            self._unknown(at)
        elif equals and fault.problem == "takes no value":
            option = self.interface.options[fault.option]
            kept = value.lower() in _TRUE
            spelling = option.name if kept else next(iter(option.negative), None)
            self.pairs[at : at + 1] = [(spelling, line)] if spelling else []
            self.notes.append(corrected(line, word, f"a switch has no value; read as {'on' if kept else 'off'}"))
        elif fault.problem == "lacks its value" and not equals:
            del self.pairs[at]
            self.notes.append(lost(line, name, "its value is missing"))
        else:
            del self.pairs[at]
            self.notes.append(lost(line, word, f"vLLM's parser rejects it: {fault.problem}"))

    def _stray(self, stray: str) -> None:
        """Drop words that belong to no option; the first one is the model if there is none yet."""
        places = [at for at, (word, _) in enumerate(self.pairs) if word == stray]
        loose = [at for at in places if at and not values.is_option(self.pairs[at - 1][0])]
        at = next(iter((*loose, *reversed(places))), len(self.pairs) - 1)
        end = at + 1
        while end < len(self.pairs) and not values.is_option(self.pairs[end][0]):
            end += 1
        left = self.pairs[at:end]
        del self.pairs[at:end]
        if self.model is None:
            self.model = left.pop(0)[0]
        for word, line in left:
            self.notes.append(lost(line, word, "this word belongs to no option"))

    def _unknown(self, at: int) -> None:
        """Keep an option that the release does not have, with the words after it."""
        word, line = self.pairs[at]
        if self.interface.spellings.get(_name(word)[1:]) is not None:
            self.pairs[at] = (word[1:], line)
            self.notes.append(corrected(line, _name(word), f"vLLM's spelling is {_name(word)[1:]}"))
            return
        end = at + 1
        while end < len(self.pairs) and "=" not in word and not values.is_option(self.pairs[end][0]):
            end += 1
        rest = tuple(each for each, _ in self.pairs[at + 1 : end])
        head, equals, value = word.partition("=")
        name = head.lstrip("-").replace("-", "_")
        del self.pairs[at:end]
        if re.fullmatch(forms.OPTION, name):
            self._put(name, values.guessed((value,) if equals else rest), line, head)
        else:
            self.notes.append(lost(line, word, "not an option"))

    def _shortened(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            if fault.kind == "short":
                at = next((line for word, line in self.pairs if _name(word) == fault.option), 1)
                self.notes.append(corrected(at, fault.option, fault.problem))

    def _take(self, option: OptionSpec, spelling: str, words: tuple[str, ...]) -> None:
        name = option.name.lstrip("-").replace("-", "_")
        value = _value(option, spelling, words)
        if option.kind == "append" and name in self.found:
            value = (*self.found[name].value, *value)
            del self.found[name]
        self._put(name, value, self._line(spelling), spelling)

    def _put(self, name: str, value: object, line: int, what: str) -> None:
        before = self.found.get(name)
        if before is not None and before.value != value:
            self.notes.append(corrected(before.line, before.what, f"overridden in line {line}"))
        self.found[name] = OptionValue(name, value, line, what)

    def _line(self, spelling: str) -> int:
        """Return the line of the next word that spells this option."""
        full = self.interface.spellings.get(spelling, spelling)
        lines = [line for word, line in self.pairs if _name(word) == spelling or self._means(word, full)]
        self.taken[full] += 1
        return lines[min(self.taken[full], len(lines)) - 1] if lines else self.pairs[0][1] if self.pairs else 1

    def _late_model(self, found: of_vllm.Read) -> None:
        """Find a model that follows the options: the word whose removal leaves all options unchanged.

        The parser takes an unknown option with a blank in its value for such a word.
        """
        if self.model is not None:
            return
        plain = [word for word, _ in self.pairs]
        for at in range(len(plain) - 1, -1, -1):
            is_option = values.is_option(plain[at])
            if is_option and " " not in plain[at]:
                continue
            if self._parsed([*plain[:at], *plain[at + 1 :]]) == found:
                self._unknown(at) if is_option else self._positional(*self.pairs[at])
                return

    def _positional(self, word: str, line: int) -> None:
        if "model" in self.found:
            self.notes.append(lost(line, word, "this word belongs to no option"))
        else:
            self.model = word


def _value(option: OptionSpec, spelling: str, words: tuple[str, ...]) -> Any:  # noqa: ANN401
    if option.kind == "switch":
        return True
    if option.kind == "pair":
        return not any(each.startswith(spelling) for each in option.negative) or spelling == option.name
    found = tuple(_one(option, word) for word in words)
    if option.arity in {"+", "*"} or option.kind == "append":
        return found
    return found[0] if found else True


def _one(option: OptionSpec, word: str) -> Any:  # noqa: ANN401
    if option.optional and word in {"None", ""}:
        return word
    return values.read(option.type, word)


def _name(word: str) -> str:
    """Return the option that a word names, normalised as vLLM's parser does."""
    head = word.partition("=")[0].partition(".")[0]
    return head.replace("_", "-") if head.startswith("--") else head
