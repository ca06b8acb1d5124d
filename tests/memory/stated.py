"""Every figure of the sources that has both a stated and a predicted value: the tables of docs/memory.md.

`python -m tests.memory.stated` prints them; a test holds the page to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import budget
from sparkiac.memory.overhead import RUNTIME_BYTES
from sparkiac.memory.values import GIB, Term
from tests.memory.known import GUIDE, LATEST, MTP_3, QWEN, TOTAL_BYTES, laid, network, told

if TYPE_CHECKING:
    from collections.abc import Iterator


GUIDE_POOL_BYTES: Final = round(76.49 * GIB)
QWEN_WEIGHTS: Final = Term("weights", round(21.94 * GIB), "Spark guide L345")
POST: Final = {**GUIDE, "gpu_memory_utilization": 0.55, "max_model_len": 131_072}
FLASH: Final = "deepseek-ai/DeepSeek-V4-Flash"
FLASH_TOLD: Final = {
    "gpu_memory_utilization": 0.85,
    "max_model_len": 300_000,
    "max_num_batched_tokens": 16_384,
    "max_num_seqs": 2,
    "tensor_parallel_size": 2,
}
"""What the recipe of the DeepSeek-V4 thread tells its server (L255-306)."""
FLASH_RELEASE: Final = (0, 22, 1)
"""The thread's builds call themselves by commits of May 2026; this release is taken for them."""
CODER: Final = {
    "gpu_memory_utilization": 0.85,
    "max_model_len": 170_000,
    "max_num_batched_tokens": 32_768,
    "max_num_seqs": 4,
}


class Figure(NamedTuple):
    """One figure, as a source states it and as it is predicted."""

    what: str
    source: str
    stated: float
    predicted: float
    unit: str

    @property
    def error(self) -> float:
        """The prediction's relative error."""
        return self.predicted / self.stated - 1


def pool(utilization: float) -> int:
    """Predict the pool of the guide's server by what is known before it starts."""
    options = told({**GUIDE, "gpu_memory_utilization": utilization})
    shape = network(QWEN)
    made = budget.server(
        "qwen", total_bytes=TOTAL_BYTES, options=options, weights=QWEN_WEIGHTS, shape=shape, speculation=MTP_3
    )
    return made.pool.size_bytes or 0


def memory() -> Iterator[Figure]:
    """Yield the figures of memory."""
    layout = laid(QWEN, GUIDE, speculation=MTP_3)
    long = laid(QWEN, {**GUIDE, "max_model_len": 262_144}, speculation=MTP_3)
    guide = "Spark guide"
    yield Figure("Qwen3.6-35B, 0.85: pool", f"{guide} L346", 76.49, pool(0.85) / GIB, "GiB")
    yield Figure("the same: tokens", f"{guide} L347", 4_843_965, layout.tokens(pool(0.85)), "tokens")
    yield Figure("the same: requests of 65,536", f"{guide} L348", 73.91, layout.concurrency(pool(0.85)), "")
    yield Figure(
        "the same, from its pool of 76.49 GiB: tokens",
        f"{guide} L347",
        4_843_965,
        layout.tokens(GUIDE_POOL_BYTES),
        "tokens",
    )
    yield Figure("the same, from that pool: requests", f"{guide} L348", 73.91, layout.concurrency(GUIDE_POOL_BYTES), "")
    yield Figure(
        "the same: bytes of a token on average", f"{guide} L351", 16.6, layout.request_bytes / 65_536 / 1024, "KiB"
    )
    yield Figure("0.5: pool", f"{guide} L356", 39, pool(0.5) / GIB, "GiB")
    yield Figure("0.5: tokens", f"{guide} L356", 2.4e6, layout.tokens(pool(0.5)), "tokens")
    yield Figure("0.5: requests of 65,536", f"{guide} L356", 37, layout.concurrency(pool(0.5)), "")
    yield Figure("0.4: pool", f"{guide} L357", 23, pool(0.4) / GIB, "GiB")
    yield Figure("0.4: tokens", f"{guide} L357", 1.4e6, layout.tokens(pool(0.4)), "tokens")
    yield Figure("0.4: requests of 65,536", f"{guide} L357", 22, layout.concurrency(pool(0.4)), "")
    yield Figure("0.4: requests of 262,144", f"{guide} L369", 5, long.concurrency(pool(0.4)), "")
    yield Figure("one request of 262,144", f"{guide} L361", 4, long.request_bytes / 1e9, "GB")
    yield Figure("0.4 against 0.85: freed", f"{guide} L357", 58, (pool(0.85) - pool(0.4)) / 1e9, "GB")
    yield Figure("0.5 against 0.85: freed", f"{guide} L356", 45, (pool(0.85) - pool(0.5)) / 1e9, "GB")
    yield from _post()
    yield from _compressed()
    yield from _others()


