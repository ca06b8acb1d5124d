"""What a pool holds, what a workload needs, what another utilization buys, and the one call for all of it."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.memory import fit
from sparkiac.memory.budget import requested_bytes, server
from sparkiac.memory.fit import Advice, Fit, UtilizationStep
from sparkiac.memory.prediction import Checkpoint, Prediction, Setup, predict
from sparkiac.memory.values import GIB, Term, Unknown
from sparkiac.model.facts import Architecture
from sparkiac.model.inventory import Measured, Workload
from sparkiac.model.lock import LockedModel
from tests.memory.known import GUIDE, LATEST, MTP_3, QWEN, TOTAL_BYTES, configs, laid, network, told

ONE_LONG = Workload(users=1, context=262_144)
STATED = Term("weights", round(21.94 * GIB), "Spark guide L345")


def pinned(**facts: Any) -> LockedModel:  # noqa: ANN401  the model's own facts
    return LockedModel(commit="0" * 40, **facts)


def predicted(given: dict[str, Any] | None = None, **facts: Any) -> Prediction:  # noqa: ANN401  the function's own facts
    known: dict[str, Any] = {
        "checkpoint": Checkpoint(pinned(config=configs()[QWEN]), stated=STATED),
        "given": {**GUIDE, **(given or {})},
        "release": LATEST,
        "total_bytes": TOTAL_BYTES,
        "method": "mtp",
        "draft_tokens": 3,
    }
    return predict(Setup("qwen", **{**known, **facts}))


# -- a pool ----------------------------------------------------------------------------------------------------


def test_one_request_fits_from_its_own_size_on() -> None:
    layout = laid(QWEN, GUIDE, release=(0, 23, 0), speculation=MTP_3)
    assert not fit.fit(layout, layout.request_bytes - 1, max_num_seqs=1).one
    assert fit.fit(layout, layout.request_bytes, max_num_seqs=1) == Fit(
        layout.request_bytes, layout.request_blocks, 65_536, 1.0, one=True, all=True
    )
    assert not fit.fit(layout, 4 * layout.request_bytes - 1, max_num_seqs=4).all


# -- advice ----------------------------------------------------------------------------------------------------


def test_the_smallest_utilization_serves_the_workload_and_one_step_less_does_not() -> None:
    found = predicted(workload=ONE_LONG).advice
    assert isinstance(found, Advice)
    assert found.utilization is not None
    long = {"max_model_len": 262_144}
    enough = predicted({**long, "gpu_memory_utilization": found.utilization})
    less = predicted({**long, "gpu_memory_utilization": found.utilization - 0.01})
    assert isinstance(enough.fit, Fit)
    assert isinstance(less.fit, Fit)
    assert (enough.fit.one, less.fit.one) == (True, False)
    assert found.utilization == 0.26
    assert found.freed_bytes == requested_bytes(TOTAL_BYTES, 0.85) - requested_bytes(TOTAL_BYTES, 0.26)


def test_a_fixed_pool_of_the_advised_size_serves_the_workload() -> None:
    found = predicted(workload=ONE_LONG).advice
    assert isinstance(found, Advice)
    assert found.told
    exact = predicted({"max_model_len": 262_144, "max_num_seqs": 1, "kv_cache_memory_bytes": found.pool_bytes})
    assert isinstance(exact.fit, Fit)
    assert exact.fit.all
    assert exact.steps == ()


def test_a_workload_beyond_all_memory_has_no_utilization() -> None:
    found = predicted(workload=Workload(users=1000, context=262_144)).advice
    assert isinstance(found, Advice)
    assert (found.utilization, found.freed_bytes) == (None, None)


@pytest.mark.parametrize(("release", "told"), [((0, 10, 1, 1), False), ((0, 10, 2), True)])
def test_a_pool_can_be_fixed_from_0_10_2_on(release: tuple[int, ...], told: bool) -> None:  # noqa: FBT001  a parameter
    found = predicted(workload=ONE_LONG, release=release).advice
    assert isinstance(found, Advice)
    assert found.told is told


def test_advice_names_what_is_missing() -> None:
    assert predicted(total_bytes=None).advice == Unknown(("total memory",))
    unknown = Checkpoint(pinned(config=configs()[QWEN]))
    assert predicted(checkpoint=unknown).advice == Unknown(("weights",))


def test_advice_without_a_workload_is_for_one_request_of_the_context() -> None:
    assert predicted().advice == predicted(workload=Workload(users=1, context=65_536)).advice
    assert predicted({"max_model_len": None}).advice == predicted(workload=ONE_LONG).advice


def test_a_server_of_an_unknown_request_frees_nothing_known() -> None:
    placed = server("x", total_bytes=None, options=told(GUIDE), weights=STATED)
    found = fit.advise(
        ONE_LONG.users,
        ONE_LONG.context,
        server=placed,
        total=TOTAL_BYTES,
        shape=network(QWEN),
        options=told(GUIDE),
        speculation=MTP_3,
    )
    assert isinstance(found, Advice)
    assert found.freed_bytes is None


# -- steps -----------------------------------------------------------------------------------------------------


def test_lowering_gives_memory_to_the_host_and_raising_gives_tokens_to_the_pool() -> None:
    lower, higher = predicted().steps
    assert isinstance(lower, UtilizationStep)
    assert isinstance(higher, UtilizationStep)
    assert (lower.utilization, higher.utilization) == (0.8, 0.9)
    assert lower.host_bytes == -higher.host_bytes == pytest.approx(0.05 * TOTAL_BYTES, abs=1)
    assert lower.tokens < 4_838_266 < higher.tokens
    assert lower.concurrency < 73.8 < higher.concurrency


def test_steps_stay_between_nothing_and_all() -> None:
    assert [
        step.utilization
        for step in predicted({"gpu_memory_utilization": 0.97}).steps
        if isinstance(step, UtilizationStep)
    ] == [0.92]
    assert [
        step.utilization
        for step in predicted({"gpu_memory_utilization": 0.04}).steps
        if isinstance(step, UtilizationStep)
    ] == [0.09]


def test_steps_name_what_is_missing() -> None:
    unknown = Checkpoint(pinned(config=configs()[QWEN]))
    assert predicted(checkpoint=unknown).steps == (Unknown(("weights",)),) * 2
    placed = server("x", total_bytes=None, options=told(GUIDE), weights=STATED)
    layout = laid(QWEN, GUIDE, speculation=MTP_3)
    assert fit.step(placed, layout, total=TOTAL_BYTES, utilization=0.5) == Unknown(("requested",))


# -- the one call ------------------------------------------------------------------------------------------------


def test_the_pool_of_the_guide_is_predicted_within_3_percent() -> None:
    found = predicted()
    assert isinstance(found.fit, Fit)
    assert found.fit.pool_bytes == pytest.approx(76.49 * GIB, rel=0.03)
    assert found.fit.tokens == pytest.approx(4_843_965, rel=0.03)
    assert found.fit.all


def test_after_a_start_the_next_prediction_is_exact() -> None:
    overhead = requested_bytes(TOTAL_BYTES, 0.85) - round(21.94 * GIB) - round(76.49 * GIB)
    found = predicted(calibration=Measured(weights_bytes=round(21.94 * GIB), overhead_bytes=overhead))
    assert isinstance(found.fit, Fit)
    assert (found.fit.pool_bytes, found.fit.tokens) == (round(76.49 * GIB), 4_843_965)


def test_options_without_sense_leave_everything_unknown() -> None:
    found = predicted({"max_num_seqs": 0})
    wrong = Unknown(("max_num_seqs",))
    assert (found.options, found.cache, found.server, found.fit, found.advice, found.steps) == (wrong,) * 5 + ((),)
    both = predicted({"max_num_seqs": 0}, checkpoint=Checkpoint())
    assert both.fit == Unknown(("max_num_seqs", "config.json"))


def test_an_unknown_network_leaves_the_servers_terms_known() -> None:
    found = predicted(checkpoint=Checkpoint(stated=STATED))
    assert found.cache == found.fit == found.advice == Unknown(("config.json",))
    assert not isinstance(found.server, Unknown)
    assert found.server.pool.size_bytes == requested_bytes(TOTAL_BYTES, 0.85) - (STATED.size_bytes or 0) - 3 * GIB


@pytest.mark.parametrize(("seqs", "all_fit"), [(1, True), (2, False)])
def test_an_earlier_start_shows_the_tokens_of_a_cache_that_is_not_understood(seqs: int, *, all_fit: bool) -> None:
    config = {**configs()["deepseek-ai/DeepSeek-V4-Flash"], "model_type": "deepseek_v41"}
    network = Checkpoint(pinned(config=config), stated=Term("w", 74 * GIB, "thread L315"))
    options = {"max_model_len": 300_000, "max_num_seqs": seqs}
    before = Measured(overhead_bytes=3 * GIB, pool_bytes=20 * GIB, tokens=313_000, context=300_000)
    found = predicted(options, checkpoint=network, method=None, calibration=before).fit
    assert isinstance(found, Fit)
    assert found.tokens == found.pool_bytes * 313_000 // (20 * GIB)
    assert (found.blocks, found.one, found.all) == (None, True, all_fit)
    other = predicted({"max_model_len": 200_000}, checkpoint=network, method=None, calibration=before)
    assert other.fit == Unknown(("the layers of model type deepseek_v41",))


def test_an_unknown_drafter_is_named() -> None:
    found = predicted(method="eagle3", drafter=Checkpoint())
    assert found.fit == Unknown(("config.json of the drafter", "drafter"))
    assert found.advice == Unknown(("config.json of the drafter",))
    assert found.steps == ()


def test_a_drafter_of_its_own_takes_weights() -> None:
    layers = Architecture(full_attention_layers=1, kv_heads=2, head_size=256)
    drafter = Checkpoint(pinned(tensor_bytes=GIB), layers)
    found = predicted(method="eagle3", drafter=drafter)
    assert not isinstance(found.server, Unknown)
    assert found.server.inside[1] == Term("drafter", GIB, "tensors of the locked files")


def test_counts_serve_where_no_configuration_is_known() -> None:
    counts = Architecture(full_attention_layers=4, kv_heads=2, head_size=64, native_context=4096)
    found = predicted(checkpoint=Checkpoint(architecture=counts, stated=STATED), method=None)
    assert isinstance(found.fit, Fit)
    assert found.fit.one


def test_a_layout_that_the_release_refuses_leaves_fit_and_steps_unknown() -> None:
    found = predicted(
        release=(0, 19, 0), checkpoint=Checkpoint(pinned(config=configs()["XiaomiMiMo/MiMo-V2-Flash"]), stated=STATED)
    )
    assert isinstance(found.cache, Unknown)
    assert isinstance(found.fit, Unknown)
    assert found.steps == ()


def test_a_server_on_an_unknown_host_has_no_known_pool() -> None:
    found = predicted(total_bytes=None)
    assert found.fit == Unknown(("requested",))
    assert found.steps == ()


def test_a_checkpoint_in_16_bits_is_halved_by_fp8_at_load() -> None:
    tensors = {"BF16": 25_000_000_000}
    known = Checkpoint(pinned(config=configs()["google/gemma-4-26B-A4B"], tensors=tensors))
    plain = predicted(checkpoint=known, method=None).server
    eight = predicted({"quantization": "fp8"}, checkpoint=known, method=None).server
    assert not isinstance(plain, Unknown)
    assert not isinstance(eight, Unknown)
    assert plain.inside[0].size_bytes == 50_000_000_000
    assert 25_000_000_000 < (eight.inside[0].size_bytes or 0) < 27_000_000_000
