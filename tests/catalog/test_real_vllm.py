"""The interface files against vLLM itself: every option, its words, its default, and every registry.

Opt-in: SPARKIAC_REAL_VLLM=1, and SPARKIAC_VLLM_VENVS names a folder of virtual environments, one per release, each
with that vLLM installed and, if it needs variables to start, an `env.sh`. See tools/vllm_interface/README.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.catalog import interfaces
from tests.conftest import ROOT

if TYPE_CHECKING:
    from sparkiac.catalog.interfaces import Interface, OptionSpec

pytestmark = pytest.mark.skipif(
    os.environ.get("SPARKIAC_REAL_VLLM") != "1",
    reason="opt-in: SPARKIAC_REAL_VLLM=1, with real releases in SPARKIAC_VLLM_VENVS",
)

RELEASES: Final = ("0.15.1", "0.17.1", "0.19.0", "0.27.1", "0.32.0")
OF_THE_PLATFORM: Final = {("--mm-processor-device", "cuda")}
"""Words that the files have for a machine with CUDA, and that a vLLM on a CPU refuses."""
WORDS: Final = ("None", "", "x", "1", "-1", "1.5", "8k", "8K", "1.5G", "auto", "true", "{}", "[1]", '{"a": 1}', "null")
NOT_DESCRIBED: Final = {"callable", "lora"}
"""Types that vLLM reads in a way of its own."""


def human(word: str) -> None:
    """Read a number as vLLM does: k is a thousand and K is 1024."""
    if not re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtKMGT])|[+-]?\d+", word) or re.fullmatch(r".*\..*[KMGT]", word):
        raise ValueError(word)


def loads(word: str) -> None:
    """Read JSON."""
    json.loads(word)


def anything(_: str) -> None:
    """Read any word."""


READERS: Final[dict[str, Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "json": loads,
    "human_readable_int": human,
    "human_readable_int_or_auto": lambda word: word in {"auto", "-1"} or human(word),
}


def expected(option: OptionSpec, word: str | None) -> bool:
    """Return whether the interface file accepts a word, or no word."""
    if option.kind in {"switch", "pair"} or word is None:
        return option.kind in {"switch", "pair"} and word is None
    if option.optional and word in {"None", ""}:
        return True
    if option.choices:
        return (word.lower().replace("-", "_") if option.type == "lowered" else word) in option.choices
    try:
        READERS.get(option.type or "str", anything)(word)
    except ValueError:
        return False
    return True


def tries(known: Interface) -> list[tuple[OptionSpec, str | None, str]]:
    """Return every option with every word, every spelling of those without a value, and the command line of each.

    `--help` does not belong to the serving: it ends the program.
    """
    options = [option for option in known.options.values() if option.name != "--help"]
    plain = [option for option in options if not option.object and option.type not in NOT_DESCRIBED]
    values = [
        (option, word, f"{option.name}={word}")
        for option in plain
        if option.kind == "value"
        for word in (*WORDS, *option.choices)
    ]
    named = [(known.options[name], spelling) for spelling, name in known.spellings.items() if name != "--help"]
    switches = [(option, spelling) for option, spelling in named if option.kind in {"switch", "pair"}]
    bare = [(option, None, spelling) for option, spelling in switches]
    return [*values, *bare, *((option, "true", f"{text}=true") for option, text in switches if text.startswith("--"))]


@cache
def real(version: str) -> dict[str, Any]:
    """Parse the words with the installed release."""
    known = interfaces.interface(version)
    assert known is not None
    asked = {"try": [[text] for _, _, text in tries(known)], "objects": list(known.objects)}
    folder = Path(os.environ["SPARKIAC_VLLM_VENVS"]) / version
    start = ["bash", "-c", '[ ! -e env.sh ] || . ./env.sh; exec bin/python "$0"', ROOT / "tests/catalog/real_vllm.py"]
    done = subprocess.run(start, cwd=folder, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> tuple[Interface, dict[str, Any]]:
    """Return what the file says and what the release says."""
    known = interfaces.interface(request.param)
    assert known is not None
    return known, real(request.param)


def test_the_spellings_are_those_of_the_release(release: tuple[Interface, dict[str, Any]]) -> None:
    known, found = release
    ours = {(option.name, *option.aliases, *option.negative, *option.hidden) for option in known.options.values()}
    assert {tuple(sorted(each)) for each in ours} == {tuple(each["spellings"]) for each in found["options"]}


def test_the_number_of_words_is_that_of_the_release(release: tuple[Interface, dict[str, Any]]) -> None:
    known, found = release
    for each in found["options"]:
        option = known.options[known.spellings[each["spellings"][0]]]
        ours = option.arity if option.kind in {"value", "append"} else 0
        assert ours == each["words"], option.name


def test_the_defaults_are_those_of_the_release(release: tuple[Interface, dict[str, Any]]) -> None:
    known, found = release
    different = set()
    for each in found["options"]:
        option = known.options[known.spellings[each["spellings"][0]]]
        theirs = each["default"]
        shown = None if theirs == "==SUPPRESS==" or (isinstance(theirs, dict) and "" in theirs) else theirs
        if (json.loads(option.default) if option.default is not None else None) != shown:
            different.add((option.name, option.default, json.dumps(theirs)))
    assert different == set()


def test_the_words_that_an_option_takes_are_those_of_the_release(release: tuple[Interface, dict[str, Any]]) -> None:
    known, found = release
    tried = tries(known)
    assert len(tried) > 1500
    wrong = [
        (option.name, option.type, word, took)
        for (option, word, _), took in zip(tried, found["takes"], strict=True)
        if expected(option, word) != took and (option.name, word) not in OF_THE_PLATFORM
    ]
    assert wrong == []


def test_the_keys_of_json_values_are_those_of_the_release(release: tuple[Interface, dict[str, Any]]) -> None:
    known, found = release
    assert {name: sorted(keys) for name, keys in known.objects.items()} == found["objects"]


@pytest.mark.parametrize(
    "registry", ["variables", "quantization", "architectures", "reasoning_parsers", "tool_call_parsers"]
)
def test_the_registries_are_those_of_the_release(release: tuple[Interface, dict[str, Any]], registry: str) -> None:
    known, found = release
    assert set(getattr(known, registry)) == set(found[registry])
