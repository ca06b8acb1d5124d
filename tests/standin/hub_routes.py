"""The routes of the model hub's stand-in, which tests/standin/hub.py describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.standin.hub_repository import blob_id, sha256
from tests.standin.hub_server import Handler

if TYPE_CHECKING:
    from tests.standin.hub_repository import Repository

WHAT = "sparkiac's stand-in for the model hub"
RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


class OfHub(Handler):
    """The hub's own routes."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            self._info(match[1], match[2] or "main")
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)(?:/(.+))?", path):
            self._tree(match[1], match[2], match[3] or "")
        elif match := RESOLVE.fullmatch(path):
            self._resolve(match[1], match[2], match[3])
        else:
            self._error(404, f"{WHAT} has no such route")

    def _sends(self) -> bool:
        match = RESOLVE.fullmatch(unquote(urlsplit(self.path).path))
        repository = self.server.hub.repositories.get(match[1]) if match else None
        return match is None or repository is None or not repository.in_lfs(match[3])

    def _info(self, handle: str, revision: str) -> None:
        query = self._query("blobs")
        found = self._found(handle, revision) if query is not None else None
        if found is None or query is None:
            return
        repository, commit, files = found
        blobs = query.get("blobs") == ["true"]
        if self.fault and self.fault.body is not None:
            self._send(200, self.fault.body, {"Content-Type": "application/json"})
            return
        self._json({
            "_id": commit[:24], "id": handle, "modelId": handle, "sha": commit, "private": repository.private,
            "gated": repository.gated, "disabled": False, "tags": [], "downloads": 0, "likes": 0,
            "author": handle.partition("/")[0], "lastModified": "2026-01-01T00:00:00.000Z",
            "createdAt": "2026-01-01T00:00:00.000Z", "cardData": repository.card,
            "siblings": [_sibling(repository, path, content, blobs=blobs) for path, content in sorted(files.items())],
        })  # fmt: skip

    def _tree(self, handle: str, revision: str, folder: str) -> None:
        query = self._query("recursive", "expand", "limit", "cursor")
        found = self._found(handle, revision) if query is not None else None
        if found is None or query is None:
            return
        repository, _, files = found
        inside = {path: content for path, content in files.items() if path.startswith(f"{folder}/" if folder else "")}
        entries = [{"type": "file", "path": path, **repository.entry(path, inside[path])} for path in sorted(inside)]
        self._json(entries if query.get("recursive") in (["true"], ["True"]) else _one_level(entries, folder))

    def _resolve(self, handle: str, revision: str, path: str) -> None:
        found = self._found(handle, revision) if self._query("download") is not None else None
        if found is None or not self._may_read(found[0]):
            return
        repository, commit, files = found
        if path not in files:
            self._error(404, "Entry not found", code="EntryNotFound", headers={"X-Repo-Commit": commit})
            return
        content = files[path]
        told = {"X-Repo-Commit": commit, "Content-Disposition": f'inline; filename="{path.rpartition("/")[2]}"'}
        if not repository.in_lfs(path):
            self._file(content, {**told, "ETag": f'"{blob_id(content)}"'})
            return
        oid = sha256(content)
        where = f"{self.server.hub.cdn_url}/{handle}/{oid}/{quote(path)}?signature={self.server.hub.signature}"
        linked = {"X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{oid}"', "ETag": f'"{oid}"'}
        self._send(302, b"", {**told, **linked, "Location": where})

    def _found(self, handle: str, revision: str) -> tuple[Repository, str, dict[str, bytes]] | None:
        """Return what is asked for, or refuse as the hub does: it tells private and missing ones not apart."""
        token = self._token()
        if token is None:
            return None
        repository = self.server.hub.repositories.get(handle)
        if repository is None or (repository.private and handle not in self._allowed(token)):
            if token:
                self._error(404, "Repository not found", code="RepoNotFound")
            else:
                self._error(401, "Invalid username or password.")
            return None
        commit = repository.found(revision)
        if commit is None:
            self._error(404, f"Invalid rev id: {revision}", code="RevisionNotFound")
            return None
        return repository, commit, repository.commits[commit]

    def _token(self) -> str | None:
        """Return the token that came, empty if none did; refuse one that nobody has."""
        said = self.headers.get("Authorization")
        if said is None:
            return ""
        scheme, _, token = said.partition(" ")
        if scheme == "Bearer" and token in self.server.hub.tokens:
            return token
        self._error(401, "Invalid credentials in Authorization header")
        return None

    def _allowed(self, token: str) -> frozenset[str]:
        return self.server.hub.tokens.get(token, frozenset())

    def _may_read(self, repository: Repository) -> bool:
        token = (self.headers.get("Authorization") or "").partition(" ")[2]
        if not repository.gated or repository.handle in self._allowed(token):
            return True
        words = f"Access to model {repository.handle} is restricted"
        self._error(403 if token else 401, words, code="GatedRepo")
        return False


class OfContent(Handler):
    """The content network: files by their hash, at addresses that the hub signed."""

    def _answer(self) -> None:
        hub = self.server.hub
        url = urlsplit(self.path)
        match = re.fullmatch(r"/([^/]+/[^/]+)/([0-9a-f]{64})/(.+)", unquote(url.path))
        if "Authorization" in self.headers:
            self._error(400, "Only one auth mechanism allowed")
        elif match is None or parse_qs(url.query) != {"signature": [hub.signature]}:
            self._error(403, "Access denied")
        else:
            commits = hub.repositories[match[1]].commits.values()
            content = next(each[match[3]] for each in commits if sha256(each.get(match[3], b"")) == match[2])
            self._file(content, {"ETag": f'"{match[2]}"'})


def _sibling(repository: Repository, path: str, content: bytes, *, blobs: bool) -> dict[str, Any]:
    if not blobs:
        return {"rfilename": path}
    entry = repository.entry(path, content)
    lfs = entry.get("lfs")
    told = {"rfilename": path, "blobId": entry["oid"], "size": entry["size"]}
    if lfs:
        told["lfs"] = {"sha256": lfs["oid"], "size": lfs["size"], "pointerSize": lfs["pointerSize"]}
    return told


def _one_level(entries: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    """Return what lies in a folder itself: files, and each folder once."""
    level: dict[str, dict[str, Any]] = {}
    for entry in entries:
        rest = entry["path"].removeprefix(f"{folder}/" if folder else "")
        name, deeper, _ = rest.partition("/")
        path = f"{folder}/{name}" if folder else name
        level[path] = {"type": "directory", "path": path, "oid": "0" * 40, "size": 0} if deeper else entry
    return list(level.values())
