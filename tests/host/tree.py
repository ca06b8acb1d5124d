"""A small generated tree, as sparkiac writes it: what the playbooks are given."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64
HOSTS = {"spark-01": "192.0.2.11", "spark-02": "192.0.2.12"}
SCRIPTS = "usr/local/lib/sparkiac"
PLAYS = ("Deploy", "Change", "Verify")


class Unsafe(dict[str, Any]):
    """A mapping whose strings Ansible never evaluates."""


class Dumper(yaml.SafeDumper):
    """Writes Unsafe with its tag."""


Dumper.add_representer(Unsafe, lambda dumper, data: dumper.represent_mapping("!unsafe", dict(data)))


def build(root: Path, *, checkout: Path) -> None:
    """Write the tree of two hosts with one deployment each."""
    shutil.copytree(checkout / "playbooks", root / "playbooks")
    plays = [{"name": name, "ansible.builtin.import_playbook": f"playbooks/{name.lower()}.yml"} for name in PLAYS]
    _write(root / "site.yml", _yaml(plays))
    shutil.copy(checkout / "templates/ansible.cfg", root / "ansible.cfg")
    hosts = {name: {"ansible_host": address} for name, address in HOSTS.items()}
    _write(root / "inventory.yml", _yaml({"all": {"hosts": hosts}}))
    for name, address in HOSTS.items():
        data = host_data(name, address)
        _write(root / f"host_vars/{name}.yml", _yaml({"sparkiac": data}))
        for file in data["files"]:
            _write(root / f"hosts/{name}/{file['path']}", "{}\n")
        scripts = root / f"hosts/{name}/{SCRIPTS}"
        shutil.copytree(checkout / "templates/host" / SCRIPTS, scripts, dirs_exist_ok=True)


def host_data(name: str, address: str) -> Unsafe:
    """Make the variable `sparkiac` of a host."""
    files = {
        "etc/systemd/system/sparkiac-qwen36.service": "0644",
        "etc/sparkiac/qwen36/compose.yaml": "0644",
        f"{SCRIPTS}/contract.py": "0644",
        f"{SCRIPTS}/preflight": "0755",
        **{f"{SCRIPTS}/preflight_{part}.py": "0644" for part in ("host", "machine", "needs", "start")},
        f"{SCRIPTS}/stage": "0755",
        **{
            f"{SCRIPTS}/stage_{part}.py": "0644"
            for part in ("fetch", "http", "images", "layouts", "prune", "share", "store")
        },
        f"{SCRIPTS}/probe.py": "0755",
        f"{SCRIPTS}/probe_answers.py": "0644",
        f"{SCRIPTS}/supervise": "0755",
        **{f"{SCRIPTS}/units_{part}.py": "0644" for part in ("host", "look", "report", "restart")},
        f"{SCRIPTS}/units": "0755",
        "etc/sparkiac/preflight.json": "0644",
        "etc/sparkiac/units.json": "0644",
        "etc/sparkiac/owned.json": "0644",
    }
    unit = {
        "name": "sparkiac-qwen36",
        "group": False,
        "cache": "/var/cache/sparkiac/qwen36",
        "cache_keep": "0123abcd",
        "ready_timeout_s": 1200,
        "verify": {
            "url": f"http://{address}:8001",
            "health": "/health",
            "models": ["m"],
            "api_key": "vllm_api_key",
            "answer": True,
            "tools": True,
        },
    }
    return Unsafe(
        host=name,
        user="sparkiac",
        unpinned=[],
        files=[{"path": path, "mode": mode} for path, mode in files.items()],
        directories=[{"path": "/var/cache/sparkiac/qwen36/0123abcd", "mode": "0700"}],
        sysctls=[{"key": "net.core.rmem_max", "value": "268435456"}],
        images=[IMAGE],
        image_ids={},
        images_from=None,
        stores=[],
        fetch={"endpoint": "https://huggingface.co", "token": None, "from": []},
        generation="0123456789abcdef",
        gpu_image=IMAGE,
        builds=[],
        extra_files=[{"url": "file:///srv/parser.py", "sha256": "0" * 64, "path": f"{'0' * 64}/parser.py"}],
        networks=[],
        secrets=["vllm_api_key"],
        units=[unit],
        together=[name],
        pulls=[],
    )


def _yaml(data: object) -> str:
    return yaml.dump(data, Dumper=Dumper, explicit_start=True, sort_keys=False)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
