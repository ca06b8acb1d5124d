"""Every key of a deployment and of a host is in the files of each target, or the target refuses it by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from sparkiac import catalog
from sparkiac.model.settings import ContainerSettings
from sparkiac.plan import unwritten
from sparkiac.plan.confinement import KEYED, SETTINGS
from tests import with_new_keys, writers

ROOT: Final = Path(__file__).parent.parent
FIELDS: Final = dict(writers.fields())
WRITTEN_ELSEWHERE: Final = {"mounts", "files", "prelude"}
"""Keys of `container` that do not confine it."""
IN_NOTES_OF_PODS: Final = {"cgroup_parent", "oom_score_adj", "pids_limit"}
"""Settings that NOTES.md leaves to the kubelet of the node."""


@pytest.mark.parametrize("key", FIELDS)
def test_each_target_writes_a_key_or_refuses_it_by_name(key: str) -> None:
    states = writers.states(FIELDS[key])
    for target, state in states.items():
        refused = unwritten.refuses(target, key)
        assert refused or state != writers.SILENT, f"{target} does not write {key}: catalog/unwritten.yaml says why"
        assert not refused or state != writers.WRITTEN, f"{target} writes {key}, which catalog/unwritten.yaml denies"


def test_a_key_that_nothing_reads_is_found_for_each_target() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.with_new_keys"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {key: [*writers.TARGETS] for key in with_new_keys.KEYS}


def test_every_key_of_a_container_has_its_record() -> None:
    assert {each.key for each in KEYED} | WRITTEN_ELSEWHERE == ContainerSettings.model_fields.keys()


def test_every_setting_of_a_container_has_its_form_in_a_pod_or_is_refused_by_name() -> None:
    lacking = [each for each in SETTINGS if each.pod is None]
    assert [
        each.key for each in lacking if each.key and not unwritten.refuses("kubernetes", f"container.{each.key}")
    ] == []
    assert {each.compose for each in lacking if not each.key} == IN_NOTES_OF_PODS


def test_the_record_names_keys_that_exist() -> None:
    named = {key for each in catalog.unwritten() for key in each.keys}
    assert {key for key in named if not any(f"{each}.".startswith(f"{key}.") for each in FIELDS)} == set()


def test_the_documentation_lists_what_targets_do_not_get() -> None:
    page = (ROOT / "docs/export.md").read_text(encoding="utf-8")
    assert {key for each in catalog.unwritten() for key in each.keys if f"`{key}`" not in page} == set()
