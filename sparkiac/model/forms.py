"""Regular expressions for the texts in an inventory, each with a description that messages use.

Names are restricted because they become paths, unit names, container names and Ansible host names.
"""

from __future__ import annotations

import re
from typing import Final

FORMS: Final[dict[str, str]] = {}
"""Regular expression → the description of what it matches, for the message about a value that does not match."""


def as_name(text: str) -> str:
    """Return the name that was meant by a text with capitals, spaces, dots or underscores."""
    return re.sub(r"[_. ]", "-", text.lower())


def _form(pattern: str, words: str) -> str:
    FORMS[pattern] = words
    return pattern


NAME: Final = _form(
    r"^[a-z][a-z0-9-]{0,39}$", "a name of 1 to 40 lower-case letters, digits and hyphens that starts with a letter"
)
SECRET: Final = _form(
    r"^[a-z][a-z0-9_-]{0,39}$", "a name of 1 to 40 lower-case letters, digits, _ and - that starts with a letter"
)
OPTION: Final = _form(r"^[a-z][a-z0-9_]{0,63}$", "an option name in snake_case, such as max_model_len")
OPTION_KEY: Final = _form(
    r"^[a-z][a-z0-9_]{0,63}(\.[A-Za-z0-9_]{1,64}){0,8}$",
    "an option name in snake_case, alone or with keys of its JSON value, such as compilation_config.mode",
)
VARIABLE: Final = _form(
    r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", "a name of letters, digits and underscores that does not start with a digit"
)
LINE: Final = _form(r"^[^\x00-\x1f\x7f]*$", "one line of text without control characters")
TITLE: Final = _form(
    r"^[^\x00-\x20\x7f\\]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f\\])?$",
    "one line of text that neither starts nor ends with a space or a backslash",
)
PATH: Final = _form(r"^(/[A-Za-z0-9._@+=:-]+)+$", "an absolute path of letters, digits and . _ @ + = : -")
FILE: Final = _form(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", "the name of a file, without a directory")
SOURCE: Final = _form(
    r"^((https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|file://)(/[A-Za-z0-9._@+=:~%-]+)+|hf:/(/[A-Za-z0-9._@+=:~%-]+){3,})$",
    "the address of a file: https://…, file:///… or hf://organisation/model/path",
)
URL: Final = _form(
    r"^https?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$",
    "an http or https address such as http://192.168.1.10:8009/v1",
)
COMMIT: Final = _form(r"^[0-9a-f]{40}$", "a full commit: 40 lower-case hex digits, quoted")
TIME: Final = _form(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", "a time in UTC: '2026-11-28T17:00:00Z'")
SSH_KEY: Final = _form(
    r"^(sk-)?(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521))(@openssh\.com)? [A-Za-z0-9+/]+=*$",
    "a public SSH key without its comment: ssh-ed25519 AAAA…",
)
GIT: Final = _form(
    r"^(https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?|file://)(/[A-Za-z0-9._@+=~-]+)+$",
    "the address of a Git repository: https://… or file:///…, without a user name",
)
GIT_REF: Final = _form(
    r"^[A-Za-z0-9_]([A-Za-z0-9_+-]|\.[A-Za-z0-9_+-])*(/[A-Za-z0-9_]([A-Za-z0-9_+-]|\.[A-Za-z0-9_+-])*)*$",
    "the name of a branch or a tag, such as main or release/1.2",
)
INSIDE: Final = _form(
    r"^[A-Za-z0-9._@+=-]+(/[A-Za-z0-9._@+=-]+)*$", "a path inside a repository, such as mods/fix-ds4-gpu-cache"
)
PIN: Final = _form(
    r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)*\])?==[0-9][A-Za-z0-9.!+_-]*$",
    "an exact pin such as nvidia-cutlass-dsl[cu13]==4.5.0",
)
URL_PATH: Final = _form(r"^/[A-Za-z0-9._~/-]*$", "a URL path that starts with /")
IMAGE: Final = _form(
    r"^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$",
    "an image reference such as nvcr.io/nvidia/vllm:26.04-py3, with or without @sha256:<64 hex digits>",
)
DIGEST: Final = _form(r"^sha256:[0-9a-f]{64}$", "a digest: sha256: and 64 lower-case hex digits")
SHA256: Final = _form(r"^[0-9a-f]{64}$", "64 lower-case hex digits, quoted")
REGISTRY: Final = _form(
    r"^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)*$", "a registry host, with an optional port and path"
)
HANDLE: Final = _form(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$", "a model handle such as google/gemma-4-26B-A4B-it"
)
OLLAMA: Final = _form(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*(:[A-Za-z0-9][A-Za-z0-9._-]*)?$",
    "an Ollama model such as qwen3:8b",
)
SERVED: Final = _form(
    r"^[^\x00-\x20\x7f-][^\x00-\x1f\x7f]*$", "one line of text that starts with neither a space nor a hyphen"
)
ALIAS: Final = _form(
    r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$", "a model name of at most 64 letters, digits and the characters . _ : -"
)
RECIPE: Final = _form(
    r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$", "a recipe name such as google/gemma-4-26b-a4b-it-fp8"
)
ADDRESS: Final = _form(r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$", "an IPv4 address or a DNS name")
PREFIXED: Final = _form(r"^[0-9A-Fa-f.:]+/[0-9]{1,3}$", "an address with a prefix length, such as 192.168.177.11/24")
NETWORK: Final = _form(
    r"^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$", "a network or an address, such as 192.168.1.0/24 or 192.168.1.20"
)
INTERFACE: Final = _form(r"^[A-Za-z][A-Za-z0-9_.]{0,14}$", "a network interface name of at most 15 characters")
USER: Final = _form(r"^[a-z][a-z0-9_-]{0,31}$", "a Linux user name")
VERSION: Final = _form(r"^[0-9]+(\.[0-9]+){0,3}$", "a quoted version such as '580.142'")
BUILD: Final = _form(
    r"^[0-9]+(\.[0-9]+){1,3}(rc[0-9]+)?(\.dev[0-9]+)?$", "the version of a build such as 0.24.0 or '0.19.2rc1.dev134'"
)
RELEASE: Final = _form(r"^(b[0-9]{1,6}|[0-9]{1,4}(\.[0-9]{1,5}){1,3})$", "a quoted release such as '0.34' or 'b10405'")
MONTH: Final = _form(r"^20[0-9]{2}-(0[1-9]|1[0-2])$", "a year and a month, such as 2027-01")
COMMIT_START: Final = _form(r"^[0-9a-f]{9}$", "the first 9 digits of a commit, quoted")
SYSCTL_KEY: Final = _form(r"^[a-z][a-z0-9_]*(\.[A-Za-z0-9_-]+)+$", "a sysctl key such as vm.swappiness")
SYSCTL_VALUE: Final = _form(r"^-?[0-9]+( -?[0-9]+)*$", "an integer, or several separated by one space")
TIME_OF_DAY: Final = _form(r"^([01][0-9]|2[0-3]):[0-5][0-9]$", "a time of the day such as 22:00")
KERNEL_PARAMETER: Final = _form(
    r"^[A-Za-z0-9_]+\.[A-Za-z0-9_]+$", "a kernel module and its parameter, such as nvidia_drm.modeset"
)
BOOT_PARAMETER: Final = _form(r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$", "the name of a kernel parameter, such as kho")
BOOT_VALUE: Final = _form(
    r"^[A-Za-z0-9_.,:/@+-]{0,200}$", "the value of a kernel parameter without spaces and quotes; empty if it has none"
)
WORD: Final = _form(r"^[A-Za-z0-9_-]{1,32}$", "a word of 1 to 32 letters, digits, _ and -")
ENTRY: Final = _form(
    r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*(#[a-z][a-z0-9-]{0,39})?$", "a recipe, with or without #variant"
)
RETENTION: Final = _form(r"^[1-9][0-9]{0,3}[hdwy]$", "a number and a unit, h, d, w or y, such as 30d")
MAIL: Final = _form(
    r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$", "an e-mail address such as me@example.org"
)
SMTP: Final = _form(
    r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]{1,5}$", "a mail server and its port, such as smtp.example.org:587"
)
PACKAGE: Final = _form(r"^[a-z0-9][a-z0-9+.-]{1,127}$", "the name of a Debian package, such as linux-image-nvidia")
PACKAGE_VERSION: Final = _form(
    r"^[0-9][A-Za-z0-9.+:~-]{0,127}$", "a quoted version of a Debian package, such as '580.173.02-0ubuntu0.24.04.1'"
)
DAY: Final = _form(r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$", "a day, such as 2026-11-28")
CODE: Final = _form(r"^[A-Z]{2,3}[0-9]{3}$", "a code of two or three capitals and three digits, such as ENT001")
