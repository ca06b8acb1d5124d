"""The same five faults with the oldest Ansible that sparkiac supports, and with the newest.

ansible-core 2.16 does not support the Python of Debian trixie, so its hosts run bookworm: Python 3.11, systemd 254 from
the backports, Docker 20.10. The client of this Docker, which is older than sparkiac requires for a DGX Spark, does not
pass SIGTERM on to Compose: a unit stops when its time limit has passed, and each fault takes minutes longer.

The newest Ansible needs a newer Python on the controller than sparkiac does.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import pythons
from tests.e2e.bed import Bed
from tests.e2e.bed.bed import requirements
from tests.e2e.faults import (
    CASES,
    apply_first,
    apply_last,
    check_bad_version,
    check_image_that_no_registry_has,
    goes_back,
)
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = {"oldest": ("3.12", "ansible-core==2.16.*", "bookworm"), "newest": ("3.13", "ansible-core>=2.21", "trixie")}
"""Python of the controller, Ansible, hosts."""

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module", params=VERSIONS)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Return the lab, applied by this Ansible: both hosts serve."""
    missing = requirements()
    if missing:
        pytest.skip("needs " + "; ".join(missing))
    python, ansible, suite = VERSIONS[request.param]
    program = pythons.environment(python, ansible) / "ansible-playbook"
    print(subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout)  # noqa: T201
    with Bed(suite=suite) as bed:
        found = Lab(bed, tmp_path_factory.mktemp("lab"), program)
        apply_first(found)
        yield found
        apply_last(found)


@pytest.mark.parametrize("case", ["bad-option", "garbage", "tools-refused", "never-ready"])
def test_a_bad_version(lab: Lab, case: str) -> None:
    with goes_back(lab):
        check_bad_version(lab, *CASES[case])


def test_an_image_that_no_registry_has(lab: Lab) -> None:
    with goes_back(lab):
        check_image_that_no_registry_has(lab)
