"""A new version fails, for many reasons: both hosts serve what they served before, and the cause is printed.

Each case begins with the hosts that the one before it left, which is always the same state. At the end, an apply
changes nothing. Faults of which a normal run of the tests has one example as well are in test_apply.py.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.faults import (
    CASES,
    IMAGE,
    NEW_VERSION,
    SERVED,
    TOKENIZER,
    apply_first,
    apply_last,
    change,
    check_bad_version,
    check_image_that_no_registry_has,
    check_two_applies,
    container,
    failing,
    goes_back,
    pin,
)
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.bed import Bed


pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Yield the lab, applied: both hosts serve."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    apply_first(found)
    yield found
    apply_last(found)


@pytest.fixture
def changed(lab: Lab) -> Iterator[Lab]:
    """Yield the lab; afterwards its inventory is as it was, and so are the hosts."""
    with goes_back(lab):
        yield lab


@pytest.mark.parametrize("case", CASES)
def test_a_bad_version(changed: Lab, case: str) -> None:
    check_bad_version(changed, *CASES[case])


def test_an_image_that_does_not_start(changed: Lab) -> None:
    pin(changed, "images", IMAGE, entrypoint=["/bin/false"])
    failing(changed, "its process ended with an error")


def test_an_image_that_no_registry_has(changed: Lab) -> None:
    check_image_that_no_registry_has(changed)


def test_docker_does_not_run(changed: Lab) -> None:
    change(changed, NEW_VERSION)
    second = container(changed, "spark-02")
    changed.bed.ssh("spark-01", "systemctl stop docker.socket docker.service", root=True)
    try:
        failing(changed, "Cannot connect to the Docker daemon")
    finally:
        changed.bed.ssh("spark-01", "systemctl start docker.socket docker.service", root=True)
    assert container(changed, "spark-02") == second
    wait_for(lambda: changed.served("spark-01") == [SERVED["spark-01"]], "the unit after docker", timeout=300)


def test_the_hub_is_dead(changed: Lab) -> None:
    """A file of a model is needed that no host has; nobody answers for the name of the hub on the bed."""
    running = {host: container(changed, host) for host in SERVED}
    file = {"config.json": {"size_bytes": 7, "sha256": "4" * 64}}
    pin(changed, "models", TOKENIZER, commit="4" * 40, files=file)
    failing(changed, "huggingface.co")
    assert {host: container(changed, host) for host in SERVED} == running


@pytest.mark.parametrize("repeat", range(10))
def test_two_applies_at_once_again(changed: Lab, repeat: int) -> None:
    check_two_applies(changed)
    print(f"{repeat + 1} times")  # noqa: T201 - shown with -s


def test_a_controller_that_dies_during_a_bad_switch(changed: Lab) -> None:
    """The host goes back without it."""
    first = container(changed, "spark-01")
    change(changed, "env: {STANDIN_BEHAVIOUR: garbage}")
    with changed.applying() as process:
        wait_for(lambda: container(changed, "spark-01") not in {"", first}, "the new container", timeout=300)
        os.killpg(process.pid, signal.SIGKILL)
    wait_for(lambda: changed.served("spark-01") == [SERVED["spark-01"]], "the former version", timeout=300)
    wait_for(lambda: idle(changed, "spark-01"), "the end of the switch", timeout=300)
    changed.bed.ssh("spark-01", "rm -f /run/sparkiac/lease.json", root=True)  # a lease ends 90 s after its owner


def test_a_switch_program_that_is_killed(changed: Lab) -> None:
    """It is started again, and goes back."""
    first = container(changed, "spark-01")
    change(changed, "env: {STANDIN_BEHAVIOUR: unhealthy}")
    with changed.applying() as process, ThreadPoolExecutor() as pool:
        output = pool.submit(process.communicate)
        wait_for(lambda: container(changed, "spark-01") not in {"", first}, "the new container", timeout=300)
        changed.bed.ssh("spark-01", "systemctl kill --signal=KILL sparkiac-switch", root=True)
        text, _ = output.result()
    assert process.returncode == 2, text
    assert "the switch was interrupted" in " ".join(text.split()), text


def idle(lab: Lab, host: str) -> bool:
    """Return whether no switch runs on a host."""
    return lab.bed.ssh(host, "systemctl is-active sparkiac-switch", check=False).stdout.strip() != "active"


def test_a_host_that_loses_its_power_during_a_switch(changed: Lab) -> None:
    """It boots with the committed generation."""
    first = container(changed, "spark-01")
    change(changed, "env: {STANDIN_BEHAVIOUR: unhealthy}")
    with changed.applying() as process, ThreadPoolExecutor() as pool:
        output = pool.submit(process.communicate)
        wait_for(lambda: container(changed, "spark-01") not in {"", first}, "the new container", timeout=300)
        changed.bed.reboot("spark-01")
        assert process.wait() != 0, output.result()[0]
    wait_for(lambda: changed.served("spark-01") == [SERVED["spark-01"]], "the former version", timeout=300)
    wait_for(lambda: idle(changed, "spark-01"), "the end of the switch", timeout=300)
