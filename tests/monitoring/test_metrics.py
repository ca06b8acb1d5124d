"""Every query asks only for metrics that exist: in the pinned release, in an exporter, or in the file of sparkiac."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog, engines
from sparkiac.host.status import metrics as host_metrics
from sparkiac.plan.monitoring import grafana, prometheus
from tests.monitoring import exporters
from tests.monitoring.fleets import FULL, promtool, rendered, rules
from tests.monitoring.queries import names

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = sorted((Path(__file__).parents[1] / "fleet/data/metrics").glob("vllm-*.txt"))
"""Names on the pages of running servers, by release."""
OWN = frozenset(host_metrics.HELP)
RECORDED = frozenset(prometheus.PREFIX + each.name for each in prometheus.RECORDS)


def queries() -> Iterator[str]:
    """Return every query of every alert and every panel."""
    for group in catalog.alert_groups().values():
        yield from (each.expr for each in group.alerts)
    for dashboard in grafana.EVERY:
        for panel in dashboard.panels:
            yield from (expr for expr, _ in panel.queries)
        for variable in dashboard.variables:
            yield variable.query.removeprefix("label_values(").rpartition(",")[0]


def test_the_names_in_a_query() -> None:
    expr = (
        'sum by (host, deployment) (rate(a:b_total{x="y"}[5m])) / on (host) (c > 0) and d offset 1d < 9 unless 0.5 * e'
    )
    assert names(expr) == {"a:b_total", "c", "d", "e"}


@pytest.mark.parametrize("query", sorted(set(queries())))
def test_a_query_reads_recorded_quantities_and_known_metrics(query: str) -> None:
    assert names(query)
    assert names(query) <= RECORDED | OWN | exporters.EVERY


def test_what_an_alert_and_a_panel_read_is_what_they_declare() -> None:
    declared = [(each.expr, each.records) for group in catalog.alert_groups().values() for each in group.alerts]
    for dashboard in grafana.EVERY:
        declared += [(expr, panel.records) for panel in dashboard.panels for expr, _ in panel.queries]
    for expr, records in declared:
        assert {name.removeprefix(prometheus.PREFIX) for name in names(expr) & RECORDED} == set(records), expr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_recorded_metric_exists_in_that_release(page: Path) -> None:
    """Speculation is off on all pages but one."""
    release = page.stem.split("-")[1]
    speculates = page.stem.endswith("speculation")
    offer = {
        key: each for key, each in engines.quantities("vllm", release).items() if speculates or not each.speculation
    }
    found = prometheus.recorded([offer])
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    served = set(kinds) | {f"{name}_bucket" for name, kind in kinds.items() if kind == "histogram"}
    asked = {name for expr in found.values() for name in names(expr)}
    assert asked
    assert asked <= served
    assert {"requests_running", "kv_use", "first_token_p95_seconds", "prefix_cache_hit_ratio"} <= found.keys()
    assert ("acceptance_ratio" in found) is speculates


def test_there_are_pages_of_several_releases() -> None:
    assert len({page.stem.split("-")[1] for page in PAGES}) >= 5


@pytest.mark.parametrize("engine", [each.name for each in engines.every() if each.quantities])
def test_prometheus_reads_the_rules_of_every_engine(engine: str, tmp_path: Path) -> None:
    from sparkiac.plan.monitoring import prometheus  # noqa: PLC0415

    offers = [engines.quantities(engine), engines.quantities("vllm")]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps(prometheus.rules(prometheus.recorded(offers))))
    code, said = promtool("check", "rules", "--lint=all", "--lint-fatal", file)
    assert code == 0, said


def test_counters_that_move_at_the_end_of_a_request_are_not_rates() -> None:
    """A rate of them is 0 while one long request runs, which would look like a hang."""
    assert "generated_tokens_per_second" not in prometheus.recorded([engines.quantities("sglang")])
    assert "generated_tokens_per_second" in prometheus.recorded([engines.quantities("vllm")])


def test_the_panels_parse_as_rules(tmp_path: Path) -> None:
    """Prometheus itself reads the query of every panel."""
    files = rendered(FULL)
    boards = [json.loads(content) for path, content in files.items() if "/grafana/config/json/" in path]
    assert {each["uid"] for each in boards} == {f"sparkiac-{each.uid}" for each in grafana.EVERY}
    asked = [target["expr"] for board in boards for panel in board["panels"] for target in panel["targets"]]
    group = [{"record": f"q:{number}:q", "expr": expr} for number, expr in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": group}]}))
    code, said = promtool("check", "rules", "--lint=none", tmp_path / "rules.yml")
    assert code == 0, said


def test_a_running_node_exporter_has_what_is_asked_of_it(tmp_path: Path) -> None:
    program = shutil.which("prometheus-node-exporter")
    if program is None:
        pytest.skip("prometheus-node-exporter is not installed (Debian package prometheus-node-exporter)")
    (tmp_path / "sparkiac.prom").write_text("sparkiac_generation_known 1\n")
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{chosen.getsockname()[1]}"
    argv = [program, f"--web.listen-address={address}", f"--collector.textfile.directory={tmp_path}"]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as exporter:
        try:
            page = _page(f"http://{address}/metrics")
        finally:
            exporter.terminate()
    served = set(re.findall(r"^[\w:]+", page, re.MULTILINE))
    assert exporters.NODE - served <= {"node_thermal_zone_temp"}
    assert "sparkiac_generation_known" in served


def _page(url: str) -> str:
    for _ in range(100):
        try:
            with urllib.request.urlopen(url) as answer:  # noqa: S310  http, of this test
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"{url} does not answer")


def test_rules_ask_for_nothing_that_is_not_recorded() -> None:
    """Alerts read what the same file records."""
    found = [rule for group in rules()["groups"] for rule in group["rules"]]
    recorded = {each["record"] for each in found if "record" in each}
    asked = {name for each in found if "alert" in each for name in names(each["expr"])}
    assert {name for name in asked if name.startswith(prometheus.PREFIX)} <= recorded
