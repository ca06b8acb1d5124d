"""How long an apply that changes nothing, and a comparison of many hosts, take beside `ansible -m ping`.

`python tools/benchmarks/pings.py` boots the two hosts of the test bed, which needs root. A ping and the other command
take turns, five times: what else runs on this machine slows down both, so their ratio counts. Each command opens its
own connections. The many hosts are addresses of one booted host, 40 and 200, or as many as the arguments say; all of
them differ.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # for the test bed
from tests.e2e.bed import Bed  # noqa: E402
from tests.e2e.faults import apply_first  # noqa: E402
from tests.e2e.lab import Lab  # noqa: E402

PAIRS = 5
APPLY = (sys.executable, "-m", "sparkiac", "apply", "inventories/lab.yaml", "--yes")
PLAYBOOK, PING = (str(Path(sys.executable).with_name(name)) for name in ("ansible-playbook", "ansible"))
HOST = "spark-01"


def main(counts: list[int]) -> None:
    """Print the tables."""
    with Bed() as bed, tempfile.TemporaryDirectory() as folder:
        lab = Lab(bed, Path(folder, "lab"))
        lab.folder.mkdir()
        apply_first(lab)
        words = (*APPLY, "--", "-e", f"@{lab.folder}/secrets.json")
        compare(lab, "an apply of 2 hosts that changes nothing", words, lab.folder)
        bed.ssh(HOST, "echo MaxStartups 500 >/etc/ssh/sshd_config.d/many.conf; systemctl reload ssh", root=True)
        bed.run(["ip", "address", "add", "10.77.1.254/24", "dev", "mgmt0"])
        key = bed.known_hosts.read_text().splitlines()[0].partition(" ")[2]
        bed.known_hosts.write_text(f"{bed.known_hosts.read_text()}10.77.1.* {key}\n")
        for count in counts:
            many = Lab(bed, Path(folder, str(count)))
            many.folder.mkdir()
            prepare(many, count)
            compare(many, f"the comparison of {count} hosts", (PLAYBOOK, "playbooks/look.yml"), many.tree)


def prepare(many: Lab, count: int) -> None:
    """Generate a tree with so many hosts, each with a model; all are addresses of one host."""
    numbers = range(1, count + 1)
    device = many.bed.hosts[HOST].interface
    many.bed.ssh(HOST, f"for n in $(seq {count}); do ip address replace 10.77.1.$n/24 dev {device}; done", root=True)
    many.write()
    text = many.inventory.read_text()
    hosts, platforms = text.index("\nhosts:\n"), text.index("\nplatforms:\n")
    machine = "platform: bed, memory: {total_gib: 119}, driver: '580.142'"
    places = "".join(f"  spark-{number:03}: {{address: 10.77.1.{number}, {machine}}}\n" for number in numbers)
    recipe = "recipe: redhatai/qwen3.6-35b-a3b-nvfp4, port: 8001"
    models = "".join(f"  chat-{number:03}: {{{recipe}, hosts: spark-{number:03}}}\n" for number in numbers)
    many.inventory.write_text(f"{text[:hosts]}\nhosts:\n{places}\ndeployments:\n{models}{text[platforms:]}")
    many.generate()


def compare(lab: Lab, name: str, words: tuple[str, ...], folder: Path) -> None:
    """Print how long a ping and a command take, in turns."""
    print(f"\n{name}\n{'ping':>8}{'this':>9}  ratio", flush=True)
    ratios = []
    for _ in range(PAIRS):
        ping = seconds(lab, (PING, "all", "-m", "ping"), lab.tree)
        took = seconds(lab, words, folder)
        ratios.append(took / ping)
        print(f"{ping:6.1f} s{took:7.1f} s{ratios[-1]:7.2f}", flush=True)
    print(f"median{statistics.median(ratios):18.2f}", flush=True)


def seconds(lab: Lab, words: tuple[str, ...], folder: Path) -> float:
    """Run a command as a user does, and return how long it took."""
    for socket in lab.bed.control_path.iterdir():
        socket.unlink()
    began = time.monotonic()
    with lab.running([*words], folder=folder, ANSIBLE_CALLBACK_PLUGINS="/nonexistent") as process:
        output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output  # noqa: S101
    return time.monotonic() - began


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [40, 200])
