"""Print what the lock pins of a model that lies on this machine: its files, their hashes, what their headers say.

model_files PATH        list the files of a folder, or the GGUF files beside a GGUF file, as one line of JSON
model_files PATH hash   hash the files that a line of standard input names as JSON; print a line for each

Nothing is changed. The last line on stderr says what cannot be read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..stage.store import hash_file
from . import safetensors

TEXTS = ("config.json", "tokenizer_config.json", "hf_quant_config.json")
MOST_TEXT_BYTES = 4 << 20
"""The largest tokenizer_config.json of public models has 1 MB."""
MOST_FILES = 10_000
STEP_BYTES = 256 << 20


def base_of(path: Path) -> Path:
    """Return the folder of a model: the path itself, or the folder of a file."""
    return path.parent if path.is_file() else path


def places(path: Path) -> Iterator[Path]:
    """Yield the files of a model, without hidden ones; links to files are followed, links to folders are not."""
    if path.is_file():
        yield from (each for each in path.parent.glob("*.gguf") if each.is_file())
        return
    for folder, below, files in os.walk(path, onerror=_refuse):
        below[:] = sorted(each for each in below if not each.startswith("."))
        yield from (place for each in files if not each.startswith(".") and (place := Path(folder, each)).is_file())


def _refuse(error: OSError) -> None:
    raise error


def listed(path: Path) -> dict[str, Any]:
    """Return the size of each file, the text of the small ones that describe the model, and its tensors."""
    base, found = base_of(path), {}
    for place in places(path):
        found[place.relative_to(base).as_posix()] = place.stat().st_size
        if len(found) > MOST_FILES:
            raise SystemExit(f"{path} has more than {MOST_FILES} files: name the folder of one model")
    texts = {name: read_text(base / name, found[name]) for name in TEXTS if name in found}
    tensors = {name: read_tensors(base / name, size) for name, size in found.items() if name.endswith(".safetensors")}
    return {"files": found, "texts": texts, "tensors": tensors}


def read_text(place: Path, size_bytes: int) -> str:
    """Return the text of a small file."""
    if size_bytes > MOST_TEXT_BYTES:
        raise SystemExit(f"{place} has {size_bytes} bytes; at most {MOST_TEXT_BYTES} are read")
    return place.read_text(encoding="utf-8", errors="replace")


def read_tensors(place: Path, size_bytes: int) -> dict[str, Any]:
    """Return the elements and the size of the tensors of a file."""
    try:
        with place.open("rb") as file:
            start = file.read(safetensors.LENGTH_BYTES)
            start += file.read(min(safetensors.header_end(start), size_bytes) - len(start))
        return safetensors.read(start, size_bytes=size_bytes)._asdict()
    except safetensors.HeaderError as error:
        raise SystemExit(f"{place} is not a complete safetensors file: {error}") from None


def hash_all(base: Path, names: list[str], show: Callable[[dict[str, Any]], None]) -> None:
    """Hash files one after the other; show each hash, and how many bytes were read so far."""
    done = shown = 0

    def count(size_bytes: int) -> None:
        nonlocal done, shown
        done += size_bytes
        if done - shown >= STEP_BYTES:
            shown = done
            show({"read_bytes": done})

    for name in names:
        sha256, status = hash_file(base / name, count)
        if status is None:
            raise SystemExit(f"{base / name} changed while it was read: wait until it is complete, and lock again")
        show({"path": name, "size_bytes": status.st_size, "sha256": sha256})


def print_line(found: dict[str, Any]) -> None:
    """Print one line of JSON at once."""
    print(json.dumps(found), flush=True)  # noqa: T201


def main(argv: list[str]) -> int:
    """List or hash the files."""
    path = Path(argv[0])
    try:
        if argv[1:] == ["hash"]:
            hash_all(base_of(path), json.loads(sys.stdin.readline()), print_line)
        else:
            print_line(listed(path))
    except OSError as error:
        raise SystemExit(f"{error.filename or path}: {error.strerror or error}") from None
    return 0
