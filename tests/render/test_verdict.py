"""The verdict on a host: one word and a reason, with the figure that all other places show."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.memory.values import GIB, Unknown
from sparkiac.plan import memory_use
from sparkiac.plan.memory_use import HostMemoryUse
from sparkiac.render import labels
from sparkiac.render.labels import verdict
from tests.plan.fleets import deployment, planned

EMPTY: Final = HostMemoryUse(119 * GIB, (), 10 * GIB, 10 * GIB, (), None)


def of(text: str) -> tuple[HostMemoryUse, labels.Verdict]:
    [host] = planned(text).hosts
    use = memory_use.of(host)
    return use, verdict(use)


@pytest.mark.parametrize(
    ("left_bytes", "found"),
    [
        (10 * GIB, "fits: 10.0 GiB left free"),
        (2 * GIB, "fits: 2.0 GiB left free"),
        (2 * GIB - 1, "tight: 2.0 GiB left free"),
        (0, "tight: 0.0 GiB left free"),
        (-1 * GIB, "does not fit: 1.0 GiB over budget"),
    ],
)
def test_what_is_left_free_decides(left_bytes: int, found: str) -> None:
    assert str(verdict(EMPTY._replace(headroom_bytes=left_bytes, most_bytes=left_bytes))) == found


def test_an_unknown_value_is_not_a_pass_and_is_named() -> None:
    use = EMPTY._replace(headroom_bytes=Unknown(("asr", "asr")))
    assert str(verdict(use)) == "unknown: missing asr"


def test_a_proven_failure_counts_before_an_unknown_value() -> None:
    use = EMPTY._replace(headroom_bytes=Unknown(("asr",)), most_bytes=-GIB)
    assert str(verdict(use)) == "does not fit: 1.0 GiB over budget"


def test_the_figure_is_that_of_the_table() -> None:
    use, found = of(deployment())
    assert found.word == "unknown" or found.reason.startswith(labels.lines(use)[-1].size)


def test_a_server_that_does_not_start_does_not_fit() -> None:
    use, found = of(deployment("set: {gpu_memory_utilization: 0.1}"))
    assert use.accounts[0].shortage_bytes
    assert found.word == "does not fit"
    assert "weights and overhead of chat exceed its memory by " in found.reason


def test_figures_of_an_assumed_release_are_called_an_estimate() -> None:
    use, found = of(deployment("set: {gpu_memory_utilization: 0.5}"))
    [account] = use.accounts
    assumed = use._replace(accounts=(account._replace(assumes="vLLM 0.33.0"),))
    assert account.assumes is None
    assert verdict(assumed).reason == f"{found.reason}, an estimate"


def test_an_unknown_kv_cache_is_unknown() -> None:
    use, found = of(deployment())
    [account] = use.accounts
    changed = use._replace(accounts=(account._replace(fit=Unknown(("layers",)), shortage_bytes=None),))
    assert str(verdict(changed)) == "unknown: KV cache of chat; missing layers"
    assert found.word != "unknown"
