"""Writes tests/destinations.json: where each key of an inventory ends up, and what an apply does after its change.

    python tools/docs/destinations.py [KEY…]

Without a name of a key, all are computed, which takes minutes. Run it after a new key, or when
tests/test_nothing_lost.py says so; then run tools/docs/reference.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the inventories of the tests
from tests import destinations
from tests import test_nothing_lost as lost


def main() -> None:
    """Write the record; print each field without a destination, and exit 1 if there is one."""
    keys = sys.argv[1:] or {place.rpartition(".")[2] for place in lost.RECORDED}
    found = {place: lost.destination(lost.EVERY[place]) for place in lost.RECORDED if place.rpartition(".")[2] in keys}
    former = {place: each for place, each in destinations.recorded().items() if place in lost.RECORDED}
    destinations.write(former | {place: each for place, each in found.items() if each})
    lacking = [place for place, each in found.items() if each is None]
    if lacking:
        sys.exit("accepted, and nothing depends on them: " + ", ".join(lacking))


if __name__ == "__main__":
    main()
