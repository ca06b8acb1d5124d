"""Command lines for vLLM as people write them, right and wrong, made from what a release takes."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.catalog.interfaces import Interface, OptionSpec

WORDS: Final = ("None", "", "x", "1", "-1", "1.5", "8k", "8K", "1.5G", "1.5g", "auto", "true", "{}", "[1]", '{"a": 1}')
VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    7,
    -1,
    0.5,
    2.0,
    "x",
    "3",
    "true",
    "auto",
    "",
    [1],
    ["a"],
    {},
)
NAMES: Final = ("x", "hermes", "qwen3", "gemma4", "fp8", "FLASHINFER", "flash_attn", "marlin", "auto", "safetensors")
NAMED: Final = ("--tool-call-parser", "--reasoning-parser", "--quantization", "--load-format", "--attention-backend")
NOT_ALONE: Final = frozenset({"--help", "--config", "--model"})
"""Options that end the program, read a file, or move words about."""


class Line(NamedTuple):
    """A command line after `vllm serve`, and how it was made."""

    kind: str
    words: tuple[str, ...]


class Maker:
    """Makes lines for one release, the same ones each time."""

    def __init__(self, known: Interface, seed: str = "") -> None:
        """Begin anew."""
        self.known = known
        self.random = random.Random(known.version + seed)
        self.options = [option for name, option in known.options.items() if name not in NOT_ALONE]
        self.objects = [option for option in self.options if option.object]
        self.negatives = [spelling for option in self.options for spelling in option.negative]

    def lines(self, count: int) -> list[Line]:
        """Make this many."""
        kinds: list[Callable[[], list[str]]] = [
            *(self.plain, self.plain, self.wrong, self.underscores, self.shortened, self.mistyped, self.negative),
            *(self.several_words, self.short_form, self.level, self.repeated, self.named, self.stray),
            *(self.json, self.json, self.dotted, self.dotted, self.list_key, self.mixed, self.mixed),
        ]
        made = []
        for number in range(count):
            kind = kinds[number % len(kinds)]
            made.append(Line(kind.__name__, ("a/model", *kind())))
        return made

    def value(self, option: OptionSpec) -> str:
        """Choose a word that the option probably takes."""
        if option.choices:
            return self.random.choice(option.choices)
        if option.object:
            return json.dumps(self.mapping(option.object))
        fitting = {"int": "3", "float": "0.5", "bool": "true", "json": '{"a": 1}', "human_readable_int": "8k"}
        fitting |= {"json_or_str": "{}", "human_readable_int_or_auto": "auto", "lora": "a=b"}
        return fitting.get(option.type or "", "word")

    def one(self, option: OptionSpec, spelling: str | None = None) -> list[str]:
        """Write one option, with its value behind a space or an equals sign."""
        spelling = spelling or self.random.choice([option.name, *option.aliases, *option.hidden, *option.negative])
        if option.kind in {"switch", "pair"}:
            return [spelling]
        value = self.value(option)
        return [f"{spelling}={value}"] if self.random.random() < 0.5 else [spelling, value]

    def plain(self) -> list[str]:
        """Write an option with a fitting value."""
        return self.one(self.random.choice(self.options))

    def wrong(self) -> list[str]:
        """Write an option with any word."""
        return [f"{self.random.choice(self.options).name}={self.random.choice(WORDS)}"]

    def underscores(self) -> list[str]:
        """Write the name with hyphens or underscores."""
        option = self.random.choice(self.options)
        return self.one(option, "--" + option.name[2:].replace("-", self.random.choice("_-")))

    def shortened(self) -> list[str]:
        """Write the beginning of a name."""
        option = self.random.choice(self.options)
        return self.one(option, option.name[: self.random.randint(4, len(option.name))])

    def mistyped(self) -> list[str]:
        """Write a name with a letter too few or too many."""
        name = self.random.choice(self.options).name
        place = self.random.randint(2, len(name) - 1)
        other = self.random.choice([name[:place] + name[place + 1 :], name[:place] + "x" + name[place:], name + "s"])
        return [other, *self.random.choice([[], ["1"], ["x"]])]

    def negative(self) -> list[str]:
        """Write a spelling that says no."""
        word = self.random.choice(self.negatives)
        return [word.replace("-", "_").replace("__", "--", 1) if self.random.random() < 0.3 else word]

    def several_words(self) -> list[str]:
        """Write an option with up to three words."""
        option = self.random.choice([option for option in self.options if option.arity] or self.options)
        return [option.name, *(self.random.choice(("1", "2", "a", "a=b")) for _ in range(self.random.randint(0, 3)))]

    def short_form(self) -> list[str]:
        """Write an option of one hyphen."""
        named = [(option, alias) for option in self.options for alias in option.aliases if not alias.startswith("--")]
        option, alias = self.random.choice(named)
        value = self.value(option)
        return self.random.choice([[alias, value], [f"{alias}={value}"], [f"{alias}{value}"], [alias]])

    def level(self) -> list[str]:
        """Write a level of optimization."""
        return self.random.choice([["-O3"], ["-O=2"], ["-O", "1"], ["-Ox"], ["-O"]])

    def repeated(self) -> list[str]:
        """Write an option twice."""
        option = self.random.choice(self.options)
        return [*self.one(option), *self.one(option)]

    def named(self) -> list[str]:
        """Name a parser, format or backend."""
        name = self.random.choice(NAMED)
        return [name, self.random.choice((*NAMES, *sorted(getattr(self.known, self.field(name)))))]

    def field(self, option: str) -> str:
        """Return where an interface has an option's names."""
        plural = option[2:].replace("-", "_")
        return plural if plural == "quantization" else f"{plural}s"

    def stray(self) -> list[str]:
        """Put a word behind an option."""
        return [*self.plain(), self.random.choice(("x", "-x", "--", "--x", "-5", "--x=1", "0.5", "-0.5"))]

    def mapping(self, name: str) -> dict[str, Any]:
        """Make a JSON value with one or two keys of a class."""
        keys = self.known.objects[name]
        made: dict[str, Any] = {}
        for key in self.random.sample(sorted(keys), min(len(keys), self.random.randint(1, 2))):
            made[key] = self.inner(keys[key].type, keys[key].choices)
        if self.random.random() < 0.1:
            made["unknown"] = 1
        return made

    def inner(self, kind: str, choices: tuple[str, ...]) -> object:
        """Choose a value for a key, right or wrong."""
        base = kind.removesuffix(" | None")
        if base in self.known.objects and self.random.random() < 0.7:
            return self.mapping(base)
        if choices and self.random.random() < 0.7:
            return self.random.choice(choices)
        return self.random.choice(VALUES)

    def json(self) -> list[str]:
        """Write a JSON value."""
        option = self.random.choice(self.objects)
        value = json.dumps(self.mapping(option.object or ""))
        return [option.name, self.random.choice(WORDS) if self.random.random() < 0.1 else value]

    def dotted(self) -> list[str]:
        """Write keys of a JSON value with dots."""
        option = self.random.choice(self.objects)
        words: list[str] = []
        for key, value in self.mapping(option.object or "").items():
            path, inner = f"{option.name}.{key}", value
            while isinstance(inner, dict) and inner:
                step, inner = next(iter(inner.items()))
                path += f".{step}"
            text = inner if isinstance(inner, str) else json.dumps(inner)
            words += [f"{path}={text}"] if self.random.random() < 0.5 else [path, text]
        return words

    def list_key(self) -> list[str]:
        """Add to a list in a JSON value."""
        option = self.random.choice(self.objects)
        keys = self.known.objects[option.object or ""]
        lists = [key for key, each in keys.items() if each.type.startswith("list")] or sorted(keys)
        return [f"{option.name}.{self.random.choice(lists)}+", self.random.choice(("1", "1,2", "a,b", ""))]

    def mixed(self) -> list[str]:
        """Write several options."""
        parts = [self.plain, self.plain, self.underscores, self.dotted, self.negative, self.json]
        return [word for _ in range(self.random.randint(2, 5)) for word in self.random.choice(parts)()]
