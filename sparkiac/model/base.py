"""Base class of the models, and the types of their fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address, ip_interface
from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from sparkiac.model import forms

T = TypeVar("T")


class Model(BaseModel):
    """Base class: immutable, without type coercion, and an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        defer_build=True,
        protected_namespaces=(),
    )

    @classmethod
    def from_json(cls, raw: str | bytes) -> Self:
        """Read a JSON text. Raises ValueError with the first fault: a file that a person edited can have several."""
        try:
            return cls.model_validate_json(raw)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ValueError(f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from None


class Shared(Model, defer_build=False):
    """Base of models that several other models contain: their schemas are built once, not again for each of these."""


SECRET_KEYS: Final = frozenset(
    {"admin_password", "api_key", "heartbeat", "password", "secret_key", "secret_url", "token"}
)
"""Fields that hold a SecretRef. If the value is a literal secret instead, no message prints it."""

MOST_BYTES: Final = 10**15 - 1
"""Upper limit of a size, 1 PB: no file or image is larger, and some YAML readers misread longer numbers."""
Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]

MAX_ARGUMENT: Final = 130_900
"""Bytes in one argument or environment value: Linux MAX_ARG_STRLEN, 131072, minus room for the name."""

_NEEDED_AT_BOOT: Final = frozenset(
    {
        *("BOOT_IMAGE", "init", "initrd", "panic", "rdinit", "resume", "ro", "rw", "emergency", "rescue", "single"),
        *("biosdevname", "ip", "net.ifnames"),
    }
)
"""Kernel parameters by which a host finds its disk, its first process and its network."""
_RESERVED_HOSTS: Final = frozenset({"all", "ungrouped", "localhost"})
UNITS_OF_SPARKIAC: Final = frozenset(
    {"answer", "doors", "fleet", "kernel", "metrics", "network-revert", "packages"}
    | {"recover", "secrets", "share", "switch", "watch"}
)
"""NAME of each unit sparkiac-NAME of sparkiac itself; those of turns are sparkiac-turn-TURN."""
DIRECTORIES_OF_SPARKIAC: Final = frozenset(
    {"files", "generations", "metrics", "models", "network", "os", "passed", "programs", "saved", "secrets", "watch"}
)
"""Directories of sparkiac itself in /etc/sparkiac and /var/lib/sparkiac, beside those that are named after units."""


def _host_name(value: str) -> str:
    if value in _RESERVED_HOSTS:
        raise ValueError(f"{value!r} is a reserved name in Ansible; choose another name")
    return value


def _unit_name(value: str) -> str:
    if value in UNITS_OF_SPARKIAC or value.startswith("turn-"):
        raise ValueError(f"sparkiac uses a unit sparkiac-{value} itself; choose another name than {value!r}")
    if value in DIRECTORIES_OF_SPARKIAC:
        raise ValueError(f"sparkiac uses a directory {value!r} itself on each host; choose another name")
    return value


def _path(value: str) -> str:
    if any(part in {".", ".."} for part in value.split("/")):
        raise ValueError("the path may not contain . or .. as a part")
    return value


def _address(value: str) -> str:
    if value.replace(".", "").isdigit():
        _parsed(IPv4Address, value, "is not an IPv4 address: four numbers from 0 to 255")
        found = IPv4Address(value)
        if found.is_unspecified or found.is_multicast or found.is_reserved:
            raise ValueError(f"{value!r} is not the address of one machine; use the address of the host in its network")
    return value


def _interface_address(value: str) -> str:
    _parsed(ip_interface, value, f"is not {forms.FORMS[forms.PREFIXED]}")
    return value


def _network(value: str) -> str:
    _parsed(ip_interface, value, f"is not {forms.FORMS[forms.NETWORK]}")
    found = ip_interface(value)
    if found.ip != found.network.network_address:
        raise ValueError(f"{value!r} is neither a network nor an address; write {found.network} or {found.ip}")
    return value


def _parsed(parse: Callable[[str], object], value: str, fault: str) -> None:
    try:
        parse(value)
    except ValueError:
        raise ValueError(f"{value!r} {fault}") from None


def _argument(value: str) -> str:
    size = len(value.encode())
    if size > MAX_ARGUMENT:
        raise ValueError(f"{size} bytes; Linux passes at most {MAX_ARGUMENT} in one argument")
    return value


