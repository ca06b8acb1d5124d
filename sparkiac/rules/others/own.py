"""Pages of the codes for imports, internal errors and waivers."""

from __future__ import annotations

from typing import Final

from sparkiac.report import Severity
from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "IMP001",
        "unreadable",
        """\
An imported file cannot be read.

It has another format, is larger than an importer reads, or starts no container. Nothing is written. Correct the line in
the message, or name the format with `--from`.
""",
    ),
    other(
        "INT001",
        "internal-error",
        """\
A rule failed with an internal error.

The result of the rule is unknown, so nothing is generated. This is a defect of sparkiac, not of the file: please report
it, with the message.
""",
    ),
    other(
        "WVR001",
        "unused-waiver",
        """\
A waiver waives nothing.

No rule has its code, the rule cannot be waived, or the rule reports nothing in the scope of the waiver. A waiver that
is left behind would hide the next real finding. Remove it.

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
    other(
        "MN104",
        "slower-link",
        """\
A link was slower than before.

The last run of `sparkiac fabric verify` measured less than nine tenths of the best speed in the record beside the
inventory (`lab.links.json`). A half-plugged cable, a port that fell back to a lower speed and a busy link do this. Run
`sparkiac fabric verify` again while nothing else uses the link. If the slower speed is right, such as after a change of
cable, remove the entry from the record.
""",
        severity=Severity.WARNING,
    ),
)
