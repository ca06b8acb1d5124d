"""Two hosts and two models, moved to the bed's hosts: other addresses, platform, user, mirror and digests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.callback import LESS_WORK
from tests.e2e.bed.rootfs import PYTHON
from tests.plan.fleets import COMMIT, checked, repositories

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

ROOT = Path(__file__).parent.parent.parent
LAB = Path(__file__).with_name("lab.yaml")
STORE = "/home/spark/.cache/huggingface"
KEY = "canary-4f1d2c-not-a-real-key"
SSH_ARGS = "-o ControlMaster=auto -o ControlPersist=60s -o ServerAliveInterval=15"  # as the generated ansible.cfg
PLATFORM = """
platforms:
  bed:
    title: systemd host of the test bed with a stand-in GPU
    architecture: amd64
    gpu: {name: NVIDIA GB10, compute_capability: "12.1"}
    driver: "580"
    requires: {docker: "26.0", compose: "2.26", container_toolkit: "1.17.8", systemd: "254"}
    sysctl: {vm.swappiness: 1, net.core.rmem_max: 268435456, net.ipv4.tcp_keepalive_time: 600}
    docker_free_gib: 1
registries:
  mirrors: {nvcr.io: "10.77.0.1:5000", docker.io: "10.77.0.1:5000/hub"}
"""
REQUIRED = {"trixie": {}, "bookworm": {'docker: "26.0"': 'docker: "20.10"'}}
"""What the platform requires on hosts of another Debian."""
IMAGES = {
    "nvcr.io/nvidia/vllm:26.04-py3": ("nvidia/vllm", ("/opt/nvidia/nvidia_entrypoint.sh",)),
    "vllm/vllm-openai:gemma4-0505-arm64-cu130": ("hub/vllm/vllm-openai", ("vllm", "serve")),
}
"""Reference in the recipe → repository in the bed's registry, and the entrypoint of the stand-in image."""


OWN = Path(os.environ.get("ANSIBLE_PLAYBOOK", Path(sys.executable).with_name("ansible-playbook")))
"""The Ansible of this environment."""


@dataclass(frozen=True)
class Recap:
    """What Ansible did: its exit code, changed tasks by host, and all that it printed."""

    code: int
    changed: dict[str, int]
    output: str


