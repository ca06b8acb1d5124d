"""Data of a YAML file with the position of every key and value."""

from __future__ import annotations

from typing import NamedTuple

from sparkiac.report import Loc, Mark, Path


class Document(NamedTuple):
    """Content of a file, with positions.

    `data` holds plain values: dict, tuple, str, int, float, bool, None. `values` and `keys` map a path
    to the mark of the value and of the key that introduces it. `lines` are for printing: a literal secret
    is not in them.
    """

    name: str
    lines: tuple[str, ...]
    data: object
    values: dict[Path, Mark]
    keys: dict[Path, Mark]

    def __hash__(self) -> int:
        """Return a hash of this object, for caches: its mappings have none."""
        return id(self)

    def loc(self, mark: Mark) -> Loc:
        """Return a mark with the file name and the text of its line."""
        return Loc(self.name, mark, self.lines[mark.line - 1])

    def at_value(self, path: Path) -> Loc:
        """Position of the value at `path` if it is on one line, else of its key or its nearest known ancestor."""
        mark = self.values.get(path)
        if mark is not None and mark.end_line == mark.line:
            return self.loc(mark)
        return self.at_key(path)

    def at_key(self, path: Path) -> Loc:
        """Position of the key at `path`, or of its nearest known ancestor."""
        for length in range(len(path), 0, -1):
            mark = self.keys.get(path[:length]) or self.values.get(path[:length])
            if mark is not None:
                return self.loc(mark)
        line, column = self.values[()][:2] if () in self.values else (1, 1)  # after leading comments
        return self.loc(Mark(line, column, line, column + 1))
