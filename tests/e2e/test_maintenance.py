"""The playbooks beside site.yml, on real hosts. The tests build on each other, in order."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import KEY, Lab, Recap

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
HOSTS = ("spark-01", "spark-02")
SERVED = {"spark-01": "RedHatAI/Qwen3.6-35B-A3B-NVFP4", "spark-02": "google/gemma-4-26B-A4B-it"}
RECIPES = {"spark-01": "redhatai/qwen3.6-35b-a3b-nvfp4", "spark-02": "google/gemma-4-26b-a4b-it-fp8"}
UNITS = {"spark-01": "sparkiac-qwen36", "spark-02": "sparkiac-gemma4"}
COMPOSE = "/etc/sparkiac/qwen36/compose.yaml"
FRONT = """
services:
  front:
    kind: open-webui
    image: vllm/vllm-openai:gemma4-0505-arm64-cu130
    hosts: spark-01
    port: 3000
    uses: [qwen36]
    command: [example/front, --host=0.0.0.0, --port=8080]
"""
"""A client of the model of the first host: it stops before its server, and starts after it."""
LISTING = r"""
cd / && find etc usr var/lib var/cache srv root home opt -xdev \
  \( -path var/lib/docker -o -path var/lib/containerd -o -path var/lib/systemd -o -path var/lib/private \
     -o -name .ansible -o -path 'home/spark/.cache' -o -name 'passwd-' -o -name 'group-' -o -name 'shadow-' \
     -o -name 'gshadow-' -o -name 'subuid-' -o -name 'subgid-' \) -prune -o -printf '%y %m %u:%g %p %l\n' | sort
cat etc/passwd etc/group etc/subuid etc/subgid
find etc usr/local -xdev -type f ! -name '*-' -exec sha256sum {} + | sort -k 2
sysctl vm.swappiness net.core.rmem_max net.ipv4.tcp_keepalive_time
nft list tables; docker network ls --format '{{.Name}}' | sort
systemctl list-unit-files --no-legend | grep -v transient | sort
"""
"""Everything of a host that sparkiac could change, but logs, images and weights."""
PACKAGE = "nvidia-driver-580-open"
REPOSITORY = r"""
set -eu
mkdir -p /srv/apt && cd /srv/apt && : >Packages
for version in 580.142 580.159; do
  rm -rf made && mkdir -p made/DEBIAN
  cat >made/DEBIAN/control <<END
Package: {package}
Version: $version-0ubuntu1
Architecture: all
Maintainer: bed <bed@bed>
Description: stand-in
END
  printf '#!/bin/sh\necho %s >/etc/nvidia-stub/driver\n' $version >made/DEBIAN/postinst
  chmod 755 made/DEBIAN/postinst
  dpkg-deb --build --root-owner-group made $version.deb >/dev/null
  cat made/DEBIAN/control >>Packages
  printf 'Filename: ./%s.deb\nSize: %s\nSHA256: %s\n\n' \
    $version $(stat -c %s $version.deb) $(sha256sum $version.deb | cut -d' ' -f1) >>Packages
