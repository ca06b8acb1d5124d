"""Hosts of which the same is said are shown together."""

from __future__ import annotations

from sparkiac.fleet.looks import FleetLook, HostLook, UnitStep
from sparkiac.words import apply as words


def host(number: int, because: str = "changed: /etc/sparkiac/chat-{}/compose.yaml") -> HostLook:
    name = f"{number:02}"
    step = UnitStep(unit=f"sparkiac-chat-{name}", action="restart", because=because.format(name))
    return HostLook(f"spark-{name}", f"{number:08}", f"{number + 100:08}", differs=True, units=(step,))


def test_alike_hosts_with_units_of_their_own_are_one_row() -> None:
    hosts = [*(host(number) for number in range(1, 40)), host(40, "the image is missing")]
    look = FleetLook(tuple(hosts), tuple((each.host,) for each in hosts))
    found = list(words.page(look, 120))
    assert [row[:3] for row in found[0].rows] == [  # type: ignore[union-attr]
        ("spark-01 to spark-39\n(39 hosts)", "various", "0"),
        ("spark-40", "00000040 → 00000140", "0"),
    ]
    assert words.order(look.batches) == "spark-01 to spark-40 one after the other"


def test_a_number_that_is_no_name_keeps_hosts_apart() -> None:
    said = {
        "spark-01": ["set vm.swappiness: 1"],
        "spark-02": ["set vm.swappiness: 10"],
        "spark-03": ["set vm.swappiness: 1"],
    }
    assert [(each.title, each.lines) for each in words.alike(said, {})] == [
        ("spark-01, spark-03", ("set vm.swappiness: 1",)),
        ("spark-02", ("set vm.swappiness: 10",)),
    ]
