"""Download models and images to this host, verify them, share them with other hosts, and remove unused ones.

stage verify --stores JSON [--all]      print missing and wrong files as JSON; exit 3 if there are any
stage fetch --stores JSON               download missing files from other hosts (--from) and from the hub (--endpoint)
stage share --stores JSON --listen …    serve files and images to other hosts until stopped
stage load --from URL IMAGE             load an image from a host that shares it
stage file --url URL …                  download one file from the hub, with its token
stage record                            record what a generation needs
stage prune                             remove what only old generations need

Needs only Python 3.10 or newer; its modules are in the same directory. Tokens are read only from files.
Exit status: 0 success, 1 failure (one sentence on stderr says why), 2 usage, 3 files are missing or wrong,
4 the other host does not provide the image.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import state
from ..contract import ContractError
from ..local import LocalHost
from ..network.nft import DoorsError
from ..network.peers import admit
from . import fetch as stage_fetch
from . import images
from . import prune as stage_prune
from . import share as stage_share
from .fetch import print_json
from .http import SourceRefusedError
from .layouts import layout_of
from .store import MANIFESTS, ModelFile, StagedModel, StageError, read_manifest, read_models

NOT_AS_WANTED = 3
NOT_PROVIDED = 4


def read_token(path: Path | None) -> str:
    """Read a token from a file; error messages do not contain its content."""
    if path is None:
        return ""
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        message = f"no token in {path}: {error.strerror if isinstance(error, OSError) else 'it is not plain text'}"
        raise StageError(message) from None
    if not token.isprintable() or not token or " " in token:
        raise StageError(f"no token in {path}: it is empty or has more than one word")
    return token


def selected_models(arguments: argparse.Namespace, read: Callable[[str], str]) -> list[StagedModel]:
    """Read the models of the stores; with --only, return only the named ones."""
    models = read_models(arguments.stores, read)
    only = getattr(arguments, "only", None)
    return [model for model in models if only is None or model.id in only]


def verify(arguments: argparse.Namespace, read: Callable[[str], str]) -> int:
    """Print which models are complete and which files are missing or wrong."""
    entries, missing = [], []
    for model in selected_models(arguments, read):
        found = stage_fetch.scan_model(model, trust=not arguments.all, remember=arguments.stamp)
        whole, size = layout_of(model).is_published(found), stage_fetch.missing_bytes(model, found)
        missing.append((model.store, size))
        where = {"id": model.id, "store": str(model.store), "own": bool(model.own and model.own.path)}
        entries.append({**where, "whole": whole, "missing_bytes": size, "wrong": found.wrong})
    print_json(models=entries, room=room_for(missing, arguments.reserve_bytes))
    return 0 if all(entry["whole"] for entry in entries) else NOT_AS_WANTED


def room_for(missing: list[tuple[Path, int]], reserve_bytes: int) -> str:
    """Return why the missing files do not fit on the disk; empty if they fit."""
    try:
        stage_fetch.check_room(missing, reserve_bytes)
    except StageError as error:
        return str(error)
    return ""


def fetch(arguments: argparse.Namespace, read: Callable[[str], str]) -> int:
    """Download missing files."""
    peer_token = read_token(arguments.peer_token_file)
    peers = [stage_fetch.Peer(url, peer_token) for url in arguments.source]
    hub = stage_fetch.HubEndpoint(arguments.endpoint, read_token(arguments.token_file))
    models = selected_models(arguments, read)
    print_json(changed=stage_fetch.fetch(models, hub, peers, reserve_bytes=arguments.reserve_bytes))
    return 0


def file(arguments: argparse.Namespace, _: Callable[[str], str]) -> int:
    """Download one file from the hub, with its token."""
    wanted = ModelFile(arguments.to.name, arguments.size_bytes, arguments.sha256)
    stage_fetch.fetch_file(arguments.url, read_token(arguments.token_file), wanted, arguments.to)
    return 0


def share(arguments: argparse.Namespace, read: Callable[[str], str]) -> int:
    """Serve files and images to other hosts until stopped."""
    token = read_token(arguments.token_file)
    port = arguments.listen[0].rpartition(":")[2]
    admit(LocalHost(arguments.root), port, arguments.peer, required=not arguments.nft_optional)
    shared = stage_share.SharedContent(selected_models(arguments, read), frozenset(arguments.image), token)
    stage_share.share(shared, arguments.listen)
    return 0


def load(arguments: argparse.Namespace, _: Callable[[str], str]) -> int:
    """Load an image from another host."""
    try:
        print_json(changed=images.load(arguments.name, arguments.source, read_token(arguments.token_file)))
    except SourceRefusedError as error:
        sys.stderr.write(f"{error}\n")
        return NOT_PROVIDED
    return 0


def record(arguments: argparse.Namespace, _: Callable[[str], str]) -> int:
    """Record what a generation needs."""
    roots, write = stage_prune.roots_below(arguments.root), not arguments.dry_run
    print_json(changed=stage_prune.record(arguments.generation, arguments.needs, roots, write=write))
    return 0


def prune(arguments: argparse.Namespace, _: Callable[[str], str]) -> int:
    """Remove what only old generations need, but nothing of the generations that a switch may need."""
    needed = state.read(LocalHost(arguments.root)).generations()
    wanted: dict[str, Any] = {"current": arguments.generation, "keep": max(1, arguments.keep), "needed": needed}
    for line in stage_prune.prune(stage_prune.roots_below(arguments.root), write=not arguments.dry_run, **wanted):
        print_json(**line)
    return 0


def manifests(arguments: argparse.Namespace) -> Callable[[str], str]:
    """Return a function that reads a manifest: a file of the host, or a text from standard input."""
    if vars(arguments).get("manifests") == Path("-"):
        given: dict[str, str] = json.load(sys.stdin)
        return given.__getitem__
    return lambda name: read_manifest(name, arguments.manifests)


def address(text: str) -> str:
    """Accept an HTTP URL without user name, password and query."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.query:
        raise argparse.ArgumentTypeError("must be http:// or https://, without user name, password or query")
    return text.rstrip("/")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="stage", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    kinds = {run.__name__: commands.add_parser(run.__name__, help=run.__doc__) for run in COMMANDS}
    for run in COMMANDS:
        kinds[run.__name__].set_defaults(run=run)
    for name in ("verify", "fetch", "share"):
        kinds[name].add_argument("--stores", required=True, metavar="JSON", help="stores and their models")
        kinds[name].add_argument(
            "--manifests", type=Path, default=MANIFESTS, metavar="DIR", help="- for standard input"
        )
    for name in ("verify", "fetch"):
        kinds[name].add_argument("--reserve-bytes", type=int, default=stage_fetch.RESERVE_BYTES, metavar="N")
    kinds["verify"].add_argument("--all", action="store_true", help="read every file again and ignore earlier results")
    kinds["verify"].add_argument("--stamp", action="store_true", help="remember which files were verified")
    kinds["fetch"].add_argument("--only", action="append", metavar="MODEL@COMMIT")
    kinds["fetch"].add_argument("--from", dest="source", action="append", default=[], type=address, metavar="URL")
    kinds["fetch"].add_argument("--peer-token-file", type=Path, metavar="FILE")
    kinds["fetch"].add_argument("--endpoint", required=True, type=address, metavar="URL")
    kinds["load"].add_argument("--from", dest="source", required=True, type=address, metavar="URL")
    kinds["load"].add_argument("name", metavar="IMAGE")
    kinds["share"].add_argument("--listen", action="append", required=True, metavar="ADDRESS:PORT")
    kinds["share"].add_argument("--peer", action="append", default=[], metavar="ADDRESS", help="may connect, if known")
    kinds["share"].add_argument("--nft-optional", action="store_true", help="listen even if others can connect, too")
    kinds["share"].add_argument("--image", action="append", default=[], metavar="ID")
    kinds["file"].add_argument("--url", required=True, type=address, metavar="URL")
    kinds["file"].add_argument("--sha256", required=True, metavar="HEX")
    kinds["file"].add_argument("--size-bytes", required=True, type=int, metavar="N")
    kinds["file"].add_argument("--to", required=True, type=Path, metavar="PATH")
    for name in ("fetch", "file", "load", "share"):
        kinds[name].add_argument("--token-file", type=Path, required=name != "fetch", metavar="FILE")
    for name in ("record", "prune", "share"):
        kinds[name].add_argument("--root", type=Path, default=Path("/"), metavar="DIR")
    for name in ("record", "prune"):
        kinds[name].add_argument("--generation", required=True)
        kinds[name].add_argument("--dry-run", action="store_true", help="change nothing")
    kinds["record"].add_argument("--needs", required=True, type=json.loads, metavar="JSON")
    kinds["prune"].add_argument("--keep", type=int, required=True, metavar="N")
    return parser


COMMANDS = (verify, fetch, file, share, load, record, prune)


def main(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    os.umask(0o022)
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments, manifests(arguments))
    except (StageError, ContractError, DoorsError) as error:
        sys.stderr.write(f"{error}\n")
    except OSError as error:
        sys.stderr.write(f"{error.filename or 'this host'}: {error.strerror or error}\n")
    else:
        return status
    return 1