def _removable(name: str) -> str:
    """Refuse a kernel parameter that the host needs to boot, or that a trial sets."""
    if name in _NEEDED_AT_BOOT or name.startswith(("root", "rd.", "systemd.")):
        raise ValueError(f"the host needs {name} to boot, or to come back from a trial: sparkiac does not set it")
    return name


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
OptionKey = Annotated[str, _matches(forms.OPTION_KEY)]
VariableName = Annotated[str, _matches(forms.VARIABLE)]
Line = Annotated[str, _matches(forms.LINE), AfterValidator(_argument)]
ShortText = Annotated[str, StringConstraints(pattern=forms.TITLE, max_length=200)]
AbsolutePath = Annotated[str, _matches(forms.PATH), AfterValidator(_path)]
FileSource = Annotated[str, _matches(forms.SOURCE)]
Url = Annotated[str, _matches(forms.URL)]
Commit = Annotated[str, _matches(forms.COMMIT)]
GitAddress = Annotated[str, _matches(forms.GIT), AfterValidator(_path)]
UtcTime = Annotated[str, _matches(forms.TIME)]
SshKey = Annotated[str, _matches(forms.SSH_KEY)]
GitRef = Annotated[str, _matches(forms.GIT_REF)]
InsidePath = Annotated[str, _matches(forms.INSIDE), AfterValidator(_path)]
RepositoryFolder = Annotated[
    str, _matches(forms.INSIDE), AfterValidator(lambda text: text if text == "." else _path(text))
]
"""A folder inside a repository, or the whole repository."""
FileName = Annotated[str, _matches(forms.FILE)]
Pin = Annotated[str, _matches(forms.PIN)]
UrlPath = Annotated[str, _matches(forms.URL_PATH)]
ImageReference = Annotated[str, _matches(forms.IMAGE)]
Digest = Annotated[str, _matches(forms.DIGEST)]
Sha256 = Annotated[str, _matches(forms.SHA256)]
RegistryName = Annotated[str, _matches(forms.REGISTRY)]
ServedName = Annotated[str, _matches(forms.SERVED), AfterValidator(_argument)]
ModelAlias = Annotated[str, _matches(forms.ALIAS)]
ModelHandle = Annotated[str, _matches(forms.HANDLE)]
OllamaModel = Annotated[str, _matches(forms.OLLAMA)]
RecipeName = Annotated[str, _matches(forms.RECIPE)]
EntryName = Annotated[str, _matches(forms.ENTRY)]
Address = Annotated[str, _matches(forms.ADDRESS), AfterValidator(_address)]
Network = Annotated[str, _matches(forms.NETWORK), AfterValidator(_network)]
InterfaceName = Annotated[str, _matches(forms.INTERFACE)]
InterfaceAddress = Annotated[str, _matches(forms.PREFIXED), AfterValidator(_interface_address)]
UserName = Annotated[str, _matches(forms.USER)]
Version = Annotated[str, _matches(forms.VERSION)]
BuildVersion = Annotated[str, _matches(forms.BUILD)]
Release = Annotated[str, _matches(forms.RELEASE)]
Month = Annotated[str, _matches(forms.MONTH)]
CommitStart = Annotated[str, _matches(forms.COMMIT_START)]
SysctlKey = Annotated[str, _matches(forms.SYSCTL_KEY)]
SysctlValue = Annotated[str, _matches(forms.SYSCTL_VALUE)]
TimeOfDay = Annotated[str, _matches(forms.TIME_OF_DAY)]
KernelParameter = Annotated[str, _matches(forms.KERNEL_PARAMETER)]
BootParameter = Annotated[str, _matches(forms.BOOT_PARAMETER), AfterValidator(_removable)]
BootValue = Annotated[str, _matches(forms.BOOT_VALUE)]
Word = Annotated[str, _matches(forms.WORD)]
Retention = Annotated[str, _matches(forms.RETENTION)]
MailAddress = Annotated[str, _matches(forms.MAIL)]
SmtpServer = Annotated[str, _matches(forms.SMTP)]
Code = Annotated[str, _matches(forms.CODE)]
PackageName = Annotated[str, _matches(forms.PACKAGE)]
PackageVersion = Annotated[str, _matches(forms.PACKAGE_VERSION)]
Day = Annotated[str, _matches(forms.DAY)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]
Pause = Annotated[int, Field(ge=0, le=86_400)]
Gib = Annotated[float, Field(gt=0, le=4096)]
GpuClock = Annotated[int, Field(ge=200, le=5000)]
Bind = Literal["loopback", "lan", "fabric", "any"]

OptionValue = Annotated[
    str | int | float | bool | Annotated[tuple[str | int | float, ...], Field(min_length=1)] | dict[str, object] | None,
    AfterValidator(_option),
]
"""Value of an engine option: a scalar, a list of words, or a JSON object; `null` removes an option of the recipe."""

JsonValue = Annotated[object, AfterValidator(_option)]
"""Any value of a key of a JSON object."""

FORMER_HOSTS: Final = "on"
"""The former name of the key `hosts` of deployments, services and the monitoring, which keeps working."""


class SecretRef(Model):
    """Reference to a secret by its name. Inventories and generated files never contain its value."""

    secret: SecretName
    """Name of the file under /etc/sparkiac/secrets on the host."""


class Ssh(Model):
    """How Ansible reaches a host."""

    user: UserName | None = None
    """Login name; the user needs sudo."""
    port: Port | None = None
    """Port of the SSH server; default 22."""


class WaiverEnd(Model):
    """When a waiver ends, by the release or the age of the image that runs. No clock is read."""

    release: Release | None = None
    """First release of the engine at which it has ended: '0.34'. A pre-release of it has not reached it."""
    image_after: Month | None = None
    """Last month in which the locked image may have been built: 2027-01."""

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        if (self.release is None) == (self.image_after is None):
            raise ValueError("write either `release` or `image_after`: a waiver has one end")
        return self


class Waiver(Model):
    """Accepts the findings of one rule, with the reason."""

    code: Code
    """Code of the rule, such as ENT001."""
    reason: ShortText
    """Why the finding does not apply here."""
    until: WaiverEnd | None = None
    """When the waiver ends; the finding is then shown again. Without it, the waiver holds for ever."""
