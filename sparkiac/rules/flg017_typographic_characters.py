r"""An option contains a dash or quotes that a word processor changed.

Forums and documents turn `--` into a dash and straight quotes into curly ones. The server treats these as ordinary
characters: it does not recognise the option, or cannot parse the JSON. Type them again.

No engine option accepts such a character. Commands and variables may contain any text, so only two cases are reported
there: such a dash before the name of an option, and such a quote where JSON has a straight one. Descriptions and
reasons are not checked.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    env: {EXTRA_ARGS: "\u2013enable-prefix-caching"}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    env: {EXTRA_ARGS: '--enable-prefix-caching'}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Container, Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(__name__, ("fails", "format"), "DeepSeek-V4 thread L358, L381-383")
_DASH: Final = "\u2012-\u2015\u2212"
_QUOTE: Final = "\u2018-\u201f"
_FOREIGN: Final = re.compile(f"[{_DASH}{_QUOTE}]")
_OPTION: Final = re.compile(rf"(?:^|\s)-?[{_DASH}][-{_DASH}]?[a-z0-9]+(?:[-_][a-z0-9]+)*(?=[\s=]|$)")
"""A word that would be an option if its dash were a plain one."""
_JSON: Final = re.compile(rf"[{{\[:,][{_QUOTE}]|^[{_QUOTE}][{{\[]")
"""A quote that opens a key, a value or the whole text."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find such characters in the options, variables and commands of a container."""
    for host, container in plan.containers:
        for key, character in _settings(container):
            message = f"{key[-1]} of {container.name} contains the typographic character {character}"
            yield hit(host, container, key, message, "type it again with - and straight quotes")


def _settings(container: Container) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return each setting that contains such a character, with the first such character."""
    for name, value in container.server.options.items():
        found = _FOREIGN.search(str(value))
        if found:
            yield ("set", name), found[0]
    texts: dict[tuple[str, ...], tuple[str, ...]] = {
        ("env", name): (value,) for name, value in container.command.env.items()
    }
    texts["container", "prelude"] = tuple(word for command in container.command.pre_start for word in command)
    if container.kind == "service":
        texts["command",] = container.command.words
    for key, words in texts.items():
        copied = next(filter(None, map(_copied, words)), None)
        if copied:
            yield key, copied


def _copied(word: str) -> str | None:
    """Return the typographic character in a word that looks like a copied option or JSON; None if there is none."""
    found = _OPTION.search(word) or _JSON.search(word)
    return _FOREIGN.findall(found[0])[0] if found else None
