"""Logs of DGX Sparks that their owners published: the tokens of the logged pool exactly, and the pool in a range."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from sparkiac.catalog import measurements
from sparkiac.memory import recorded
from sparkiac.memory.budget import ServerMemory, server
from sparkiac.memory.options import Speculation
from sparkiac.memory.overhead import UNIFIED, Device
from sparkiac.memory.values import GIB, Term
from tests.memory.known import QWEN, laid, network, told

DEFAULTS = {"max_model_len": 8192, "max_num_batched_tokens": 2048, "max_num_seqs": 256}
GEMMA = "nvidia/Gemma-4-31B-IT-NVFP4"
LONG = {"max_model_len": 262_144, "enable_prefix_caching": True, "kv_cache_dtype": "fp8"}


@pytest.mark.parametrize(
    ("handle", "given", "release", "speculation", "pool", "tokens", "requests"),
    [
        (GEMMA, {**DEFAULTS, "kv_cache_dtype": "bfloat16"}, (0, 22, 1), None, 22.46, 61_711, 7.53),
        (GEMMA, {**DEFAULTS, "kv_cache_dtype": "fp8"}, (0, 22, 1), None, 23.13, 127_120, 15.52),
        ("google/gemma-3-12b-it", DEFAULTS, (0, 22, 1), None, 59.15, 335_944, 41.01),
        ("google/gemma-3-12b-it", {**DEFAULTS, "kv_cache_dtype": "fp8"}, (0, 22, 1), None, 54.43, 618_254, 75.47),
        # Qwen3.8-27B has the layers of Qwen3.6-27B.
        ("nvidia/Qwen3.6-27B-NVFP4", {**LONG, "max_num_seqs": 4, "max_num_batched_tokens": 32_768}, (0, 27, 1),
         Speculation("mtp", 2), 32.98, 945_803, 3.61),
        (QWEN, {**LONG, "max_model_len": 65_536}, (0, 20, 0), Speculation("mtp", 2), 52.66, 1_253_392, None),
        (QWEN, LONG, (0, 20, 0), None, 82.42, 2_158_880, None),
    ],
    ids=["gemma-4-31b", "gemma-4-31b-fp8", "gemma-3-12b", "gemma-3-12b-fp8", "qwen3.8-27b", "qwen3.6-mtp", "qwen3.6"],
)  # fmt: skip
def test_tokens_of_the_logged_pool(  # noqa: PLR0913, PLR0917  one column each
    handle: str,
    given: dict[str, Any],
    release: tuple[int, ...],
    speculation: Speculation | None,
    pool: float,
    tokens: int,
    requests: float | None,
) -> None:
    layout = laid(handle, given, release=release, speculation=speculation)
    assert layout.tokens(round(pool * GIB)) == pytest.approx(tokens, rel=2e-4)
    if requests is not None:
        assert layout.concurrency(round(pool * GIB)) == pytest.approx(requests, abs=0.006)


class Logged(NamedTuple):
    """A start of one Spark whose log states weights, graphs and pool, in GiB."""

    name: str
    handle: str
    given: dict[str, Any]
    weights: float
    graphs: float
    pool: float
    release: tuple[int, ...] = (0, 22, 1)
    speculation: Speculation | None = None

    def predicted(self, device: Device = UNIFIED) -> ServerMemory:
        """Predict the server from its weights and options."""
        return server(
            self.name,
            total_bytes=VISIBLE_BYTES,
            options=told(self.given, release=self.release),
            weights=Term("weights", round(self.weights * GIB), "the log"),
            shape=network(self.handle),
            speculation=self.speculation,
            device=device,
        )

    @property
    def non_torch(self) -> float:
        """What the request has beside weights, pool, graphs and the predicted activations."""
        [activations] = [term.size_bytes for term in self.predicted().inside if term.name == "activations"]
        requested = VISIBLE_BYTES / GIB * self.given["gpu_memory_utilization"]
        return float(requested - self.weights - self.pool - self.graphs - (activations or 0) / GIB)


VISIBLE_BYTES: Final = round(119.65 * GIB)
"""Memory of a Spark. The log with 3.96 GiB of graphs says that they are 0.0331 of it, so 119.3 to 120.0 GiB."""
TEXT: Final = {**DEFAULTS, "gpu_memory_utilization": 0.72, "language_model_only": True}
FP8: Final = {**TEXT, "kv_cache_dtype": "fp8"}
DFLASH: Final = {"gpu_memory_utilization": 0.8, "max_model_len": 262_144, "max_num_batched_tokens": 32_768,
                 "max_num_seqs": 64}  # fmt: skip
SPARKS: Final = (
    Logged("gemma-3-12b", "google/gemma-3-12b-it", TEXT, 22.62, 0.39, 59.15),
    Logged("gemma-3-12b-fp8", "google/gemma-3-12b-it", FP8, 22.62, 3.96, 54.43),
    Logged("gemma-4-31b", GEMMA, TEXT, 57.91, 0.28, 22.46),
    Logged("gemma-4-31b-fp8", GEMMA, FP8, 57.91, 0.25, 23.13),
    Logged("gemma-4-31b-flashinfer-1", GEMMA, TEXT, 57.91, 0.18, 22.26),
    Logged("gemma-4-31b-flashinfer-2", GEMMA, TEXT, 57.91, 0.20, 22.57),
    Logged("gemma-4-31b-fp8-again", GEMMA, FP8, 57.91, 0.20, 22.45),
    Logged("gemma-4-26b-dflash", "nvidia/Gemma-4-26B-A4B-NVFP4", DFLASH, 17.17, 1.42, 65.25, (0, 20, 1),
           Speculation("dflash", 10)),
)  # fmt: skip


@pytest.mark.parametrize("start", SPARKS, ids=lambda start: start.name)
def test_the_pool_of_a_log_is_not_below_the_smallest_predicted_one(start: Logged) -> None:
    pool = start.predicted().pool
    assert (pool.low_bytes or 0) <= start.pool * GIB <= (pool.high_bytes or 0)


def test_the_largest_terms_on_one_memory_are_those_of_the_logs() -> None:
    """With drafts and 32,768 tokens, the activations are too uncertain to tell the other memory from them."""
    found = [start.non_torch for start in SPARKS if start.speculation is None]
    assert UNIFIED.high_bytes is not None
    assert UNIFIED.graphs is not None
    assert UNIFIED.high_bytes / GIB - 0.1 < max(found) <= UNIFIED.high_bytes / GIB
    assert UNIFIED.graphs[1] / GIB - 0.1 < max(start.graphs for start in SPARKS) <= UNIFIED.graphs[1] / GIB


@pytest.mark.parametrize("start", [each for each in SPARKS if "31b" in each.name], ids=lambda start: start.name)
@pytest.mark.parametrize("pool", [22.26, 22.46, 22.57])
def test_a_recorded_start_gives_a_range_that_has_the_other_starts(start: Logged, pool: float) -> None:
    """Five starts of one model on one Spark differ by 0.9 GiB."""
    [record] = [each for each in measurements.records() if round((each.terms.pool_bytes or 0) / GIB, 2) == pool]
    seen = record.model_copy(update={"terms": record.terms.model_copy(update={"visible_bytes": VISIBLE_BYTES})})
    device = recorded.corrected(UNIFIED, seen, shape=network(GEMMA), release=(0, 22, 1))
    found = start.predicted(device).pool
    assert (found.low_bytes or 0) <= start.pool * GIB <= (found.high_bytes or 0)
