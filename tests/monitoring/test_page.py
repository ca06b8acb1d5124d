"""docs/alerts.md is what the catalog says today, and each alert's message names a section of it."""

from __future__ import annotations

import re

from tests.conftest import ROOT, generator
from tests.monitoring.fleets import rules


def test_the_page_is_up_to_date() -> None:
    stored = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")
    assert generator("alerts").text() == stored, "write docs/alerts.md anew: python tools/docs/alerts.py"


def test_every_alert_names_a_section() -> None:
    page = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")
    sections = {f"docs/alerts.md#{name.lower()}" for name in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    named = [each["annotations"]["doc"] for group in rules()["groups"] for each in group["rules"] if "alert" in each]
    assert set(named) == sections
