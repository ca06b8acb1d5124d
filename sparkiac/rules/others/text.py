"""Pages of YML codes: the file is refused, because it is invalid or YAML readers disagree on it."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

_YAML: Final = "YAML 1.2.2 and 1.1, where they differ"

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "YML001",
        "encoding",
        """\
The file is not UTF-8, or it starts with a byte order mark.

Programs that guess another encoding show other characters. Save the file as UTF-8 without a byte order mark. Nothing
after the first invalid byte is checked.
""",
        "YAML 1.2.2, 5.2",
    ),
    other(
        "YML002",
        "too-large",
        """\
The file has too many bytes, levels or values.

The limits are 4 MiB, 20 levels and 200,000 keys and values; no fleet needs more. They keep a damaged or hostile file
from using all memory. Split a large fleet into several inventories.

Bad:

```yaml
name: lab
hosts: [[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
    ),
    other(
        "YML003",
        "character",
        """\
A character is invisible or changes how the text is read.

Examples are control characters and marks that change the direction of writing: a reviewer does not see them, and the
generated file differs from what was reviewed. Remove the character or its escape.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: "192.168.1.11\\u202e"}}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: "192.168.1.11"}}
```
""",
        "YAML 1.2.2, 5.1",
        "Unicode 23.7",
    ),
    other(
        "YML004",
        "syntax",
        """\
The file is not YAML, or it is empty.

Nothing after this position is checked, so there may be more errors. Indent with spaces, close each quote and bracket,
and quote a text that contains a colon and a space.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
        "YAML 1.2.2",
    ),
    other(
        "YML005",
        "duplicate-key",
        """\
A key appears twice in one mapping.

Most readers silently keep the last value, although the first one seems to apply. Keep one of them.

Bad:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
  spark-01: {address: 192.168.1.12}
```

Good:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
```
""",
        "YAML 1.2.2, 3.2.1.3",
    ),
    other(
        "YML006",
        "not-plain-yaml",
        """\
The file contains an anchor, alias, tag, merge key or second document.

With these, one part of the file changes the meaning of another, and some readers run code. Write the value out. Put
settings that all deployments share under `defaults:`.

Bad:

```yaml
name: lab
hosts:
  spark-01: &spark {address: 192.168.1.11}
```

Good:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
```
""",
        _YAML,
    ),
    other(
        "YML007",
        "ambiguous-word",
        """\
An unquoted word means one thing to some readers of YAML and another to others.

`no` is a boolean or a word, `022` is 18 or 22, `22:22` is a text or 1342, a bare date is a text or a date. Quote
the word if you mean a text; otherwise write a plain decimal number, true, false or null.

Bad:

```yaml
name: no
hosts: {spark-01: {address: 192.168.1.11}}
```

Good:

```yaml
name: "no"
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
        _YAML,
    ),
    other(
        "YML008",
        "key-type",
        """\
A key is not a text.

A number, a boolean, a list or a mapping cannot name anything in an inventory. Quote it if it is a name; names of
hosts, deployments and services start with a letter.

Bad:

```yaml
name: lab
hosts: {1: {address: 192.168.1.11}}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
    ),
    other(
        "YML009",
        "too-many",
        """\
The file has more errors than are shown.

The first 100 are shown. A file with so many errors is often of another kind, or one error causes the others: correct
the first ones and check again.
""",
    ),
)
