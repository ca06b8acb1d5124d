"""Weights and images on real hosts: from the hub and the registry to one, over the fabric to the other.

The tests build on each other, in order.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.e2e.lab import Lab, Recap
from tests.host import tree
from tests.host.staging import FILES, SAFETENSORS, Store, tiny
from tests.standin.hub import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

CHECKOUT = Path(__file__).parents[2]
STORE = "/srv/models"
SITE = """
- hosts: all
  gather_facts: false
  become: true
  vars_files: [vars/main.yml]
  roles: [begin, look, stage, images, weights]
  post_tasks:
    - name: Record what this generation needs, as a switch to it does
      ansible.builtin.command:
        argv:
          - "{{ stage_program }}"
          - record
          - --generation={{ sparkiac_hashes.generation }}
          - --needs={{ sparkiac_plan.needs | to_json }}
      register: recorded
      changed_when: (recorded.stdout | from_json).changed
      when: not ansible_check_mode
"""


@dataclass(frozen=True)
class Staged:
    """A tree of what is staged on the bed's two hosts, and the hub beside them."""

    lab: Lab
    hub: subprocess.Popen[str]

    def apply(self, *words: str) -> Recap:
        """Run the playbook."""
        return self.lab.apply(*words)

    def asked(self) -> list[str]:
        """Return what came to the hub since this was asked last."""
        assert self.hub.stdin
        assert self.hub.stdout
        self.hub.stdin.write("\n")
        self.hub.stdin.flush()
        found: list[str] = json.loads(self.hub.stdout.readline())
        return found

    def ssh(self, host: str, command: str) -> str:
        """Run a command on a host as root."""
        return self.lab.bed.ssh(host, command, root=True, check=False).stdout

    def hashes(self, host: str) -> dict[str, str]:
        """Return the hash of each file that an engine sees."""
        lines = self.ssh(host, f"cd {STORE}/hub/models--acme--tiny/snapshots/* && find . -type l | xargs sha256sum")
        return {path.removeprefix("./"): digest for digest, path in (line.split() for line in lines.splitlines())}


