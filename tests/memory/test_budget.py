"""Terms of a server and of a host: they add up, and what nobody knows is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mypy.api
import pytest

from sparkiac.catalog import measurements
from sparkiac.memory import budget
from sparkiac.memory.budget import ServerMemory, group_bytes, host, requested_bytes, server
from sparkiac.memory.layers import Shape, Width
from sparkiac.memory.options import Speculation
from sparkiac.memory.overhead import RUNTIME_BYTES, UNIFIED
from sparkiac.memory.prediction import quantized_at_load, weights
from sparkiac.memory.values import GIB, Term, Unknown, ceil_div, least_bytes, total_bytes, unknown_of
from sparkiac.model.inventory import Measured
from tests.memory.known import GUIDE, LATEST, MTP_3, QWEN, network, told

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTS = Term("weights", 20 * GIB, "test")
TEXT = {"language_model_only": True}


def placed(given: dict[str, Any] | None = None, *, release: tuple[int, ...] = LATEST, **facts: Any) -> ServerMemory:  # noqa: ANN401  the function's own facts
    options = told({"gpu_memory_utilization": 0.5, **(given or {})}, release=release)
    return server("one", **{"total_bytes": 100 * GIB, "options": options, "weights": WEIGHTS, **facts})


# -- values ----------------------------------------------------------------------------------------------------


def test_a_sum_with_an_unknown_term_names_it() -> None:
    terms = (Term("a", 1, ""), Term("b", Unknown(("b",)), ""), Term("c", Unknown(("c",)), ""))
    assert total_bytes(terms) == Unknown(("b", "c"))
    assert least_bytes(terms) == 1
    assert total_bytes(terms[:1]) == 1


def test_an_unknown_size_cannot_be_added() -> None:
    size: Any = Unknown(("a",))
    for add in (lambda: 1 + size, lambda: (size or 0) + 1, lambda: sum([1, size]), lambda: size - 1, lambda: size < 1):
        with pytest.raises(TypeError):
            add()


def test_the_type_checker_refuses_to_add_a_size_that_may_be_unknown(tmp_path: Path) -> None:
    sums = ("1 + size", "(size or 0) + 1", "sum([1, size])", "size - 1")
    functions = [f"def f{number}(size: Quantity) -> int: return {each}" for number, each in enumerate(sums)]
    program = tmp_path / "adds.py"
    program.write_text("\n".join(["from sparkiac.memory.values import Quantity", *functions, ""]))
    said, _, status = mypy.api.run(["--strict", str(program)])
    assert status == 1
    assert {line.split(":")[1] for line in said.splitlines() if ": error: " in line} == {"2", "3", "4", "5"}


def test_what_is_missing_is_joined_without_repetition() -> None:
    assert unknown_of(Unknown(("a", "b")), 3, Unknown(("b",))) == Unknown(("a", "b"))
    assert unknown_of(1, None) is None


def test_pieces_are_rounded_up() -> None:
    assert [ceil_div(whole, 4) for whole in (0, 1, 4, 5)] == [0, 1, 1, 2]


# -- one server ------------------------------------------------------------------------------------------------


def test_the_terms_of_a_server_add_up_to_what_it_requests() -> None:
    found = placed(shape=network(QWEN), drafter=Term("drafter", GIB, "test"), speculation=MTP_3)
    assert [term.name for term in found.inside] == [
        "weights",
        "drafter",
        "runtime",
        "activations",
        "encoder cache",
        "CUDA graphs",
    ]
    assert total_bytes((*found.inside, found.pool)) == found.requested.size_bytes == 50 * GIB
    assert found.shortage.size_bytes == 0
    assert found.pool.assumed


def test_a_larger_batch_takes_more() -> None:
    sizes = [
        least_bytes(placed({"max_num_batched_tokens": batch, "max_num_seqs": 64}, shape=network(QWEN)).inside)
        for batch in (2048, 8192, 32_768)
    ]
    assert sizes == sorted(set(sizes))


def test_more_requests_take_more_logits_and_more_graphs() -> None:
    few, many = (
        {term.name: term.size_bytes or 0 for term in placed(given, shape=network(QWEN)).inside}
        for given in ({"max_num_seqs": 4, **TEXT}, {"max_num_seqs": 256, **TEXT})
    )
    assert few["activations"] < many["activations"]
    assert few["CUDA graphs"] < many["CUDA graphs"]
    assert few["runtime"] == many["runtime"] == UNIFIED.non_torch_bytes


def test_each_rank_of_a_group_has_buffers_of_nccl_in_addition() -> None:
    alone, ranks = (placed({"tensor_parallel_size": size}, shape=network(QWEN)).outside for size in (1, 2))
    assert [term.name for term in alone] == []
    assert [term.name for term in ranks] == ["NCCL"]


def test_a_drafter_that_reads_layers_of_the_model_takes_more() -> None:
    def taken(method: str) -> int:
        given = {**GUIDE, "max_num_batched_tokens": 32_768}
        return least_bytes(placed(given, shape=network(QWEN), speculation=Speculation(method, 3)).inside)

    vector = 32_768 * 2048 * 2
    assert taken("mtp") - taken("ngram") == (2 * 1 + 3) * vector
    assert taken("eagle3") - taken("ngram") == (2 * 3 + 3) * vector
    assert taken("dflash") - taken("ngram") == (2 * 5 + 3) * vector


@pytest.mark.parametrize(
    "told_so", [{"language_model_only": True}, {"limit_mm_per_prompt": {"image": 0, "video": 0}}], ids=str
)
def test_images_take_nothing_where_none_are_let_in(told_so: dict[str, Any]) -> None:
    shape = network("google/gemma-3-12b-it")
    with_images, without = (placed({**GUIDE, **given}, shape=shape) for given in ({}, told_so))
    assert "encoder" in with_images.inside[2].source
    assert [term.name for term in without.inside] == ["weights", "runtime", "activations", "CUDA graphs"]
    assert least_bytes(without.inside) < least_bytes(with_images.inside)
    one_kind = placed({**GUIDE, "limit_mm_per_prompt": {"image": 0}}, shape=shape)
    assert one_kind.inside == with_images.inside


def test_a_network_of_unknown_width_takes_the_assumed_runtime() -> None:
    (_, runtime) = placed(shape=Shape(())).inside
    assert (runtime.size_bytes, runtime.assumed) == (RUNTIME_BYTES, True)
    assert "Spark guide L343-348" in runtime.source


def test_weights_that_do_not_fit_leave_a_shortage_and_no_pool() -> None:
    found = placed(weights=Term("weights", 60 * GIB, "test"))
    assert (found.pool.size_bytes, found.shortage.size_bytes) == (0, 13 * GIB)


def test_unknown_weights_leave_an_unknown_pool() -> None:
    found = placed(weights=Term("weights", Unknown(("weights",)), "test"))
    assert found.pool.size_bytes == found.shortage.size_bytes == Unknown(("weights",))
    assert total_bytes((*found.inside, found.pool)) == Unknown(("weights", "KV cache"))


def test_an_unknown_host_leaves_an_unknown_request() -> None:
    found = placed(total_bytes=None)
    assert found.requested.size_bytes == Unknown(("total memory",))
    assert isinstance(found.pool.size_bytes, Unknown)


def test_a_pool_of_a_told_size_takes_what_it_needs_and_no_share() -> None:
    found = placed({"kv_cache_memory_bytes": "8G"})
    assert found.pool.size_bytes == 8 * GIB
    assert found.requested.size_bytes == 31 * GIB
    assert isinstance(
        placed(
            {"kv_cache_memory_bytes": "8G"}, weights=Term("weights", Unknown(("weights",)), "")
        ).requested.size_bytes,
        Unknown,
    )


def test_a_calibrated_server_is_predicted_without_assumptions() -> None:
    found = placed(shape=network(QWEN), calibration=Measured(weights_bytes=21 * GIB, overhead_bytes=2 * GIB))
    assert [(term.size_bytes, term.assumed) for term in found.inside] == [(21 * GIB, False), (2 * GIB, False)]
    assert found.pool == Term("KV cache", 27 * GIB, "what the other terms leave")


def test_a_calibration_without_its_figures_changes_nothing() -> None:
    assert placed(calibration=Measured()).inside == placed().inside


@pytest.mark.parametrize(
    ("release", "given", "graphs"),
    [
        ((0, 19, 0), {}, ("CUDA graphs",)),
        ((0, 19, 0), {"enforce_eager": True}, ()),
        ((0, 20, 2), {}, ()),
        ((0, 22, 0), {}, ()),
    ],
)
def test_graphs_of_the_first_runner_are_outside_of_the_request_before_0_20(
    release: tuple[int, ...], given: dict[str, Any], graphs: tuple[str, ...]
) -> None:
    assert tuple(term.name for term in placed(given, release=release).outside) == graphs


def test_measured_graphs_are_a_known_term() -> None:
    found = placed(release=(0, 19, 0), calibration=Measured(graphs_bytes=GIB))
    assert total_bytes(found.taken) == 51 * GIB


# -- one host --------------------------------------------------------------------------------------------------


def test_the_memory_of_everything_on_a_host_is_summed() -> None:
    found = host(
        100 * GIB,
        servers=(placed(), placed({"gpu_memory_utilization": 0.2})),
        services=(Term("web", 2 * GIB, "test"),),
        reserve=Term("reserve", 10 * GIB, "test"),
    )
    assert [term.name for term in found.terms] == ["one", "one", "web", "reserve"]
    assert found.headroom_bytes == found.most_bytes == 18 * GIB


def test_processes_are_a_part_of_the_reserve_and_never_more_than_it() -> None:
    least, most = budget.process_bytes(None, leads=True)
    for stated, taken in ((12 * GIB, most), (2 * GIB, 2 * GIB)):
        processes, rest = budget.split_reserve(budget.reserve(119 * GIB, stated), least, most)
        assert (processes.low_bytes, processes.size_bytes, processes.high_bytes) == (least, taken, most)
        assert taken + (rest.size_bytes or 0) == stated
    assert isinstance(budget.split_reserve(budget.reserve(None), least, most)[1].size_bytes, Unknown)


def test_only_the_leader_of_a_group_has_an_api_server() -> None:
    leader, follower = (budget.process_bytes(None, leads=leads) for leads in (True, False))
    assert leader[0] - follower[0] == leader[1] - follower[1] == 1042 << 20
    assert budget.process_bytes(2 * GIB, leads=True)[0] == follower[0] + 2 * GIB
    assert budget.process_bytes(2 * GIB, leads=False) == follower


def test_the_size_of_an_api_server_is_that_of_the_recorded_starts() -> None:
    records = [each for each in measurements.records() if each.subject.platform == "h100-80gb"]
    resident = [each.terms.host_bytes for each in records if each.terms.host_bytes is not None]
    assert len(resident) == 2
    [api_server] = {size >> 20 for size in resident}
    assert api_server << 20 == budget.process_bytes(None, leads=True)[0] - budget.BEYOND_BYTES[0]


@pytest.mark.parametrize(
    ("used", "share", "graphs"),
    [
        *((70_009, 0.85, 0.60), (69_017, 0.85, 0), (75_729, 0.92, 0), (57_649, 0.70, 0), (50_897, 0.60, 1.00)),
        *((76_843, 0.92, 1.01), (49_811, 0.60, 0), (48_489, 0.60, 0), (73_765, 0.90, 0), (49_459, 0.60, 0.17)),
    ],
)
def test_memory_beyond_the_share_is_that_of_ten_starts(used: int, share: float, graphs: float) -> None:
    """What nvidia-smi said of an H100 after requests, in MiB; CUDA sees 79.18 GiB of it."""
    beyond = (used << 20) - requested_bytes(round(79.18 * GIB), share) - graphs * GIB
    assert beyond <= budget.BEYOND_BYTES[1]


def test_an_engine_is_planned_as_the_largest_of_five_starts() -> None:
    """The memory of five engines in GiB, before requests, with their part of shared pages (PSS)."""
    largest = max(1.76, 2.10, 1.61, 1.95, 1.67) * GIB
    least, most = budget.process_bytes(0, leads=True)
    assert largest <= most - budget.BEYOND_BYTES[1] < largest * 1.01
    assert least == 0


def test_a_host_that_is_too_small_has_less_than_nothing_left() -> None:
    assert host(40 * GIB, servers=(placed(),)).headroom_bytes == -10 * GIB


def test_an_unknown_term_of_a_host_is_named_and_bounds_what_is_left() -> None:
    found = host(100 * GIB, servers=(placed(),), services=(Term("web", Unknown(("web",)), ""),))
    assert found.headroom_bytes == Unknown(("web",))
    assert found.most_bytes == 50 * GIB


def test_a_host_of_unknown_size_is_named_with_its_unknown_terms() -> None:
    assert host(None).headroom_bytes == Unknown(("total memory",))
    found = host(None, services=(Term("web", Unknown(("web",)), ""),))
    assert (found.headroom_bytes, found.most_bytes) == (Unknown(("total memory", "web")), None)


def test_the_smallest_host_of_a_group_counts() -> None:
    assert group_bytes({"a": 121, "b": 119}) == 119
    assert group_bytes({"a": 121, "b": None}) == Unknown(("total memory of b",))
    assert group_bytes({}) == Unknown(("hosts of the group",))


def test_a_share_is_rounded_up() -> None:
    assert budget.requested_bytes(101, 0.5) == 51


# -- weights ---------------------------------------------------------------------------------------------------


def test_tensors_of_the_lock_come_before_what_a_source_states() -> None:
    stated = Term("weights", 5, "a source")
    assert weights("w", options=told(), tensors={"BF16": 10, "F4": 3}, stated=stated).size_bytes == 22
    assert weights("w", options=told(), tensor_bytes=7, stated=stated).size_bytes == 7
    assert weights("w", options=told(), stated=stated) == Term("w", 5, "a source")


def test_weights_that_nobody_states_are_unknown() -> None:
    assert isinstance(weights("w", options=told()).size_bytes, Unknown)
    assert isinstance(weights("w", options=told(), tensors={"NEW": 3}).size_bytes, Unknown)


def test_ranks_share_weights_evenly_and_that_is_an_assumption() -> None:
    given = {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}
    found = weights("w", options=told(given), tensor_bytes=10)
    assert (found.size_bytes, found.assumed) == (3, True)
    assert "4 ranks" in found.source


def test_eight_bits_at_load_halve_linear_layers_and_not_the_embeddings() -> None:
    whole = Term("w", 2000, "lock")
    width = Width(hidden=10, vocabulary=20)
    found = quantized_at_load(whole, options=told(), tensors={"BF16": 1000}, width=width)
    assert (found.size_bytes, found.assumed) == (600 + 2 * 400, True)
    assert quantized_at_load(whole, options=told(), tensors={"BF16": 300}, width=width).size_bytes == 600


def test_a_quantized_checkpoint_stays_as_it_is_at_load() -> None:
    whole = Term("w", 2000, "lock")
    width = Width(hidden=10, vocabulary=20)
    assert quantized_at_load(whole, options=told(), tensors={"BF16": 10, "U8": 90}, width=width) is whole
    assert quantized_at_load(whole, options=told(), tensors={}, width=width) is whole


@pytest.mark.parametrize("width", [Width(hidden=10), Width(vocabulary=10)])
def test_eight_bits_at_load_of_an_unknown_width_are_unknown(width: Width) -> None:
    found = quantized_at_load(Term("w", 2000, "lock"), options=told(), tensors={"BF16": 10}, width=width)
    assert isinstance(found.size_bytes, Unknown)


def test_while_servers_load_the_page_cache_holds_their_files_too() -> None:
    """The second one of two adds its weights, and their files, to all memory of the first one."""
    first, second = placed(), placed({"tensor_parallel_size": 2})._replace(name="two")
    options = told({}, release=LATEST)
    peak = budget.loading([(first, options), (second, told({"tensor_parallel_size": 2}, release=LATEST))])
    before = total_bytes(first.taken)
    assert peak is not None
    assert not isinstance(before, Unknown)
    assert (peak.name, peak.low_bytes, peak.high_bytes) == ("two", before + 20 * GIB, before + 60 * GIB)
    assert peak.resting_bytes == least_bytes((*first.taken, *second.taken))


def test_without_the_weights_the_memory_while_they_load_is_unknown() -> None:
    unsized = placed(weights=Term("weights", Unknown(("weights",)), ""))
    assert budget.loading([(unsized, Unknown(()))]) is None
    assert budget.loading([]) is None
