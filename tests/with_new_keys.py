"""Run in a process of its own: add a key to each class of the inventory, and print the targets that ignore it.

Nothing reads the keys, as when somebody adds a key and forgets the rest.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Final

KEYS: Final = {
    "container.new_key": ("sparkiac.model.settings", "ContainerSettings"),
    "timeouts.new_key": ("sparkiac.model.settings", "Timeouts"),
    "load_memory.new_key": ("sparkiac.model.settings", "LoadMemory"),
    "new_key": ("sparkiac.model.settings", "Serving"),
    "hosts.new_key": ("sparkiac.model.inventory", "Host"),
}
"""Key → the module and the class that have it."""
RESOLVED: Final = ("sparkiac.model.resolved", "ResolvedHost")
_FIELD: Final = '    new_key: Literal["one", "two"] | None = None\n'


def add_field(module: str, owners: list[str]) -> None:
    """Import a module with a further field in some of its classes."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    for owner in owners:
        start = text.index('"""\n', text.index(f"\nclass {owner}(")) + 4
        text = text[:start] + _FIELD + text[start:]
    made = types.ModuleType(module)
    sys.modules[module] = made
    exec(compile(text, spec.origin, "exec"), made.__dict__)  # noqa: S102  the project's own module
    setattr(importlib.import_module(module.rpartition(".")[0]), module.rpartition(".")[2], made)


def main() -> None:
    """Print key → targets that neither write it nor refuse it."""
    for module in ("sparkiac.model.settings", "sparkiac.model.inventory", "sparkiac.model.resolved"):
        add_field(module, [owner for held, owner in (*KEYS.values(), RESOLVED) if held == module])
    from tests import writers  # noqa: PLC0415  imports the changed modules

    places = dict(writers.fields())
    sys.stdout.write(json.dumps({key: writers.unanswered(key, places[key]) for key in KEYS}))


if __name__ == "__main__":
    main()
