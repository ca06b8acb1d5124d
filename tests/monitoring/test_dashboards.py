"""Grafana's own classes read every dashboard, and lose no key of it.

Opt-in: `pip install 'grafana-foundation-sdk==1769699379!11.6.0'`, which is generated from Grafana's schema. It is not a
Grafana server.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.monitoring.fleets import FULL, rendered

model = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="opt-in: needs grafana-foundation-sdk")
plugins = pytest.importorskip("grafana_foundation_sdk.cog.plugins")
encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder")


def read(board: dict[str, Any]) -> Any:  # noqa: ANN401  JSON
    """Return what Grafana's classes make of a dashboard, as JSON."""
    plugins.register_default_plugins()
    return json.loads(encoder.JSONEncoder().encode(model.Dashboard.from_json(board)))


def lost(given: Any, found: Any, at: str = "") -> list[str]:  # noqa: ANN401  JSON
    """Return the paths of all values that are not in what was read."""
    if isinstance(given, dict) and isinstance(found, dict):
        return [path for key, each in given.items() for path in lost(each, found.get(key, "nothing"), f"{at}.{key}")]
    if isinstance(given, list) and isinstance(found, list) and len(given) == len(found):
        pairs = enumerate(zip(given, found, strict=True))
        return [path for number, (one, other) in pairs for path in lost(one, other, f"{at}[{number}]")]
    return [] if given == found else [at]


BOARDS = {path: json.loads(text) for path, text in rendered(FULL).items() if "/grafana/config/json/" in path}


@pytest.mark.parametrize("path", BOARDS)
def test_grafanas_classes_keep_every_key(path: str) -> None:
    assert len(BOARDS[path]["panels"]) >= 4
    assert lost(BOARDS[path], read(BOARDS[path])) == []


def test_a_key_that_grafana_does_not_have_is_lost() -> None:
    board = {"title": "a", "panels": [{"type": "stat", "title": "b", "fieldConfig": {"defaults": {"unti": "s"}}}]}
    assert lost(board, read(board)) == [".panels[0].fieldConfig.defaults.unti"]
