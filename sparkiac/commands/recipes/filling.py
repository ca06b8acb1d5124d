"""A recipe for an inventory, and the values that it leaves open: from --fill or a prompt, else a placeholder."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sparkiac.catalog.library import SHIPPED, Library
from sparkiac.commands import prompts
from sparkiac.commands.inputs import known, reject
from sparkiac.report import placeholders
from sparkiac.resolve.catalogued import Catalogued

_PULLS: Final = "[REPOSITORY#]NUMBER@COMMIT[,…]"
_PULL: Final = re.compile(r"(?:(?P<repository>[^#@,]+)#)?(?P<number>[1-9][0-9]{0,9})@(?P<commit>[^#@,]+)")
_SET: Final = {"recipe", "variant", "hosts", "model", "port"}
"""Keys that no recipe sets, because `add` and `init` fill them in."""


class OpenValue(NamedTuple):
    """A value that a recipe leaves to the inventory."""

    key: str
    """Name for --fill."""
    path: tuple[str, ...]
    """`deployment` or `builds`, and the keys below it."""
    what: str
    why: str = ""
    """Known facts about the value, from the catalog."""


def deployable(name: str, *, library: Library = SHIPPED) -> Catalogued:
    """Return a recipe that an inventory can serve; refuse any other."""
    from sparkiac.resolve import catalogued

    usable = [each.name for each in catalogued.everything(library) if each.usable]
    return catalogued.named(known("recipe", name, usable), library)


def left_open(chosen: Catalogued, builds: Container[str] = ()) -> tuple[OpenValue, ...]:
    """Return the values that a recipe leaves open; `builds` are the images that the inventory builds already."""
    from sparkiac.words import entries

    snippet = entries.snippet(chosen)
    [deployment] = snippet["deployments"].values()
    keys = sorted(deployment.keys() - _SET - {"container"})
    own = [OpenValue(key, ("deployment", key), f"{key} of {chosen.name}") for key in keys]
    files = [
        OpenValue(target, ("deployment", "container", "files", target, "url"), f"source of {target}")
        for target in deployment.get("container", {}).get("files", {})
    ]
    return (*own, *files, *_of_build(snippet.get("builds", {}), builds))


def _of_build(asked: dict[str, dict[str, object]], builds: Container[str]) -> Iterator[OpenValue]:
    from sparkiac.words import entries

    for name, keys in asked.items():
        whys = (entries.build(name) or {}).get("asks", {})
        for key in keys if name not in builds else ():
            yield OpenValue(key, ("builds", name, key), f"{key} of build {name}", whys.get(key, ""))


class Filled(NamedTuple):
    """The open values of a recipe, as an inventory has them."""

    deployment: dict[str, Any]
    builds: dict[str, dict[str, Any]]


def option(text: str) -> tuple[str, str]:
    """Split KEY=VALUE, the value of --fill."""
    key, separator, value = text.partition("=")
    if not separator:
        reject(f"--fill {text!r} is not KEY=VALUE, such as commit=<40 hex digits>")
    return key, value


def filled(name: str, left_open: Sequence[OpenValue], given: list[tuple[str, str]]) -> Filled:
    """Return the open values of the recipe `name`. What is used of `given` is removed from it."""
    texts = {each: _taken(given, each.key) for each in left_open}
    missing = [each for each, text in texts.items() if text is None]
    if missing and not sys.stdin.isatty():
        reject(_refusal(name, missing))
    found = Filled({}, {})
    for each, text in texts.items():
        value = prompts.value(text, _label(each), _or_nothing(_parser(each.key)), default="")
        _put(found, each, _form(each.key).placeholder if value is None else value)
    return found


def refuse_unused(given: Sequence[tuple[str, str]]) -> None:
    """Refuse a --fill that no recipe has used."""
    if given:
        reject(f"--fill {given[0][0]}: no chosen recipe leaves this value open")


def _taken(given: list[tuple[str, str]], key: str) -> str | None:
    """Remove the first value of a key and return it."""
    found = next((each for each in given if each[0] == key), None)
    if found is None:
        return None
    given.remove(found)
    return found[1]


def _refusal(name: str, missing: Sequence[OpenValue]) -> str:
    values = "1 value" if len(missing) == 1 else f"{len(missing)} values"
    facts = "; ".join(f"{each.what}{f' ({each.why})' if each.why else ''}" for each in missing)
    flags = " ".join(f"--fill {each.key}={_form(each.key).shown}" for each in missing)
    empty = f"--fill {missing[0].key}="
    return f"{name} leaves {values} open: {facts}. Add {flags}, or an empty value ({empty}) to write a placeholder"


def _label(each: OpenValue) -> str:
    why = f" ({each.why})" if each.why else ""
    return f"{each.what}{why}: {_form(each.key).shown}, or empty to leave it open"


def _put(found: Filled, each: OpenValue, value: Any) -> None:  # noqa: ANN401  a value of the inventory
    root, *parents, last = each.path
    target: dict[str, Any] = found.builds if root == "builds" else found.deployment
    for part in parents:
        target = target.setdefault(part, {})
    target[last] = value


def _or_nothing(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: parse(text) if text else None


def _parser(key: str) -> Callable[[str], Any]:
    """Return the function that converts the text of a value to the value for the inventory."""
    form = _form(key).read
    return prompts.parser(f"--fill {key}", form) if isinstance(form, str) else form


def _command(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        reject(f"--fill install {text!r} is not a command: {error}")


def _pull_requests(text: str) -> tuple[dict[str, Any], ...]:
    return tuple(map(_pull_request, text.split(",")))


def _pull_request(text: str) -> dict[str, Any]:
    found = _PULL.fullmatch(text.strip())
    if found is None:
        reject(f"--fill pull_requests {text!r} is not {_PULLS}, such as 41834@<40 hex digits>")
    number = {"number": int(found["number"])}
    commit = {"commit": prompts.parser("--fill pull_requests: commit", "COMMIT")(found["commit"])}
    if found["repository"] is None:
        return number | commit
    repository = prompts.parser("--fill pull_requests: repository", "GIT")(found["repository"])
    return number | {"repository": repository} | commit


class _Form(NamedTuple):
    """How a value is written."""

    shown: str
    """The form in messages."""
    read: str | Callable[[str], Any]
    """Name of a pattern in `model.forms`, or a function that reads the text."""
    placeholder: Any


_IMAGE: Final = _Form("IMAGE", "IMAGE", placeholders.IMAGE)
_FORMS: Final = {
    "base": _IMAGE,
    "commit": _Form("COMMIT", "COMMIT", placeholders.COMMIT),
    "image": _IMAGE,
    "install": _Form("COMMAND", _command, (placeholders.COMMAND,)),
    "model_file": _Form("FILE.gguf", "FILE", placeholders.MODEL_FILE),
    "pull_requests": _Form(_PULLS, _pull_requests, ({"number": 1, "commit": placeholders.COMMIT},)),
    "repository": _Form("URL", "GIT", placeholders.REPOSITORY),
}
_SOURCE: Final = _Form("URL", "SOURCE", placeholders.URL)


def _form(key: str) -> _Form:
    """Return the form of a value; any key outside the table is the path of a file, whose URL is its value."""
    return _FORMS.get(key, _SOURCE)
