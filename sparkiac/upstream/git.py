"""Read files of a commit: of the user's Git repository, in which nothing changes, or of one that is fetched."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from sparkiac.model import forms
from sparkiac.upstream import programs
from sparkiac.upstream.programs import ProgramError

MAX_FILES: Final = 1000
MAX_BYTES: Final = 1 << 20
"""Maximum size of one file that is fetched."""
MAX_ALL_BYTES: Final = 1 << 21
"""Maximum size of all files of one source: 2 MiB. As YAML with positions they take up to 60 times as much memory."""
_MAX_OWN_BYTES: Final = 1 << 25
"""Maximum size of a file, or of a list of files, in the user's own repository."""
SUFFIX: Final = ".yaml"
_TIMEOUT_S: Final = 60
_SYMLINK: Final = b"120000"
_FILE: Final = b"blob"
_FATAL: Final = "fatal: "
_ONLY: Final = ("protocol.allow=never", "protocol.https.allow=always", "protocol.file.allow=always")
_ONLY_THESE: Final = tuple(word for setting in _ONLY for word in ("-c", setting))
_SETTINGS: Final = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
"""No prompt, and messages in English."""
_HINTS: Final = {
    "couldn't find remote ref HEAD": "the repository is empty, or the address is not that of a Git repository",
    "couldn't find remote ref": "revision must be a branch, a tag, or all 40 digits of a commit",
    "not our ref": "the repository has no such commit",
    **dict.fromkeys(
        ("certificate verification failed", "server verification failed", "certificate problem"),
        "if the server has a private certificate authority, name it in GIT_SSL_CAINFO",
    ),
    "could not read Username": "the repository does not exist, or git needs a credential helper for it",
    "Authentication failed": "the login of git's credential helper or configuration is wrong",
    'Protocol "http"': "the server redirects to an address without TLS",
}
"""Part of a message of git or its TLS libraries → what it means here."""
_REPOSITORY_VARIABLES: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"})
"""Variables that Git sets if a hook runs sparkiac; with them, a fetch would write to the user's own repository."""


class FetchedFiles(NamedTuple):
    """Files of a repository at one commit, or of an artifact with one digest."""

    pin: str
    """Commit or digest."""
    files: Mapping[str, bytes]
    """Path below the requested folder → content."""
    created: str | None
    """Time of the commit, or the one that the artifact names, in UTC."""


def utc(time: datetime) -> str:
    """Return a time as the lock has it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def files(folder: Path, revision: str, paths: Iterable[str]) -> dict[str, bytes]:
    """Return path → content of the files that `revision` has at `paths`, which are relative to `folder`.

    A directory stands for all files below it. Content is as committed: no filter and no
    conversion of line ends. Raises ProgramError.
    """
    if not revision or revision.startswith("-"):
        message = f"{revision or 'an empty text'} is not a revision; name a commit, a branch or a tag, such as main"
        raise ProgramError(message)
    found = _output(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", unknown=revision)
    listed = _listed(folder, found.decode().strip(), revision, paths)
    return {path: _blob(folder, blob) for path, blob in listed}


def fetch(url: str, revision: str, path: str, *, signers: Collection[str] = ()) -> FetchedFiles:
    """Return the YAML files of a folder in a repository, at a branch, tag or commit that one of the signers signed.

    Without signers, any commit is taken. Git checks every object against its hash. Only https and file addresses are
    followed, and no prompt is shown. Raises ProgramError.
    """
    with tempfile.TemporaryDirectory(prefix="sparkiac-git-") as name:
        folder = Path(name)
        _output(folder, "init", "--quiet", "--bare", fetching=True)
        words = ("fetch", "--quiet", "--depth=1", "--no-tags", "--", url, revision)
        _output(folder, *_ONLY_THESE, *words, fetching=True)
        commit = _output(folder, "rev-parse", "--verify", "FETCH_HEAD^{commit}", fetching=True).decode().strip()
        if re.fullmatch(forms.COMMIT, revision) and commit != revision:
            raise ProgramError(f"{revision} is a tag object; name its commit {commit}")
        if signers:
            _verify(folder, commit, signers)
        top = "" if path == "." else f"{path}/"
        below = _listed(folder, commit, revision, filter(None, [top]), fetching=True)
        listed = [each for each in below if each[0].endswith(SUFFIX)]
        if len(listed) > MAX_FILES:
            raise ProgramError(f"{path} has {len(listed)} files; at most {MAX_FILES} are read")
        found: dict[str, bytes] = {}
        for each, blob in listed:
            found[each.removeprefix(top)] = _blob(folder, blob, each)
            if sum(map(len, found.values())) > MAX_ALL_BYTES:
                raise ProgramError(f"the files of {path} have more than {MAX_ALL_BYTES} bytes")
        seconds = int(_output(folder, "show", "--no-patch", "--format=%ct", commit, fetching=True))
        return FetchedFiles(commit, found, utc(datetime.fromtimestamp(seconds, UTC)))


def _verify(folder: Path, commit: str, signers: Collection[str]) -> None:
    """Refuse a commit that no signer signed. Only SSH keys count: git would also take any key of the user's keyring."""
    allowed = folder / "signers"
    allowed.write_text("".join(f'* namespaces="git" {key}\n' for key in signers))
    settings = (f"gpg.ssh.allowedSignersFile={allowed}", "gpg.openpgp.program=false", "gpg.x509.program=false")
    try:
        _output(folder, *(word for each in settings for word in ("-c", each)), "verify-commit", commit, fetching=True)
    except ProgramError as error:
        raise ProgramError(f"no key of signed_by has signed {commit} ({error})") from None


