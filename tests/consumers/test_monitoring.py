"""The units of the monitoring, read by systemd, and the structure of the dashboards."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.consumers.conftest import files_of

HOST = Path(__file__).parents[1] / "golden/monitoring/expected/hosts/spark-02"
UNITS = [f"/etc/systemd/system/sparkiac-metrics.{kind}" for kind in ("service", "timer")]
EXPOSURE = 3.0
"""It runs as root without capabilities and without a network; `systemd-analyze security` calls this OK."""
DASHBOARDS = sorted((HOST / "etc/sparkiac/grafana/config/json").glob("*.json"))
GRID = 24
"""Columns of a dashboard."""


def test_systemd_has_nothing_to_say_about_the_timer(analyze) -> None:  # noqa: ANN001
    done = analyze(["verify", *UNITS], files_of(HOST))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_verify_would_notice_an_unknown_key(analyze) -> None:  # noqa: ANN001
    files = files_of(HOST)
    files[UNITS[1]] = files[UNITS[1]].replace(b"OnActiveSec", b"OnAktiveSec")
    assert "OnAktiveSec" in analyze(["verify", *UNITS], files).stderr


def test_the_service_is_hardly_exposed(analyze) -> None:  # noqa: ANN001
    done = analyze(["security", "--offline=true", f"--threshold={int(EXPOSURE * 10)}", UNITS[0]], files_of(HOST))
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_four_dashboards() -> None:
    assert [path.stem for path in DASHBOARDS] == ["deployment", "fleet", "host", "speculation"]


def test_every_dashboard_has_what_grafana_needs() -> None:
    """Without Grafana: identifiers, positions and data sources."""
    source = yaml.safe_load((HOST / "etc/sparkiac/grafana/config/datasources/prometheus.yaml").read_text())
    uid = source["datasources"][0]["uid"]
    uids = set()
    for path in DASHBOARDS:
        board = json.loads(path.read_text(encoding="utf-8"))
        uids.add(board["uid"])
        assert len(board["uid"]) <= 40  # the limit of Grafana
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) > 2
        cells = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= GRID
            covered = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not covered & cells, panel["title"]
            cells |= covered
            assert {target["datasource"]["uid"] for target in panel["targets"]} == {uid}
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        used = {name for panel in board["panels"] for name in ("host", "deployment") if f"${name}" in json.dumps(panel)}
        assert used == {each["name"] for each in board["templating"]["list"]}
    assert len(uids) == len(DASHBOARDS)


def test_the_provider_points_at_the_dashboards() -> None:
    provider = yaml.safe_load((HOST / "etc/sparkiac/grafana/config/dashboards/sparkiac.yaml").read_text())
    compose = yaml.safe_load((HOST / "etc/sparkiac/grafana/compose.yaml").read_text())["services"]["server"]
    [inside] = [each["target"] for each in compose["volumes"] if each["source"] == "/etc/sparkiac/grafana/config"]
    assert provider["providers"][0]["options"]["path"] == f"{inside}/json"
    assert compose["environment"]["GF_PATHS_PROVISIONING"] == inside
