"""Compare a host with its generation: run the program for it there, with all that it reads on standard input.

The module `command` would start Python twice on the host and get its standard input back, and in YAML Ansible would
evaluate expressions for each host. Together they take longer than all else that an apply does for a host without
changes.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.plugins.action import ActionBase  # type: ignore[import-untyped,import-not-found,unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = shlex.join(["python3", "-c", "import json, sys; exec(json.loads(sys.stdin.buffer.readline()))"])
"""The program is not in the command, which sudo logs."""
PROGRAMS = "roles/programs/files"
PARTS = re.compile(
    r"/(host/(?:(?:__init__|contract|durable|generation|local|secrets|settings|state)"
    r"|stage/(?:__init__|layouts|store)"
    r"|switch/(?:__init__|actions|effective|effects|history|lease|look|record|store))\.py)$"
)
"""The modules that the program imports. No others are sent: each host compiles what it gets."""


class ActionModule(ActionBase):  # type: ignore[misc,unused-ignore]
    """The comparison of one host; the result is like that of `command`."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:  # noqa: ANN401  Ansible's signature
        """Run the program."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        shutil.rmtree(Path(__file__).with_name("__pycache__"), ignore_errors=True)  # the tree is in Git
        given = standard_input(**self._task.args, known=task_vars)
        done = self._low_level_execute_command(COMMAND, in_data=given.encode())
        failed = {"failed": True, "msg": "non-zero return code"} if done["rc"] else {}
        return {**result, **done, **failed}


def standard_input(secrets: Mapping[str, str], root: str, known: Mapping[str, Any]) -> str:
    """Return what the command reads: lines of JSON, the first of which is the program that reads the others."""
    playbooks = Path(known["playbook_dir"])
    found = (program["path"] for program in known["sparkiac_programs"])
    parts = {part[1]: text(playbooks / PROGRAMS / path) for path in found if (part := PARTS.search(path))}
    lines = [text(playbooks / "bundle.py"), "host.switch.look", parts, [root], tree(secrets, known)]
    return "\n".join(map(json.dumps, lines))


def tree(secrets: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is generated for a host. Secrets are hashes with a random salt: no value is sent."""
    own, hashes, salt = known["sparkiac"], known["sparkiac_hashes"], known["begin_salt"]
    root = Path(known["playbook_dir"]).parent / "hosts" / own["host"]
    plan = json.loads(text(root / "etc/sparkiac/generation.json"))
    of_units = {path for unit in plan["units"] for path in unit["files"]}
    given = [each for name in own["secrets"] for each in (name, f"{name}.previous") if each in secrets]
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
            "read": own["secrets"],
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
