"""Values that something asks for: missing, taken away by a null, or of a type that cannot be read."""

from __future__ import annotations

import pytest

from sparkiac.engines.records import vllm
from tests.plan.fleets import PAIR, deployment, faults, resolution, service

NAMED = "spark-01: {address: spark-01.example.org}"


@pytest.mark.parametrize(
    ("line", "place", "key"),
    [
        ("image: null", "10:12", "image"),
        ("bind: null", "10:11", "bind"),
        ("set: null", "10:5", "set.port"),
        ("set: {port: null}", "10:17", "set.port"),
        ("container: {ipc: null}", "10:22", "container.ipc"),
        ("container: {tmp_size_gib: null}", "10:31", "container.tmp_size_gib"),
        ("container: {read_only: null}", "10:28", "container.read_only"),
        ("timeouts: {ready_s: null}", "10:25", "timeouts.ready_s"),
        ("timeouts: {stop_s: null}", "10:24", "timeouts.stop_s"),
        ("timeouts: {restart_delay_s: null}", "10:33", "timeouts.restart_delay_s"),
        ("timeouts: {drain_s: null}", "10:25", "timeouts.drain_s"),
        ("timeouts: {answer_s: null}", "10:26", "timeouts.answer_s"),
    ],
)
def test_a_null_that_takes_away_what_is_needed(line: str, place: str, key: str) -> None:
    assert faults(deployment(line)) == [
        f"REF003 {place} deployment chat has no {key}: neither the catalog nor the inventory sets it"
    ]


def test_a_null_for_the_recipes_model() -> None:
    text = deployment().replace("base/single-spark", "google/gemma-4-26b-a4b-it-fp8")
    text = text.replace("model: example/model", "model: null")
    assert faults(text) == ["REF003 7:12 deployment chat has no model: neither the catalog nor the inventory sets it"]


def test_a_null_in_the_defaults_is_reported_at_the_deployment() -> None:
    text = deployment(defaults="{model_store: /srv/models, bind: null}")
    assert faults(text) == ["REF003 5:3 deployment chat has no bind: neither the catalog nor the inventory sets it"]


@pytest.mark.parametrize(
    ("line", "place", "key"),
    [("bind: null", "9:11", "bind"), ("timeouts: {stop_s: null}", "9:24", "timeouts.stop_s")],
)
def test_a_null_in_a_service(line: str, place: str, key: str) -> None:
    assert faults(service(line, "port: 80")) == [
        f"REF003 {place} service asr has no {key}: neither the catalog nor the inventory sets it"
    ]


def test_nulls_that_take_away_what_is_not_needed() -> None:
    lines = ("api_key: null", "served_names: null", "description: null", "env: null")
    assert faults(deployment(*lines, "container: {mounts: null, ulimits: null, shm_size_gib: null}")) == []
    assert faults(service("env: null", "mounts: null", "command: null", "health: null", "description: null")) == []


def test_a_deployment_that_mounts_the_store_needs_to_know_where_it_is() -> None:
    text = deployment(defaults="{}")
    assert faults(text) == ["REF003 5:3 chat mounts the model store, but no model_store is set"]
    assert faults(deployment("container: {mounts: null}", defaults="{}")) == []
    slower = deployment("container: {mounts: null}", "load_memory: {read_ahead_kib: 8}", defaults="{}")
    assert faults(slower) == ["REF003 5:3 chat changes the read-ahead of the model store, but no model_store is set"]
    assert faults(deployment(defaults="{}", host="spark-01: {address: 192.168.1.11, model_store: /data}")) == []


@pytest.mark.parametrize(
    ("time", "change"), [("drop_caches_for_s", "drop_caches_every_s"), ("read_ahead_for_s", "read_ahead_kib")]
)
def test_the_time_of_a_change_needs_the_change(time: str, change: str) -> None:
    assert faults(deployment(f"load_memory: {{{time}: 60}}")) == [
        f"INV002 10:{21 + len(time)} load_memory.{time} of chat has no effect without {change}"
    ]
    assert faults(deployment(f"load_memory: {{{time}: 60, {change}: 1}}")) == []


def test_a_kernel_setting_cannot_apply_while_a_model_loads_and_always() -> None:
    host = "spark-01: {address: 192.168.1.11, sysctl: {vm.dirty_ratio: 10}}"
    [found] = faults(deployment("load_memory: {sysctl: {vm.dirty_ratio: 5, vm.vfs_cache_pressure: 200}}", host=host))
    assert found.startswith("INV002 ")
    assert found.endswith("load_memory of chat sets vm.dirty_ratio, which spark-01 always sets to 10")
    assert faults(deployment("load_memory: {sysctl: {vm.dirty_ratio: 5}}")) == []


