"""The lab with one deployment on both hosts, over their direct link: a group."""

from __future__ import annotations

import json
import re

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import KEY, Lab

HOSTS = ("spark-01", "spark-02")
MODEL = "RedHatAI/Qwen3.6-35B-A3B-NVFP4"
UNIT = "sparkiac-qwen36"
LENGTH = "--max-model-len="


class Pair(Lab):
    """The group `qwen36` of both hosts. What a rank serves is told by the longest text that it takes."""

    settings = (
        "timeouts: {ready_s: 90, drain_s: 0, stop_s: 60}",
        "set: {max_model_len: 32768}",
        "allow: [{code: MN002, reason: the bed has no RDMA}]",
    )

    def prepare(self) -> None:
        """Write and generate it, and fill the model stores."""
        self.write()
        text = self.inventory.read_text()
        start, end = text.index("  gemma4:"), text.index("\nplatforms:")
        text = text[:start] + text[end:]
        for host in self.bed.hosts.values():
            link = f"{{interface: {host.fabric_interface}, address: {host.fabric_address}/24}}"
            text = text.replace(f"  {host.name}:\n", f"  {host.name}:\n    fabric: {{links: [{link}]}}\n", 1)
        lines = "".join(f"    {line}\n" for line in self.settings)
        self.inventory.write_text(text.replace("    hosts: spark-01\n", f"    hosts: [spark-01, spark-02]\n{lines}"))
        self.generate()
        self.stage()

    def want(self, length: int, environment: str = "") -> None:
        """Change the generation: the longest text, and variables of the stand-in such as `A: b`."""
        text = re.sub(r"max_model_len: \d+", f"max_model_len: {length}", self.inventory.read_text())
        text = re.sub(r"\n    env: .*", "", text)
        line = f"\n    env: {{{environment}}}" if environment else ""
        self.inventory.write_text(re.sub(r"(\n    set: .*)", rf"\1{line}", text))
        self.generate()

    def describe(self, text: str) -> None:
        """Change the generation, but nothing that a rank sees."""
        self.inventory.write_text(re.sub(r"(\n    description: ).*", rf"\1{text}", self.inventory.read_text(), count=1))
        self.generate()

    def is_ready(self) -> bool:
        """Return whether the leader accepts connections from other hosts, and its health is what it should be."""
        shown = f"systemctl show --property=StatusText --value {UNIT}"
        health = self.bed.ssh("spark-01", shown).stdout.strip()
        return health == "healthy" and self.served("spark-01") == [MODEL]

    def states(self) -> dict[str, dict[str, object]]:
        """Return what each host says of its generations; nothing for a host that cannot be reached."""
        done = {host: self.bed.ssh(host, STATUS, root=True, check=False) for host in HOSTS}
        return {host: json.loads(each.stdout) for host, each in done.items() if each.returncode == 0}

    def settled(self) -> bool:
        """Return whether both hosts run their committed generation, no switch runs, and the group answers."""
        states = self.states()
        ended = [each["pending"] is None and each["current"] == each["committed"] for each in states.values()]
        return ended == [True, True] and self.served("spark-01") == [MODEL]

    def settle(self, timeout: float = 400) -> None:
        """Wait until both hosts have ended their switch by themselves."""
        wait_for(self.settled, "the group to settle", timeout=timeout, every=3)

    def lengths(self) -> set[int]:
        """Return what the ranks of the group that answers serve."""
        _, told = self.get("spark-01", "/standin", key=KEY)
        assert sorted(told["ranks"]) == ["0", "1"], told
        return {length_of(argv) for argv in told["ranks"].values()}


STATUS = "! systemctl --quiet is-active sparkiac-switch && /usr/local/lib/sparkiac/switch status"


def length_of(argv: list[str]) -> int:
    """Return the longest text that a rank takes."""
    return next(int(word.removeprefix(LENGTH)) for word in argv if word.startswith(LENGTH))


def applied(found: Pair) -> Pair:
    """Return the group, applied."""
    found.prepare()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def container(pair: Pair, host: str) -> str:
    """Return the ID of the container of a host's node, or nothing if there is none."""
    return pair.bed.ssh(host, f"docker ps -q --no-trunc --filter name={UNIT}-server", root=True).stdout.strip()


def containers(pair: Pair) -> list[str]:
    """Return the containers of the nodes."""
    return [container(pair, host) for host in HOSTS]


def journal(pair: Pair, host: str) -> str:
    """Return what the main process of the unit has logged since the boot."""
    return pair.bed.ssh(host, f"journalctl --boot --output=cat --unit={UNIT}", root=True).stdout