@dataclass(frozen=True)
class Lab:
    """An inventory for the bed in a folder of its own, and its generated tree."""

    bed: Bed
    folder: Path
    ansible_playbook: Path = OWN

    @property
    def inventory(self) -> Path:
        """The inventory file, which a test may edit."""
        return self.folder / "inventories/lab.yaml"

    @property
    def tree(self) -> Path:
        """The generated tree."""
        return self.folder / "generated/lab"

    def write(self) -> None:
        """Write inventory, lock and secrets, and push the images."""
        self.inventory.parent.mkdir()
        text = moved(LAB.read_text())
        for here, there in REQUIRED[self.bed.suite].items():
            assert here in text
            text = text.replace(here, there)
        self.inventory.write_text(text)
        lock: dict[str, Any] = {"version": 1, "images": self.push_images()}
        plan = checked(self.inventory.read_text(), locked=json.dumps(lock), allow_unlocked=True).plan
        assert plan is not None
        lock["models"] = {name: {"commit": COMMIT} for name in repositories(plan)}
        self.inventory.with_name("lab.lock.yaml").write_text(json.dumps(lock))
        (self.folder / "secrets.json").write_text(json.dumps({"sparkiac_secrets": {"vllm_api_key": KEY}}))

    def push_images(self) -> dict[str, dict[str, object]]:
        """Push the images, and return what the lock records of them."""
        return {
            reference: {"digest": self.bed.push(repository, entrypoint=entrypoint), "entrypoint": list(entrypoint)}
            for reference, (repository, entrypoint) in IMAGES.items()
        }

    def stage(self) -> None:
        """Put repositories without weights into each host's model store: the stand-in reads none."""
        for host in self.bed.hosts:
            preflight = json.loads((self.tree / f"hosts/{host}/etc/sparkiac/preflight.json").read_text())
            names = [name.partition("@")[0] for store in preflight["store"] for name in store["models"]]
            snapshots = " ".join(f"{STORE}/hub/{name}/snapshots/{COMMIT}" for name in names)
            self.bed.ssh(host, f'for each in {snapshots}; do mkdir -p "$each"; echo {{}} >"$each/config.json"; done')

    def edit(self, before: str, after: str) -> None:
        """Replace one text of the inventory."""
        text = self.inventory.read_text()
        assert before in text
        self.inventory.write_text(text.replace(before, after))

    def generate(self) -> str:
        """Run `sparkiac generate` and give what it printed."""
        command = [sys.executable, "-m", "sparkiac", "generate", "inventories/lab.yaml"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, *options: str, playbook: str = "site.yml") -> Recap:
        """Run a playbook over SSH, as an operator does in the generated tree."""
        with self.applying(*options, playbook=playbook) as process:
            output, _ = process.communicate(timeout=3600)
        found = re.findall(r"^(spark-\d+)\s+: ok=\d+\s+changed=(\d+)", output, re.MULTILINE)
        return Recap(process.returncode, {host: int(count) for host, count in found}, output)

    def sparkiac_apply(self, *options: str, command: str = "apply") -> Recap:
        """Run `sparkiac apply`, or another command that runs a playbook, in the directory of the inventory."""
        with self.sparkiac_applying(*options, command=command) as process:
            output, _ = process.communicate(timeout=3600)
        return Recap(process.returncode, {}, output)

    def sparkiac_applying(self, *options: str, command: str = "apply") -> subprocess.Popen[str]:
        """Start the same."""
        words = [sys.executable, "-m", "sparkiac", command, "inventories/lab.yaml", *options]
        return self.running([*words, "--", "-e", f"@{self.folder}/secrets.json"], folder=self.folder)

    def sparkiac(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run another command of sparkiac on the control station, with an ssh that knows the hosts."""
        ssh = self.folder / "bin/ssh"
        ssh.parent.mkdir(exist_ok=True)
        ssh.write_text(f'#!/bin/sh\nexec /usr/bin/ssh {" ".join(self.bed.ssh_options)} "$@"\n')
        ssh.chmod(0o755)
        env = {"PATH": f"{ssh.parent}:/usr/bin:/bin:/usr/sbin:/sbin"}
        return self.bed.run([sys.executable, "-m", "sparkiac", *words], cwd=self.folder, env=env, check=False)

    def applying(self, *options: str, playbook: str = "site.yml", **env: str) -> subprocess.Popen[str]:
        """Start the same, for a caller that reads its output or kills it: it leads a process group of its own."""
        words = [self.ansible_playbook, playbook, "-e", f"@{self.folder}/secrets.json", *options]
        return self.running(words, folder=self.tree, **env)

    def running(self, words: list[Path | str], *, folder: Path, **env: str) -> subprocess.Popen[str]:
        """Start a command that reaches the hosts over SSH; it leads a process group of its own."""
        env = LESS_WORK | env
        env |= {
            "ANSIBLE_PRIVATE_KEY_FILE": str(self.bed.ssh_key),
            "ANSIBLE_SSH_ARGS": f"-o UserKnownHostsFile={self.bed.known_hosts} {SSH_ARGS}",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.bed.control_path),
            "ANSIBLE_NOCOLOR": "1",
            # Another Ansible uses the Python that ansible.cfg names.
            **({"ANSIBLE_PYTHON_INTERPRETER": PYTHON} if self.ansible_playbook == OWN else {}),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin",
        }
        argv = self.bed.inside(words)
        pipe, end = subprocess.PIPE, subprocess.STDOUT
        return subprocess.Popen(
            argv, cwd=folder, env=env, stdout=pipe, stderr=end, text=True, errors="replace", start_new_session=True
        )

    def drift(self, host: str) -> list[str]:
        """Return what differs on a host from its generation: files, kernel settings, units that would restart."""
        done = self.bed.ssh(host, "/usr/local/lib/sparkiac/switch drift", root=True)
        return list(json.loads(done.stdout)["lines"])

    def get(self, host: str, path: str, *, key: str | None = KEY) -> tuple[int, Any]:
        """Send a request to a host's model server over the network; return status and parsed body."""
        header = ["-H", f"Authorization: Bearer {key}"] if key else []
        url = f"http://{self.bed.hosts[host].address}:8001{path}"
        done = self.bed.run(["curl", "-s", "-m", "60", "-w", "\n%{http_code}", *header, url], check=False)
        body, _, status = done.stdout.rpartition("\n")
        return int(status or 0), json.loads(body) if body.startswith(("{", "[")) else body

    def served(self, host: str) -> list[str]:
        """Return the model names that a host's server lists."""
        status, body = self.get(host, "/v1/models")
        return [model["id"] for model in body["data"]] if status == 200 else []


def moved(text: str) -> str:
    """Move the shipped lab to the bed; its deployments stay word for word."""
    for number in (1, 2):
        text = text.replace(f"address: 192.168.1.1{number}", f"address: 10.77.0.1{number}\n    platform: bed")
    text = text.replace("user: milo", "user: spark").replace("/home/milo/.cache/huggingface", STORE)
    return text + PLATFORM
