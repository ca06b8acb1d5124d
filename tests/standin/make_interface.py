"""Write `interface.json` from what an interface extractor found in a released vLLM's source.

    python tests/standin/make_interface.py EXTRACTED.json SDIST.tar.gz >tests/standin/interface.json

EXTRACTED.json holds the options of vLLM's own argparse parser; only what a parser needs is kept.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

KEPT = ("kind", "type", "optional", "choices", "nargs")
# `vllm serve` itself adds this one, after the parser that the extractor looks at.
ADDED: list[dict[str, object]] = [{"flags": ["--grpc"], "kind": "store_true"}]


def option(extracted: dict[str, object]) -> dict[str, object]:
    """Return one option without its default, group and help."""
    kept = {key: extracted[key] for key in KEPT if extracted.get(key) is not None}
    return {"flags": extracted["flags"], **kept}


def config_keys(extracted: dict[str, Any]) -> dict[str, list[str]]:
    """Return the keys that the objects given as JSON may have: vLLM refuses any other."""
    types = [str(flag.get("type")) for flag in extracted["flags"]]
    names = {name.removeprefix("json:") for name in types if name.startswith("json:")} | {"SpeculativeConfig"}
    configs = extracted["configs"]
    return {
        name: sorted(key for key, field in configs[name].items() if field.get("init", True)) for name in sorted(names)
    }


def lines(document: dict[str, object]) -> list[str]:
    """Return JSON with one option or configuration a line, so that a new vLLM is reviewed as a list of options."""
    out = []
    for key, value in document.items():
        if key == "config_keys" and isinstance(value, dict):
            body = ",\n".join(f"  {json.dumps(name)}: {json.dumps(keys)}" for name, keys in value.items())
            out.append(f" {json.dumps(key)}: {{\n{body}\n }}")
        elif key == "options" and isinstance(value, list):
            body = ",\n".join(f"  {json.dumps(item, sort_keys=True)}" for item in value)
            out.append(f" {json.dumps(key)}: [\n{body}\n ]")
        else:
            out.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return out


def main(extracted_file: str, sdist: str) -> None:
    """Print the table."""
    extracted = json.loads(Path(extracted_file).read_text())
    options = [option(flag) for flag in extracted["flags"] if flag["kind"] != "help"] + ADDED
    source = f"{Path(sdist).name} sha256:{hashlib.sha256(Path(sdist).read_bytes()).hexdigest()}"
    document = {
        "about": "Options of `vllm serve`, for the argv of sparkiac's engine stand-in.",
        "source": f"vLLM {extracted['vllm']}, its own parser, from {source} (Apache-2.0)",
        "made_by": "tests/standin/make_interface.py",
        "version": extracted["vllm"],
        "tool_call_parsers": sorted(extracted["tool_call_parsers"]),
        "reasoning_parsers": sorted(extracted["reasoning_parsers"]),
        "config_keys": config_keys(extracted),
        "options": sorted(options, key=lambda item: str(item["flags"])),
    }
    print("{\n" + ",\n".join(lines(document)) + "\n}")  # noqa: T201 - its output


if __name__ == "__main__":
    main(*sys.argv[1:])
