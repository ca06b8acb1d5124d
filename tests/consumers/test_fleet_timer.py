"""The units of the fleet timer, read by systemd."""

from __future__ import annotations

from pathlib import Path

from tests.consumers.conftest import files_of

HOST = Path(__file__).parents[1] / "golden/fleet-timer/expected/hosts/spark-02"
UNITS = [f"/etc/systemd/system/sparkiac-fleet.{kind}" for kind in ("service", "timer")]
EXPOSURE = 1.9
"""It needs the network and name resolution; `systemd-analyze security` calls this OK."""


def test_systemd_has_nothing_to_say_about_its_units(analyze) -> None:  # noqa: ANN001
    """Row 13.1."""
    done = analyze(["verify", *UNITS], files_of(HOST))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_verify_would_notice_an_unknown_key(analyze) -> None:  # noqa: ANN001
    files = files_of(HOST)
    files[UNITS[1]] = files[UNITS[1]].replace(b"OnActiveSec", b"OnAktiveSec")
    assert "OnAktiveSec" in analyze(["verify", *UNITS], files).stderr


def test_the_service_is_hardly_exposed(analyze) -> None:  # noqa: ANN001
    done = analyze(["security", "--offline=true", f"--threshold={int(EXPOSURE * 10)}", UNITS[0]], files_of(HOST))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schedule_is_what_the_inventory_says(analyze) -> None:  # noqa: ANN001
    text = (HOST / UNITS[1][1:]).read_text()
    assert "OnUnitActiveSec=900\n" in text
    assert analyze(["timespan", "900"], {}).stdout.split("Human:")[1].strip() == "15min"
