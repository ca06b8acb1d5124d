"""Random options for the servers of SGLang and llama.cpp, as an inventory has them under `set`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sparkiac.engines import Engine, Option

_ODD: Final = (0, "many", "8k", "0x10", "1.5", "-1", "", "auto", "on", "None", "a,b", "ON", "8Ki", "2.5k", "99")
_TYPOS: Final = 3


class Maker:
    """Makes options for the releases of an engine, always the same ones."""

    def __init__(self, engine: Engine, release: str) -> None:
        """Take the engine and the release; half of the names are those of any other release."""
        assert engine.table is not None
        self.random = random.Random(f"{engine.name} {release}")
        self.table, self.release, self.elsewhere = engine.table, release, engine.elsewhere
        self.here = [name for name in engine.table.names(release) if name in (engine.options or {})]
        self.anywhere = sorted(engine.options or {})

    def options(self, count: int) -> list[dict[str, Any]]:
        """Return that many choices of options."""
        return [self._one() for _ in range(count)]

    def _one(self) -> dict[str, Any]:
        made = dict(self._option() for _ in range(self.random.choice((1, 1, 1, 2, 3))))
        return {name: value for name, value in made.items() if self.table.aliases.get(name, name) not in self.elsewhere}

    def _option(self) -> tuple[str, Any]:
        name = self.random.choice(self.here if self.random.random() < 0.7 else self.anywhere)
        held = self.table.options[name]
        option = held.get(self.release) or [*held.values()][-1]
        return self._spelled(name), self._value(option)

    def _spelled(self, name: str) -> str:
        way = self.random.randrange(14)
        if way == 0:
            at = self.random.randrange(len(name))
            return name[:at] + name[at + 1 :] if name[at + 1 :] else f"{name}s"
        if way == 1:
            return f"no_{name}"
        return name[: self.random.randrange(3, len(name))].rstrip("_") if way == _TYPOS and len(name) > 4 else name

    def _value(self, option: Option) -> Any:  # noqa: ANN401
        good: dict[str, Any] = {
            "integer": self.random.randrange(1, 64),
            "size": self.random.choice((4096, "8k", "2Ki", "1.5k")),
            "number": self.random.choice((1, 0.5, 0.25)),
            "text": self.random.choice(option.choices or ("x", "a-b", 7)),
            "commas": ",".join(self.random.choices(option.choices or ("x",), k=2)),
            "optional": "x",
            "switch": True,
            "json": {"a": 1},
            "words": ("1", "2"),
            "many": ("1", "2"),
        }
        if self.random.random() < 0.6:
            return good[option.kind]
        odd = (*_ODD, True, 3, 0.5, {"a": 1}, ("1",), ("1", "2"), *good.values())
        # llama-server takes the next word, whatever it is, as the value that an option lacks.
        return self.random.choice([each for each in odd if self.table.abbreviated or each is not True])
