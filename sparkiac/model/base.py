"""The base of all models, and the types of single values."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, ip_interface
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Model(BaseModel):
    """Frozen, strict, and closed: an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        defer_build=True,
        protected_namespaces=(),
    )


SECRET_KEYS: Final = frozenset({"api_key", "secret_key"})
"""Fields that hold a SecretRef. What stands there instead is never printed."""

MOST_BYTES: Final = 10**15 - 1
"""More has no file and no image, and more digits are not read alike by all readers of YAML."""
Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]

MAX_ARGUMENT: Final = 130_900
"""Bytes in one argument or value of a variable: Linux MAX_ARG_STRLEN, 131072, less the name before it."""

_RESERVED_HOSTS: Final = frozenset({"all", "ungrouped", "localhost"})
_RESERVED_UNITS: Final = frozenset({"secrets"})


def _host_name(value: str) -> str:
    if value in _RESERVED_HOSTS:
        message = f"{value!r} means something else to Ansible; choose another name"
        raise ValueError(message)
    return value


def _unit_name(value: str) -> str:
    if value in _RESERVED_UNITS:
        message = f"{value!r} is a directory of sparkiac's own under /etc/sparkiac; choose another name"
        raise ValueError(message)
    return value


def _path(value: str) -> str:
    if any(part in {".", ".."} for part in value.split("/")):
        message = "the path may not contain . or .. as a part"
        raise ValueError(message)
    return value


def _address(value: str) -> str:
    if value.replace(".", "").isdigit():
        _parsed(IPv4Address, value, "is not an IPv4 address: four numbers from 0 to 255")
        found = IPv4Address(value)
        if found.is_unspecified or found.is_multicast or found.is_reserved:
            message = f"{value!r} is the address of no single machine; give the one that the host has in its network"
            raise ValueError(message)
    return value


def _interface_address(value: str) -> str:
    _parsed(ip_interface, value, f"is not {forms.FORMS[forms.PREFIXED]}")
    return value


def _parsed(parse: Callable[[str], object], value: str, fault: str) -> None:
    try:
        parse(value)
    except ValueError:
        message = f"{value!r} {fault}"
        raise ValueError(message) from None


def _argument(value: str) -> str:
    size = len(value.encode())
    if size > MAX_ARGUMENT:
        message = f"{size} bytes are more than the {MAX_ARGUMENT} that Linux passes in one argument"
        raise ValueError(message)
    return value


def _option(value: T) -> T:
    for word in value if isinstance(value, tuple) else (value,):
        _argument(json.dumps(word) if isinstance(word, dict) else str(word))
    return value


def _matches(pattern: str) -> StringConstraints:
    return StringConstraints(pattern=pattern)


Name = Annotated[str, _matches(forms.NAME)]
UnitName = Annotated[str, _matches(forms.NAME), AfterValidator(_unit_name)]
HostName = Annotated[str, _matches(forms.NAME), AfterValidator(_host_name)]
SecretName = Annotated[str, _matches(forms.SECRET)]
OptionName = Annotated[str, _matches(forms.OPTION)]
VariableName = Annotated[str, _matches(forms.VARIABLE)]
Line = Annotated[str, _matches(forms.LINE), AfterValidator(_argument)]
ShortText = Annotated[str, StringConstraints(pattern=forms.TITLE, max_length=200)]
AbsolutePath = Annotated[str, _matches(forms.PATH), AfterValidator(_path)]
FileSource = Annotated[str, _matches(forms.SOURCE)]
Url = Annotated[str, _matches(forms.URL)]
Commit = Annotated[str, _matches(forms.COMMIT)]
GitAddress = Annotated[str, _matches(forms.GIT), AfterValidator(_path)]
GitRef = Annotated[str, _matches(forms.GIT_REF)]
InsidePath = Annotated[str, _matches(forms.INSIDE), AfterValidator(_path)]
FileName = Annotated[str, _matches(forms.FILE)]
Pin = Annotated[str, _matches(forms.PIN)]
UrlPath = Annotated[str, _matches(forms.URL_PATH)]
ImageReference = Annotated[str, _matches(forms.IMAGE)]
Digest = Annotated[str, _matches(forms.DIGEST)]
Sha256 = Annotated[str, _matches(forms.SHA256)]
RegistryName = Annotated[str, _matches(forms.REGISTRY)]
ServedName = Annotated[str, _matches(forms.SERVED), AfterValidator(_argument)]
ModelHandle = Annotated[str, _matches(forms.HANDLE)]
OllamaModel = Annotated[str, _matches(forms.OLLAMA)]
RecipeName = Annotated[str, _matches(forms.RECIPE)]
EntryName = Annotated[str, _matches(forms.ENTRY)]
Address = Annotated[str, _matches(forms.ADDRESS), AfterValidator(_address)]
InterfaceName = Annotated[str, _matches(forms.INTERFACE)]
InterfaceAddress = Annotated[str, _matches(forms.PREFIXED), AfterValidator(_interface_address)]
UserName = Annotated[str, _matches(forms.USER)]
Version = Annotated[str, _matches(forms.VERSION)]
SysctlKey = Annotated[str, _matches(forms.SYSCTL_KEY)]
SysctlValue = Annotated[str, _matches(forms.SYSCTL_VALUE)]
KernelParameter = Annotated[str, _matches(forms.KERNEL_PARAMETER)]
Word = Annotated[str, _matches(forms.WORD)]
Code = Annotated[str, _matches(forms.CODE)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]
Gib = Annotated[float, Field(gt=0, le=4096)]
Bind = Literal["loopback", "lan", "fabric", "any"]

OptionValue = Annotated[
    str | int | float | bool | Annotated[tuple[str | int | float, ...], Field(min_length=1)] | dict[str, object] | None,
    AfterValidator(_option),
]
"""An engine option: a scalar, a list of words, or a JSON object; `null` takes a recipe's option away."""


class SecretRef(Model):
    """A secret by name. Its value never stands in an inventory or in a generated file."""

    secret: SecretName
    """Name of the file under /etc/sparkiac/secrets on the host."""


class Waiver(Model):
    """Leave to do what a rule advises against, with the reason."""

    code: Code
    """The rule's code, such as ENT001."""
    reason: ShortText
    """Why it is right here."""
