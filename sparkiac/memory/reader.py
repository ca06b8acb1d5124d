"""Reads numbers, lists and sections of a config.json and records missing names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class ConfigReader:
    """Reads a configuration by name and collects missing names."""

    def __init__(self, config: Mapping[str, object], *, missing: list[str] | None = None) -> None:
        """Read from parsed JSON. Missing names are added to `missing`, or to a new list."""
        self.config = config
        self.missing: list[str] = [] if missing is None else missing

    def found(self, *names: str) -> int | None:
        """Return the count of the first name that has one."""
        for name in names:
            value = self.config.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
        return None

    def number(self, *names: str) -> int:
        """Return the first of these keys that has a number; if none has, add the first key to the missing ones."""
        value = self.found(*names)
        if value is None:
            self.missing.append(names[0])
        return value or 0

    def words(self, name: str) -> tuple[object, ...]:
        """Return a list; empty if there is none."""
        value = self.config.get(name)
        return tuple(value) if isinstance(value, Sequence) else ()

    def section(self, name: str) -> ConfigReader:
        """Return a section; empty if there is none. Its missing names are recorded here."""
        value = self.config.get(name)
        return ConfigReader(value if isinstance(value, Mapping) else {}, missing=self.missing)