def newer(folder: Path, commit: str) -> str | None:
    """Return date and subject of a commit that contains the one of this folder; None if it does not, or git fails."""
    if not re.fullmatch(forms.COMMIT, commit):
        return None
    try:
        if _output(folder, "rev-parse", "--verify", "HEAD").decode().strip() == commit:
            return None
        _output(folder, "merge-base", "--is-ancestor", "HEAD", commit)
        return _told(folder, commit, "%cs, %s")
    except ProgramError:
        return None


def subject(folder: Path, commit: str) -> str | None:
    """Return the first line of a commit's message; None if this repository does not have it, or git fails."""
    try:
        return _told(folder, commit, "%s") if re.fullmatch(forms.COMMIT, commit) else None
    except ProgramError:
        return None


def _told(folder: Path, commit: str, form: str) -> str:
    return _output(folder, "show", "--no-patch", f"--format={form}", commit).decode(errors="replace").strip()


def _listed(
    folder: Path, commit: str, revision: str, paths: Iterable[str], *, fetching: bool = False
) -> Iterator[tuple[str, str]]:
    """Return path and blob of each file; refuse symbolic links. `revision` is the commit as the user wrote it."""
    listed = _output(folder, "ls-tree", "-r", "-z", commit, "--", *paths, fetching=fetching).split(b"\0")
    for entry in filter(None, listed):
        about, _, raw = entry.partition(b"\t")
        mode, kind, blob = about.split()
        path = raw.decode(errors="surrogateescape")
        if mode == _SYMLINK:
            raise ProgramError(f"{path} is a symbolic link in {revision}; name the file that it points to")
        if kind == _FILE:
            yield path, blob.decode()


def _blob(folder: Path, blob: str, fetched: str = "") -> bytes:
    """Return the content of a blob; `fetched` is the path of one from another repository, whose size is limited."""
    if fetched and int(_output(folder, "cat-file", "-s", blob, fetching=True)) > MAX_BYTES:
        raise ProgramError(f"{fetched} has more than {MAX_BYTES} bytes")
    return _output(folder, "cat-file", "blob", blob, fetching=bool(fetched))


def _output(folder: Path, *words: str, unknown: str = "", fetching: bool = False) -> bytes:
    """Return the output of a git command in a folder; `unknown` is the revision that a silent failure is about."""
    hidden = _REPOSITORY_VARIABLES if fetching else frozenset()
    environment = {key: value for key, value in os.environ.items() if key not in hidden} | _SETTINGS
    most_bytes = MAX_ALL_BYTES if fetching else _MAX_OWN_BYTES
    done = programs.execute(("git", *words), timeout_s=_TIMEOUT_S, most_bytes=most_bytes, cwd=folder, env=environment)
    if done.returncode:
        default = f"{unknown} is not a commit, branch or tag of this repository" if unknown else "no message"
        raise ProgramError(_reason(done.stderr) or default)
    return done.raw


def _reason(errors: str) -> str:
    """Return the line of git's output that gives the reason, with a hint; advice of git can follow it."""
    fatal = [line.removeprefix(_FATAL) for line in errors.splitlines() if line.startswith(_FATAL)]
    reason = fatal[0] if fatal else programs.last_line(errors, "")
    return "; ".join((reason, *[hint for part, hint in _HINTS.items() if part in reason][:1]))
