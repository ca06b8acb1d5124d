"""The role that fetches extra files, run for real by Ansible on this machine, in a folder of its own."""

from __future__ import annotations

import getpass
import hashlib
import http.server
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from sparkiac.report import assets
from tests.host.conftest import SCRIPTS
from tests.host.plays import Played, play
from tests.standin.hub import Hub, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  roles: [extras]
"""
PARSER = b"def parse(text):\n    return text\n"
TOKEN = "hf_canary-extras-91c2-not-a-real-token"  # noqa: S105  no token
TEMPLATE = b"{% for message in messages %}{{ message }}{% endfor %}"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Host:
    """The machine that the tests run on, with another root for the files."""

    folder: Path
    wanted: list[dict[str, Any]] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """Where the files are put."""
        return self.folder / "var/files"

    def want(self, content: bytes, name: str, url: str = "") -> None:
        """Add a file, which lies here unless an address is given."""
        source = self.folder / "source" / name
        source.parent.mkdir(exist_ok=True)
        source.write_bytes(content)
        digest = sha256(content)
        self.wanted.append({"url": url or f"file://{source}", "sha256": digest, "path": f"{digest}/{name}"})

    def apply(self, *options: str) -> Played:
        """Run the role, then its last step, as the playbook does."""
        if not (roles := self.folder / "roles").exists():
            roles.symlink_to(assets.directory("playbooks") / "roles")
        (self.folder / "play.yml").write_text(PLAYBOOK)
        variables = {
            "sparkiac": {"extra_files": self.wanted},
            "extras_root": str(self.root),
            "extras_owner": getpass.getuser(),
            "extras_secrets": str(self.folder / "secrets"),
            "stage_program": str(SCRIPTS / "stage"),
        }
        words = ["-e", json.dumps(variables), *options]
        return play(self.folder, *words, inventory="localhost,")

    def files(self) -> dict[str, bytes]:
        """Read all below the root."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes() for path in self.root.rglob("*") if path.is_file()
        }


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives the template, and remembers who asked."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Answer every request with the template."""
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(TEMPLATE)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/template.jinja"
        running.shutdown()


def test_files_are_fetched_once_and_a_second_run_changes_nothing(host: Host, server: str) -> None:
    """Nothing is asked for again once it is there."""
    host.want(PARSER, "parser.py")
    host.want(TEMPLATE, "template.jinja", server)
    first = host.apply()
    assert first.code == 0, first.said
    assert first.changed["localhost"] > 0
    assert host.files() == {f"{sha256(PARSER)}/parser.py": PARSER, f"{sha256(TEMPLATE)}/template.jinja": TEMPLATE}
    assert {path.stat().st_mode & 0o777 for path in host.root.rglob("*.*")} == {0o644}
    assert Handler.asked == ["/template.jinja"]
    second = host.apply()
    assert (second.code, second.changed) == (0, {"localhost": 0}), second.said
    assert Handler.asked == ["/template.jinja"]


def test_check_tells_what_would_happen_and_does_nothing(host: Host) -> None:
    """Before and after the real run."""
    host.want(PARSER, "parser.py")
    before = host.apply("--check")
    assert before.code == 0, before.said
    assert before.changed["localhost"] > 0
    assert f"would download file://{host.folder}/source/parser.py" in before.said
    assert not host.root.exists()
    assert host.apply().code == 0
    after = host.apply("--check")
    assert (after.code, after.changed) == (0, {"localhost": 0}), after.said
    assert "would download file" not in after.said


def test_a_file_of_a_gated_model_is_fetched_with_the_token_of_the_hub(host: Host) -> None:
    """The token is a file of the host; it is shown nowhere, and a second run asks for nothing."""
    gated = Repository("acme/gated", {"parser.py": PARSER}, gated="manual")
    (host.folder / "secrets").mkdir()
    (host.folder / "secrets/hub").write_text(f"{TOKEN}\n")
    with Hub(gated, tokens={TOKEN: ["acme/gated"]}) as hub:
        host.want(PARSER, "parser.py", f"{hub.url}/acme/gated/resolve/{gated.head()}/parser.py")
        assert host.apply().code == 2, "a gated file without a token"
        host.wanted[0] |= {"size_bytes": len(PARSER), "token": "hub"}
        assert "would download" in host.apply("--check").said
        done = host.apply("-vvv")
        assert done.code == 0, done.said
        assert host.files() == {f"{sha256(PARSER)}/parser.py": PARSER}
        assert TOKEN not in done.said
        hub.requests.clear()
        again = host.apply()
        assert (again.code, again.changed, hub.requests) == (0, {"localhost": 0}, []), again.said


def test_a_wrong_content_fails_the_play_and_leaves_nothing(host: Host) -> None:
    """It is not tried again either."""
    host.want(PARSER, "parser.py")
    (host.folder / "source/parser.py").write_bytes(TEMPLATE)
    done = host.apply()
    assert done.code == 2, done.said
    assert "did not match" in done.said
    assert "RETRYING" not in done.said
    assert host.files() == {}


def test_a_file_that_nobody_pinned_is_refused(host: Host) -> None:
    """`--allow-unlocked` renders this, to be looked at."""
    host.want(PARSER, "parser.py")
    host.wanted[0] |= {"sha256": "UNLOCKED", "path": "UNLOCKED/parser.py"}
    done = host.apply()
    assert done.code == 2, done.said
    assert host.files() == {}


def test_a_file_that_was_changed_on_the_host_is_fetched_anew(host: Host) -> None:
    host.want(PARSER, "parser.py")
    assert host.apply().code == 0
    place = host.root / sha256(PARSER) / "parser.py"
    place.write_bytes(TEMPLATE)
    place.chmod(0o600)
    assert "would download" in host.apply("--check").said
    done = host.apply()
    assert (done.code, done.changed) == (0, {"localhost": 1}), done.said
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (PARSER, 0o644)
