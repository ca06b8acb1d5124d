"""What a server allocates while vLLM measures it: batch sizes with graphs, layers, experts, drafters, images."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.memory import overhead
from sparkiac.memory.activations import language_bytes, unpacked_bytes
from sparkiac.memory.layers import Attention, Latent, Linear, Shape, Width
from sparkiac.memory.options import Speculation
from sparkiac.memory.overhead import UNIFIED, OverheadFacts
from sparkiac.memory.values import GIB, Term
from tests.memory.known import network, told

MTP = Speculation("mtp", 1)
GLM = network("zai-org/GLM-4.7-Flash")
IMAGES = network("Qwen/Qwen3-VL-8B-Instruct")
BATCH = {"max_num_batched_tokens": 4096, "max_num_seqs": 64, "max_model_len": 65_536}


@pytest.mark.parametrize(
    ("release", "requests", "drafts", "sizes"),
    [
        ((0, 26, 0), 64, 0, 19),
        ((0, 26, 0), 64, 1, 35),
        ((0, 26, 0), 64, 3, 51),
        ((0, 26, 0), 256, 3, 51),
        ((0, 28, 0), 4, 2, 6),
        ((0, 29, 0), 4, 2, 9),
        ((0, 29, 0), 4, 0, 4),
    ],
)
def test_each_request_has_its_drafts_in_the_batch_sizes_with_graphs(
    release: tuple[int, ...], requests: int, drafts: int, sizes: int
) -> None:
    given = {"max_num_seqs": requests, "max_num_batched_tokens": 8192}
    assert told(given, release=release, drafts=drafts).graph_sizes == sizes


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"max_num_batched_tokens": 16}, 5),
        ({"max_cudagraph_capture_size": 512, "max_num_batched_tokens": 64}, 11),
        ({"max_cudagraph_capture_size": 1024}, 83),
        ({"cudagraph_capture_sizes": [1, 2, 2, 4096]}, 2),
        ({"cudagraph_capture_sizes": ["all", [1], 8]}, 1),
        ({"max_num_seqs": 10**15, "max_num_batched_tokens": 10**15}, 51),
        ({"max_cudagraph_capture_size": 10**15, "max_num_batched_tokens": 10**15}, 4115),
        ({"max_cudagraph_capture_size": -5}, 0),
    ],
    ids=str,
)
def test_no_graph_is_larger_than_a_batch(given: dict[str, Any], sizes: int) -> None:
    assert told({"max_num_seqs": 64, "max_num_batched_tokens": 2048, **given}).graph_sizes == sizes


def terms(shape: Shape, given: dict[str, Any], release: tuple[int, ...], drafts: Speculation | None) -> dict[str, Term]:
    options = told(given, release=release, drafts=drafts.tokens if drafts else 0)
    facts = OverheadFacts(options, shape, drafts, UNIFIED, None)
    return {term.name: term for term in (*overhead.inside(facts), *overhead.outside(facts))}


def size(term: Term) -> int:
    assert isinstance(term.size_bytes, int)
    return term.size_bytes


def test_the_first_runner_unpacks_a_prompt_while_it_captures_latent_mtp_layers() -> None:
    found = size(terms(GLM, BATCH, (0, 26, 0), MTP)["CUDA graphs"])
    unpacked = 65_536 * 20 * (192 + 256) * 2
    assert found == (100 + 11 * 35) * (1 << 20) + unpacked
    second = GLM._replace(architectures=("DeepseekV2ForCausalLM",))
    assert size(terms(second, BATCH, (0, 26, 0), MTP)["CUDA graphs"]) == found - unpacked
    assert size(terms(GLM, BATCH, (0, 26, 0), Speculation("ngram", 1))["CUDA graphs"]) == found - unpacked


def test_graphs_on_one_memory_may_be_larger_than_any_recorded_ones() -> None:
    """Recorded estimates of DGX Sparks end at 4 GiB; a network with many heads unpacks more."""
    wide = GLM._replace(width=GLM.width._replace(latent_elements=128 * 256))
    found = [terms(each, BATCH, (0, 26, 0), MTP)["CUDA graphs"] for each in (GLM, wide)]
    assert [each.low_bytes for each in found] == [0, 0]
    assert found[0].high_bytes == 4 * GIB
    assert found[1].high_bytes == int(size(found[1]) * overhead.GRAPHS_SPREAD[1]) + 1


@pytest.mark.parametrize(("release", "profiled"), [((0, 24, 0), True), ((0, 26, 0), False), ((0, 27, 0), True)])
def test_the_second_runner_profiles_the_encoder_from_0_27_on(release: tuple[int, ...], profiled: bool) -> None:  # noqa: FBT001  a parameter
    """Before 0.25 the first runner serves this network."""
    options = told(BATCH, release=release)
    facts = OverheadFacts(options, IMAGES, None, UNIFIED, None)
    inside, outside = ({term.name: term for term in found(facts)} for found in (overhead.inside, overhead.outside))
    assert ("encoder cache" in inside) is profiled
    assert ("encoder" in outside) is not profiled
    assert ("encoder" in inside["activations"].source) is profiled
    if not profiled:
        assert (outside["encoder"].low_bytes, outside["encoder"].high_bytes) == (0, size(outside["encoder"]))
        assert size(outside["encoder"]) > GIB


def test_images_that_are_refused_take_nothing_beside_the_request() -> None:
    given = {**BATCH, "language_model_only": True}
    assert "encoder" not in terms(IMAGES, given, (0, 26, 0), None)
    assert "encoder" not in terms(GLM._replace(architectures=("DeepseekV2ForCausalLM",)), BATCH, (0, 26, 0), None)


def test_the_second_runner_keeps_the_logits_of_the_model_from_0_26_on() -> None:
    shape, given = network("Qwen/Qwen3-8B"), {"max_num_seqs": 1024, "max_num_batched_tokens": 8192}
    before, since = (size(terms(shape, given, (0, minor, 0), None)["activations"]) for minor in (25, 26))
    assert before - since == 6 * 1024 * 151_936


def taken(shape: Shape, **given: Any) -> int:  # noqa: ANN401  options
    options = told({**BATCH, **given})
    found = language_bytes(4096, shape=shape, options=options, speculation=None, sampled_bytes=0)
    assert found is not None
    return found


def test_the_workspace_of_the_experts_adds_to_the_widest_recurrent_layer() -> None:
    width = Width(hidden=2048, vocabulary=1, expert_intermediate=512, experts=64, experts_per_token=4)
    linear = Linear(16, 32, 128, 128, 4)
    plain = taken(Shape((Attention(8, 128, 128),), width=width))
    assert taken(Shape((linear,), width=width)) - plain == 4096 * 4 * (16 + 32) * 128 * 2
    without = taken(Shape((Attention(8, 128, 128),), width=width._replace(experts_per_token=0)))
    assert plain - without == 4096 * 4 * (2048 + 2048) * 2
    wide = taken(Shape((Attention(8, 128, 128),), width=width._replace(expert_intermediate=4096)))
    assert wide - without == 4096 * 4 * (4096 + 8192) * 2


def test_latent_attention_beside_states_unpacks_a_block_of_each_request() -> None:
    """A block of Kimi-Linear has 1,920 tokens from 0.27 on, so 64 requests need more than 65,536 tokens."""
    width = Width(hidden=2304, vocabulary=1, latent_elements=32 * 256)
    kimi = Shape((Linear(32, 32, 128, 128, 4), Latent(576)), state_dtype="float32", width=width)
    for requests, tokens in ((16, 65_536), (64, 64 * 1920)):
        options = told({**BATCH, "max_num_seqs": requests})
        assert unpacked_bytes(kimi, options, None) == tokens * 32 * 256 * 2
    assert unpacked_bytes(kimi, told({**BATCH, "max_num_seqs": 1, "max_model_len": 4096}), None) == 32_768 * 32 * 512
