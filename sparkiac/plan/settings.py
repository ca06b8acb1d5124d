"""What deployments and services say alike: where a mount comes from, and how long to wait."""

from __future__ import annotations

from typing import Any


def source(values: dict[str, Any], mount: dict[str, Any]) -> str:
    """Give the host's path of a mount: its own, or the host's model store."""
    return str(values["model_store"] if mount["source"] == "model_store" else mount["source"])


def waits(values: dict[str, Any]) -> dict[str, Any]:
    """Give the unit's waits by the names of the plan."""
    return {name: values["timeouts"][name] for name in ("ready_s", "stop_s", "restart_delay_s")}