@pytest.fixture(scope="module")
def hub(bed: Bed) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the hub on the control station; give it with its address."""
    argv = bed.inside([sys.executable, "-m", "tests.e2e.placed_hub", "10.77.0.1"])
    root = Path(__file__).parents[2]
    with subprocess.Popen(argv, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield process, process.stdout.readline().strip()
        process.stdin.close()


@pytest.fixture(scope="module")
def staged(bed: Bed, hub: tuple[subprocess.Popen[str], str], tmp_path_factory: pytest.TempPathFactory) -> Staged:
    folder = tmp_path_factory.mktemp("staging")
    lab = Lab(bed, folder)
    digest = bed.push("nvidia/vllm")
    image = f"10.77.0.1:5000/nvidia/vllm@{digest}"
    bed.ssh("spark-01", f"docker pull --quiet {image}", root=True)
    identity = bed.ssh("spark-01", f"docker image inspect --format '{{{{.Id}}}}' {image}", root=True).stdout.strip()
    bed.ssh("spark-01", f"docker image rm {image}", root=True)
    write(lab, endpoint=hub[1], image=image, identity=identity)
    return Staged(lab, hub[0])


def write(lab: Lab, *, endpoint: str, image: str, identity: str) -> None:
    """Write the tree that `sparkiac generate` would write, as far as staging reads it."""
    shutil.copytree(CHECKOUT / "playbooks", lab.tree / "playbooks")
    shutil.copy(CHECKOUT / "templates/ansible.cfg", lab.tree / "ansible.cfg")
    (lab.tree / "site.yml").write_text("- ansible.builtin.import_playbook: playbooks/staging.yml\n")
    (lab.tree / "playbooks/staging.yml").write_text(SITE)
    (lab.folder / "secrets.json").write_text("{}")
    manifests = Store(lab.folder / "made")
    commit = manifests.want(tiny())
    shutil.copytree(manifests.manifests, lab.tree / "models")
    model = {"model": "acme/tiny", "commit": commit, "layout": "hub", "manifest": "models/acme--tiny.json", "own": None}
    stores = [{"path": STORE, "models": [model]}]
    shared = tree.listed(lab.tree / tree.PROGRAMS)
    hosts: dict[str, Any] = {}
    for name, host in lab.bed.hosts.items():
        (other,) = (each for each in lab.bed.hosts.values() if each.name != name)
        near = {"host": other.name, "address": other.fabric_address}
        known = image if name == "spark-01" else identity  # a copied image has no name
        needs = {"images": [known], "stores": stores, "extra_files": [], "caches": []}
        nothing: dict[str, Any] = {"memory_bytes": None, "turns": [], "units": [], "sysctls": [], "group": None}
        plan = {"host": name, "needs": needs} | nothing
        own = lab.tree / f"hosts/{name}"
        (own / "etc/sparkiac").mkdir(parents=True)
        (own / "etc/sparkiac/generation.json").write_text(json.dumps(plan))
        data = tree.host_data(name, (name,)) | {
            "stores": stores,
            "fetch": {"endpoint": endpoint, "token": None, "from": [near], "owners": []},
            "images": [image],
            "image_ids": {image: identity},
            "images_from": None if name == "spark-01" else near,
            "copied_by": [other.address, other.fabric_address],
            "gpu_image": image,
            "secrets": [],
        }
        connection = {"ansible_host": host.address, "ansible_user": "spark"}
        hosts[name] = {
            **connection,
            "sparkiac": data,
            "sparkiac_hashes": tree.host_hashes(tree.listed(own), shared),
            "weights_reserve_bytes": 0,
        }
    inventory = {"all": {"hosts": hosts, "vars": {"sparkiac_programs": shared}}}
    (lab.tree / "inventory.yml").write_text(yaml.safe_dump(inventory))


def test_a_dry_run_says_what_would_come(staged: Staged) -> None:
    recap = staged.apply("--check", "--diff")
    assert recap.code == 0, recap.output
    assert "would download" in recap.output
    assert "would pull" in recap.output
    assert "would copy" in recap.output
    assert staged.asked() == []
    assert staged.ssh("spark-01", f"ls {STORE} /usr/local/lib/sparkiac") == ""


def test_the_hub_gives_each_file_once_and_the_registry_the_image(staged: Staged) -> None:
    """The second host gets both over the fabric, with the same ID."""
    recap = staged.apply()
    assert recap.code == 0, recap.output
    asked = staged.asked()
    assert len([path for path in asked if path.endswith(f"{sha256(SAFETENSORS)}/model-00001.safetensors")]) == 1
    assert len(asked) == len(set(asked))
    for host in staged.lab.bed.hosts:
        assert staged.hashes(host) == {path: sha256(content) for path, content in FILES.items()}
        assert staged.ssh(host, "ls -d /run/sparkiac-share; systemctl list-units --all -q sparkiac-share*") == ""
    other = staged.lab.bed.hosts["spark-02"]
    rules = staged.ssh("spark-01", "nft list table inet sparkiac")
    assert [f"tcp dport 7347 ip saddr {each} accept" in rules for each in (other.address, other.fabric_address)] == [
        True,
        True,
    ]
    assert re.search(r"tcp dport 7347 tcp flags .* drop", rules)
    images = [staged.ssh(host, "docker image ls --quiet --no-trunc").split() for host in staged.lab.bed.hosts]
    assert len(images[0]) == 1
    assert images[0] == images[1]
    assert staged.ssh("spark-02", "docker image inspect --format '{{.RepoDigests}}' " + images[1][0]).strip() == "[]"


def test_a_second_run_changes_nothing_and_sends_no_request(staged: Staged) -> None:
    """The dry run still lists files and programs of the generation: only a switch installs what is staged."""
    for words, changed in (((), 0), (("--check", "--diff"), 2)):
        recap = staged.apply(*words)
        assert recap.code == 0, recap.output
        assert recap.changed == {"spark-01": changed, "spark-02": changed}, recap.output
    assert not re.search(r"would (download|pull|copy)", recap.output)
    assert staged.asked() == []


def test_a_changed_byte_is_found_and_fixed_over_the_fabric(staged: Staged) -> None:
    blob = f"{STORE}/hub/models--acme--tiny/blobs/{sha256(SAFETENSORS)}"
    staged.ssh("spark-02", f"printf X | dd of={blob} conv=notrunc bs=1 count=1")
    assert staged.hashes("spark-02")["model-00001.safetensors"] != sha256(SAFETENSORS)
    recap = staged.apply()
    assert recap.code == 0, recap.output
    assert recap.changed["spark-02"] > 0
    assert staged.hashes("spark-02") == staged.hashes("spark-01")
    assert staged.asked() == []


def test_without_the_fabric_the_hub_gives_what_is_missing(staged: Staged) -> None:
    staged.ssh("spark-02", f"rm -r {STORE}")
    staged.lab.bed.cut_fabric()
    try:
        recap = staged.apply()
    finally:
        staged.lab.bed.restore_fabric()
    assert recap.code == 0, recap.output
    assert "downloaded from the hub instead:" in recap.output
    assert len(staged.asked()) > len(FILES) - 1
    assert staged.hashes("spark-02") == staged.hashes("spark-01")


def test_what_a_former_generation_needed_is_pruned_and_the_rest_stays(staged: Staged) -> None:
    (staged.lab.tree / "site.yml").write_text("- ansible.builtin.import_playbook: playbooks/prune.yml\n")
    inventory = staged.lab.tree / "inventory.yml"
    hosts = yaml.safe_load(inventory.read_text())
    programs = "/usr/local/lib/sparkiac"
    install = f"cp -r /var/lib/sparkiac/generations/*/files{programs} {programs}"
    record = f"{programs}/stage record --generation second --needs "
    needs = {"images": [], "stores": [], "extra_files": [], "caches": []}
    for host, variables in hosts["all"]["hosts"].items():
        variables["sparkiac"]["stores"] = []
        variables["sparkiac_hashes"]["generation"] = "second"
        variables["prune_keep"] = 1
        staged.ssh(host, f"{install}; {record} '{json.dumps(needs)}'; mkdir -p {STORE}/own; touch {STORE}/own/file")
    inventory.write_text(yaml.safe_dump(hosts))
    looked = staged.apply("--check")
    assert looked.code == 0, looked.output
    said = " ".join(looked.output.split())
    assert "would remove image" in said
    assert "would remove model acme/tiny@" in said
    assert set(staged.hashes("spark-01")) == set(FILES)
    recap = staged.apply()
    assert recap.code == 0, recap.output
    for host in staged.lab.bed.hosts:
        assert staged.ssh(host, "docker image ls --quiet").split() == []
        assert staged.ssh(host, f"find {STORE} -type f -size +100k; ls {STORE}/own").split() == ["file"]
    assert staged.apply().changed == {"spark-01": 0, "spark-02": 0}


CUTTING = """\
# Stands between docker and its registry: cuts the first two answers after a mebibyte, and notes what was asked for.
import itertools, socket, sys, threading
cuts = itertools.count()
def pump(source, target, log, budget):
    try:
        while piece := source.recv(65536):
            if log:
                log.write(piece); log.flush()
            target.sendall(piece)
            budget -= len(piece)
            if budget < 0:
                if next(cuts) < 2: break
                budget = 1 << 60
    except OSError:
        pass
    for each in (source, target):
        try: each.shutdown(socket.SHUT_RDWR)
        except OSError: pass
