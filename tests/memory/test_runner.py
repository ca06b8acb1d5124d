"""Which releases measure CUDA graphs before they make the pool, and which take them on top of the request."""

from __future__ import annotations

import pytest

from sparkiac.memory.layers import Attention, Layer, Linear, Shape, Width
from sparkiac.memory.options import Speculation
from sparkiac.memory.overhead import measures_graphs
from tests.memory.known import told

FULL = Attention(8, 128, 128)
WINDOW = FULL._replace(window=1024)
STATE = Linear(16, 32, 128, 128, 4)


def network(name: str, *layers: Layer, experts: int = 0, quantized: bool = False) -> Shape:
    return Shape(layers or (FULL,), width=Width(experts=experts), architectures=(name,), quantized=quantized)


QWEN = network("Qwen3ForCausalLM")
LLAMA = network("LlamaForCausalLM")
QUANTIZED = network("Qwen3ForCausalLM", quantized=True)
EXPERTS = network("Qwen3MoeForCausalLM", experts=128)
LATENT = network("DeepseekV2ForCausalLM", experts=64)
COMPRESSED = network("DeepseekV4ForCausalLM", experts=256)
HYBRID = network("Qwen3_5ForConditionalGeneration", STATE, FULL)
KIMI = network("KimiK3ForConditionalGeneration", STATE, FULL, experts=256)
GEMMA = network("Gemma3ForConditionalGeneration", FULL, WINDOW)


@pytest.mark.parametrize(
    ("shape", "first", "last"),
    [
        (QWEN, (0, 22, 0), (0, 28, 0)),
        (LLAMA, (0, 23, 0), (0, 28, 0)),
        (QUANTIZED, (0, 24, 0), (0, 28, 0)),
        (LATENT, (0, 24, 0), (0, 28, 0)),
        (GEMMA, (0, 25, 0), (0, 28, 0)),
        (KIMI, (0, 27, 0), (0, 28, 0)),
        (COMPRESSED, (0, 28, 0), (0, 28, 0)),
    ],
    ids=lambda value: value.architectures[0] if isinstance(value, Shape) else None,
)
def test_graphs_come_on_top_from_a_first_release_to_a_last_one(
    shape: Shape, first: tuple[int, ...], last: tuple[int, ...]
) -> None:
    releases = [(0, minor, 0) for minor in range(20, 33)]
    assert [each for each in releases if not measures_graphs(told(release=each), shape, None)] == [
        each for each in releases if first <= each <= last
    ]


@pytest.mark.parametrize("shape", [EXPERTS, HYBRID, None])
def test_the_first_runner_measures_its_graphs_from_0_20_on(shape: Shape | None) -> None:
    assert not measures_graphs(told(release=(0, 19, 1)), shape, None)
    assert all(measures_graphs(told(release=(0, minor, 0)), shape, None) for minor in range(20, 33))


@pytest.mark.parametrize(
    ("method", "release", "second"),
    [
        ("mtp", (0, 22, 0), True),
        ("eagle3", (0, 22, 0), True),
        ("dflash", (0, 23, 0), False),
        ("dflash", (0, 24, 0), True),
        ("dspark", (0, 24, 0), False),
        ("ngram", (0, 28, 0), False),
        ("draft_model", (0, 28, 0), False),
    ],
)
def test_a_method_that_the_second_runner_lacks_leaves_the_first(
    method: str,
    release: tuple[int, ...],
    second: bool,  # noqa: FBT001  a parameter
) -> None:
    assert measures_graphs(told(release=release), QWEN, Speculation(method, 3)) is not second


def test_two_methods_bring_the_second_runner_to_every_network() -> None:
    mixed = Speculation("dflash", 6, Shape((WINDOW, FULL)))
    for drafts, before, first in ((Speculation("dspark", 3), (0, 24, 0), (0, 25, 0)), (mixed, (0, 25, 1), (0, 26, 0))):
        assert measures_graphs(told(release=before), HYBRID, drafts)
        assert not measures_graphs(told(release=first), HYBRID, drafts)
    plain = mixed._replace(drafter=Shape((FULL, FULL)))
    assert measures_graphs(told(release=(0, 26, 0)), HYBRID, plain)
