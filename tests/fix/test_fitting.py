"""Shares and contexts with which deployments fit beside each other, each confirmed by the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import pipeline
from sparkiac.fix import fitting
from sparkiac.fix.fitting import Fitted, Shortage
from sparkiac.memory.values import GIB, Unknown
from sparkiac.pipeline import InputFile
from sparkiac.plan import memory_use
from sparkiac.render.labels import verdict
from tests.plan.fleets import LOCK, PAIR, SPARK

if TYPE_CHECKING:
    from sparkiac.plan import Plan

ONE: Final = (
    "{{recipe: base/single-spark, model: example/model, hosts: {hosts}, port: {port}, set: {{{options}}}{more}}}"
)


def server(options: str, *, hosts: str = "spark-01", port: int = 8001, more: str = "") -> str:
    return ONE.format(options=options, hosts=hosts, port=port, more=more)


def fleet(hosts: str, *servers: str, more: str = "") -> str:
    listed = "".join(f"  m{number}: {each}\n" for number, each in enumerate(servers, 1))
    return f"name: lab\ndefaults: {{model_store: /srv/models}}\nhosts:\n  {hosts}\ndeployments:\n{listed}{more}"


def planned(text: str) -> Plan | None:
    lock = InputFile("lab.lock.yaml", LOCK.encode())
    return pipeline.check(InputFile("lab.yaml", text.encode()), lock, allow_unlocked=True).plan


def fitted(text: str, *hosts: str) -> Fitted:
    found = fitting.fitted(text, hosts or ("spark-01",), planned)
    assert isinstance(found, Fitted)
    for host in found.plan.hosts:
        for view in host.views:
            assert verdict(memory_use.of(view)).word == "fits"
    return found


def options(found: Fitted, name: str) -> dict[str, object]:
    [container, *_] = (each for _, each in found.plan.containers if each.name == name)
    return dict(container.server.options)


def test_what_fits_stays_as_it_is() -> None:
    text = fleet(SPARK, server("gpu_memory_utilization: 0.4"), server("gpu_memory_utilization: 0.4", port=8002))
    assert fitted(text).text == text


def test_nobody_gets_more_than_it_asks_for() -> None:
    text = fleet(SPARK, server("gpu_memory_utilization: 0.85"), server("gpu_memory_utilization: 0.2", port=8002))
    found = fitted(text)
    assert options(found, "m2")["gpu_memory_utilization"] == 0.2
    assert 0.6 <= float(str(options(found, "m1")["gpu_memory_utilization"])) <= 0.7


def test_a_cache_of_a_fixed_size_shrinks_with_the_share_that_vllm_compares() -> None:
    """Its check of the free memory reads the share also if the size of the KV cache is set."""
    pool = f"gpu_memory_utilization: 0.85, kv_cache_memory_bytes: {90 * GIB}"
    found = fitted(fleet(SPARK, server(pool), server("gpu_memory_utilization: 0.85", port=8002)))
    first = options(found, "m1")
    assert first["kv_cache_memory_bytes"] < 40 * GIB  # type: ignore[operator]
    assert float(str(first["gpu_memory_utilization"])) < 0.5


def test_a_context_is_halved_if_shares_are_not_enough_but_not_that_of_a_workload() -> None:
    """On 48 GiB, two times 14.9 GiB of weights leave too little for two long requests."""
    small = SPARK.replace("11}", "11, memory: {total_gib: 48}}")
    long = "gpu_memory_utilization: 0.85, max_model_len: 262144"
    needs = ", workload: {users: 1, context: 131072}"
    found = fitted(fleet(small, server(long), server(long, port=8002, more=needs)))
    first, second = (int(str(options(found, name)["max_model_len"])) for name in ("m1", "m2"))
    assert first < 262144
    assert second >= 131072


def test_what_is_missing_is_said_in_bytes() -> None:
    small = SPARK.replace("11}", "11, memory: {total_gib: 34}}")
    found = fitting.fitted(fleet(small, server(""), server("", port=8002)), ("spark-01",), planned)
    assert isinstance(found, Shortage)
    assert (found.where, [name for name, _ in found.least_bytes]) == ("spark-01", ["m1", "m2"])
    assert 2 * GIB < found.missing_bytes < 12 * GIB


def test_a_context_that_a_host_sets_cannot_be_halved_in_the_deployment() -> None:
    small = SPARK.replace("11}", "11, memory: {total_gib: 40}}")
    fixed = ", per_host: {spark-01: {set: {max_model_len: 262144}}}"
    text = fleet(small, server("", more=fixed), server("", port=8002, more=fixed))
    assert isinstance(fitting.fitted(text, ("spark-01",), planned), Shortage)


def test_a_size_that_is_unknown_is_no_share() -> None:
    text = fleet(SPARK, server(""), server("", port=8002).replace("example/model", "example/other"))
    found = fitting.fitted(text, ("spark-01",), planned)
    assert isinstance(found, Unknown)
    assert found.missing == ("weights of m2",)


def test_servers_of_different_turns_do_not_share() -> None:
    both = [server("gpu_memory_utilization: 0.7"), server("gpu_memory_utilization: 0.7", port=8002)]
    third = server("gpu_memory_utilization: 0.6", port=8003)
    found = fitted(fleet(SPARK, *both, third, more="turns: {day: [m1], night: [m2]}\n"))
    shares = [float(str(options(found, name)["gpu_memory_utilization"])) for name in ("m1", "m2", "m3")]
    assert shares[0] == shares[1] < 0.7
    assert 0.8 < shares[0] + shares[2] <= 0.9


def test_a_group_gets_one_share_that_fits_on_all_its_hosts() -> None:
    beside = f"  m1: {server('gpu_memory_utilization: 0.6', hosts='spark-02')}\n"
    found = fitted(PAIR + beside, "spark-02")
    group, alone = (float(str(options(found, name)["gpu_memory_utilization"])) for name in ("big", "m1"))
    assert 0.8 < group + alone <= 0.9
