"""Where a value comes from: the layer that won, and every layer that it won over."""

from __future__ import annotations

import pytest

from sparkiac.resolve import explain, explained_paths
from sparkiac.resolve.stacks import history
from tests.plan.fleets import COMMIT, ONES, PAIR, deployment, resolved, service

LAYERED = deployment(
    "set: {max_model_len: 8192}",
    "per_host: {spark-01: {set: {max_model_len: 4096}}}",
    defaults="{model_store: /srv/models, set: {max_model_len: 16384}}",
)


def said(text: str, path: str) -> dict[str, list[tuple[object, str]]]:
    found = explain(resolved(text), path)
    return {each.path: [(value, str(origin)) for value, origin in each.values] for each in found}


def test_every_layer_that_said_something_is_named_the_last_one_holds() -> None:
    recipe = "recipe base/single-spark catalog/recipes/base/single-spark.yaml"
    [(path, layers)] = said(LAYERED, "deployments.chat.set.max_model_len").items()
    assert path == "deployments.chat.set.max_model_len"
    assert [(value, origin.partition(":")[0]) for value, origin in layers] == [
        (65536, recipe),
        (16384, "inventory lab.yaml"),
        (8192, "inventory lab.yaml"),
        (4096, "inventory lab.yaml"),
    ]
    assert layers[-1][1] == "inventory lab.yaml:11"


def test_a_path_may_name_the_host_or_a_group_of_values() -> None:
    one = said(LAYERED, "deployments.chat.spark-01.set.max_model_len")
    assert one == said(LAYERED, "deployments.chat.set.max_model_len")
    assert one.items() <= said(LAYERED, "deployments.chat.set").items() <= said(LAYERED, "deployments").items()


def test_hosts_of_a_group_that_differ_are_distinguished() -> None:
    text = PAIR + "    per_host: {spark-01: {env: {A: b}}}\n    env: {A: a, C: c}\n"
    assert [
        (path, layers[-1][0])
        for path, layers in said(text, "deployments.big.env").items()
        if path.endswith((".A", ".C"))
    ] == [
        ("deployments.big.spark-01.env.A", "b"),
        ("deployments.big.spark-02.env.A", "a"),
        ("deployments.big.env.C", "c"),
    ]


def test_a_key_may_hold_dots() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11, sysctl: {vm.swappiness: 7}}")
    [(_, layers)] = said(text, "hosts.spark-01.sysctl.vm.swappiness").items()
    assert [value for value, _ in layers] == [1, 7]


def test_what_the_table_of_drafters_adds_is_a_layer() -> None:
    text = deployment("speculative: {method: dflash}").replace("example/model", "Qwen/Qwen3.6-35B-A3B")
    [(_, layers)] = said(text, "deployments.chat.speculative").items()
    assert [origin.partition(" lab.yaml")[0] for _, origin in layers] == [
        "inventory",
        "inventory, completed from the table of drafters",
    ]


def test_services_and_builds_are_explained() -> None:
    assert said(service("port: 8765"), "services.asr.port") == {
        "services.asr.port": [(8765, "inventory lab.yaml:9")],
    }
    source = f"repository: 'https://example.org/x', commit: '{COMMIT}', install: [make]"
    built = deployment("image: engine") + f"builds:\n  engine: {{why: x, base: 'a:1@{ONES}', {source}}}\n"
    assert list(said(built, "builds.engine.base").values()) == [[(f"a:1@{ONES}", "inventory lab.yaml:12")]]


def test_what_is_not_there_has_no_explanation() -> None:
    assert explain(resolved(LAYERED), "deployments.chat.set.max_model") == ()
    assert "deployments.chat.set.max_model_len" in explained_paths(resolved(LAYERED))


@pytest.mark.parametrize("text", [LAYERED, PAIR, service("port: 8765")])
def test_the_history_of_every_value_ends_with_what_holds(text: str) -> None:
    found = resolved(text)
    for path, (value, origin) in found.leaves.items():
        assert history(found.inventory, path, found.leaves, found.library)[-1] == (value, origin)
    assert history(found.inventory, ("fleet", "x"), found.leaves, found.library) == ()