def _post() -> Iterator[Figure]:
    two = MTP_3._replace(tokens=2)
    layout = laid(QWEN, POST, release=(0, 19, 0), speculation=two)
    asked = budget.requested_bytes(round(119.64 * GIB), 0.55)
    # The post writes GB of what are GiB: 0.55 of 119.64.
    left = asked - round(23.5e9) - RUNTIME_BYTES
    yield Figure("Qwen3.6-35B with MTP 2: block", "dual-Spark post L115", 2128, layout.block_tokens, "tokens")
    yield Figure("the same, 0.55: requested", "dual-Spark post L61", 65.8, asked / GIB, "GiB")
    yield Figure("the same: tokens as 0.19.0 logs them", "dual-Spark post L61", 1.6e6, layout.tokens(left), "tokens")
    later = laid(QWEN, POST, release=LATEST, speculation=two)
    yield Figure(
        "the same: tokens as later releases log them", "dual-Spark post L61", 1.6e6, later.tokens(left), "tokens"
    )


def _compressed() -> Iterator[Figure]:
    """Yield the figures of DeepSeek-V4-Flash on two machines, of which the smaller one has 119 GiB."""
    two = MTP_3._replace(method="deepseek_mtp", tokens=2)
    layout = laid(FLASH, FLASH_TOLD, release=FLASH_RELEASE, speculation=two)
    made = budget.server(
        "flash",
        total_bytes=119 * GIB,
        options=told(FLASH_TOLD, release=FLASH_RELEASE),
        weights=Term("weights", 74 * GIB, "DeepSeek-V4 thread L315"),
        shape=network(FLASH),
        speculation=two,
    )
    tokens = layout.tokens(made.pool.size_bytes or 0)
    yield Figure("DeepSeek-V4-Flash, 0.85: tokens", "DeepSeek-V4 thread L317", 313_000, tokens, "tokens")
    refused = laid(FLASH, {**FLASH_TOLD, "max_model_len": 30_000}, release=FLASH_RELEASE)
    needed = refused.request_bytes / GIB
    yield Figure("the same, one request of 30,000", "vllm-project/vllm#44376", 6.66, needed, "GiB")


def _others() -> Iterator[Figure]:
    options = told(CODER)
    made = budget.server(
        "coder",
        total_bytes=TOTAL_BYTES,
        options=options,
        weights=Term("weights", 85 * 10**9, "Spark guide L184"),
        shape=network("Qwen/Qwen3-Coder-Next"),
    )
    tokens = laid("Qwen/Qwen3-Coder-Next", CODER).tokens(made.pool.size_bytes or 0)
    yield Figure("Qwen3-Coder-Next, 0.85: context that fits", "Spark guide L198", 170_000, tokens, "tokens")


def tables() -> str:
    """Write the tables of the page."""
    lines = ["| figure | source | stated | predicted | error |", "|---|---|---|---|---|"]
    for each in memory():
        numbers = " | ".join(f"{_number(value)} {each.unit}".strip() for value in (each.stated, each.predicted))
        lines.append(f"| {each.what} | {each.source} | {numbers} | {each.error:+.1%} |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    print(tables())  # noqa: T201  it is a program as well
