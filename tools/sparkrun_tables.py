"""Read which options the runtimes of sparkrun make of a recipe's defaults, and update sparkiac/catalog/sparkrun.yaml.

`pip download --no-deps --only-binary :all: --python-version 3.12 sparkrun==0.4.2`, then
`python tools/sparkrun_tables.py sparkrun-0.4.2-*.whl`. Nothing of the archive is installed or run. The words before the
model, defaults and whatever a runtime computes are written by hand.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path
from zipfile import ZipFile

import yaml

FILE = Path(__file__).parents[1] / "sparkiac/catalog/sparkrun.yaml"
HEAD = """\
# The command that each runtime of sparkrun makes of the defaults of a recipe. Made by tools/sparkrun_tables.py from
# {}; `names`, `start`, `start_file`, `written_if_false`, `defaults`, `served_name`, the runtime ds4-cuda, and
# what sparkrun's tables lack under `renamed` are written by hand, from its RECIPES.md and runtimes.
"""
TABLES = {
    "vllm": ("_vllm_common", "VLLM"),
    "sglang": ("sglang", "_SGLANG"),
    "llama-cpp": ("llama_cpp", "_LLAMA_CPP"),
    "trtllm": ("trtllm", "_TRTLLM"),
    "atlas": ("atlas", "_ATLAS"),
}
"""First name of a runtime → its module, and the beginning of the names of its tables."""
WIDTH = 118


def constants(text: str) -> dict[str, object]:
    """Return the constants of a module that are made of literals, sets and other constants."""
    found: dict[str, object] = {}
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and getattr(node, "value", None) is not None:
            try:
                found[target.id] = value(node.value, found)
            except ValueError:
                continue
    return found


def value(node: ast.expr, known: dict[str, object]) -> object:
    """Return the value of an expression; raise ValueError for one that is more than a constant."""
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "frozenset":
        return value(node.args[0], known) if node.args else ()
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        return tuple(value(each, known) for each in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {value(key, known): value(each, known) for key, each in zip(node.keys, node.values, strict=True)}
    return ast.literal_eval(node)


def options(found: dict[str, object], start: str, old: dict[str, object]) -> dict[str, object]:
    """Return the keys of a runtime that its tables decide."""
    switches, negatable = found[f"{start}_BOOL_FLAGS"], found.get(f"{start}_NEGATABLE_BOOL_FLAGS", ())
    flags = found[f"{start}_FLAG_MAP"] | (switches if isinstance(switches, dict) else {})
    renamed = {key: flag for key, flag in flags.items() if flag != f"--{key.replace('_', '-')}"}
    by_hand = {key: flag for key, flag in old.get("renamed", {}).items() if key not in flags}
    return {
        "renamed": renamed | by_hand,
        "same_name": [key for key in flags if key not in renamed and key not in switches],
        "switches": [key for key in flags if key in switches and key not in negatable],
        "on_by_default": [key for key in flags if key in negatable],
    }


def written(key: str, value: object) -> str:
    """Return a key of a runtime as YAML: long lists over several lines."""
    if isinstance(value, list):
        line = f"    {key}: [{', '.join(value)}]"
        if len(line) <= WIDTH:
            return line
        body = textwrap.fill(", ".join(value) + ",", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
        return f"    {key}:\n      [\n{body}\n      ]"
    if isinstance(value, dict):
        return f"    {key}:\n" + "\n".join(f"      {name}: {each}" for name, each in value.items())
    return f"    {key}: {'null' if value is None else value}"


def main(archive: Path) -> None:
    """Update the file from the archive of a release."""
    runtimes = yaml.safe_load(FILE.read_text())["runtimes"]
    lines = [HEAD.format("-".join(archive.name.split("-")[:2])) + "runtimes:"]
    with ZipFile(archive) as files:
        for runtime in runtimes:
            module, start = TABLES.get(runtime["names"][0], ("", ""))
            if module:
                text = files.read(f"sparkrun/runtimes/{module}.py").decode()
                runtime.update(options(constants(text), start, runtime))
            shown = "\n".join(written(key, each) for key, each in runtime.items() if each or key == "served_name")
            lines.append("  - " + shown.removeprefix("    "))
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
