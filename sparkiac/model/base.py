"""The base of all models, and the named text forms that they are made of.

A form is a regular expression with the sentence that a person reads when a value does not match.
Names are not free text: they become paths, unit names, container names and Ansible hosts.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address, ip_interface
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

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


FORMS: Final[dict[str, str]] = {
    r"^[a-z][a-z0-9-]{0,39}$": "a name of 1 to 40 lower-case letters, digits and hyphens that starts with a letter",
    r"^[a-z][a-z0-9_-]{0,39}$": "a name of 1 to 40 lower-case letters, digits, _ and - that starts with a letter",
    r"^[a-z][a-z0-9_]{0,63}$": "an option name in snake_case, such as max_model_len",
    r"^[A-Za-z_][A-Za-z0-9_]{0,127}$": "a name of letters, digits and underscores that does not start with a digit",
    r"^[^\x00-\x1f\x7f]*$": "one line of text without control characters",
    r"^[^\x00-\x20\x7f\\]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f\\])?$": (
        "one line of text that neither starts nor ends with a blank or a backslash"
    ),
    r"^(/[A-Za-z0-9._@+=:-]+)+$": "an absolute path of letters, digits and . _ @ + = : -",
    r"^/[A-Za-z0-9._~/-]*$": "a URL path that starts with /",
    (
        r"^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*"
        r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$"
    ): "an image reference such as nvcr.io/nvidia/vllm:26.04-py3, with or without @sha256:<64 hex digits>",
    r"^sha256:[0-9a-f]{64}$": "a digest: sha256: and 64 lower-case hex digits",
    r"^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)*$": "a registry host, with an optional port and path",
    r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$": "a model handle such as google/gemma-4-26B-A4B-it",
    r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$": "a recipe name such as google/gemma-4-26b-a4b-it-fp8",
    r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$": "an IPv4 address or a DNS name",
    r"^[0-9A-Fa-f.:]+/[0-9]{1,3}$": "an address with a prefix length, such as 192.168.177.11/24",
    r"^[a-z][a-z0-9_.]{0,14}$": "a network interface name of at most 15 characters",
    r"^[a-z][a-z0-9_-]{0,31}$": "a Linux user name",
    r"^[0-9]+(\.[0-9]+){0,3}$": "a quoted version such as '580.142'",
    r"^[a-z][a-z0-9_]*(\.[A-Za-z0-9_-]+)+$": "a sysctl key such as vm.swappiness",
    r"^-?[0-9]+( -?[0-9]+)*$": "an integer, or several with one blank between them",
    r"^[A-Za-z0-9_]+\.[A-Za-z0-9_]+$": "a kernel module and its parameter, such as nvidia_drm.modeset",
    r"^[A-Za-z0-9_-]{1,32}$": "a word of 1 to 32 letters, digits, _ and -",
    r"^[A-Z]{3}[0-9]{3}$": "a code of three capitals and three digits, such as ENT001",
}
"""Regular expression → what is allowed, in words."""

(
    NAME,
    SECRET,
    OPTION,
    VARIABLE,
    LINE,
    TITLE,
    PATH,
    URL_PATH,
    IMAGE,
    DIGEST,
    REGISTRY,
    HANDLE,
    RECIPE,
    ADDRESS,
    PREFIXED,
    INTERFACE,
    USER,
    VERSION,
    SYSCTL_KEY,
    SYSCTL_VALUE,
    KERNEL_PARAMETER,
    WORD,
    CODE,
) = FORMS

SECRET_KEYS: Final = frozenset({"api_key"})
"""Fields that hold a SecretRef. What stands there instead is never printed."""

MAX_ARGUMENT: Final = 130_900
"""Bytes in one argument or value of a variable: Linux MAX_ARG_STRLEN, 131072, less the name before it."""

_RESERVED_HOSTS: Final = frozenset({"all", "ungrouped", "localhost"})


def _host_name(value: str) -> str:
    if value in _RESERVED_HOSTS:
        message = f"{value!r} means something else to Ansible; choose another name"
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
    return value


def _interface_address(value: str) -> str:
    _parsed(ip_interface, value, f"is not {FORMS[PREFIXED]}")
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


Name = Annotated[str, _matches(NAME)]
HostName = Annotated[str, _matches(NAME), AfterValidator(_host_name)]
SecretName = Annotated[str, _matches(SECRET)]
OptionName = Annotated[str, _matches(OPTION)]
VariableName = Annotated[str, _matches(VARIABLE)]
Line = Annotated[str, _matches(LINE), AfterValidator(_argument)]
ShortText = Annotated[str, StringConstraints(pattern=TITLE, max_length=200)]
AbsolutePath = Annotated[str, _matches(PATH), AfterValidator(_path)]
UrlPath = Annotated[str, _matches(URL_PATH)]
ImageReference = Annotated[str, _matches(IMAGE)]
Digest = Annotated[str, _matches(DIGEST)]
RegistryName = Annotated[str, _matches(REGISTRY)]
ModelHandle = Annotated[str, _matches(HANDLE)]
RecipeName = Annotated[str, _matches(RECIPE)]
Address = Annotated[str, _matches(ADDRESS), AfterValidator(_address)]
InterfaceName = Annotated[str, _matches(INTERFACE)]
InterfaceAddress = Annotated[str, _matches(PREFIXED), AfterValidator(_interface_address)]
UserName = Annotated[str, _matches(USER)]
Version = Annotated[str, _matches(VERSION)]
SysctlKey = Annotated[str, _matches(SYSCTL_KEY)]
SysctlValue = Annotated[str, _matches(SYSCTL_VALUE)]
KernelParameter = Annotated[str, _matches(KERNEL_PARAMETER)]
Word = Annotated[str, _matches(WORD)]
Code = Annotated[str, _matches(CODE)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]
Gib = Annotated[float, Field(gt=0, le=4096)]
Bind = Literal["loopback", "lan", "fabric", "any"]

OptionValue = Annotated[
    str | int | float | bool | tuple[str | int | float, ...] | dict[str, object] | None,
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
