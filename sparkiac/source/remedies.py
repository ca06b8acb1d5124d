"""Hints for values in a wrong form: what to write instead, where the value shows what was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.model import forms
from sparkiac.report.hints import closest
from sparkiac.source import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pydantic_core import ErrorDetails

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
    return f"write [{given}]" if wording.is_plain(given) else ""


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
    if "/" not in given and wording.is_plain(given):
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
