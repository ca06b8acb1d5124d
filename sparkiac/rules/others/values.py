"""Pages of INV codes: the file is YAML, and not of the form of an inventory or a lock."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "INV001",
        "unknown-key",
        """\
A key has no meaning at its place.

It is misspelt, or indented under the wrong key. What it says would be lost in silence. `sparkiac schema` prints all
keys, and editors use that schema to complete them.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11, platfrom: dgx-spark}}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11, platform: dgx-spark}}
```
""",
    ),
    other(
        "INV002",
        "value",
        """\
A value is not what its key takes.

It has another type or form, is out of bounds, or does not go together with what another key says. The message says
what is wanted. Where a reference to a secret is wanted, the value is not shown.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.256}}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.25}}
```
""",
    ),
    other(
        "INV003",
        "missing-key",
        """\
A key is missing that nothing works without.

There is no default for it: the address of a host, the host of a deployment. The hint says what belongs there.

Bad:

```yaml
name: lab
hosts: {spark-01: {platform: dgx-spark}}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
    ),
)
