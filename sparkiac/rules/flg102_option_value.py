"""An option has a value that the vLLM in the image does not accept.

An option, or a key of a JSON option, accepts a number in a range, a switch, one of a few words, or JSON. The server
exits at once on anything else, and on an option whose value is missing. A switch accepts true or false. Only some
options accept numbers such as 8k and 8K. The accepted values are read from the sources of the release in the image; if
the image is compared with the nearest release, this is a warning. A number outside the limits of vLLM's own class of
settings, such as a context of -5, is an error for each image of a known release.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {max_num_seqs: many}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    image: vllm/vllm-openai:v0.20.0@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8000
    set: {max_num_seqs: 8}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.report import Edit
from sparkiac.report.hints import nearest
from sparkiac.rules import release
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "parser"), *release.SOURCES)


def check_faults(faults: Iterable[ServerFault]) -> Iterator[Hit]:
    """Find values that the release does not accept."""
    for found in release.of_kinds(faults, "value", "range"):
        fault = found.fault
        hint = _HINTS.get(fault.problem, "correct the value")
        if fault.known:
            hint = nearest(fault.wrong, fault.known)
        knows = release.with_word(fault)
        has = found.release.elsewhere(knows) if release.anywhere(knows) else ""
        message = f"in {found.release.title}, {found.name} {fault.problem}{has}"
        hit = found.hit(message, hint, anywhere=fault.kind == "range")
        yield hit._replace(fix=_fix(found))


def _fix(found: ServerFault) -> tuple[Edit, ...]:
    """Return the fix that writes a text or number of a switch as true or false, if the switch can be negated."""
    name, interface = found.fault.option, found.release.interface
    word = str(found.container.server.options.get(name)).lower()
    pair = found.fault.problem == _SWITCH and interface.options[f"--{name.replace('_', '-')}"].kind == "pair"
    if not pair or word not in _TRUE | _FALSE:
        return ()
    return (Edit((*found.container.path, "set", name), word in _TRUE),)


_SWITCH: Final = "takes no value"
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})
_HINTS: Final = {
    _SWITCH: "it is a switch: write true or false",
    "lacks its value": "it is not a switch: write its value",
}
