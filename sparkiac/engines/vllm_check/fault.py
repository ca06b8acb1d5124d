"""What is wrong with one option."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["option", "short", "value", "deprecated", "key", "ignored", "name"]


class Fault(NamedTuple):
    """One thing that a release of vLLM does not take, or will not for long."""

    kind: Kind
    """`option`: not known. `short`: a beginning that only one option has, which vLLM takes. `value`: the server ends on
    it. `deprecated`: still taken. `key`: no key of that JSON value; `ignored`: nor this one, and vLLM leaves it
    out. `name`: not among the parsers, backends, formats
    or methods that the release has."""
    option: str
    """As it is written; of a known one on a command line, its own name."""
    said: str
    """The rest of the sentence that starts with the option."""
    path: tuple[str, ...] = ()
    """Keys of a JSON value that lead to it."""
    wrong: str = ""
    """The word that is not known, if it is one."""
    known: tuple[str, ...] = ()
    """What is known instead."""
    registry: str = ""
    """Of a name: where an interface has its kind."""
