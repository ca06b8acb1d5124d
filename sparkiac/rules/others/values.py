"""Pages of INV codes: the file is YAML, but not a valid inventory or lock."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "INV001",
        "unknown-key",
        """\
A key is unknown at this position.

It is misspelt, or indented under the wrong key. Its value would have no effect. `sparkiac schema` prints all keys, and
editors use that schema to complete them.

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
A key has an invalid value.

It has another type or form, is out of bounds, or contradicts another key. The message says what is expected. If a
reference to a secret is expected, the value is not shown.

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
A required key is missing.

It has no default, such as the address of a host or the host of a deployment. The hint says what to add.

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
