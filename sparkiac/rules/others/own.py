"""Pages of WVR and INT codes: what the rules' own machinery finds."""

from __future__ import annotations

from typing import Final

from sparkiac.report import Severity
from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "IMP001",
        "unreadable",
        """\
A file to import cannot be read.

It is not of its format, is larger than an importer reads, or starts nothing. Nothing is written then. Mend the line
that is named, or name the format with `--from`.
""",
    ),
    other(
        "INT001",
        "internal-error",
        """\
A rule broke.

What it would have said of the inventory is not known, so nothing is generated. This is a defect of sparkiac and not
of the file: please report it, with the message.
""",
    ),
    other(
        "WVR001",
        "unused-waiver",
        """\
A waiver waives nothing.

No rule has its code, the rule cannot be waived, or it finds nothing where the waiver holds. A waiver that was left
behind would hide the next real finding. Remove it.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
allow: [{code: NET005, reason: the old gateway wanted it}]
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
        severity=Severity.WARNING,
    ),
)
