"""From the inventory to the plan: whose keys hold, what is missing, what the hash is made of, what is run."""

from __future__ import annotations

import hashlib
import json

import pytest

from sparkiac import catalog
from tests.builds.toys import LOCK, fleet, plan
from tests.plan.fleets import ONES, TWOS, checked, deployment, faults, said

COMMIT = "1" * 40
SOURCE = ("repository: https://example.org/engine.git", f"commit: '{COMMIT}'")
DS4 = "base: nvcr.io/nvidia/vllm:26.04-py3, install: [python3, -m, pip, install, .]"
NODE = f"commit: '{COMMIT}', pull_requests: [{{number: 41834, commit: '{COMMIT}'}}]"


def spec(text: str, **lock: str) -> str:
    [build] = plan(text, **lock).builds
    return build.digest


def recorded(text: str, *, identity: str = TWOS, digest: str = "", more: str = "") -> str:
    """Write a lock that holds the image of the inventory's build."""
    return f"{LOCK}builds:\n  engine: {{id: '{identity}', spec: '{digest or spec(text)}'{more}}}\n"


def image(text: str, locked: str) -> tuple[str, bool]:
    [container] = plan(text, locked=locked).hosts[0].containers
    return container.image.pull, container.image.stale


def test_a_recorded_image_runs_by_its_id() -> None:
    text = fleet(*SOURCE)
    assert image(text, recorded(text)) == (TWOS, False)
    assert checked(text, locked=recorded(text)).report.findings == ()


def test_an_image_that_nobody_built_is_not_pinned() -> None:
    """The finding says which script to run."""
    outcome = checked(fleet(*SOURCE), locked=LOCK)
    [finding] = outcome.report.findings
    assert said((finding,)) == ["IMG003 4:33 asr runs engine, which the lock does not pin"]
    assert "builds/engine/build RECORD" in finding.hint
    assert outcome.only_unpinned
    assert image(fleet(*SOURCE), LOCK) == ("engine@UNLOCKED", False)


@pytest.mark.parametrize(
    "change",
    [
        "fetch: main",
        f"cherry_picks: [{{commit: '{COMMIT}'}}]",
        f"cherry_picks: [{{commit: '{COMMIT}', subject: a subject}}]",
        f"pull_requests: [{{number: 1, commit: '{COMMIT}'}}]",
        "allow_subject_match: true",
        "pip: [a==1]",
        "mods: [{path: a}]",
        "arguments: {A: b}",
        "environment: {A: b}",
        "check: import a",
    ],
)
def test_every_input_of_a_build_makes_the_recorded_image_stale(change: str) -> None:
    before, after = fleet(*SOURCE), fleet(*SOURCE, change)
    outcome = checked(after, locked=recorded(before))
    assert said(outcome.report.findings) == ["IMG100 4:33 asr runs engine, built from a former version of its build"]
    assert "builds/engine/build" in outcome.report.findings[0].hint
    assert outcome.only_unpinned
    assert image(after, recorded(before)) == ("engine@UNLOCKED", True)


def test_another_digest_of_the_base_is_another_build_and_another_mirror_is_not() -> None:
    text = fleet(*SOURCE)
    assert spec(text) != spec(text, locked=LOCK.replace(ONES, TWOS))
    mirrored = text + "registries: {mirrors: {example.org: mirror.lan}}\n"
    assert spec(mirrored) == spec(text)
    [build] = plan(mirrored).builds
    assert build.base is not None
    assert build.base.pull == f"mirror.lan/base@{ONES}"


def test_notes_and_key_order_do_not_change_the_hash_of_a_build() -> None:
    one = fleet(*SOURCE, "environment: {A: 1, B: 2}", f"cherry_picks: [{{commit: '{COMMIT}', subject: null}}]")
    other = fleet(f"cherry_picks: [{{commit: '{COMMIT}'}}]", *reversed(SOURCE), "environment: {B: '2', A: '1'}")
    assert spec(one) == spec(other.replace("the tests want it", "another reason"))


def test_the_hash_is_that_of_the_canonical_json() -> None:
    [build] = plan(fleet(*SOURCE)).builds
    text = json.dumps(build.spec, sort_keys=True, separators=(",", ":"))
    assert build.digest == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    assert build.spec["base"] == {"reference": "example.org/base:1", "digest": ONES}


