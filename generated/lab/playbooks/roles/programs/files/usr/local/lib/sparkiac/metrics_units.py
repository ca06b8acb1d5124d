"""Metrics of the units of this host, as systemd sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator  # noqa: UP035 - Python 3.8

if TYPE_CHECKING:
    from units_host import LocalHost

PROPERTIES = ("Id", "ActiveState", "NRestarts")


def samples(machine: LocalHost, units: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str], float]]:
    """Return state and restarts of each unit."""
    found = shown(machine, [each["unit"] for each in units])
    for each in units:
        state = found[each["unit"]]
        labels = {"unit": each["unit"], "deployment": each["deployment"] or ""}
        yield "sparkiac_unit_ready", labels, int(state["ActiveState"] == "active")
        yield "sparkiac_unit_failed", labels, int(state["ActiveState"] == "failed")
        yield "sparkiac_unit_restarts_total", labels, int(state["NRestarts"])


def shown(machine: LocalHost, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the state of each unit, with one call of systemctl for all."""
    if not names:
        return {}
    argv = ("timeout", "20", "systemctl", "show", "--property=" + ",".join(PROPERTIES))
    done = machine.run(*argv, *[f"{name}.service" for name in names])
    blocks = [
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in done.output.split("\n\n")
    ]
    found = {block["Id"].rpartition(".")[0]: block for block in blocks if block.keys() >= set(PROPERTIES)}
    if done.code or not found.keys() >= set(names):
        message = f"unexpected output of systemctl show: {(done.errors or done.output).strip()[:200]!r}"
        raise RuntimeError(message)
    return found
