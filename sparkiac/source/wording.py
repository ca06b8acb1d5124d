"""Turn pydantic's errors into messages, with hints at what to write instead, where the value shows what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pydantic_core import ErrorDetails

from sparkiac.model import forms
from sparkiac.model.forms import FORMS
from sparkiac.report import Path
from sparkiac.report.hints import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pydantic_core import ErrorDetails

TYPES: Final = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "none_required": "nothing",
}
"""Type of a pydantic error → the expected type of the value."""
_FORMS: Final = {"string_pattern_mismatch", "literal_error"}
_BOUNDS: Final = {
    "greater_than": "must be greater than {gt:g}, not {given}",
    "greater_than_equal": "must be at least {ge:g}, not {given}",
    "less_than_equal": "must be at most {le:g}, not {given}",
    "string_too_short": "it has {length} characters; the minimum is {min_length}",
    "string_too_long": "it has {length} characters; the maximum is {max_length}",
    "too_short": "it has {length} entries; the minimum is {min_length}",
    "value_error": "{error}",
}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@+-]{1,64}")
_LONGEST: Final = 60
MAPPINGS: Final = frozenset({"dict_type", "model_type", "model_attributes_type"})
"""Types of errors about a value that must be a mapping."""
_EXPANDED: Final = ("~", "$", "{{")
_CURLY: Final = ("\u201c", "\u201d", "\u201e", "\u2018", "\u2019")
_EVERYWHERE: Final = ("0.0.0.0", "*", "::", "all")  # noqa: S104  what other programs call it
_IPV4: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_PUBLISHED: Final = re.compile(r"(\d{1,5}):\d{1,5}")

_LENGTH: Final = "write `set: {max_model_len: …}`; its name is ctx_size in llama.cpp, context_length in SGLang"
_OPTIONS: Final = "put engine options under `set`, each in snake_case: `set: {max_num_seqs: 8}`"
_PIN: Final = "the lock has the commit; `revisions: {organisation/name: …}` at the top level chooses another"
_GPUS: Final = "remove it: each host serves with its GPU; a model on more GPUs has more hosts, `hosts: [HOST, HOST]`"
_MOUNTS: Final = "mounts: {/path/in/container: {source: /path/on/host}}"
_PLATFORM: Final = "it belongs to a platform: `platforms: {NAME: {rdma_ports: …}}` at the top level"
_RESTART: Final = "remove it: systemd restarts a unit that has ended; `timeouts: {restart_delay_s: …}` delays that"
_HOSTS: Final = "the key is `hosts`: in a deployment `hosts: HOST`, or `hosts: [HOST, HOST]`"
_FOREIGN_KEYS: Final = (
    ("context ctx context_length ctx_size max_model_len", "set", _LENGTH),
    ("tp tensor_parallel tensor_parallel_size", "set", "write `set: {tensor_parallel_size: …}`"),
    ("gpu_memory_utilisation", "set", "write `set: {gpu_memory_utilization: …}`"),
    ("args command cmd flags options overrides extra_args", "set", _OPTIONS),
    ("environment envs variables", "env", "write `env: {NAME: value}`"),
    ("volumes mounts volume", "mounts", f"write `{_MOUNTS}`"),
    ("volumes mounts volume", "container", f"write `container: {{{_MOUNTS}}}`"),
    ("revision commit sha", "recipe", _PIN),
    ("host node nodes place server", "hosts", _HOSTS),
    ("ip ansible_host hostname", "address", "write `address: …`, an IPv4 address or a DNS name"),
    ("user port ansible_user ansible_port", "ssh", "write `ssh: {user: …, port: …}`"),
    ("folder directory dir", "path", "write `path: …`"),
    ("rdma_ports", "platform", _PLATFORM),
    ("gpus", "recipe", _GPUS),
    ("restart", "timeouts", _RESTART),
    ("depends_on", "uses", "write `uses: [NAME]` for what it gets answers from; sparkiac orders the starts"),
    ("ports", "port", "write `port: 8000`, the port on the host"),
)
"""Keys of other tools, the key here that has their place, and how it is written."""


def reason(details: Sequence[ErrorDetails]) -> str:
    """Return one clause that says why a value is invalid."""
    others = [detail for detail in details if detail["type"] not in {*TYPES, *_FORMS}]
    if others:
        return "; ".join(dict.fromkeys(_bound(detail) for detail in others))
    given = details[0]["input"]
    if any(detail["type"] == "string_pattern_mismatch" for detail in details):
        return f"{shown(given)} is not {_either(_form(detail) for detail in details if detail['type'] in _FORMS)}"
    return f"must be {_either(_form(detail) for detail in details)}, not {_typed(given)}"


def dotted(path: Path) -> str:
    """Format a path: hosts.spark-01.fabric.links[0]."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _PLAIN.fullmatch(part) else shown(part))
    return text


def is_plain(text: str) -> bool:
    """Return whether a text needs no quotes in YAML, messages and paths."""
    return _PLAIN.fullmatch(text) is not None