def test_a_built_image_starts_as_its_base_does_until_its_record_says_otherwise() -> None:
    text = fleet(*SOURCE)
    [before] = plan(text).hosts[0].containers
    assert before.image.entrypoint == ("/entry.sh",)
    locked = recorded(text, more=", entrypoint: [/own], command: [serve]")
    [after] = plan(text, locked=locked).hosts[0].containers
    assert (after.image.entrypoint, after.image.command) == (("/own",), ("serve",))


def test_an_unpinned_base_is_reported_where_it_is_written() -> None:
    outcome = checked(fleet(*SOURCE), locked="version: 1\nimages: {}\n")
    assert said(outcome.report.findings) == [
        "IMG003 4:33 asr runs engine, which the lock does not pin",
        "IMG003 8:11 the build engine starts from example.org/base:1, which the lock does not pin",
    ]


def test_builds_that_nothing_runs_are_not_looked_at() -> None:
    text = fleet(*SOURCE).replace("image: engine", f"image: 'example.org/x@{ONES}'")
    assert plan(text).builds == ()
    assert faults(text.replace("    why: the tests want it\n", "")) == []


def test_an_incomplete_build_is_reported_at_its_users() -> None:
    text = fleet(install="", base="").replace("    why: the tests want it\n", "    pip: []\n")
    needed = "why and no repository and no commit and no base and no install"
    assert faults(text) == [f"REF003 4:33 asr uses the build engine, which has no {needed}"]


@pytest.mark.parametrize(
    ("name", "completed", "lacks"),
    [("vllm-ds4-pinned", DS4, "base and no install"), ("vllm-node-dsv4", NODE, "commit and no pull_requests")],
)
def test_an_inventory_completes_a_build_of_the_catalog(name: str, completed: str, lacks: str) -> None:
    """What the source does not say, the inventory must."""
    text = deployment(f"image: {name}")
    outcome = checked(text)
    assert said(outcome.report.findings) == [f"REF003 10:12 chat uses the build {name}, which has no {lacks}"]
    assert f"add `builds: {{{name}: {{" in outcome.report.findings[0].hint
    assert outcome.report.findings[0].hint.endswith(list(_asks(name))[-1])
    outcome = checked(text + f"builds: {{{name}: {{{completed}}}}}\n")
    assert {finding.code for finding in outcome.report.findings} <= {"IMG003", "ENT100", "MEM100", "FLG106"}


def _asks(name: str) -> tuple[str, ...]:
    found = catalog.build(name)
    assert found is not None
    assert found.value is not None
    return tuple(found.value.asks.values())


def test_keys_of_the_inventory_override_those_of_the_catalog() -> None:
    """A value replaces one, null takes one away, and the rest stays."""
    text = deployment("image: vllm-ds4-pinned") + f"builds: {{vllm-ds4-pinned: {{{DS4}, check: null, pip: [a==1]}}}}\n"
    [build] = plan(text).builds
    assert build.spec["commit"] == "edc82b614f51f4f9ce16c7010e879571e5c46136"
    assert len(build.spec["cherry_picks"]) == 4
    assert (build.spec["pip"], "check" in build.spec) == (["a==1"], False)


def test_a_program_takes_no_base() -> None:
    """It chooses its own."""
    text = fleet(*SOURCE, "program: [make.sh, '{image}']")
    assert faults(text) == [
        "INV002 8:11 build engine runs a program and cannot have a base",
        "INV002 9:14 build engine runs a program and cannot have a install",
    ]
    assert faults(fleet(*SOURCE, "program: [make.sh, '{image}']", base="", install="")) == []


def test_a_build_does_not_start_from_a_build() -> None:
    for base in ("engine", "vllm-ds4-pinned"):
        message = f"INV002 8:11 build engine starts from {base}, which is a build itself"
        assert faults(fleet(*SOURCE, base=f"base: {base}")) == [message]


def test_a_variable_that_is_called_image_is_not_an_image() -> None:
    text = fleet(*SOURCE).replace("image: engine", f"image: 'example.org/x@{ONES}', env: {{image: engine}}")
    assert plan(text).builds == ()
