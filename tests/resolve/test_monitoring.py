"""The layers of the monitoring: every value has an origin, and `--explain` shows what it overrides."""

from __future__ import annotations

from sparkiac.resolve.stacks import history
from tests.monitoring.fleets import FULL, HEAD, SHORT
from tests.plan.fleets import resolved


def test_every_value_has_an_origin_and_a_history() -> None:
    found = resolved(FULL)
    paths = [path for path in found.leaves if path[0] == "monitoring"]
    parts = {path[: 3 if path[1] == "exporters" else 2] for path in paths}
    assert parts == {
        ("monitoring", "prometheus"),
        ("monitoring", "alertmanager"),
        ("monitoring", "grafana"),
        ("monitoring", "exporters", "node"),
        ("monitoring", "exporters", "gpu"),
    }
    for path in paths:
        layers = history(found.inventory, path, found.leaves, found.library)
        assert layers[-1] == found.leaves[path]


def test_the_inventory_overrides_the_kind() -> None:
    text = SHORT.replace("{hosts: spark-02}", "{hosts: spark-02, port: 9091}")
    leaves = resolved(text).leaves
    value, origin = leaves["monitoring", "prometheus", "port"]
    assert (value, origin.layer) == (9091, "inventory")
    value, origin = leaves["monitoring", "exporters", "gpu", "port"]
    assert (value, str(origin).partition(".yaml")[0]) == (
        9835,
        "service kind gpu-exporter catalog/services/gpu-exporter",
    )


def test_without_a_prometheus_there_are_no_values() -> None:
    text = HEAD + "monitoring: {external: [{name: a, url: 'http://a.b'}]}\n"
    assert not any(path[0] == "monitoring" for path in resolved(text).leaves)