listener = socket.create_server(("127.0.0.1", 5001))
while True:
    near, _ = listener.accept()
    far = socket.create_connection(("10.77.0.1", 5000))
    threading.Thread(target=pump, args=(near, far, open(sys.argv[1], "ab"), 1 << 60), daemon=True).start()
    threading.Thread(target=pump, args=(far, near, None, 1 << 20), daemon=True).start()
"""
PULLING = """
- hosts: all
  gather_facts: false
  become: true
  roles: [images]
"""


def test_a_pull_that_is_cut_in_the_middle_goes_on_where_it_was(staged: Staged) -> None:
    """Docker itself asks for the rest of a layer."""
    bed, host, log = staged.lab.bed, "spark-01", "/tmp/asked"  # noqa: S108  on the host
    inventory = staged.lab.tree / "inventory.yml"
    hosts = yaml.safe_load(inventory.read_text())
    image = f"127.0.0.1:5001/nvidia/vllm@{bed.push('nvidia/vllm')}"  # docker trusts loopback without TLS
    hosts["all"]["hosts"][host]["sparkiac"] |= {"images": [image], "image_ids": {}, "gpu_image": ""}
    inventory.write_text(yaml.safe_dump(hosts))
    (staged.lab.tree / "site.yml").write_text("- ansible.builtin.import_playbook: playbooks/pulling.yml\n")
    (staged.lab.tree / "playbooks/pulling.yml").write_text(PULLING)
    start = f"cat >/tmp/cutting.py; systemd-run --quiet --unit=cutting python3 /tmp/cutting.py {log}"
    ssh = ["ssh", *bed.ssh_options, f"spark@{bed.hosts[host].address}", f"sudo -n sh -c '{start}'"]
    subprocess.run(bed.inside(ssh), input=CUTTING, text=True, check=True)
    try:
        recap = staged.apply("--limit", host)
        asked = staged.ssh(host, f"cat {log}")
    finally:
        staged.ssh(host, "systemctl stop cutting")
    assert recap.code == 0, recap.output
    assert recap.changed == {host: 1}
    ranges = [int(line.split("=")[1].split("-")[0]) for line in asked.splitlines() if line.startswith("Range: bytes=")]
    assert len(ranges) >= 1
    assert all(start > 0 for start in ranges), "a layer was begun anew"
    assert image in staged.ssh(host, "docker image inspect --format '{{.RepoDigests}}' " + image)
