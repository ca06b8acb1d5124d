"""Published decode speeds beside the ranges that are expected: 29 of the sources on DGX Spark, 10 on an H100.

`python -m tests.memory.rates` prints the table of docs/memory.md; a test holds the page to it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sparkiac.memory import speed
from sparkiac.memory.options import Speculation
from sparkiac.memory.speed import SPARK, Drafting, GpuSpeed, Pace, Range, Reads
from sparkiac.memory.values import GIB
from tests.memory.known import GUIDE, LATEST, QWEN, laid, network, told
from tests.memory.stated import CODER, FLASH, FLASH_RELEASE, FLASH_TOLD, POST

ACCEPTED: Final = (0.6, 0.85)
"""Bounds of the acceptance rate where the source names none."""
_GIB_IN_GB: Final = GIB / 1e9
H100: Final = GpuSpeed(
    3350 * 10**9,
    "3,350 GB/s (NVIDIA's data sheet)",
    dense=Pace((0.70, 0.92), (40e-6, 10e-6), (240.0, 480.0)),
    routed=Pace((0.70, 0.92), (90e-6, 20e-6), (90.0, 250.0)),
)


class Rate(NamedTuple):
    """One published decode speed of one request, in tokens per second, and what is known before."""

    what: str
    source: str
    stated: float
    former: tuple[float, float]
    """The range that sparkiac expected before it knew constants of layers and classes."""
    handle: str
    weights_gb: float
    total_b: float
    active_b: float
    depth: int
    given: dict[str, Any]
    release: tuple[int, ...] = LATEST
    drafts: tuple[str, int] | None = None
    accepted: tuple[float, float] = ACCEPTED
    drafter_gb: float = 0.0
    machine: GpuSpeed = SPARK
    ranks: int = 1

    @property
    def expected(self) -> Range:
        """The range that is expected now."""
        shape = network(self.handle)
        speculation = Speculation(*self.drafts) if self.drafts and not self.drafter_gb else None
        layout = laid(self.handle, self.given, release=self.release, speculation=speculation)
        read = speed.reads(round(self.weights_gb * 1e9), total_params=self.total_b, active_params=self.active_b)
        assert isinstance(read, Reads)
        drafting = None
        if self.drafts:
            tokens = self.drafts[1]
            more = speed.growth(shape.width, tokens, active_params=self.active_b * 1e9)
            width = shape.width
            head = 0 if self.drafter_gb else (width.hidden or 0) * (width.vocabulary or 0) // self.ranks
            drafter = round(self.drafter_gb * 1e9)
            drafting = Drafting(tokens, *self.accepted, drafter_bytes=drafter, output_elements=head, growth=more)
        options = told({"tensor_parallel_size": self.ranks, **self.given}, release=self.release)
        return speed.decode(
            read,
            layout,
            context=self.depth,
            shape=shape,
            drafting=drafting,
            machine=self.machine,
            slower_s=speed.slower_layer_s(shape, options),
        )

    @property
    def inside(self) -> bool:
        """Whether the published speed lies in the range."""
        return self.expected.low <= self.stated <= self.expected.high

    @property
    def width(self) -> float:
        """How many times the lower bound the upper bound is."""
        return self.expected.high / self.expected.low


_G, _P, _T, _C = "Spark guide", "dual-Spark post", "DeepSeek-V4 thread", "conselara.dev"
_NONE: Final = (0.0, 0.0)
"""Rows that were added after the constants."""
_GEMMA: Final = {"kv_cache_dtype": "fp8", "max_model_len": 65_536}
_PLAIN: Final = {"max_model_len": 65_536}
_NANO: Final = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"
_NEXT: Final = "Qwen/Qwen3-Coder-Next"
_SMALL: Final = "google/gemma-4-26B-A4B"
_27B: Final = "nvidia/Qwen3.6-27B-NVFP4"


def _qwen(depth: int, stated: float, line: str, former: tuple[float, float]) -> Rate:
    what = f"Qwen3.6-35B NVFP4, MTP 3, at {depth:,}"
    weights = 21.94 * _GIB_IN_GB
    return Rate(
        what, f"{_G} {line}", stated, former, QWEN, weights, 35, 3, depth, GUIDE, LATEST, ("mtp", 3), (0.8, 0.8)
    )


def _two(kind: str, stated: float) -> Rate:
    what, told = f"Qwen3.6-35B NVFP4, MTP 2, {kind}", ("mtp", 2)
    return Rate(what, f"{_P} L6-9", stated, (30, 309), QWEN, 23.5, 35, 3, 1000, POST, (0, 19, 0), told)


def _four(kind: str, stated: float) -> Rate:
    # Half of 49 GB in BF16: it runs in FP8. The drafter is a separate model, which reads the cache of the target.
    what = f"Gemma-4-26B FP8, MTP 4, {kind}"
    return Rate(
        what,
        f"{_P} L12-17",
        stated,
        (10, 136),
        _SMALL,
        24.5,
        25.2,
        3.8,
        1000,
        _GEMMA,
        LATEST,
        ("mtp", 4),
        drafter_gb=0.87,
    )


def _flash(depth: int, stated: float, line: str, former: tuple[float, float], at: str) -> Rate:
    what, weights = f"DeepSeek-V4-Flash on two, MTP 2{at}", 74 * _GIB_IN_GB
    told = ("deepseek_mtp", 2)
    return Rate(
        what, f"{_T} {line}", stated, former, FLASH, weights, 284, 13, depth, FLASH_TOLD, FLASH_RELEASE, told, ranks=2
    )


def _oss(what: str, stated: float, source: str, release: tuple[int, ...], *, ranks: int = 1, **given: object) -> Rate:
    weights = 61.1 * _GIB_IN_GB / ranks
    given = {"max_model_len": 131_072, **given}
    name = f"gpt-oss-120b{what}"
    return Rate(name, source, stated, _NONE, "openai/gpt-oss-120b", weights, 117, 5.1, 256, given, release, ranks=ranks)


def _h100(  # noqa: PLR0913, PLR0917  one row of the table
    what: str, stated: float, handle: str, weights: float, total: float, active: float, depth: int
) -> Rate:
    given = {"max_model_len": 32_768}
    weights_gb = weights * _GIB_IN_GB
    return Rate(
        f"{what} at {depth:,}",
        "H100",
        stated,
        _NONE,
        handle,
        weights_gb,
        total,
        active,
        depth,
        given,
        (0, 23, 0),
        machine=H100,
    )


RATES: Final = (
    Rate("Qwen3-Coder-Next FP8 at 1,000", f"{_G} L184", 43, (29, 75), _NEXT, 85, 80, 3, 1000, CODER),
    Rate("Qwen3-Coder-Next FP8 at 16,000", f"{_G} L184", 41, (26, 67), _NEXT, 85, 80, 3, 16_000, CODER),
    Rate("Qwen3-Coder-Next FP8 at 32,000", f"{_G} L184", 39, (24, 61), _NEXT, 85, 80, 3, 32_000, CODER),
    Rate("Gemma-4-26B NVFP4", f"{_G} L253", 49.6, (35, 91), _SMALL, 16.5, 25.2, 3.8, 1527, _GEMMA),
    Rate("Gemma-4-31B NVFP4", f"{_G} L32", 6, (4, 11), "nvidia/Gemma-4-31B-IT-NVFP4", 21, 31, 31, 1000, _PLAIN),
    Rate("Nemotron-3-Nano NVFP4", f"{_G} L39", 56, (43, 112), _NANO, 18, 30, 3.5, 1000, {"kv_cache_dtype": "fp8"}),
    Rate(
        "Nemotron-Nano beside another", f"{_P} L111", 68, (43, 112), _NANO, 18, 30, 3.5, 1000, {"kv_cache_dtype": "fp8"}
    ),
    Rate(
        "Qwen3.5-122B NVFP4", f"{_G} L200", 16, (15, 38), "nvidia/Qwen3.5-122B-A10B-NVFP4", 75.6, 122, 10, 1000, _PLAIN
    ),
    Rate("27B NVFP4, eager", f"{_G} L717", 10, (5, 12), _27B, 20, 27, 27, 1000, {**_PLAIN, "enforce_eager": True}),
    Rate("27B NVFP4, without DFlash", f"{_G} L33", 12, (5, 12), _27B, 20, 27, 27, 1000, _PLAIN),
    _qwen(6019, 102, "L596", (34, 327)),
    _qwen(3097, 125, "L597", (34, 332)),
    _qwen(6019, 117, "L598", (34, 327)),
    _qwen(3098, 115, "L599", (34, 332)),
    _two("medium", 56.5),
    _two("long", 50.7),
    _two("code", 59.5),
    _two("reasoning", 63.8),
    _four("medium", 64.7),
    _four("long", 56.9),
    _four("code", 88.1),
    _four("reasoning", 96.4),
    _flash(32, 38.92, "L219", (17, 182), ""),
    _flash(65_536, 29.88, "L229", (17, 170), " at 65,536"),
    _oss("", 58.5, _C, (0, 19, 0)),
    _oss(", eager", 26, _C, (0, 19, 0), enforce_eager=True),
    _oss(", 0.15.1", 33.5, "dgx-spark-playbooks#79", (0, 15, 1)),
    _oss(" on two, eager", 69.0, "kubis.ai", (0, 19, 0), ranks=2, enforce_eager=True),
    Rate(
        "Qwen3-235B GPTQ on two",
        _C,
        17.0,
        _NONE,
        "Qwen/Qwen3-235B-A22B",
        57.64 * _GIB_IN_GB,
        235,
        22,
        256,
        {"kv_cache_dtype": "fp8", "max_model_len": 32_768},
        (0, 19, 0),
        ranks=2,
    ),
    _h100("Qwen3-8B", 147.9, "Qwen/Qwen3-8B", 15.27, 8.2, 8.2, 256),
    _h100("Qwen3-8B", 143.3, "Qwen/Qwen3-8B", 15.27, 8.2, 8.2, 4096),
    _h100("Qwen3-8B", 125.5, "Qwen/Qwen3-8B", 15.27, 8.2, 8.2, 24_000),
    _h100("Qwen3-30B-A3B", 205.6, "Qwen/Qwen3-30B-A3B", 56.88, 30.5, 3.3, 256),
    _h100("Qwen3-30B-A3B", 198.3, "Qwen/Qwen3-30B-A3B", 56.88, 30.5, 3.3, 4096),
    _h100("Qwen3-30B-A3B", 168.7, "Qwen/Qwen3-30B-A3B", 56.88, 30.5, 3.3, 24_000),
    _h100("Nemotron-3-Nano", 269.7, _NANO, 58.92, 31.6, 3.5, 256),
    _h100("Nemotron-3-Nano", 263.0, _NANO, 58.92, 31.6, 3.5, 8192),
    _h100("DeepSeek-V2-Lite", 257.8, "deepseek-ai/DeepSeek-V2-Lite", 29.32, 15.7, 2.4, 256),
    _h100("DeepSeek-V2-Lite", 242.1, "deepseek-ai/DeepSeek-V2-Lite", 29.32, 15.7, 2.4, 8192),
)


def table() -> str:
    """Write the table of the page."""
    lines = [
        "| decode of one request | source | stated | expected | inside | width | before |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in RATES:
        low, high = row.expected.low, row.expected.high
        former = f"{row.former[1] / row.former[0]:.1f}" if row.former[0] else ""
        inside = "yes" if row.inside else "no"
        cells = (
            row.what,
            row.source,
            f"{row.stated:g}",
            f"{low:.0f} to {high:.0f}",
            inside,
            f"{row.width:.1f}",
            former,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table())  # noqa: T201  it is a program as well
