"""Pages of findings that are made outside the rules: YAML, values, names, waivers, internal errors and hosts.

Each has a page in the form of a rule's, and no inventory may waive it. A test checks that every code that the
package can report belongs to a rule or is in this table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.rules.others import hosts, lck, own, references, starts, text, values

if TYPE_CHECKING:
    from sparkiac.rules.others.other import Other

OTHERS: Final[tuple[Other, ...]] = (
    *text.OTHERS,
    *values.OTHERS,
    *references.OTHERS,
    *own.OTHERS,
    *hosts.OTHERS,
    *starts.OTHERS,
    *lck.OTHERS,
)
