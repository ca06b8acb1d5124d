"""Put together what the comparison of a host reads: the program, and the generation with which it compares the host.

The same expressions in YAML take Ansible as long as all else that an apply does for a host without changes: it compiles
and evaluates them once for each host.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.plugins.lookup import LookupBase

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENTATION = """
name: sparkiac_look
short_description: standard input of the program that compares a host
description: Lines of JSON with the program and what it compares. Terms are the given secrets and the root directory.
"""
PROGRAMS = "roles/programs/files"
PARTS = re.compile(
    r"/(host/(?:(?:__init__|contract|durable|generation|local|settings|state)"
    r"|stage/(?:__init__|layouts|store)"
    r"|switch/(?:__init__|actions|effective|effects|history|lease|look|record|store))\.py)$"
)
"""The modules that the program imports. No others are sent: each host compiles what it gets."""


class LookupModule(LookupBase):
    """Ansible finds the class by this name."""

    def run(
        self, terms: tuple[Mapping[str, str], str], variables: Mapping[str, Any] | None = None, **_options: object
    ) -> list[str]:
        """Return one text."""
        shutil.rmtree(Path(__file__).with_name("__pycache__"), ignore_errors=True)  # the tree is in Git
        secrets, root = terms
        known = variables or {}
        playbooks = Path(known["playbook_dir"])
        found = (program["path"] for program in known["sparkiac_programs"])
        parts = {part[1]: text(playbooks / PROGRAMS / path) for path in found if (part := PARTS.search(path))}
        lines = ["host.switch.look", parts, [root], tree(secrets, known)]
        return ["\n".join(map(json.dumps, lines))]


def tree(secrets: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is generated for a host. Secrets are hashes with a random salt: no value is sent."""
    own, hashes, salt = known["sparkiac"], known["sparkiac_hashes"], known["begin_salt"]
    root = Path(known["playbook_dir"]).parent / "hosts" / own["host"]
    plan = json.loads(text(root / "etc/sparkiac/generation.json"))
    of_units = {path for unit in plan["units"] for path in unit["files"]}
    given = [name for name in own["secrets"] if name in secrets]
    ids = own["image_ids"] if own["images_from"] else {}
    return {
        "generation": hashes["generation"],
        "files": [*hashes["files"], *known["sparkiac_programs"]],
        # What counts in a file of a unit, only the host decides: from its text.
        "texts": {path: text(root / path) for file in hashes["files"] if (path := file["path"]) in of_units},
        "plan": plan,
        "secrets": {
            "salt": salt,
            "hashes": {name: hashlib.sha256(f"{salt}{secrets[name]}".encode()).hexdigest() for name in given},
        },
        "images": [ids.get(image, image) for image in own["images"]],
        "networks": own["networks"],
        "directories": hashes["directories"],
        "extra_files": [file["path"] for file in own["extra_files"]],
        "user": own["user"],
        "controller": known["begin_controller"],
    }


def text(path: Path) -> str:
    """Return the text of a file, with its ends of lines."""
    return path.read_bytes().decode()