def shown(value: object) -> str:
    """Format a scalar so that its type is visible, shortened for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value[:_LONGEST] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _bound(detail: ErrorDetails) -> str:
    given = detail["input"]
    length = len(given) if hasattr(given, "__len__") else 0
    template = _BOUNDS.get(detail["type"], "{message}")
    return template.format(given=shown(given), length=length, message=detail["msg"], **detail.get("ctx", {}))


def _form(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "string_pattern_mismatch":
            return FORMS[context["pattern"]]
        case "literal_error":
            return str(context["expected"])
        case kind:
            return TYPES[kind]


def _either(words: Iterable[str]) -> str:
    """Join alternatives: a, b or c."""
    chosen = list(dict.fromkeys(words))
    if {"a number", "a whole number"} <= {*chosen}:
        chosen.remove("a whole number")
    return " or ".join(filter(None, (", ".join(chosen[:-1]), chosen[-1])))


def _typed(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple | list):
        return "a list"
    if value is None:
        return "nothing"
    word = {bool: "the boolean", int: "the number", float: "the number", str: "the text"}[type(value)]
    return f"{word} {shown(value)}"


def of_key(key: str, fields: Collection[str]) -> tuple[str, str]:
    """Return the key here that has the place of another tool's, and how it is written; both empty if there is none.

    `fields`: the keys of its mapping.
    """
    name = key.lower().replace("-", "_")
    found = ((here, hint) for keys, here, hint in _FOREIGN_KEYS if name in keys.split() and here in fields)
    return next(found, ("", ""))


def of_text(given: str, detail: ErrorDetails) -> str:
    """Return a hint for a text that is not valid; empty if nothing is known about it."""
    if given.startswith(_EXPANDED) or "${" in given:
        return "write the value itself: variables and templates are not expanded in an inventory"
    if given.startswith(_CURLY):
        return "use straight quotation marks (\" or ') or none: typographic ones are part of the value"
    if detail["type"] in MAPPINGS:
        return f"write {{address: {given}}}" if _IPV4.fullmatch(given) else ""
    hint = _OF_PATTERN.get(detail.get("ctx", {}).get("pattern", "")) or _OF_TYPE.get(detail["type"])
    return hint(given, detail) if hint else ""


def _number(given: str, _: ErrorDetails) -> str:
    if re.fullmatch(r"\d+(\.\d+)?", given, re.ASCII):
        return "write it without quotation marks"
    if re.fullmatch(r"\d{1,6}[kK]", given, re.ASCII):
        return f"write {int(given[:-1]) * 1024}"
    published = _PUBLISHED.fullmatch(given)
    return f"write the port of the host alone: {published[1]}" if published else ""


def _list(given: str, _: ErrorDetails) -> str:
    return f"write [{given}]" if is_plain(given) else ""


def _choice(given: str, detail: ErrorDetails) -> str:
    words = str(detail.get("ctx", {})["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
    if given in _EVERYWHERE and "any" in words:
        return "`any` listens on all addresses"
    return closest(given, words)


def _recipe(given: str, _: ErrorDetails) -> str:
    recipe, variant = [*given.split("#", 1), ""][:2]
    if re.fullmatch(forms.RECIPE, recipe) and re.fullmatch(forms.NAME, variant):
        return f"write `recipe: {recipe}` and `variant: {variant}`"
    if re.fullmatch(forms.RECIPE, given.lower()):
        return f"write it in lower case: {given.lower()}"
    if "/" not in given and is_plain(given):
        return f"`sparkiac recipes search --model {given}` prints its whole name"
    return "`sparkiac recipes list` prints all recipes"


def _name(given: str, _: ErrorDetails) -> str:
    several = [each.strip() for each in given.split(",")]
    if len(several) > 1 and all(re.fullmatch(forms.NAME, each) for each in several):
        return f"write a list: [{', '.join(several)}]"
    name = forms.as_name(given)
    return f"write {name}" if re.fullmatch(forms.NAME, name) else ""


def _option(given: str, _: ErrorDetails) -> str:
    name = given.lstrip("-").lower().replace("-", "_")
    return f"write {name}" if re.fullmatch(forms.OPTION, name) else ""


def _address(given: str, _: ErrorDetails) -> str:
    rest = given.rpartition("://")[2]
    if rest.count(":") > 1:
        return "write the IPv4 address of the host or its DNS name"
    alone = rest.rpartition("@")[2].partition("/")[0].partition(":")[0]
    hint = f"write the address alone: {alone}; `ssh: {{user: …, port: …}}` of the host sets login and port"
    return hint if re.fullmatch(forms.ADDRESS, alone) else ""


def _without_scheme(given: str, _: ErrorDetails) -> str:
    rest = given.partition("://")[2]
    return f"write {rest}" if re.fullmatch(forms.IMAGE, rest) else ""


def _handle(given: str, _: ErrorDetails) -> str:
    if given.startswith("/"):
        own = f"own_models: {{me/NAME: {{host: HOST, path: {given}}}}}"
        return f"write `model: me/NAME`, and at the top level `{own}`"
    if re.fullmatch(forms.FILE, given):
        return f"write it with its organisation: organisation/{given}; one of your own is me/{given}"
    handle = "/".join(given.partition("://")[2].split("/")[1:3])
    return f"write {handle}" if re.fullmatch(forms.HANDLE, handle) else ""


_OF_TYPE: Final[Mapping[str, Callable[[str, ErrorDetails], str]]] = {
    "float_type": _number,
    "int_type": _number,
    "literal_error": _choice,
    "tuple_type": _list,
}
_OF_PATTERN: Final[Mapping[str, Callable[[str, ErrorDetails], str]]] = {
    forms.ADDRESS: _address,
    forms.HANDLE: _handle,
    forms.IMAGE: _without_scheme,
    forms.NAME: _name,
    forms.OPTION: _option,
    forms.RECIPE: _recipe,
}
