"""The clock of a host is wrong, and so are the dates of its files: an apply works as with right ones.

The hosts of the bed share the kernel's clock with this machine, so none of them can have another one. libfaketime shows
another time to the programs that sparkiac runs on the first host: those that Ansible starts, preflight among them, and
the switch. The units, their start checks and systemd itself see the real time.
"""

from __future__ import annotations

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.faults import CASES, NEW_VERSION, apply_first, change, container, failing, goes_back, state
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
HOST, DAY_S = "spark-01", 86_400
LIBRARY, CLOCK, PYTHON, SEEN = "/usr/local/lib/libfaketime.so.1", "/etc/bed-clock", "/usr/local/bin/python-off", "/seen"
DROP_IN = "/etc/systemd/system/sparkiac-switch.service.d/clock.conf"
VARIABLES = {
    "LD_PRELOAD": LIBRARY,
    "FAKETIME_TIMESTAMP_FILE": CLOCK,
    "FAKETIME_NO_CACHE": "1",
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "NO_FAKE_STAT": "1",
}


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied; `set_clock` sets the clock that sparkiac's programs on its first host see."""
    if not FAKETIME.exists():
        pytest.skip(f"needs {FAKETIME} (package faketime)")
    words = " ".join(f"{name}={value}" for name, value in VARIABLES.items())
    put(bed, LIBRARY, FAKETIME.read_bytes())
    put(bed, CLOCK, b"+0\n")
    put(bed, PYTHON, f'#!/bin/sh\nexec env {words} /usr/bin/python3 "$@"\n'.encode())
    # `date` sees the time that the program sees.
    put(bed, DROP_IN, f"[Service]\nEnvironment={words}\nExecStartPre=/bin/sh -c 'date +%%s >>{SEEN}'\n".encode())
    folder = tmp_path_factory.mktemp("lab")
    more = folder / "clock.json"
    more.write_text(json.dumps({"all": {"hosts": {HOST: {"ansible_python_interpreter": PYTHON}}}}))
    inventories = f"{folder}/generated/lab/inventory.yml,{more}"
    found = Lab(bed, folder, environment={"ANSIBLE_INVENTORY": inventories})
    apply_first(found)
    assert switch_saw(found) == [0]
    return found


def put(bed: Bed, path: str, content: bytes) -> None:
    """Write a file of the first host."""
    text = base64.b64encode(content).decode()
    for begin in range(0, len(text), 60_000):
        part = text[begin : begin + 60_000]
        bed.ssh(HOST, f"mkdir -p {path.rpartition('/')[0]}; printf %s {part} >>{path}.64", root=True)
    bed.ssh(HOST, f"base64 -d {path}.64 >{path}; rm {path}.64; chmod 755 {path}", root=True)


def set_clock(lab: Lab, offset_s: int) -> None:
    """Set the clock of the first host so many seconds ahead."""
    lab.bed.ssh(HOST, f"echo {offset_s:+d} >{CLOCK}", root=True)


def switch_saw(lab: Lab) -> list[int]:
    """Return how many days the clock was ahead at each start of a switch; forget them."""
    done = lab.bed.ssh(HOST, f"cat {SEEN}; rm -f {SEEN}", root=True)
    return [round((float(line) - time.time()) / DAY_S) for line in done.stdout.split()]


@pytest.mark.parametrize("days", [1, -1])
def test_a_bad_version_goes_back_with_its_cause(lab: Lab, days: int) -> None:
    set_clock(lab, days * DAY_S)
    said = lab.bed.ssh(HOST, f"{PYTHON} -c 'import time; print(time.time())'").stdout
    assert round((float(said) - time.time()) / DAY_S) == days
    with goes_back(lab):
        change(lab, CASES["never-ready"][0])
        assert "runs again" in failing(lab, CASES["never-ready"][1])
    assert switch_saw(lab) == [days]


def test_a_clock_that_is_set_back_two_days_during_the_switch(lab: Lab) -> None:
    set_clock(lab, DAY_S)
    first = container(lab, HOST)
    with goes_back(lab), ThreadPoolExecutor() as pool:
        change(lab, CASES["never-ready"][0])
        output = pool.submit(failing, lab, CASES["never-ready"][1])
        wait_for(lambda: container(lab, HOST) not in {"", first}, "the new container", timeout=300)
        set_clock(lab, -DAY_S)
        assert "runs again" in output.result()
    assert switch_saw(lab) == [1]


def test_a_good_version_and_files_that_are_dated_tomorrow(lab: Lab) -> None:
    set_clock(lab, -DAY_S)
    places = "/etc/sparkiac /etc/systemd/system/sparkiac-* /usr/local/lib/sparkiac /var/lib/sparkiac /run/sparkiac"
    lab.bed.ssh(HOST, f"find {places} -exec touch -d tomorrow {{}} +", root=True)
    recap = lab.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output
    before = state(lab)
    change(lab, NEW_VERSION)
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert state(lab)[HOST] != before[HOST]
    assert switch_saw(lab) == [-1]
    recap = lab.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output
