"""Git's own HTTP server, `git http-backend`, behind TLS on the loopback."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.upstream.registry import servers
from tests.upstream.registry.servers import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.registry.servers import Authority, Server


def git(folder: Path, *words: str) -> str:
    """Run git in a folder."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> str:
    """Commit all files of a folder, which becomes a repository; give the commit."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "change")
    return git(folder, "rev-parse", "HEAD").strip()


@contextmanager
def serve(root: Path, authority: Authority, other: str) -> Iterator[Server]:
    """Serve the repositories below a folder.

    /moved/… redirects to the same path here, /elsewhere/… to the server `other`, and /private/… requires a login.
    """
    backend = Path(git(root, "--exec-path").strip()) / "git-http-backend"

    def answer(request: Request) -> Reply:
        first, _, rest = request.path[1:].partition("/")
        if first in {"moved", "elsewhere"}:
            return Reply(302, {"Location": f"{server.base if first == 'moved' else other}/{rest}"})
        if first == "private":
            return Reply(401, {"WWW-Authenticate": 'Basic realm="loopback"'})
        done = subprocess.run([backend], env=_cgi(root, request), input=request.body, capture_output=True, check=False)
        return _reply(done.stdout)

    with servers.Server(answer, authority) as server:
        yield server


def _cgi(root: Path, request: Request) -> dict[str, str]:
    """Return a request as variables (RFC 3875, 4.1)."""
    path, _, query = request.path.partition("?")
    return {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REQUEST_METHOD": request.method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
    }


def _reply(output: bytes) -> Reply:
    head, _, body = output.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    return Reply(int(headers.pop("Status", "200")[:3]), headers, body)
