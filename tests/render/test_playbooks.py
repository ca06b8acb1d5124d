"""The playbooks in the tree, and the programs of their role `programs`: once, however many hosts there are."""

from __future__ import annotations

import hashlib
import subprocess
from typing import TYPE_CHECKING

import yaml

from sparkiac.write.manifest import MANIFEST
from tests.plan.fleets import PAIR, deployment
from tests.render.test_ansible import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]


def test_the_programs_are_there_once_and_listed_once(rendered: Rendered) -> None:
    """Two hosts or a thousand: what every host gets is a file of the tree once, and so is its line."""
    tree, root = rendered(PAIR), "playbooks/roles/programs/files/"
    programs = {path.removeprefix(root): artifact.mode for path, artifact in tree.items() if path.startswith(root)}
    listed = yaml.safe_load(tree["group_vars/all.yml"].content)["sparkiac_programs"]
    assert {file["path"]: int(file["mode"], 8) for file in listed} == programs
    assert len(listed) == len(programs)
    for file in listed:
        assert file["sha256"] == hashlib.sha256(tree[root + file["path"]].content).hexdigest()
    folder = "usr/local/lib/sparkiac"
    for name, mode in {
        "preflight": 0o755,
        "probe.py": 0o755,
        "supervise": 0o755,
        "host/switch/actions.py": 0o644,
    }.items():
        assert programs[f"{folder}/{name}"] == mode
        assert [path for path in tree if path.endswith(f"{folder}/{name}")] == [f"{root}{folder}/{name}"]
    for host in ("spark-01", "spark-02"):
        assert programs.keys().isdisjoint(file["path"] for file in variables(tree, host)["files"])


def test_reviews_fold_hashes_and_show_what_people_wrote(rendered: Rendered, tmp_path: Path) -> None:
    """Git itself says which files are marked; what differs between two values of an option is in the others."""
    before, after = (rendered(deployment(f"set: {{max_model_len: {length}}}")) for length in (4096, 8192))
    subprocess.run(("git", "init", "--quiet"), cwd=tmp_path, check=True)
    (tmp_path / ".gitattributes").write_bytes(before[".gitattributes"].content)
    words = ("git", "check-attr", "linguist-generated", "gitlab-generated", "--", MANIFEST, *before)
    said = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.splitlines()
    marked = {line.partition(": ")[0] for line in said if line.endswith(": set")}
    assert {MANIFEST, "host_vars/spark-01/hashes.yml", "group_vars/all.yml"} <= marked
    shown = {path for path in before if path not in marked and before[path] != after[path]}
    own = "hosts/spark-01/etc/sparkiac/chat"
    assert shown == {"PLAN.md", f"{own}/compose.yaml", f"{own}/promise.json"}
    assert b"sha256: " not in before["host_vars/spark-01/main.yml"].content