done
echo 'deb [trusted=yes] file:/srv/apt ./' >/etc/apt/sources.list.d/bed.list
apt-get update -qq && apt-get install -qq -y {package}=580.142-0ubuntu1
""".replace("{package}", PACKAGE)
"""A repository with two versions of a stand-in for the driver; its installation changes what the GPU reports."""


@dataclass(frozen=True)
class Fresh:
    """The lab, and what its second host was before the first apply."""

    lab: Lab
    before: list[str]


@pytest.fixture(scope="module")
def fresh(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Return the lab, applied: both hosts serve."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    text = found.inventory.read_text() + FRONT
    for recipe in RECIPES.values():
        line = f"    recipe: {recipe}\n"
        text = text.replace(line, f"{line}    set: {{max_model_len: 32768}}\n    timeouts: {{drain_s: 40}}\n")
    found.inventory.write_text(text)
    found.generate()
    found.stage()
    before = listing(found, "spark-02")
    recap = found.apply()
    assert recap.code == 0, recap.output
    return Fresh(found, before)


@pytest.fixture(scope="module")
def lab(fresh: Fresh) -> Lab:
    return fresh.lab


def listing(lab: Lab, host: str) -> list[str]:
    return lab.bed.ssh(host, LISTING, root=True).stdout.splitlines()


def play(lab: Lab, playbook: str, *words: str) -> Recap:
    return lab.apply(*words, playbook=f"playbooks/{playbook}.yml")


def text_of(recap: Recap) -> str:
    return " ".join(recap.output.split())


def done(recap: Recap) -> str:
    """Return what a playbook that must succeed has printed, on one line."""
    assert recap.code == 0, recap.output
    return text_of(recap)


def container(lab: Lab, host: str) -> str:
    return lab.bed.ssh(host, f"docker ps -q --no-trunc --filter name={UNITS[host]}-server", root=True).stdout.strip()


def containers(lab: Lab) -> dict[str, str]:
    return {host: container(lab, host) for host in HOSTS}


def committed(lab: Lab, host: str) -> str:
    found = lab.bed.ssh(host, "/usr/local/lib/sparkiac/switch status", root=True).stdout
    return str(json.loads(found)["committed"])


def want(lab: Lab, length: int) -> None:
    """Change what the first host serves."""
    text = lab.inventory.read_text()
    lab.inventory.write_text(re.sub(r"max_model_len: \d+", f"max_model_len: {length}", text, count=1))
    lab.generate()


def length(lab: Lab, host: str = "spark-01") -> int:
    status, body = lab.get(host, "/v1/models")
    return int(body["data"][0]["max_model_len"]) if status == 200 else 0


# -- requests ---------------------------------------------------------------------------------------


def stream(lab: Lab) -> subprocess.Popen[str]:
    """Begin a request to the first host whose stream ends after 12 s."""
    url = f"http://{lab.bed.hosts['spark-01'].address}:8001"
    change = ["curl", "-sf", "-m", "60", f"{url}/standin", "-d"]
    lab.bed.run([*change, json.dumps({"behaviour": "slow", "seconds": 12})])
    body = json.dumps({"messages": [{"role": "user", "content": "12*17"}], "stream": True})
    words = ["curl", "-sN", "-m", "100", "-H", f"Authorization: Bearer {KEY}", "-d", body, f"{url}/v1/chat/completions"]
    begun = subprocess.Popen(lab.bed.inside(words), stdout=subprocess.PIPE, text=True)
    wait_for(lambda: running(lab) == 1, "the request", timeout=60)
    lab.bed.run([*change, json.dumps({"behaviour": "ok"})])
    return begun


def running(lab: Lab) -> int:
    _, text = lab.get("spark-01", "/metrics")
    return round(float(re.findall(r"^vllm:num_requests_running\S* ([0-9.]+)", text, re.MULTILINE)[0]))


def test_a_drained_host_ends_its_stream_and_takes_no_new_connection(lab: Lab) -> None:
    with stream(lab) as begun:
        said = done(play(lab, "drain", "--limit", "spark-01", "-e", "unit=qwen36"))
        output, _ = begun.communicate(timeout=60)
    assert output.rstrip().endswith("data: [DONE]")
    assert "204" in "".join(re.findall(r'"content": "([^"]*)"', output))
    assert re.search(r"sparkiac-qwen36: drained in \d+ s", said), said
    assert '{"' not in said
    assert lab.get("spark-01", "/health", key=None)[0] == 0
    assert lab.served("spark-02") == [SERVED["spark-02"]]
    assert "sparkiac-qwen36: accepts connections" in done(play(lab, "undrain", "--limit", "spark-01"))
    assert lab.served("spark-01") == [SERVED["spark-01"]]


def test_a_switch_lets_a_running_stream_end(lab: Lab) -> None:
    want(lab, 16384)
    with stream(lab) as begun:
        done(lab.apply())
        output, _ = begun.communicate(timeout=60)
    assert "204" in "".join(re.findall(r'"content": "([^"]*)"', output))
    assert length(lab) == 16384


def test_restart_restarts_one_unit(lab: Lab) -> None:
    before = containers(lab)
    done(play(lab, "restart", "-e", "unit=qwen36"))
    after = containers(lab)
    assert after["spark-01"] not in {"", before["spark-01"]}
    assert after["spark-02"] == before["spark-02"]
    recap = play(lab, "restart", "-e", "unit=nothing")
    assert recap.code == 2
    assert "No host of this play has the unit sparkiac-nothing" in text_of(recap)


# -- drift ------------------------------------------------------------------------------------------


def test_drift_shows_an_edited_file_and_an_apply_saves_it(lab: Lab) -> None:
    assert done(play(lab, "drift")).count("no drift") == 2
    lab.bed.ssh("spark-01", f"sed -i s/max-model-len=16384/max-model-len=8192/ {COMPOSE}", root=True)
    lab.bed.ssh("spark-01", "sysctl -qw vm.swappiness=60", root=True)
    recap = play(lab, "drift")
    said = text_of(recap)
    assert recap.code == 2, recap.output
    for line in (
        f"edited: {COMPOSE}",
        '- - "--max-model-len=16384"',
        '+ - "--max-model-len=8192"',
        "vm.swappiness is 60 instead of 1: the kernel runs with another value",
        f"sparkiac-qwen36 would restart: changed: {COMPOSE}",
    ):
        assert line in said, recap.output
    assert said.count("no drift") == 1
    assert '{"' not in said
    assert all(len(line) <= 200 for line in recap.output.splitlines()), recap.output
    generation = committed(lab, "spark-01")
    said = done(lab.apply())
    saved = f"/var/lib/sparkiac/saved/{generation}{COMPOSE}"
    assert f"spark-01: edited files were saved: {saved}" in said
    assert "8192" in lab.bed.ssh("spark-01", f"cat {saved}", root=True).stdout
    assert done(play(lab, "drift")).count("no drift") == 2


# -- stage, tags, upgrade, rollback -----------------------------------------------------------------


def test_tags_check_stage_switch_and_verify(lab: Lab) -> None:
    before, generation = containers(lab), committed(lab, "spark-01")
    want(lab, 8192)
    recap = lab.apply("--tags", "check")
    done(recap)
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output
    new = re.findall(
        r"^  generation: \"?(\w+)", (lab.tree / "host_vars/spark-01/hashes.yml").read_text(), re.MULTILINE
    )[0]
    place = f"ls -d /var/lib/sparkiac/generations/{new}"
    assert lab.bed.ssh("spark-01", place, root=True, check=False).returncode != 0
    done(lab.apply("--tags", "stage"))
    assert lab.bed.ssh("spark-01", place, root=True).returncode == 0
    assert (containers(lab), committed(lab, "spark-01")) == (before, generation)
    done(lab.apply("--tags", "switch"))
    assert committed(lab, "spark-01") == new
    assert length(lab) == 8192
    recap = lab.apply("--tags", "verify")
    done(recap)
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output


def test_stage_leaves_only_the_switch_to_do(lab: Lab) -> None:
    before = containers(lab)
    want(lab, 4096)
    done(play(lab, "stage"))
    assert containers(lab) == before
    with without_registry(lab):
        done(lab.apply("--tags", "switch"))
    assert length(lab) == 4096


def without_registry(lab: Lab) -> RegistryDown:
    return RegistryDown(lab.bed)


class RegistryDown:
    """The registry does not answer inside this block."""

    def __init__(self, bed: Bed) -> None:
        """Store the bed."""
        self.bed = bed

    def __enter__(self) -> None:
        """Stop it."""
        self.bed.stop_registry()

    def __exit__(self, *_error: object) -> None:
        """Start it again."""
        self.bed.start_registry()


def test_rollback_to_any_kept_generation_needs_no_registry(lab: Lab) -> None:
    now = committed(lab, "spark-01")
    kept = json.loads(lab.bed.ssh("spark-01", "/usr/local/lib/sparkiac/switch status", root=True).stdout)["kept"]
    assert len(kept) >= 4
    find = "cd /var/lib/sparkiac/generations && grep -l max-model-len=16384 */files/etc/sparkiac/qwen36/compose.yaml"
    older = lab.bed.ssh("spark-01", find, root=True).stdout.split("/")[0]
    with without_registry(lab):
        recap = play(lab, "rollback", "--limit", "spark-01", "-e", "generation=0123456789abcdef")
        assert recap.code == 2
        assert f"It runs {now} and keeps" in text_of(recap)
        done(play(lab, "rollback", "--limit", "spark-01", "-e", f"generation={older}"))
        assert (committed(lab, "spark-01"), length(lab)) == (older, 16384)
        done(play(lab, "rollback", "--limit", "spark-01"))
    assert (committed(lab, "spark-01"), length(lab)) == (now, 4096)


def test_upgrade_takes_a_new_image_and_prunes(lab: Lab) -> None:
    digest = lab.bed.push("nvidia/vllm", tag="next", entrypoint=("/opt/nvidia/nvidia_entrypoint.sh",), version="0.19.1")
    lock = lab.inventory.with_name("lab.lock.yaml")
    locked = json.loads(lock.read_text())
    image = locked["images"]["nvcr.io/nvidia/vllm:26.04-py3"]
    before, image["digest"] = image["digest"], digest
    lock.write_text(json.dumps(locked))
    lab.generate()
    said = done(play(lab, "upgrade", "--check", "--diff"))
    assert digest.removeprefix("sha256:")[:12] in said
    assert lab.get("spark-01", "/version")[1]["version"] == "0.19.0"
    recap = play(lab, "upgrade")
    done(recap)
    assert lab.get("spark-01", "/version")[1]["version"] == "0.19.1"
    assert "removed " in text_of(recap)  # six generations were applied, and three are kept
    status = json.loads(lab.bed.ssh("spark-01", "/usr/local/lib/sparkiac/switch status", root=True).stdout)
    assert {status["committed"], status["previous"]} <= {*status["kept"]}
    assert len(status["kept"]) == 3
    images = lab.bed.ssh("spark-01", "docker images --digests --format '{{.Digest}}'", root=True).stdout.split()
    assert {before, digest} <= {*images}  # the previous generation needs the former image


# -- reboot and driver ------------------------------------------------------------------------------


def test_reboot_stops_in_order_and_starts_in_order(lab: Lab) -> None:
    boot = "cat /proc/sys/kernel/random/boot_id"
    before = {host: lab.bed.ssh(host, boot).stdout for host in HOSTS}
    recap = play(lab, "reboot", "--limit", "spark-01")
    said = done(recap)
    stops = [said.index(f"(item={name})") for name in ("sparkiac-front", "sparkiac-qwen36")]
    assert stops == sorted(stops)
    assert lab.bed.ssh("spark-01", boot).stdout != before["spark-01"]
    assert lab.bed.ssh("spark-02", boot).stdout == before["spark-02"]
    show = "systemctl show -p ActiveEnterTimestampMonotonic --value sparkiac-qwen36 sparkiac-front"
    # A service may answer shortly before systemd takes its unit as ready.
    wait_for(lambda: "0" not in lab.bed.ssh("spark-01", show).stdout.split(), "both units", timeout=120)
    starts = [int(word) for word in lab.bed.ssh("spark-01", show).stdout.split()]
    assert starts[0] < starts[1]
    assert lab.served("spark-01") == [SERVED["spark-01"]]
    done(lab.apply())


def test_a_reboot_that_finds_a_wrong_driver_says_so_and_stops(lab: Lab) -> None:
    """The hosts after it are not rebooted."""
    second = lab.bed.ssh("spark-02", "cat /proc/sys/kernel/random/boot_id").stdout
    lab.bed.ssh("spark-01", "echo 590.44 >/etc/nvidia-stub/driver", root=True)
    recap = play(lab, "reboot")
    lab.bed.set_driver("spark-01", "580.142")
    assert recap.code == 2
    assert "590.44" in recap.output
    assert "spark-01: did not become ready after the reboot" in text_of(recap)
    assert lab.bed.ssh("spark-02", "cat /proc/sys/kernel/random/boot_id").stdout == second
    wait_for(lambda: lab.served("spark-01") == [SERVED["spark-01"]], "spark-01", timeout=300)


def test_driver_packages_are_held_and_a_bad_driver_is_refused(lab: Lab) -> None:
    lab.bed.ssh("spark-02", REPOSITORY, root=True)
    said = done(play(lab, "driver", "--limit", "spark-02", "--check"))
    assert f"would hold {PACKAGE}" in said
    assert lab.bed.ssh("spark-02", "apt-mark showhold", root=True).stdout == ""
    said = done(play(lab, "driver", "--limit", "spark-02"))
    assert f"{PACKAGE} 580.142-0ubuntu1" in said
    assert lab.bed.ssh("spark-02", "apt-mark showhold", root=True).stdout.split() == [PACKAGE]
    assert play(lab, "driver", "--limit", "spark-02").changed == {"spark-02": 0}
    for version, reason in (("590.44", "CUDA graphs hung with it"), ("580.159", "the inventory requires 580.142")):
        recap = play(lab, "driver", "--limit", "spark-02", "-e", f"upgrade_to={version}")
        assert recap.code == 2, recap.output
        assert f"Driver {version} is not installed on spark-02" in text_of(recap)
        assert reason in text_of(recap), recap.output
    assert lab.bed.ssh("spark-02", "cat /proc/driver/nvidia/version").stdout.count("580.142") == 1


def test_driver_upgrades_and_reboots(lab: Lab) -> None:
    text = lab.inventory.read_text()
    head, tail = text.split("  spark-02:", 1)
    lab.inventory.write_text(head + "  spark-02:" + tail.replace('driver: "580.142"', 'driver: "580.159"', 1))
    lab.generate()
    boot = lab.bed.ssh("spark-02", "cat /proc/sys/kernel/random/boot_id").stdout
    done(play(lab, "driver", "--limit", "spark-02", "-e", "upgrade_to=580.159"))
    assert lab.bed.ssh("spark-02", "cat /proc/sys/kernel/random/boot_id").stdout != boot
    assert "580.159" in lab.bed.ssh("spark-02", "cat /proc/driver/nvidia/version").stdout
    assert lab.bed.ssh("spark-02", "apt-mark showhold", root=True).stdout.split() == [PACKAGE]
    wait_for(lambda: lab.served("spark-02") == [SERVED["spark-02"]], "the port that opens after the gate", timeout=60)
    done(lab.apply())
    undo = f"apt-mark unhold {PACKAGE}; dpkg -P {PACKAGE}; rm -rf /srv/apt /etc/apt/sources.list.d/bed.list"
    lab.bed.ssh("spark-02", undo, root=True)


# -- uninstall --------------------------------------------------------------------------------------


def leftovers(fresh: Fresh) -> list[str]:
    """Return how the second host differs from what it was before the first apply."""
    ignored = ("nvidia-stub", "apt/", "var/lib/dpkg", "var/lib/apt", "var/cache/apt", "var/cache/debconf")
    now = listing(fresh.lab, "spark-02")
    found = sorted({*now} ^ {*fresh.before})
    return [line for line in found if not any(each in line for each in ignored)]


def test_uninstall_asks_first(fresh: Fresh) -> None:
    lab = fresh.lab
    said = done(play(lab, "uninstall", "--limit", "spark-02", "--check"))
    assert "would remove unit sparkiac-gemma4" in said
    assert "would remove user sparkiac" in said
    recap = play(lab, "uninstall", "--limit", "spark-02")
    assert recap.code == 2
    assert "Nothing was removed, because it was not confirmed" in text_of(recap)
    assert lab.served("spark-02") == [SERVED["spark-02"]]


def test_uninstall_leaves_the_host_as_it_was(fresh: Fresh) -> None:
    lab = fresh.lab
    said = done(play(lab, "uninstall", "--limit", "spark-02", "-e", "confirm=yes"))
    assert "removed unit sparkiac-gemma4" in said
    assert "stays: " in said
    assert container(lab, "spark-02") == ""
    assert leftovers(fresh) == []
    assert lab.served("spark-01") == [SERVED["spark-01"]]
    done(lab.apply())
    assert lab.served("spark-02") == [SERVED["spark-02"]]


def test_a_retired_host_is_cleaned(fresh: Fresh) -> None:
    lab = fresh.lab
    text = lab.inventory.read_text()
    start, end = text.index("  gemma4:"), text.index("\nplatforms:")
    text = text[:start] + text[end:]
    start, end = text.index("  spark-02:"), text.index("\ndeployments:")
    retired = "\nretired:\n  spark-02: {address: 10.77.0.12, user: spark}\n"
    lab.inventory.write_text(text[:start] + text[end:] + retired)
    lab.generate()
    first = container(lab, "spark-01")
    said = done(lab.apply("--check"))
    assert "would remove unit sparkiac-gemma4" in said
    assert lab.served("spark-02") == [SERVED["spark-02"]]
    said = done(lab.apply())
    assert "removed unit sparkiac-gemma4" in said
    assert leftovers(fresh) == []
    assert container(lab, "spark-01") == first
    recap = lab.apply()
    done(recap)
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output


def test_ansible_leaves_no_arguments_in_the_journal_of_a_host(lab: Lab) -> None:
    journal = lab.bed.ssh("spark-01", "journalctl --no-pager --output=cat", root=True).stdout
    assert "sparkiac-qwen36" in journal
    assert "Invoked with" not in journal
    assert KEY not in journal
