"""Links of a host are written with the line ends of the file."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.fix.edits import with_links

LINKS: Final = ({"interface": "enp1s0f1np1", "address": "192.168.177.11/24"},)
FORMER: Final = "    fabric:\n      links:\n        - {interface: enp1s0f0np0, address: 192.168.178.11/24}\n"


@pytest.mark.parametrize("former", ["", FORMER])
def test_line_ends_are_kept(former: str) -> None:
    text = f"name: lab\nhosts:\n  spark-01:\n    address: 192.168.1.11\n{former}deployments: {{}}\n"
    written = with_links(text, "spark-01", LINKS, {0: "to spark-02"})
    assert "- interface: enp1s0f1np1\n" in written
    assert with_links(text.replace("\n", "\r\n"), "spark-01", LINKS, {0: "to spark-02"}) == written.replace(
        "\n", "\r\n"
    )
