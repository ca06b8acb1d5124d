"""The order in which the workers take the test files."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.schedule import LONGEST, needs_hosts, next_file

ON_HOSTS = ["tests/e2e/test_apply.py", "tests/e2e/test_group.py"]
OTHERS = ["tests/plan/test_order.py", "tests/test_readme.py"]


def test_only_the_tests_on_booted_hosts_need_hosts() -> None:
    assert [needs_hosts(file) for file in (*ON_HOSTS, *OTHERS, "tests/host/test_apply.py")] == [True] * 2 + [False] * 3


@pytest.mark.parametrize(
    ("waiting", "on_hosts", "file"),
    [
        (OTHERS + ON_HOSTS, 0, ON_HOSTS[0]),
        (OTHERS + ON_HOSTS, 1, ON_HOSTS[0]),
        (ON_HOSTS + OTHERS, 2, OTHERS[0]),
        (ON_HOSTS, 2, ON_HOSTS[0]),
        (OTHERS, 0, OTHERS[0]),
    ],
    ids=["none runs", "one runs", "one for each core runs", "nothing else waits", "none waits"],
)
def test_two_workers_of_a_machine_with_two_cores_run_tests_on_hosts(
    waiting: list[str], on_hosts: int, file: str
) -> None:
    assert next_file(waiting, on_hosts, cores=2) == file


def test_the_longest_files_start_first() -> None:
    assert [file for file in LONGEST if not (ROOT / file).is_file()] == []
    waiting, order = [*OTHERS, *sorted(LONGEST)], []
    while waiting:
        order.append(next_file(waiting, on_hosts=2, cores=2))
        waiting.remove(order[-1])
    others = [file for file in LONGEST if not needs_hosts(file)]
    assert order == [*others, *OTHERS, *(file for file in LONGEST if needs_hosts(file))]
