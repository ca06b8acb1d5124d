"""Set the settings of this host again that a reboot, a hang or somebody has changed. A systemd timer runs this program.

watch [--root DIRECTORY]

Exit status: 0 done, 1 a setting could not be read or set (stderr says which), 2 usage.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import local, settings
from .. import state as switch_state
from ..generation import CLOCK_CAP
from ..local import LocalHost
from ..switch import store

FAULTS = (OSError, ValueError, RuntimeError)


def keep(machine: LocalHost, plan: dict[str, Any]) -> None:
    """Set the settings again that are not those of the kernel, which systemd-sysctl sets at a boot.

    The cap of the GPU's clock is set each time: an idle GPU does not show that it is lost.
    """
    for key, value in [(each["key"], each["value"]) for each in plan["sysctls"] if each["key"] in settings.COMMANDED]:
        found = settings.read(machine, key)
        if found != value:
            local.say(f"watch: {key} is {found} instead of {value}: set again")
        if found != value or key == CLOCK_CAP:
            settings.put(machine, key, value)


def main(argv: list[str]) -> int:
    """Keep the settings once; a switch sets those of its own generation."""
    parser = argparse.ArgumentParser(prog="watch", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="root directory of the host, for tests")
    machine = LocalHost(parser.parse_args(argv).root)
    try:
        if switch_state.read(machine).pending is None:
            keep(machine, store.installed(machine))
    except FAULTS as error:
        local.say(f"watch: {error}")
        return 1
    return 0
