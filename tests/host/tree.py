"""A small generated tree, as sparkiac writes it: what the playbooks are given."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from sparkiac.host.preflight.expectations import Expectations
from sparkiac.report.artifact import hashes_file
from tests.host import programs
from tests.host.expected import complete
from tests.host.probed import promise

IMAGE = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64
PROGRAMS = "playbooks/roles/programs/files"
STUB = Path(__file__).parent / "stubs/switch"
LOOK = "\n\nrun = main\n\n\ndef main(argv):\n    return run(['--root', *argv, 'look'])\n"
"""End of the stand-in for the comparison, which is a program of its own."""
PAIR = (("spark-01",), ("spark-02",))


class Dumper(yaml.SafeDumper):
    """Writes lists with the indentation that sparkiac writes."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Indent lists below their key."""
        super().increase_indent(flow, indentless=False)


def build(
    root: Path, *, checkout: Path, teams: tuple[tuple[str, ...], ...] = PAIR, pause_s: int = 0, real: bool = False
) -> None:
    """Write the tree of some hosts with one deployment each; the hosts of a team run theirs together.

    `real` keeps the program `switch`; otherwise a stand-in is in its place and that of its parts.
    """
    shutil.copytree(checkout / "playbooks", root / "playbooks", ignore=shutil.ignore_patterns("__pycache__"))
    programs.write(root / PROGRAMS)
    if not real:
        installed = root / PROGRAMS / programs.INSTALLED
        for folder in ("switch", "stage"):
            shutil.rmtree(installed / "host" / folder)
        (installed / "host/switch").mkdir()
        (installed / "host/switch/__init__.py").touch()
        for name in ("switch", "host/switch/program.py"):
            shutil.copy(STUB, installed / name)
        (installed / "host/switch/look.py").write_text(STUB.read_text(encoding="utf-8") + LOOK, encoding="utf-8")
    _write(root / "site.yml", _yaml(_site(teams, pause_s)))
    shutil.copy(checkout / "templates/ansible.cfg", root / "ansible.cfg")
    names = {name: {"ansible_host": f"192.0.2.{number}"} for number, name in enumerate(sum(teams, ()), 11)}
    _write(root / "inventory.yml", _yaml({"all": {"hosts": names, "children": {"sparkiac_changing": {}}}}))
    shared = listed(root / PROGRAMS)
    _write(root / "group_vars/all.yml", _yaml({"sparkiac_programs": shared}))
    for team in teams:
        for name in team:
            write_host(root, name, team, shared)
    write_manifest(root)


def _site(teams: tuple[tuple[str, ...], ...], pause_s: int) -> list[dict[str, Any]]:
    plays = [{"name": "Deploy", "ansible.builtin.import_playbook": "playbooks/deploy.yml"}]
    for team in teams:
        words = {"change_hosts": list(team), "change_serial": len(team), "change_pause_s": pause_s}
        plays.append({"name": "Change", "ansible.builtin.import_playbook": "playbooks/change.yml", "vars": words})
    return [*plays, {"name": "Verify", "ansible.builtin.import_playbook": "playbooks/verify.yml"}]


def write_host(
    root: Path, name: str, team: tuple[str, ...], shared: list[dict[str, str]], text: str = "one", **expected: object
) -> None:
    """Write the files and variables of a host; another text makes another generation."""
    own = root / f"hosts/{name}"
    for path, content in host_files(name, team, text, expected).items():
        _write(own / path, content)
    _write(root / f"host_vars/{name}/main.yml", _yaml({"sparkiac": host_data(name, team)}))
    _write(root / hashes_file(name), _yaml({"sparkiac_hashes": host_hashes(listed(own), shared)}))


def hashes(root: Path, host: str) -> dict[str, Any]:
    """Read the hashes of a host."""
    found: dict[str, Any] = yaml.safe_load((root / hashes_file(host)).read_text())["sparkiac_hashes"]
    return found


