"""Proofs as accounts, and the words that all outputs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.memory.values import Unknown
from sparkiac.plan import memory_use
from sparkiac.plan.numbers import count, figure, gib, span
from sparkiac.render import labels
from tests.plan.fleets import LOCK as KNOWN
from tests.plan.fleets import ONES, PAIR, deployment, planned, service

if TYPE_CHECKING:
    from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse
    from sparkiac.plan.parts import Proof

GIB: Final = 1 << 30
_CONFIG: Final = (
    "{model_type: qwen3, num_hidden_layers: 36, num_attention_heads: 32, num_key_value_heads: 8, head_dim: 128}"
)
_MODEL: Final = f'{{commit: "{"1" * 40}", tensor_bytes: 16000000000, config: {_CONFIG}}}'
LOCK: Final = f"{KNOWN.partition('models:')[0]}models:\n  example/model: {_MODEL}\n  example/big: {_MODEL}\n"
"""Knows two models whose request of 65,536 tokens takes nine GiB."""
ASR: Final = (
    f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01, memory_gib: 4}}}}\n"
)
MEASURED: Final = "measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}"
PC: Final = "platforms: {pc: {title: PC, architecture: amd64}}\n"
DESK: Final = (
    "platforms: {desk: {title: Desk, architecture: arm64, memory_gib: 119,"
    " gpu: {name: GPU, compute_capability: '9.0'}}}\n"
)
"""A platform with a discrete GPU."""
QWEN: Final = "nvidia/Qwen3.6-35B-A3B-NVFP4"
MTP: Final = "head_dim: 128, mtp_num_hidden_layers: 1"
RECIPE: Final = "recipe: nvidia/qwen3.6-35b-a3b-nvfp4"


def host(text: str, *, locked: str = LOCK, number: int = 0) -> HostMemoryUse:
    """Return the account of a host."""
    return memory_use.of(planned(text, locked=locked).hosts[number])


def account(text: str, *, locked: str = LOCK) -> DeploymentMemory:
    """Return the account of the one deployment."""
    [found] = host(text, locked=locked).accounts
    return found


def said(text: str, *, locked: str = LOCK) -> dict[str, str]:
    """Return what is said of the one deployment."""
    found = account(text, locked=locked)
    return dict((*labels.facts(found), *labels.speeds(found)))


def test_the_parts_of_a_host_and_what_is_left_add_up_to_its_memory() -> None:
    found = host(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED) + ASR)
    assert [(part.owner, part.name, part.kind) for part in found.parts] == [
        ("chat", "weights", "weights"),
        ("chat", "runtime", "runtime"),
        ("chat", "KV cache", "cache"),
        ("chat", "CUDA graphs", "runtime"),
        (None, "asr", "service"),
        (None, "processes of vLLM", "reserve"),
        (None, "system and page cache", "reserve"),
    ]
    assert not isinstance(found.headroom_bytes, Unknown)
    assert sum(part.size_bytes or 0 for part in found.parts) + found.headroom_bytes == 119 * GIB
    assert found.width_bytes == 119 * GIB


def test_a_share_of_which_a_part_is_not_known_still_adds_up() -> None:
    locked = LOCK.replace("tensor_bytes: 16000000000, ", "")
    found = host(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED), locked=locked)
    assert [(part.name, part.kind) for part in found.parts[:2]] == [
        ("runtime", "runtime"),
        ("weights and KV cache", "share"),
    ]
    assert sum(part.size_bytes or 0 for part in found.parts[:2]) == -(-119 * GIB // 2)


def test_a_share_that_is_too_small_for_the_weights_is_shown_as_a_whole() -> None:
    text = deployment("set: {gpu_memory_utilization: 0.1}", MEASURED)
    assert host(text).parts[0][:3] == ("chat", "share", "share")
    assert said(text)["start"] == "fails: weights and overhead exceed the requested memory by 6.0 GiB"


def test_what_nobody_knows_is_never_nothing() -> None:
    found = host(deployment("set: {gpu_memory_utilization: 0.5}") + ASR.replace(", memory_gib: 4", ""))
    assert found.headroom_bytes == Unknown(("asr",))
    lines = {line.label: (line.size, line.source_text) for line in labels.lines(found)}
    assert lines["asr"] == ("unknown", "unknown: set memory_gib of the service")
    assert lines["left free"] == (
        "at most 47.5 GiB",
        "unknown, missing: asr",
    )
    assert labels.free(found) == "unsure"


def test_a_host_of_unknown_size_has_an_unknown_rest() -> None:
    found = host("name: lab\nhosts: {a: {address: 192.168.1.11, platform: pc}}\n" + PC)
    assert (found.total_bytes, found.most_bytes) == (None, None)
    assert labels.lines(found)[-1].size == "unknown"


def test_more_than_there_is_says_how_much_is_missing() -> None:
    asr = ASR.replace("memory_gib: 4", "memory_gib: 40")
    found = host(deployment("set: {gpu_memory_utilization: 0.8}", MEASURED) + asr)
    assert found.width_bytes > 119 * GIB
    assert labels.lines(found)[-1][2:4] == ("29.1 GiB over budget", "the host has less memory than requested")
    unsure = host(deployment("set: {gpu_memory_utilization: 0.8}") + asr)
    assert labels.lines(unsure)[-1].size == "28.2 GiB over budget"


def test_what_a_pool_holds_and_what_a_workload_needs() -> None:
    text = deployment(
        "set: {gpu_memory_utilization: 0.4, max_model_len: 65536, max_num_seqs: 2}",
        "workload: {users: 2, context: 65536}",
        MEASURED,
    )
    found = said(text)
    assert list(found.items())[:6] == [
        ("KV cache", "29.7 GiB: 216,256 tokens, as counted in vLLM's log"),
        ("one request of 65,536 tokens", "fits: needs 9.0 GiB"),
        ("concurrent full-length requests", "about 3 (max_num_seqs allows 2)"),
        ("2 requests of 65,536 tokens", "fits: needs 18.0 GiB"),
        ("equivalent kv_cache_memory_bytes for these requests", "19327352832"),
        ("minimum utilization for these requests", "0.31; 10.7 GiB more free on the host"),
    ]
    steps = labels.steps(account(text))
    assert [row[0] for row in steps] == ["0.35", "0.40", "0.45"]
    assert steps[1] == ("0.40", "29.7 GiB", "216,256", "3.3", "current")
    assert (steps[0][-1], steps[2][-1]) == ("6.0 GiB more", "6.0 GiB less")


@pytest.mark.parametrize(
    ("options", "workload", "label", "words"),
    [
        (
            "max_num_seqs: 1024",
            "",
            "concurrent full-length requests",
            "about 3 (max_num_seqs allows 1,024; the rest queue or are preempted)",
        ),
        ("max_model_len: 262144", "", "one request of 262,144 tokens", "does not fit: needs 36.0 GiB; vLLM"),
        ("", "{users: 9, context: 65536}", "9 requests of 65,536 tokens", "does not fit: needs 81.0 GiB"),
        (
            "",
            "{users: 9, context: 65536}",
            "minimum utilization for these requests",
            "0.84; 52.4 GiB less free on the host",
        ),
        (
            "",
            "{users: 99, context: 65536}",
            "minimum utilization for these requests",
            "none: the memory of the host is not",
        ),
        ("", "{users: 1, context: 131072}", "1 requests of 131,072 tokens", "too long: max_model_len is 65,536;"),
    ],
)
def test_what_does_not_fit_says_why(options: str, workload: str, label: str, words: str) -> None:
    text = deployment(
        f"set: {{gpu_memory_utilization: 0.4, max_model_len: 65536, {options}}}".replace(
            "max_model_len: 65536, max_model_len", "max_model_len"
        ),
        *([f"workload: {workload}"] if workload else []),
        MEASURED,
    )
    assert said(text)[label].startswith(words)


def test_a_pool_of_a_told_size_has_no_steps() -> None:
    text = deployment("set: {kv_cache_memory_bytes: 20G}", MEASURED)
    assert account(text).utilization is None
    assert labels.steps(account(text)) == ()
    assert said(text)["KV cache"].startswith("20.0 GiB: ")


def test_an_unknown_proof_names_what_is_missing_and_who_could_tell() -> None:
    found = said(deployment("workload: {users: 2, context: 8192}"), locked=LOCK.partition("models:")[0])
    hub = "run sparkiac lock to read it from the model hub"
    assert found == {
        "KV cache": f"unknown, missing: config.json, weights; {hub}",
        "2 requests of 8,192 tokens": f"unknown, missing: config.json; {hub}",
        "decode": f"unknown, missing: weights, config.json; {hub}",
        "time to first token, stall by a long prompt": "unknown, missing: published prefill rate",
    }


def test_a_configuration_without_draft_layers_is_not_sent_to_the_lock_alone() -> None:
    said_once = said(deployment("speculative: {method: mtp, num_speculative_tokens: 2}"), locked=LOCK)["KV cache"]
    assert said_once == (
        "unknown, missing: layers of the drafter (mtp); "
        "run sparkiac lock to read them; if config.json has none, set speculative: null"
    )


@pytest.mark.parametrize("size", ["gpu_memory_utilization: 0.5", "kv_cache_memory_bytes: 16000000000"])
def test_a_discrete_gpu_has_a_memory_of_unknown_size(size: str) -> None:
    """The formulas are those of the GB10; what the model and the options decide stays known."""
    text = deployment(f"set: {{{size}}}", host="spark-01: {address: 192.168.1.11, platform: desk}") + DESK
    assert said(text) == {
        "KV cache": "unknown, missing: size of the GPU's own memory",
        "speed": "unknown, missing: speed of this GPU",
    }
    assert account(text).request_bytes == 9 * GIB
    found = host(text)
    assert found.headroom_bytes == Unknown(("chat",))
    server, *others = found.parts
    assert (server.owner, server.size_bytes, server.source) == (
        "chat",
        None,
        "in the GPU's own memory, whose size is unknown",
    )
    assert [part.name for part in others] == ["processes of vLLM", "system and page cache"]
    start = planned(text, locked=LOCK).hosts[0].preflight.units["chat"]
    assert start.memory_bytes is None, "a start does not require the memory of the GPU on the host"


def test_a_group_with_a_discrete_gpu_has_an_unknown_total() -> None:
    """The share of vLLM is one of the memory of each GPU, and the smallest one decides."""
    text = PAIR.replace("address: 192.168.1.12", "address: 192.168.1.12\n    platform: desk") + DESK
    for number in (0, 1):
        [found] = host(text, number=number).accounts
        assert isinstance(found.fit, Unknown)
        assert isinstance(found.requested.size_bytes, Unknown)


def test_what_is_missing_for_everything_is_said_once() -> None:
    found = account(deployment("set: {gpu_memory_utilization: 0.5}"))
    lacks = Unknown(("weights", "weights"))
    assert labels.speeds(found._replace(decode=lacks, first_token=lacks)) == (
        ("speed", "unknown, missing: weights; run sparkiac lock to read it from the model hub"),
    )


def test_without_a_workload_one_request_is_the_least() -> None:
    found = said(deployment("set: {gpu_memory_utilization: 0.4, max_model_len: 65536}", MEASURED))
    assert list(found.items())[1:5] == [
        ("one request of 65,536 tokens", "fits: needs 9.0 GiB"),
        ("equivalent kv_cache_memory_bytes for one request", str(9 * GIB)),
        ("concurrent full-length requests", "about 3 (max_num_seqs allows 4; the rest queue or are preempted)"),
        ("minimum utilization for one request", "0.23; 20.2 GiB more free on the host"),
    ]


def test_an_estimate_names_the_release_it_assumes() -> None:
    found = said(deployment("image: 'example.org/vllm@" + ONES + "'", MEASURED))
    assert found["estimated"].startswith("as for vLLM 0.33.0: the version in example.org/vllm")
    assert found["estimated"].endswith(" is unknown; run sparkiac images capture to read it")


def test_speeds_are_ranges_with_their_sources_and_prompts_no_longer_than_the_context() -> None:
    text = deployment("set: {max_model_len: 16384}", MEASURED).replace("recipe: base/single-spark", RECIPE)
    text = text.replace("model: example/model\n", "image: nvcr.io/nvidia/vllm:26.04-py3\n")
    found = account(text, locked=LOCK.replace("example/big", QWEN).replace("head_dim: 128", MTP))
    assert not isinstance(found.decode, Unknown)
    assert [each.context for each in found.decode] == [1024, 16384]
    assert all(0 < each.low < each.high for each in found.decode)
    assert not isinstance(found.first_token, Unknown)
    assert [each.prompt_tokens for each in found.first_token] == [1000, 8000]
    assert "Spark guide" in " ".join(labels.speed_sources(found))


STALLS: Final = "measured: {weights_bytes: 20000000000, overhead_bytes: 3221225472, graphs_bytes: 1073741824}"


def stalling(options: str, *, model: str = QWEN) -> Proof:
    """Return the proof of a model whose prefill rate is known."""
    text = deployment(f"set: {{max_model_len: 65536, {options}}}", STALLS).replace("example/model", model)
    return planned(text, locked=LOCK.replace("example/big", QWEN)).hosts[0].proofs["chat"]


@pytest.mark.parametrize(
    ("options", "chunk", "smaller"),
    [
        ("max_num_batched_tokens: 16384", 16384, 8192),
        ("max_num_batched_tokens: 262144", 65536, 32768),
        ("max_num_batched_tokens: 16384, long_prefill_token_threshold: 4096", 4096, 2048),
        ("max_num_batched_tokens: 16384, long_prefill_token_threshold: 0", 16384, 8192),
        ("max_num_batched_tokens: 2048, max_num_seqs: 2048", 2048, None),
        ("max_num_batched_tokens: null", 2048, 1024),
        ("max_num_batched_tokens: null, enable_chunked_prefill: false", 65536, None),
    ],
    ids=["set", "longest prompt", "threshold", "no threshold", "one token each", "default", "whole prompts"],
)
def test_a_step_of_others_takes_as_long_as_a_chunk_of_a_prompt(options: str, chunk: int, smaller: int | None) -> None:
    found = memory_use.stall(stalling(options))
    assert isinstance(found, memory_use.Stall)
    assert found.chunk_tokens == chunk
    assert 6000 < chunk / found.low_s < 6500
    assert found.half_tokens == smaller
    assert (found.loss_percent is None) == (smaller is None)


def test_half_a_chunk_costs_another_reading_of_the_weights_at_most() -> None:
    """20 GB at 48 % of 273 GB/s and 36 layers of 100 us are 0.16 s; 8,192 tokens at 6,240 a second are 1.31 s."""
    found = memory_use.stall(stalling("max_num_batched_tokens: 8192"))
    assert isinstance(found, memory_use.Stall)
    assert (found.low_s, found.half_tokens, found.loss_percent) == (1.31, 4096, 11)


def test_a_stall_is_printed_with_its_range_and_its_chunk() -> None:
    text = deployment("set: {max_model_len: 65536, max_num_batched_tokens: 16384}", MEASURED)
    found = said(text.replace("example/model", "google/gemma-4-26B-A4B-it"))["stall by a long prompt"]
    assert found == "other requests wait 2.2 to 4.5 s for their next token (chunks of 16,384 tokens)"


def test_one_request_at_a_time_stalls_no_other_one() -> None:
    assert memory_use.stall(stalling("max_num_seqs: 1")) is None


def test_a_chunk_that_does_not_hold_a_block_is_not_advised() -> None:
    """States that are cached need whole blocks: vLLM does not start with a smaller batch."""
    options = "max_num_batched_tokens: 2048, enable_prefix_caching: true"
    proof = stalling(options, model="nvidia/Qwen3.6-27B-NVFP4")
    found = memory_use.stall(proof)
    assert not isinstance(proof.cache, Unknown)
    assert proof.cache.block_tokens > 1024
    assert isinstance(found, memory_use.Stall)
    assert found.half_tokens is found.loss_percent is None


def decoded(recipe: str, lock: str, *options: str) -> tuple[float, float]:
    """Return the bounds of the decode rate of a short request to Qwen3.6-35B."""
    text = deployment(f"set: {{{', '.join(('max_model_len: 16384', *options))}}}", MEASURED)
    text = text.replace("recipe: base/single-spark", recipe)
    text = text.replace("model: example/model\n", "image: nvcr.io/nvidia/vllm:26.04-py3\n")
    found = account(text, locked=LOCK.replace("example/big", QWEN).replace("head_dim: 128", lock)).decode
    assert not isinstance(found, Unknown)
    return found[0].low, found[0].high


def test_each_draft_of_an_mtp_layer_reads_the_output_layer_of_the_model() -> None:
    """A vocabulary eight times as large takes longer; without it, or without drafts, nothing more is read."""
    widths = [f"{MTP}, hidden_size: 2048, vocab_size: {size}" for size in (31_040, 248_320)]
    small, large = (decoded(RECIPE, each) for each in widths)
    assert (large[0] < small[0] * 0.97, large[1] < small[1]) == (True, True)
    unknown, narrow = (decoded(RECIPE, each) for each in (MTP, f"{MTP}, hidden_size: 2048"))
    assert unknown == narrow
    assert narrow[1] > small[1]


def test_eager_mode_lowers_the_lower_bound_of_decode_alone() -> None:
    graphs, eager = decoded(RECIPE, MTP), decoded(RECIPE, MTP, "enforce_eager: true")
    assert eager[0] < graphs[0] * 0.8
    assert eager[1] == graphs[1]


def test_figures_of_a_recorded_start_name_it() -> None:
    text = deployment("set: {max_model_len: 16384}").replace("recipe: base/single-spark", RECIPE)
    text = text.replace("model: example/model\n", "image: nvcr.io/nvidia/vllm:26.04-py3\n")
    [host] = planned(text, locked=LOCK.replace("example/big", QWEN).replace("head_dim: 128", MTP)).hosts
    record = host.proofs["chat"].record
    assert record is not None
    assert record.startswith("a recorded start of the same model: Spark guide ")


def test_of_a_group_the_node_that_answers_says_what_it_is_good_for() -> None:
    [follows], [leads] = host(PAIR).accounts, host(PAIR, number=1).accounts
    assert (follows.leads, leads.leads) == (False, True)
    assert labels.speeds(follows) == labels.steps(follows) == labels.speed_sources(follows) == ()
    assert labels.speeds(leads)
    assert labels.facts(follows) == labels.facts(leads)[:4]


def test_a_host_without_anything_keeps_its_reserve() -> None:
    found = host(service(host="spark-01: {address: 192.168.1.11, memory: {total_gib: 100, reserve_gib: 5}}"))
    assert [(part.name, part.size_bytes) for part in found.parts] == [
        ("asr", None),
        ("system and page cache", 5 * GIB),
    ]
    assert found.most_bytes == 95 * GIB


@pytest.mark.parametrize(
    ("size", "text"),
    [(None, "unknown"), (0, "0.0 GiB"), (48 << 20, "48 MiB"), (GIB, "1.0 GiB"), (-GIB, "-1.0 GiB")],
)
def test_sizes_for_people(size: int | None, text: str) -> None:
    assert gib(size) == text


def test_counts_and_ranges_for_people() -> None:
    assert count(65536) == "65,536"
    assert [figure(number) for number in (0.162, 1.31, 9.96, 10.4, 1234.5)] == ["0.16", "1.3", "10.0", "10", "1,234"]
    assert span(41.4, 96.2, "tokens/s") == "41 to 96 tokens/s"
    assert span(1.31, 1.33, "s") == "1.3 s"
