"""A host's model store and the program that fills it, started as the playbooks start it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.host.conftest import SCRIPTS
from tests.standin.hub import Repository, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SAFETENSORS = bytes(range(256)) * 800
FILES = {
    "config.json": b'{"model_type": "tiny"}\n',
    "tokenizer/vocab.txt": b"a\nb\n",
    "empty.txt": b"",
    "model-00001.safetensors": SAFETENSORS,
    "model-00002.safetensors": SAFETENSORS[::-1],
}

SYSTEMD_RUN = """\
#!/bin/sh
# Stand-in for systemd-run: starts the program, and returns when it says where it shares, as Type=notify does.
echo "$*" >>"$STUB/log"
for word; do
  case $word in --unit=*) unit=${word#--unit=} ;; --*) ;; *) break ;; esac
  shift
done
"$@" >"$STUB/$unit.out" 2>"$STUB/$unit.err" &
echo $! >"$STUB/$unit.service"
while kill -0 $! && ! grep -q sharing "$STUB/$unit.out"; do sleep 0.02; done
kill -0 $!
"""
NFT = """\
#!/bin/sh
# Stand-in for nft, which does what it is told.
"""
SYSTEMCTL = """\
#!/bin/sh
# Stand-in for systemctl: a unit that systemd-run did not start is not known.
case $1 in
  show)
    if [ -e "$STUB/$2" ]; then state=active; load=loaded; else state=inactive; load=not-found; fi
    printf 'LoadState=%s\\nActiveState=%s\\nSubState=running\\n' $load $state ;;
  is-active) [ -e "$STUB/$2" ] ;;
  stop) kill "$(cat "$STUB/$2")"; rm "$STUB/$2" ;;
  *) exit 1 ;;
esac
"""


def free_port() -> int:
    """Return a port that nobody listens at now: tests run beside each other."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
        return port


def write_stubs(folder: Path, programs: Mapping[str, str]) -> None:
    """Write programs that stand for others."""
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def tiny(handle: str = "acme/tiny", **options: Any) -> Repository:  # noqa: ANN401  as the stand-in has them
    """Make a repository of a few small files, of which two lie in LFS."""
    return Repository(handle, options.pop("files", FILES), **options)


@dataclass(frozen=True)
class Said:
    """What the program did: its exit code, the objects on its standard output, and what it said on the other."""

    code: int
    lines: list[dict[str, Any]]
    error: str

    @property
    def last(self) -> dict[str, Any]:
        """The last object."""
        return self.lines[-1]


@dataclass
class Store:
    """A model store, with the manifests of what is wanted in it."""

    folder: Path
    wanted: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the directories."""
        self.manifests.mkdir(parents=True, exist_ok=True)
        self.path.mkdir(exist_ok=True)

    @property
    def path(self) -> Path:
        """The store."""
        return self.folder / "srv"

    @property
    def manifests(self) -> Path:
        """What stands for /etc/sparkiac."""
        return self.folder / "etc"

    def want(
        self, repository: Repository, *, layout: str = "hub", commit: str = "", own: dict[str, Any] | None = None
    ) -> str:
        """Require a model, and write its manifest; return its commit."""
        commit = commit or repository.head()
        name = f"{repository.handle.replace('/', '--')}.json"
        contents = sorted(repository.commits[commit].items())
        files = {path: {"size_bytes": len(content), "sha256": sha256(content)} for path, content in contents}
        manifest = {"model": repository.handle, "commit": commit, "gated": bool(repository.gated), "files": files}
        (self.manifests / name).write_text(json.dumps(manifest))
        entry = {"model": repository.handle, "commit": commit, "layout": layout, "manifest": name, "own": own}
        self.wanted[:] = [each for each in self.wanted if each["model"] != repository.handle] + [entry]
        return commit

    def stores(self) -> str:
        """Return the stores as the host's variables have them."""
        return json.dumps([{"path": str(self.path), "models": self.wanted}])

    def command(self, name: str, *words: str | Path) -> list[str | Path]:
        """Return a command line that is about this store."""
        about = ["--stores", self.stores(), "--manifests", self.manifests]
        return [sys.executable, SCRIPTS / "stage", name, *about, *words]

    def fetch(self, url: str, *words: str | Path) -> Said:
        """Fetch what is missing; nothing needs to stay free."""
        return run(self.command("fetch", "--endpoint", url, "--reserve-bytes", "0", *words))

    def verify(self, *words: str | Path) -> Said:
        """Look at what is there."""
        return run(self.command("verify", "--reserve-bytes", "0", *words))

    def repo(self, handle: str = "acme/tiny") -> Path:
        """Return the directory of a model in the hub's layout."""
        return self.path / "hub" / f"models--{handle.replace('/', '--')}"

    def snapshot(self, commit: str, handle: str = "acme/tiny") -> dict[str, bytes]:
        """Read what engines see of a commit in the hub's layout."""
        return contents(self.repo(handle) / "snapshots" / commit)


def contents(root: Path) -> dict[str, bytes]:
    """Read all files below a directory that are not hidden."""
    paths = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def run(argv: Sequence[str | Path], **options: Any) -> Said:  # noqa: ANN401  as subprocess has them
    """Run the program to its end."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    return Said(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr)
