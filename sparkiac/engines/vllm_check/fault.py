"""What is wrong with one option."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["option", "short", "value", "deprecated", "key", "ignored", "name"]


class Fault(NamedTuple):
    """One option, key or value that a release of vLLM rejects, ignores or has deprecated."""

    kind: Kind
    """`option`: unknown option. `short`: unambiguous abbreviation, which vLLM accepts. `value`: wrong value, with which
    the server does not start. `deprecated`: deprecated option, which vLLM accepts. `key`: unknown key of a JSON value,
    with which the server does not start. `ignored`: unknown key that vLLM ignores. `name`: unknown parser, backend,
    format or method."""
    option: str
    """The option as the user wrote it; for a known option on a command line, its name."""
    problem: str
    """The rest of the sentence that starts with the option."""
    path: tuple[str, ...] = ()
    """Keys of a JSON value that lead to it."""
    wrong: str = ""
    """The unknown word; empty if the fault is of another kind."""
    known: tuple[str, ...] = ()
    """The words that are known in its place."""
    registry: str = ""
    """For `name`: the field of an interface that lists the known names."""
