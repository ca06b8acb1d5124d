"""Numbers, lists and sections of a config.json by name; what lacks is noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class ConfigReader:
    """Numbers of a configuration by name; it keeps the names of those that lack."""

    def __init__(self, config: Mapping[str, object], *, missing: list[str] | None = None) -> None:
        """Read from a mapping as JSON gives it. `missing` is where the names go; a list of its own otherwise."""
        self.config = config
        self.missing: list[str] = [] if missing is None else missing

    def found(self, *names: str) -> int | None:
        """Give the first of the names that holds a count."""
        for name in names:
            value = self.config.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
        return None

    def number(self, *names: str) -> int:
        """Give the first of the names that holds a count; note the first name if none does."""
        value = self.found(*names)
        if value is None:
            self.missing.append(names[0])
        return value or 0

    def words(self, name: str) -> tuple[object, ...]:
        """Give a list; empty if there is none."""
        value = self.config.get(name)
        return tuple(value) if isinstance(value, Sequence) else ()

    def section(self, name: str) -> ConfigReader:
        """Give a section, empty if there is none; what lacks of it is noted here."""
        value = self.config.get(name)
        return ConfigReader(value if isinstance(value, Mapping) else {}, missing=self.missing)
