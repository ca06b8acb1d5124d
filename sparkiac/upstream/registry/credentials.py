"""The logins that `docker login` and `podman login` left on this machine, and the programs that keep them."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.model.references import DOCKER_HUB
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import codes
from sparkiac.upstream.registry.reference import HUB_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.upstream.registry.reference import Reference

IDENTITY: Final = "<token>"
"""The user's name that says: the secret is an identity token, which is changed for a passing one."""
_HUB_KEY: Final = "https://index.docker.io/v1/"
"""What `docker login` calls Docker Hub."""
_PROGRAM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATIENCE_SECONDS: Final = 30
"""A program that unlocks a key ring may ask a person; one that hangs must not hang the lock."""
_NOT_FOUND: Final = ("credentials not found", "no credentials server URL", "no credentials username")
"""How a program says that it has none; `docker-credential-…` prints it and exits with 1."""


class Login(NamedTuple):
    """A user and a secret. Its text never shows them."""

    user: str
    secret: str

    def __repr__(self) -> str:
        """Show that there is a login, and nothing of it: some put a token where the user stands."""
        return "Login(…)"

    @property
    def basic(self) -> str:
        """The value of an Authorization header."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.secret}'.encode()).decode()}"


class Credentials:
    """Where logins are looked for, in the order of their files. Nothing is read before the first question."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Take the environment that names files and finds programs."""
        self._environ = environ
        self._documents: dict[Path, dict[str, Any]] = {}
        self._logins: dict[tuple[str, str], Login | None] = {}
        self._lock = threading.Lock()
        self.files = tuple(_files(environ))
        """What is read, if it is there."""

    def login(self, reference: Reference) -> Login | None:
        """Find the login for a repository: `credHelpers`, else `auths`, else `credsStore`, file by file.

        Raises `Refusal` LCK003 for a file that is malformed and a program that is missing or fails.
        """
        with self._lock:  # a program may ask a person, who is asked once
            return next(filter(None, (self._in(path, reference) for path in self.files)), None)

    def _in(self, path: Path, reference: Reference) -> Login | None:
        if path not in self._documents:
            self._documents[path] = _document(path)
        document = self._documents[path]
        programs = _table(document, "credHelpers", path)
        entries = _table(document, "auths", path)
        for key in _best(programs, reference):
            return self._from_program(programs[key], key, path)
        for key in _best(entries, reference):
            login = _entry(entries[key], key, path)
            if login:
                return login
        store = document.get("credsStore")
        key = _HUB_KEY if reference.registry == DOCKER_HUB else reference.registry
        return self._from_program(store, key, path) if store else None

    def _from_program(self, name: object, key: str, path: Path) -> Login | None:
        if not isinstance(name, str) or not _PROGRAM.fullmatch(name):
            raise _malformed(path, f"the program that keeps the login for {key} has no plain name")
        program = f"docker-credential-{name}"
        if (program, key) in self._logins:
            return self._logins[program, key]
        found = shutil.which(program, path=self._environ.get("PATH", ""))
        if found is None:
            message = f"{path} keeps the login for {key} with the program {program}, which is not on PATH"
            raise Refusal(codes.LOGIN, message, f"install {program}, or take it out of {path}")
        login = _answer(program, self._run(found, program, key), key)
        return self._logins.setdefault((program, key), login)

    def _run(self, found: str, program: str, key: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(  # noqa: S603  the program that the user's own file names
                [found, "get"],
                input=key,
                env=dict(self._environ),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            fault = f"gave no answer within {_PATIENCE_SECONDS} s"
        except OSError as error:
            fault = f"could not be started: {error.strerror}"
        raise Refusal(codes.LOGIN, f"{program}, which keeps the login for {key}, {fault}")


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Name the files that Docker, Podman and Skopeo write, the one that is named outright first."""
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
    place = ""
    try:
        document = json.loads(raw)
    except json.JSONDecodeError as error:  # its own text is dropped: it carries the whole file
        place = f" at line {error.lineno}, column {error.colno}"
        document = None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _malformed(path, f"is no JSON object{place}")
    return document


def _table(document: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    table = document.get(name) or {}
    if not isinstance(table, dict):
        raise _malformed(path, f"{name} is no JSON object")
    return table


def _best(table: dict[str, Any], reference: Reference) -> list[str]:
    """Give the keys that mean this repository, the most exact first; Podman also writes paths."""
    meant = {key: _meant(key) for key in table}
    fitting = [key for key, name in meant.items() if f"{reference.name}/".startswith(f"{name}/")]
    return sorted(fitting, key=lambda key: (-len(meant[key]), key))


def _meant(key: str) -> str:
    """Give registry and path of a key: `https://nvcr.io/v2/` is nvcr.io."""
    name = key.partition("://")[2] or key
    host, slash, path = name.rstrip("/").partition("/")
    host = DOCKER_HUB if host in HUB_NAMES else host
    return host if path in {"", "v1", "v2"} else f"{host}{slash}{path}"


def _entry(entry: object, key: str, path: Path) -> Login | None:
    """Read an entry of `auths`. An empty one only says that a program keeps it."""
    if not isinstance(entry, dict):
        raise _malformed(path, f"auths: {key} is no JSON object")
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
        raise _malformed(path, f"auths: {key}: auth is not the base64 form of USER:SECRET")
    return Login(user, secret)


def _answer(program: str, done: subprocess.CompletedProcess[str], key: str) -> Login | None:
    if done.returncode and any(words in done.stdout for words in _NOT_FOUND):
        return None
    if done.returncode:
        raise Refusal(
            codes.LOGIN, f"{program} failed with exit code {done.returncode} when asked for the login for {key}"
        )
    try:
        answer = json.loads(done.stdout)
        login = Login(answer["Username"], answer["Secret"])
    except (ValueError, KeyError, TypeError, RecursionError):
        login = None
    if login is None or not all(isinstance(part, str) for part in login):
        raise Refusal(codes.LOGIN, f"{program} gave no Username and Secret when asked for the login for {key}")
    return login if login.secret else None  # so some say that they have none


def _malformed(path: Path, what: str) -> Refusal:
    hint = "mend the file, or move it away and log in again"
    return Refusal(codes.LOGIN, f"{path}: {what}", hint)