def test_a_service_that_mounts_the_store_needs_to_know_where_it_is() -> None:
    mounts = "mounts: {/models: {source: model_store}}"
    assert faults(service(mounts)) == ["REF003 5:3 asr mounts the model store, but no model_store is set"]
    assert faults(service(mounts, defaults="{model_store: /srv/models}")) == []


def test_lan_needs_an_ip_address() -> None:
    message = "bind: lan needs an IP address, but the address of spark-01 is 'spark-01.example.org'"
    assert faults(deployment(host=NAMED)) == [f"REF003 5:3 {message}"]
    assert faults(deployment("bind: lan", host=NAMED)) == [f"REF003 10:11 {message}"]
    assert faults(service("port: 80", host=NAMED)) == [f"REF003 5:3 {message}"]


@pytest.mark.parametrize("bind", ["any", "loopback"])
def test_other_binds_need_none(bind: str) -> None:
    assert faults(deployment(f"bind: {bind}", host=NAMED)) == []
    assert faults(service(f"bind: {bind}", "port: 80", host=NAMED)) == []


def test_a_service_without_a_port_binds_nothing() -> None:
    assert faults(service(host=NAMED)) == []


def test_fabric_needs_a_link() -> None:
    message = "bind: fabric needs a fabric link, but spark-01 has none"
    assert faults(deployment("bind: fabric")) == [f"REF003 10:11 {message}"]
    assert faults(service("bind: fabric", "port: 80")) == [f"REF003 9:11 {message}"]
    assert faults(PAIR + "    bind: fabric\n") == []


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("port: '8000'", "must be a port number, not '8000'"),
        ("port: 0", "must be a port number, not 0"),
        ("port: 65536", "must be a port number, not 65536"),
        ("port: true", "must be a port number, not True"),
        ("port: [8000]", "must be a port number, not (8000,)"),
        ("gpu_memory_utilization: '0.5'", "must be a number above 0 and at most 1, not '0.5'"),
        ("gpu_memory_utilization: 0", "must be a number above 0 and at most 1, not 0"),
        ("gpu_memory_utilization: 85", "must be a number above 0 and at most 1, not 85"),
        ("gpu_memory_utilization: 1.0e+308", "must be a number above 0 and at most 1, not 1e+308"),
        ("gpu_memory_utilization: true", "must be a number above 0 and at most 1, not True"),
        ("speculative_config: {method: ngram}", "must be set with the key `speculative:` instead"),
        ("served_model_name: qwen", "must be set with the key `served_names:` instead"),
    ],
)
def test_an_option_that_the_plan_cannot_read(option: str, wanted: str) -> None:
    name = option.split(":", maxsplit=1)[0]
    column = 13 + len(name)
    assert faults(deployment(f"set: {{{option}}}")) == [f"INV002 10:{column} set.{name} of chat {wanted}"]


@pytest.mark.parametrize(
    "option",
    ["port: 1", "port: 65535", "gpu_memory_utilization: 1", "gpu_memory_utilization: 0.01"],
)
def test_an_option_at_its_bounds(option: str) -> None:
    assert faults(deployment(f"set: {{{option}}}")) == []


def test_an_option_of_the_defaults_is_shown_there() -> None:
    text = deployment(defaults="{model_store: /srv/models, set: {port: x}}")
    assert faults(text) == ["INV002 2:50 set.port of chat must be a port number, not 'x'"]


def test_an_option_of_a_recipe_is_shown_at_the_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkiac.engines.named", lambda _: vllm.ENGINE._replace(defaults={"set": {"port": 0}}))
    assert "INV002 5:3 set.port of chat must be a port number, not 0" in faults(deployment())


def test_what_is_worked_out_for_a_group_is_not_said_by_hand() -> None:
    """It would be written over, and nobody would know."""
    said = {"distributed_executor_backend": "ray", "nnodes": 2, "node_rank": 0, "master_addr": "10.0.0.1"}
    for option, value in said.items():
        told = f"set.{option} of big is computed from the hosts of the group; {value!r} would be ignored"
        assert faults(PAIR + f"    set: {{{option}: {value}}}\n") == [f"INV002 16:{13 + len(option)} {told}"] * 2
    assert faults(PAIR + "    set: {distributed_executor_backend: mp}\n") == []
    assert faults(deployment("set: {distributed_executor_backend: ray}")) == []


@pytest.mark.parametrize(("line", "column"), [("health: /health", 13), ("container_port: 80", 21)])
def test_what_has_no_effect_without_a_port(line: str, column: int) -> None:
    key = line.split(":", maxsplit=1)[0]
    text = service(line)
    assert faults(text) == [f"REF003 9:{column} service asr has a {key} but no port"]
    assert [finding.hint for finding in resolution(text)[0]] == ["add `port:`"]
    assert faults(service(line, "port: 80")) == []
