"""Write the machine-readable interface of one vLLM release to standard output.

`extract.py FOLDER --version 0.32.0` reads a source tree: the folder that holds the package `vllm`.
`extract.py --installed` reads the vLLM that is installed where it runs, such as in an image.

Needs neither a GPU nor torch. It runs the options code of that vLLM, so give it only sources that you trust.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import options
import registries

FORMAT = 1
"""Changes when a reader of the old form could not read the new one."""


def installed() -> Path:
    """Return the folder of the installed vLLM, without importing it."""
    for folder in map(Path, sys.path):
        if (folder / "vllm" / "envs.py").exists():
            return folder
    sys.exit("vLLM is not installed here")


def written(value: Any, *, deep: int) -> str:
    """Write JSON with one line for each entry down to a depth, and each entry compact and sorted."""
    if deep and value and isinstance(value, dict | list):
        start, end = "{}" if isinstance(value, dict) else "[]"
        if isinstance(value, dict):
            entries = [f"{json.dumps(key)}: {written(value[key], deep=deep - 1)}" for key in sorted(value)]
        else:
            entries = [written(each, deep=0) for each in value]
        return f"{start}\n" + ",\n".join(entries) + f"\n{end}"
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def interface(source: Path, version: str) -> dict[str, Any]:
    """Return the whole interface of a source tree."""
    for name in [name for name in os.environ if name.startswith("VLLM_")]:
        del os.environ[name]  # each would change a default
    os.environ |= {"VLLM_CONFIGURE_LOGGING": "0", "VLLM_LOGGING_LEVEL": "ERROR"}
    found = registries.collect(source)
    with contextlib.redirect_stdout(io.StringIO()):
        declared, keys = options.collect(source, version)
    return {"format": FORMAT, "version": version, "options": declared, "keys": keys, **found}


def main() -> None:
    """Read the command line and write the file."""
    parser = argparse.ArgumentParser(description="Write the machine-readable interface of one vLLM release.")
    parser.add_argument("folder", nargs="?", type=Path, help="folder that holds the package `vllm`")
    parser.add_argument("--installed", action="store_true", help="read the vLLM that is installed here")
    parser.add_argument("--version", help="release; the installed one if not given")
    arguments = parser.parse_args()
    if (arguments.folder is None) != arguments.installed:
        parser.error("give either a folder or --installed")
    if arguments.folder is not None and arguments.version is None:
        parser.error("a folder needs --version")
    source = (arguments.folder or installed()).resolve()
    version = arguments.version or importlib.metadata.version("vllm")
    sys.stdout.write(written(interface(source, version), deep=2) + "\n")


if __name__ == "__main__":
    main()
