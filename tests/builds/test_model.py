"""What a build may say: everything at a full commit or an exact version, and a plain sentence where it is not."""

from __future__ import annotations

import pytest

from sparkiac import catalog, source
from sparkiac.model.inventory import Inventory
from tests.builds.toys import fleet
from tests.plan.fleets import said

COMMIT = "1" * 40
GIVEN = ("repository: https://example.org/engine.git", f"commit: '{COMMIT}'")
SHORT = "is not a full commit: 40 lower-case hex digits, quoted"


def faults(*lines: str) -> list[str]:
    """Return what is wrong with a build of these lines, the first of which is line 10."""
    return said(source.load(fleet(*lines).encode(), name="lab.yaml", model=Inventory).findings)


@pytest.mark.parametrize("commit", ["edc82b614f51", "main", "v0.19.0", "refs/heads/main", "E" * 40, "1" * 41])
def test_a_short_commit_or_a_name_is_refused(commit: str) -> None:
    assert faults(f"commit: '{commit}'") == [f"INV002 10:13 builds.engine.commit: '{commit}' {SHORT}"]
    place = "builds.engine.cherry_picks[0].commit"
    assert faults(*GIVEN, f"cherry_picks: [{{commit: '{commit}'}}]") == [f"INV002 12:29 {place}: '{commit}' {SHORT}"]
    place = "builds.engine.pull_requests[0].commit"
    line = f"pull_requests: [{{number: 1, commit: '{commit}'}}]"
    assert faults(*GIVEN, line) == [f"INV002 12:41 {place}: '{commit}' {SHORT}"]


def test_a_branch_is_never_enough() -> None:
    message = "builds.engine.fetch: a branch or tag changes over time: add the full commit"
    assert faults(GIVEN[0], "fetch: main") == [f"INV002 11:12 {message}"]
    assert faults(*GIVEN, "fetch: codex/ds4-sm120-min-enable") == []
    assert len(faults(GIVEN[0], "commit: main", "fetch: main")) == 1


def test_a_mod_of_another_repository_needs_its_commit() -> None:
    message = "builds.engine.mods[0].repository: a repository changes over time: add the full commit of the mod"
    address = "repository: https://example.org/mods.git"
    assert faults(*GIVEN, f"mods: [{{path: a, {address}}}]") == [f"INV002 12:34 {message}"]
    assert faults(*GIVEN, f"mods: [{{path: a, {address}, commit: '{COMMIT}'}}]") == []
    assert faults(*GIVEN, "mods: [{path: a}]") == []


@pytest.mark.parametrize("path", ["/etc", "../up", "a/../b", "a//b", "-x y", "", "a/"])
def test_a_mod_is_inside_its_repository(path: str) -> None:
    assert [fault[:12] for fault in faults(*GIVEN, f"mods: [{{path: '{path}'}}]")] == ["INV002 12:19"]


@pytest.mark.parametrize("pin", ["a", "a>=1", "a==1.*", "a==", "a==1; python_version>'3'", "a @ https://x/y", "-r x"])
def test_a_package_has_one_version(pin: str) -> None:
    [fault] = faults(*GIVEN, f'pip: ["{pin}"]')
    assert fault.endswith("is not an exact pin such as nvidia-cutlass-dsl[cu13]==4.5.0")


@pytest.mark.parametrize("pin", ["nvidia-cutlass-dsl[cu13]==4.5.0", "a[b,c]==1!2.0.post1", "a==1.0+cu132"])
def test_exact_pins(pin: str) -> None:
    assert faults(*GIVEN, f'pip: ["{pin}"]') == []


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/a.git",
        "git@example.org:a/b.git",
        "https://example.org",
        "ssh://example.org/a",
        "ext::sh -c id",
        "--upload-pack=id",
        "file://relative/../up",
    ],
)
def test_a_repository_is_read_without_a_login(address: str) -> None:
    [fault] = faults(f"repository: '{address}'")
    assert fault.startswith("INV002 10:17 builds.engine.repository: ")


def test_a_password_in_an_address_is_a_literal_secret() -> None:
    [fault] = faults("repository: 'https://user:pass@example.org/a.git'")
    assert fault == "SEC003 10:17 literal secret (value hidden): it is the password in a URL"


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "a:b", "+a", "a/", "/a", "HEAD~1", "a^", "a.lock/", "@{1}"])
def test_a_branch_has_a_name_that_is_one_for_git(ref: str) -> None:
    assert [fault[:12] for fault in faults(*GIVEN, f"fetch: '{ref}'")] == ["INV002 12:12"]


def test_a_build_program_gets_the_name_of_its_image() -> None:
    message = "builds.engine.program: one argument must contain {image}, for the name of the built image"
    assert faults(*GIVEN, "program: [make.sh, --rebuild-vllm]") == [f"INV002 12:14 {message}"]
    assert faults(*GIVEN, "program: ['{image}']") == [f"INV002 12:14 {message}"]
    assert faults(*GIVEN, "program: [make.sh, '--tag={image}']") == []


def test_an_unknown_key_has_a_near_one() -> None:
    assert faults(*GIVEN, "cherry_pick: []") == ["INV001 12:5 unknown key 'cherry_pick' in builds.engine"]


@pytest.mark.parametrize("name", catalog.build_names())
def test_a_build_of_the_catalog_is_valid_and_says_what_it_asks_for(name: str) -> None:
    found = catalog.build(name)
    assert found is not None
    assert found.value is not None
    assert found.value.sources
    assert all(getattr(found.value, key) is None for key in found.value.asks)


def test_the_shipped_builds_are_those_of_the_source() -> None:
    """Commits, picks and the pin are printed there: DeepSeek-V4 thread L27-35, L248-254, L354-359."""
    pinned, node = (catalog.build(name) for name in ("vllm-ds4-pinned", "vllm-node-dsv4"))
    assert pinned is not None
    assert pinned.value is not None
    assert [pick.commit[:12] for pick in pinned.value.cherry_picks or ()] == [
        *("e1334312f4c6", "5dcd086fd1d5", "65da3607d70e", "e9c364bf9334")
    ]
    assert pinned.value.pip == ("nvidia-cutlass-dsl[cu13]==4.5.0",)
    assert pinned.value.check == "from cutlass.cute.arch import fmin"
    assert node is not None
    assert node.value is not None
    assert (node.value.program or ())[3:] == ("--apply-vllm-pr", "41834", "--rebuild-vllm")
    assert [mod.path for mod in node.value.mods or ()] == ["mods/fix-ds4-gpu-cache"]
    assert catalog.build("none") is None