def change(root: Path, team: tuple[str, ...], text: str) -> None:
    """Generate another version for the hosts of a team."""
    for name in team:
        write_host(root, name, team, listed(root / PROGRAMS), text)
    write_manifest(root)


def install(root: Path, hosts: Path, team: tuple[str, ...]) -> None:
    """Put the programs where they are on hosts that have a generation."""
    for name in team:
        place = hosts / name / "usr/local/lib/sparkiac"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / PROGRAMS / "usr/local/lib/sparkiac/switch", place)


def write_manifest(root: Path) -> None:
    """Write the manifest of the tree."""
    files = {each["path"]: {"mode": each["mode"], "sha256": each["sha256"]} for each in listed(root)}
    (root / ".sparkiac-manifest.json").write_text(json.dumps({"files": files}))


def listed(root: Path) -> list[dict[str, str]]:
    """List the files below a directory, as host_vars does."""
    return [
        {
            "path": path.relative_to(root).as_posix(),
            "mode": f"{path.stat().st_mode & 0o755:04o}",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".sparkiac-manifest.json"
    ]


def generation_of(files: list[dict[str, str]]) -> str:
    """Return the name of a generation."""
    lines = [
        f"{each['mode']} {each['sha256']} {each['path']}\n" for each in sorted(files, key=lambda each: each["path"])
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def host_files(name: str, team: tuple[str, ...], text: str, wanted: dict[str, object]) -> dict[str, str]:
    """Make the files of a host."""
    unit = {"name": "sparkiac-qwen36", "files": [], "secrets": [], "memory_bytes": None, "listen": "0.0.0.0:8001"}
    unit |= {"group": len(team) > 1, "ready_timeout_s": 1200, "drain_s": 30, "turns": []}
    unit |= {"promise": promise("sparkiac-qwen36", url="http://192.0.2.11:8001", clients=["tools"])}
    group = {"members": list(team), "coordinator": team[0], "address": "192.0.2.11", "port": 7348, "peers": []}
    needs = {"images": [IMAGE], "stores": [], "extra_files": [], "caches": []}
    plan = {
        "host": name,
        "memory_bytes": None,
        "turns": [],
        "units": [unit],
        "sysctls": [],
        "packages": {},
        "parameters": [],
        "clients": {},
        "egress": {},
    }
    plan |= {"group": group if len(team) > 1 else None, "nft_optional": False, "needs": needs}
    expected = complete(Expectations, {"host": name, **wanted})
    return {
        "etc/systemd/system/sparkiac-qwen36.service": "[Service]\n",
        # A text that Ansible must not evaluate, and characters that must survive.
        "etc/sparkiac/qwen36/compose.yaml": f"{{\"{text}\": \"{{{{ lookup('pipe', 'id') }}}} ünlaut\"}}\n\n",
        "etc/sparkiac/preflight.json": json.dumps(expected),
        "etc/sparkiac/generation.json": json.dumps(plan),
    }


def host_hashes(files: list[dict[str, str]], shared: list[dict[str, str]]) -> dict[str, Any]:
    """Make the variable `sparkiac_hashes` of a host."""
    return {
        "generation": generation_of([*files, *shared]),
        "files": files,
        "directories": [{"path": "/var/cache/sparkiac/qwen36/0123abcd", "mode": "0700"}],
    }


def host_data(name: str, team: tuple[str, ...]) -> dict[str, Any]:
    """Make the variable `sparkiac` of a host."""
    return {
        "host": name,
        "user": "sparkiac",
        "unpinned": [],
        "images": [IMAGE],
        "image_ids": {},
        "images_from": None,
        "copied_by": [],
        "nft_optional": False,
        "stores": [],
        "fetch": {"endpoint": "https://huggingface.co", "token": None, "from": [], "owners": []},
        "gpu_image": "",
        "builds": [],
        "extra_files": [],
        "networks": [],
        "secrets": ["vllm_api_key"],
        "together": list(team),
        "pulls": [],
    }


def _yaml(data: object) -> str:
    return yaml.dump(data, Dumper=Dumper, explicit_start=True, sort_keys=False)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
