"""Logins that `docker login` and `podman login` stored in files or with credential helpers."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sparkiac.model import answers
from sparkiac.model.references import DOCKER_HUB
from sparkiac.upstream import errors, programs
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import HUB_NAMES, ImageReference

IDENTITY: Final = "<token>"
"""User name that marks the secret as an identity token, which is exchanged for a short-lived token."""
_HUB_KEY: Final = "https://index.docker.io/v1/"
"""Key of Docker Hub's entry in a file such as ~/.docker/config.json."""
_HELPER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TIMEOUT_S: Final = 30
"""Enough for a helper that prompts for the password of a key ring."""
_NOT_FOUND: Final = ("credentials not found", "no credentials server URL", "no credentials username")
"""Messages of a helper that has no login; it prints one of them and exits with 1."""


class Login(NamedTuple):
    """A user and a secret, which `repr` redacts."""

    user: str
    secret: str

    def __repr__(self) -> str:
        """Redact the user too, because some users enter a token there."""
        return "Login(…)"

    @property
    def basic(self) -> str:
        """Value of a basic Authorization header."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.secret}'.encode()).decode()}"


class Credentials:
    """Finds logins in files, in a fixed order. No file is read before the first request."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Take the environment, which determines the files and the path of credential helpers."""
        self._environ = environ
        self._documents: dict[Path, dict[str, Any]] = {}
        self._logins: dict[tuple[str, str], Login | None] = {}
        self._lock = threading.Lock()
        self.files = tuple(_files(environ))
        """Files with logins; each may be missing."""

    def login(self, reference: ImageReference) -> Login | None:
        """Return the login for a repository: from `credHelpers`, `auths` or `credsStore`, file by file.

        Raises `UpstreamError` for a malformed file, and for a credential helper that is missing or fails.
        """
        with self._lock:  # a helper may prompt the user, which must happen only once
            return next(filter(None, (self._in(path, reference) for path in self.files)), None)

    def _in(self, path: Path, reference: ImageReference) -> Login | None:
        if path not in self._documents:
            self._documents[path] = _document(path)
        document = self._documents[path]
        helpers = _table(document, "credHelpers", path)
        entries = _table(document, "auths", path)
        for key in _best(helpers, reference):
            return self._from_helper(helpers[key], key, path)
        for key in _best(entries, reference):
            login = _entry(entries[key], key, path)
            if login:
                return login
        store = document.get("credsStore")
        key = _HUB_KEY if reference.registry == DOCKER_HUB else reference.registry
        return self._from_helper(store, key, path) if store else None

    def _from_helper(self, name: object, key: str, path: Path) -> Login | None:
        if not isinstance(name, str) or not _HELPER.fullmatch(name):
            raise _malformed(path, f"invalid name of the credential helper for {key}")
        program = f"docker-credential-{name}"
        if (program, key) in self._logins:
            return self._logins[program, key]
        found = shutil.which(program, path=self._environ.get("PATH", ""))
        if found is None:
            message = f"{program}, the credential helper for {key} in {path}, is not on PATH"
            raise UpstreamError(errors.LOGIN, message, f"install {program}, or remove it from {path}")
        login = _login(program, self._run(found, key), key)
        return self._logins.setdefault((program, key), login)

    def _run(self, found: str, key: str) -> programs.Completed:
        try:
            return programs.execute((found, "get"), key.encode(), timeout_s=_TIMEOUT_S, env=self._environ)
        except programs.ProgramError as error:
            raise UpstreamError(errors.LOGIN, f"the credential helper for {key}: {error}") from None


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that Docker, Podman and Skopeo write; REGISTRY_AUTH_FILE comes first."""
    home = environ.get("HOME")
    docker = environ.get("DOCKER_CONFIG") or (home and f"{home}/.docker")
    runtime = environ.get("XDG_RUNTIME_DIR")
    if named := environ.get("REGISTRY_AUTH_FILE"):
        yield Path(named)
    if docker:
        yield Path(docker, "config.json")
    if runtime:
        yield Path(runtime, "containers", "auth.json")


def _document(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _malformed(path, f"cannot be read: {error.strerror}") from None
    if not raw.strip():
        return {}
    position = ""
    try:
        document = answers.plain(raw)
    except json.JSONDecodeError as error:  # its own text contains the whole file
        position = f" at line {error.lineno}, column {error.colno}"
        document = None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise _malformed(path, f"is not a JSON object{position}")
    return document


def _table(document: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    table = document.get(name) or {}
    if not isinstance(table, dict):
        raise _malformed(path, f"{name} is not a JSON object")
    return table


def _best(table: dict[str, Any], reference: ImageReference) -> list[str]:
    """Return the keys that match a repository, the most specific first; Podman also writes paths."""
    names = {key: _name(key) for key in table}
    matching = [key for key, name in names.items() if f"{reference.name}/".startswith(f"{name}/")]
    return sorted(matching, key=lambda key: (-len(names[key]), key))


def _name(key: str) -> str:
    """Return registry and path of a key: `https://nvcr.io/v2/` is nvcr.io."""
    name = key.partition("://")[2] or key
    host, slash, path = name.rstrip("/").partition("/")
    host = DOCKER_HUB if host in HUB_NAMES else host
    return host if path in {"", "v1", "v2"} else f"{host}{slash}{path}"


def _entry(entry: object, key: str, path: Path) -> Login | None:
    """Read an entry of `auths`. An empty entry belongs to a login that a credential helper stores."""
    if not isinstance(entry, dict):
        raise _malformed(path, f"auths: {key} is not a JSON object")
    token, auth = entry.get("identitytoken"), entry.get("auth")
    if isinstance(token, str) and token:
        return Login(IDENTITY, token)
    if not auth:
        return None
    try:
        user, colon, secret = base64.b64decode(auth, validate=True).decode().rstrip("\0").partition(":")
    except (TypeError, ValueError, binascii.Error):
        user = colon = secret = ""
    if not colon:
        raise _malformed(path, f"auths: {key}: auth is not USER:SECRET in base64")
    return Login(user, secret)


def _login(program: str, done: programs.Completed, key: str) -> Login | None:
    if done.returncode and any(words in done.stdout for words in _NOT_FOUND):
        return None
    if done.returncode:
        raise UpstreamError(errors.LOGIN, f"{program} exited with {done.returncode} for the login for {key}")
    try:
        data = answers.plain(done.raw)
        login = Login(data["Username"], data["Secret"])
    except (ValueError, KeyError, TypeError):
        login = None
    if login is None or not all(isinstance(part, str) for part in login):
        raise UpstreamError(errors.LOGIN, f"{program} printed no Username and Secret for {key}")
    return login if login.secret else None  # some helpers print an empty secret if they have no login


def _malformed(path: Path, what: str) -> UpstreamError:
    return UpstreamError(errors.LOGIN, f"{path}: {what}", "correct the file, or remove it and log in again")
