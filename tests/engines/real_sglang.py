"""Asks the parser that SGLang itself builds about command lines: stand-ins are there for its libraries.

`real_sglang.py FOLDER STANDINS`: FOLDER holds `sglang/` of one release, STANDINS is tools/vllm_interface. Reads the
lines as JSON and writes what the parser says of each: nothing, or its error.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import re
import sys

sys.path[:0] = [sys.argv[1], sys.argv[2]]
standins = importlib.import_module("standins")

REAL = re.compile(
    r"sglang(\.srt(\.(server_args|environ|utils(\.common)?|arg_groups(\..*)?|function_call(\.(function_call_parser|parser_names))?"
    r"|parser(\.reasoning_parser(_names)?)?|reasoning_parser|lora(\.lora_registry)?|model_executor(\.cuda_graph_config)?"
    r"|layers(\.attention(\.fla)?)?))?)?"
)
"""The modules of SGLang that declare its options."""
ABSENT = {"torch_npu", "torch_musa", "torch_mlu", "mlx"}
"""Libraries that say which accelerator there is."""


def foreign(name: str, _: object) -> bool:
    """Return whether a module has a stand-in."""
    root = name.partition(".")[0]
    if root in ABSENT:
        raise ModuleNotFoundError(name=name)
    return REAL.fullmatch(name) is None if root == "sglang" else root not in standins.REAL


def verdict(parser: argparse.ArgumentParser, words: list[str]) -> str:
    """Return the error that the parser ends with, or nothing."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser.parse_args(["--model-path", "m", *words])
    except SystemExit:
        return said.getvalue().strip().rpartition("\n")[2]
    except Exception as error:  # noqa: BLE001  actions raise whatever they like
        return f"{type(error).__name__}: {error}"
    return ""


standins.foreign = foreign
standins.install("0.0")
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.partition(".")[0] in ABSENT else found(name, package)
server_args = importlib.import_module("sglang.srt.server_args")
server = argparse.ArgumentParser(prog="sglang")
server_args.ServerArgs.add_cli_args(server)
json.dump([verdict(server, words) for words in json.load(sys.stdin)], sys.stdout)
