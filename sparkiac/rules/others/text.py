"""Pages of YML codes: the file is not read, because two readers would read two things."""

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

Another encoding shows other characters to every program that guesses it. Save the file as UTF-8 without a byte order
mark. What stands after the first wrong byte is not looked at.
""",
        "YAML 1.2.2, 5.2",
    ),
    other(
        "YML002",
        "too-large",
        """\
The file has more bytes, levels or values than are read.

No fleet needs 4 MiB, 20 levels or 200,000 keys and values. The bounds keep a damaged or hostile file from taking all
memory. Split a large fleet into several inventories.

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

Control characters, marks that turn the direction of writing, and the like: a reviewer does not see them, and the file
that is generated from them is not what was reviewed. Remove the character or its escape.

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
The file is not YAML, or it says nothing.

Nothing after the place is looked at, so there may be more faults. Indent with blanks, close each quote and bracket,
and quote a text that holds a colon and a blank.

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
A key stands twice in one mapping.

Most readers keep the last value and say nothing: the first one looks as if it held. Keep one of them.

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
An anchor, alias, tag, merge key or second document stands in the file.

They make one place mean what another place says, or run code in some readers. Write the value out. What all
deployments share goes under `defaults:`.

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

`no` is a truth value or a word, `022` is 18 or 22, `22:22` is a text or 1342, a bare date is a text or a date. Quote
the word if a text is meant; otherwise write a plain decimal number, true, false or null.

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

A number, a truth value, a list or a mapping cannot name anything in an inventory. Quote it if it is a name; names of
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
The file has more faults than are shown.

The first 100 are shown. A file with so many is mostly another kind of file, or one fault that causes the others: mend
the first ones and check again.
""",
    ),
)
