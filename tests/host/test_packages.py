"""Driver, container toolkit and Docker move, or go back without a network: refusals, both ends, and power cuts."""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.fleet import facts
from sparkiac.host import software
from sparkiac.host.kernel import debs, gate, packages, program, trial
from tests.host import debian as repository
from tests.host import kernels
from tests.host.debian import Debian
from tests.host.known import about_packages
from tests.host.packaged import BEFORE, DOCKER_SET, DRIVER_SET, Packaged, cut

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(bool(kernels.missing()), reason=f"not installed: {kernels.missing()}")
SERVING = {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}
NEW_DOCKER = DOCKER_SET["docker-ce"]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    monkeypatch.setenv("DEBIAN_FRONTEND", "noninteractive")
    debian = Debian(tmp_path, monkeypatch)
    debian.september()
    found = Packaged(debian)
    trial.grub.keep(found, repository.OLD, [])
    return found


@pytest.fixture
def node(host: Packaged, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    """Return a node of a group that has passed."""
    monkeypatch.setattr(gate, "grouped", lambda _machine: True)
    assert host.move(DRIVER_SET) == "passed"
    return host


def offline(host: Packaged) -> None:
    """Take the repository away."""
    shutil.rmtree(host.debian.pool)


def why(host: Packaged) -> str:
    """Return why the last change went back."""
    found = packages.read(host)
    assert found is not None
    return found.why


def test_docker_and_toolkit_move_without_a_reboot(host: Packaged) -> None:
    begun = packages.begin(host, DOCKER_SET, ["GpuHot"])
    assert begun is not None
    assert (begun.phase, begun.despite, begun.speeds["sparkiac-a"]) == ("changing", ["GpuHot"], 40.0)
    assert len(begun.files) == 4, "the packages of both sets, with their hashes"
    host.of_set(BEFORE)
    offline(host)
    host.log.clear()
    host.work()
    stopped = ["stop sparkiac-b sparkiac-a", "stop docker docker.socket containerd", "daemon-reload"]
    assert host.log[:3] == stopped
    assert "start containerd docker.socket docker" in host.log
    assert packages.read(host) == begun._replace(phase="good")
    host.of_set(DOCKER_SET)
    assert host.serving() == SERVING
    assert not host.rebooting
    assert host.move(DOCKER_SET) == "nothing"
    host.power()
    host.of_set(DOCKER_SET)
    assert host.serving() == SERVING


def test_a_driver_is_tried_by_a_reboot(host: Packaged) -> None:
    assert packages.begin(host, DRIVER_SET, []) is not None
    offline(host)
    host.work()
    assert host.rebooting
    assert host.serving() == {}, "nothing runs between the libraries and the boot of their module"
    found = packages.read(host)
    assert found is not None
    assert found.phase == "booting"
    host.power()
    assert packages.read(host) == found._replace(phase="good", boot=trial.boot_id(host))
    assert software.driver(host) == "580.178.04"
    host.of_set(DRIVER_SET)
    assert host.serving() == SERVING


@pytest.mark.parametrize("fault", ["preflight", "speed", "answer", "install", "module"])
@pytest.mark.parametrize("pinned", [DOCKER_SET, DRIVER_SET], ids=["docker", "driver"])
def test_what_does_not_pass_goes_back_without_a_network(host: Packaged, fault: str, pinned: dict[str, str]) -> None:
    if fault == "answer":
        start = host.start

        def started(name: str, unit: Any) -> None:  # noqa: ANN401
            start(name, unit)
            if name == "sparkiac-b" and software.installed(host)["docker-ce"] == NEW_DOCKER and unit.runs:
                unit.runs = "b wrong"

        host.start = started  # type: ignore[method-assign]
    host.fails = {NEW_DOCKER} if fault == "preflight" else set()
    host.slow = {NEW_DOCKER} if fault == "speed" else set()
    host.breaks = {"docker-ce"} if fault == "install" else set()
    host.stale = "580.173.02" if fault == "module" else None
    assert packages.begin(host, pinned, []) is not None
    offline(host)
    host.work()
    while host.rebooting:
        host.power()
    if fault == "module" and pinned is DOCKER_SET:
        assert packages.read(host)[0] == "good", "its module stays"  # type: ignore[index]
        return
    said = {
        "preflight": "HST002 docker: it does not work",
        "speed": "sparkiac-a answers with 20.0 tokens/s, before it was 40.0",
        "answer": "sparkiac-b is ready, but does not answer as its clients need",
        "install": "the packages of the new set are not installed: post-installation script returned error",
        "module": f"the module nvidia of {repository.OLD} has version 580.173.02, not 580.178.04",
    }[fault]
    assert said in " ".join(why(host).split())
    found = packages.read(host)
    assert found is not None
    assert found.phase == "failed"
    host.of_set(BEFORE)
    assert host.serving() == SERVING
    assert software.driver(host) == "580.173.02"
    assert software.hold(host) == ""


def test_a_package_that_is_new_goes_again_and_one_that_was_removed_comes_back(host: Packaged) -> None:
    """Docker of another maker: it removes that of the first, and needs a library."""
    pinned = {"docker.io": "29.3.0-0ubuntu1"}
    host.debian.publish({"libnftables1": "1.1"})
    conflicting(host.debian, "docker.io", "29.3.0-0ubuntu1", "libnftables1\nConflicts: docker-ce")
    assert [*packages.lines(debs.planned(host, pinned))][:3] == [
        "install libnftables1 1.1", "install docker.io 29.3.0-0ubuntu1", "remove docker-ce",
    ]  # fmt: skip
    assert packages.begin(host, pinned, []) is not None
    offline(host)
    host.work()
    there = software.installed(host)
    assert ("docker-ce" in there, there["docker.io"], there["libnftables1"]) == (False, "29.3.0-0ubuntu1", "1.1")
    packages.write(host, packages.read(host)._replace(phase="passed"))  # type: ignore[union-attr]
    host.power()
    there = software.installed(host)
    assert (there["docker-ce"], "docker.io" in there, "libnftables1" in there) == (BEFORE["docker-ce"], False, False)


def conflicting(debian: Debian, name: str, version: str, depends: str) -> None:
    """Publish a package with these dependencies."""
    kernels.depends(debian, name, version, depends)


def unlisted(host: Packaged, *versions: str) -> None:
    """Let the repository forget versions, and APT too."""
    for path in host.path(debs.ARCHIVES).glob("*.deb"):
        path.unlink()
    for version in versions:
        for path in host.debian.pool.glob(f"*_{version}.deb"):
            path.unlink()
    host.debian.publish({})


def full(host: Packaged) -> None:
    """Let the disk have too little room for what the repository lists."""
    listed = host.debian.pool / "Packages"
    listed.write_text("".join(
        f"Size: {1 << 50}\n" if line.startswith("Size:") else f"{line}\n" for line in listed.read_text().splitlines()
    ))  # fmt: skip
    host.debian.apt("update")


def disturbing(host: Packaged) -> None:
    """Let the new Docker need a newer shell."""
    host.debian.publish({"bash": "5.2-3"})
    (host.debian.pool / f"docker-ce_{NEW_DOCKER}.deb").unlink()
    shutil.rmtree(host.debian.pool.parent.parent / "built" / f"docker-ce_{NEW_DOCKER}")
    kernels.depends(host.debian, "docker-ce", NEW_DOCKER, "bash (>= 5.2-3)")


REFUSALS: dict[str, tuple[Callable[[Packaged], None], str]] = {
    "way back": (
        lambda host: unlisted(host, BEFORE["docker-ce"]),
        f"no repository has docker-ce {BEFORE['docker-ce']}, which is installed now; put its .deb into",
    ),
    "pinned": (lambda host: unlisted(host, NEW_DOCKER), "APT cannot install the packages of the set: "),
    "room": (full, "MiB are needed"),
    "others": (disturbing, "the installation would change bash, which is none of driver, toolkit and Docker"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_move_without_a_way_back_is_refused_before_anything_is_touched(host: Packaged, name: str) -> None:
    provoke, said = REFUSALS[name]
    provoke(host)
    with pytest.raises(trial.TrialError) as refused:
        packages.begin(host, DOCKER_SET, [])
    assert said in str(refused.value)
    assert packages.read(host) is None
    host.of_set(BEFORE)
    assert host.serving() == SERVING


def test_the_way_back_may_lie_in_the_archives_of_apt(host: Packaged) -> None:
    version = BEFORE["docker-ce"]
    kept = shutil.copyfile(host.debian.pool / f"docker-ce_{version}.deb", host.root.parent / "kept")
    unlisted(host, version)
    there = host.path(debs.ARCHIVES) / f"docker-ce_{version.replace(':', '%3a')}_arm64.deb"
    whole = kept.read_bytes()
    there.write_bytes(whole[: len(whole) // 2])
    assert "no repository has docker-ce" in str(debs.refusals(host, debs.planned(host, debs.wanted(host, DOCKER_SET))))
    there.write_bytes(whole)
    host.fails = {NEW_DOCKER}
    assert host.move(DOCKER_SET) == "failed"
    host.of_set(BEFORE)


@pytest.mark.parametrize("side", ["old", "new"])
def test_nothing_is_touched_if_a_file_is_damaged(host: Packaged, side: str) -> None:
    assert packages.begin(host, DOCKER_SET, []) is not None
    [path] = host.path(f"{debs.FOLDER}/{side}").glob("docker-ce_*")
    path.write_bytes(path.read_bytes()[:-1])
    before = host.path("var/lib/dpkg/status").stat()
    host.work()
    assert host.path("var/lib/dpkg/status").stat() == before
    found = packages.read(host)
    assert found is not None
    assert (found.phase, found.why.endswith("is damaged")) == ("failed", True)
    assert host.serving() == SERVING


def test_a_host_that_cannot_go_back_starts_no_unit_with_the_gpu(node: Packaged) -> None:
    [path] = node.path(f"{debs.FOLDER}/old").glob("docker-ce_*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(trial.TrialError, match=r"docker-ce_.* is damaged"):
        node.power()
    assert software.hold(node) == "packages of two sets may be installed (returning)"
    node.boot()
    assert node.serving() == {}
    path.write_bytes(whole)
    node.power()
    node.of_set(BEFORE)
    assert node.serving() == SERVING


@pytest.mark.parametrize(
    ("pinned", "bad", "at"), [(DOCKER_SET, False, 19), (DRIVER_SET, False, 19), (DRIVER_SET, True, 27)]
)
def test_a_power_cut_leaves_one_of_the_two_sets(host: Packaged, pinned: dict[str, str], *, bad: bool, at: int) -> None:
    assert survives(host, pinned, at, bad=bad)


@pytest.mark.deep
@pytest.mark.parametrize("bad", [False, True], ids=["good", "bad"])
@pytest.mark.parametrize("pinned", [DOCKER_SET, DRIVER_SET], ids=["docker", "driver"])
def test_a_power_cut_at_every_step_leaves_one_of_the_two_sets(
    host: Packaged, pinned: dict[str, str], *, bad: bool
) -> None:
    saved = host.saved()
    points = 1
    while survives(host, pinned, points, bad=bad):
        host.restore(saved)
        points += 1
    assert points > 20, points


def survives(host: Packaged, pinned: dict[str, str], at: int, *, bad: bool) -> bool:
    """Take the power away before a command of a whole move; return False if it has fewer commands."""
    host.fails = {NEW_DOCKER} if bad else set()
    if not cut(host, pinned, at):
        return False
    there = host.of_set(BEFORE, pinned)
    found = packages.read(host)
    assert found is None or found.phase in {"good", "failed"}, at
    assert (there == pinned) == (found is not None and found.phase == "good"), at
    assert host.serving() == SERVING, at
    assert software.unlike(software.driver(host), software.installed(host)) == ""
    assert host.move(pinned) in {"failed" if bad else "good", "nothing"}, at
    host.of_set(BEFORE if bad else pinned)
    assert host.serving() == SERVING, at
    return True


def test_a_node_keeps_its_packages_when_its_group_does(node: Packaged) -> None:
    assert node.move(DRIVER_SET) == "passed", "another run goes on with the group"
    assert packages.accept(node).phase == "good"
    node.power()
    node.of_set(DRIVER_SET)


def test_only_a_node_of_a_group_has_ended_before_what_passed_is_kept(
    node: Packaged, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert packages.is_over(node)
    monkeypatch.setattr(gate, "grouped", lambda _machine: False)
    assert not packages.is_over(node)


@pytest.mark.parametrize("told", [True, False], ids=["told", "power-cut"])
def test_a_node_goes_back_with_its_group_and_at_any_other_boot(node: Packaged, *, told: bool) -> None:
    if told:
        packages.back(node, "another host of its group failed")
        node.work()
        assert node.rebooting
    node.power()
    node.of_set(BEFORE)
    assert why(node).startswith("another host of its group failed" if told else "the host was started again")
    assert node.serving() == SERVING
    with pytest.raises(trial.TrialError, match="no packages that are installed now have passed"):
        packages.accept(node)


def test_no_unit_starts_while_module_and_libraries_differ(host: Packaged) -> None:
    """An upgrade without sparkiac, by unattended-upgrades."""
    host.debian.apt("install", *(f"{name}={DRIVER_SET[name]}" for name in DRIVER_SET if "nvidia" in name))
    said = "the kernel module 580.173.02 is loaded, the libraries of the driver have version 580.178.04"
    assert software.hold(host) == said
    host.power()
    assert software.hold(host) == ""
    unlike = facts.Software(
        driver="580.173.02", packages={"libnvidia-compute-580": DRIVER_SET["libnvidia-compute-580"]}
    )
    texts = [(each.kind, each.text) for each in about_packages(None, unlike)]
    assert ("unhealthy", f"{said}: units that use the GPU do not start") in texts


def test_status_shows_a_change_that_has_not_ended_and_why_one_went_back(host: Packaged) -> None:
    assert about_packages(packages.shown(host)) == []
    change = packages.begin(host, DOCKER_SET, [])
    assert change is not None
    named = f"docker-ce {NEW_DOCKER}, nvidia-container-toolkit {DOCKER_SET['nvidia-container-toolkit']}"
    texts = {
        "changing": ("unhealthy", "packages of two sets may be installed (changing), units that use the GPU do not"),
        "trying": ("drift", f"{named}: tried (trying), any other boot brings the former ones back"),
        "failed": ("warning", f"{named}: went back: it was slow"),
    }
    for phase, (kind, text) in texts.items():
        packages.write(host, change._replace(phase=phase, why="it was slow" if phase == "failed" else ""))
        [problem] = about_packages(packages.shown(host))
        assert (problem.kind, problem.text.startswith(text)) == (kind, True), problem.text
    packages.write(host, change._replace(phase="good"))
    assert about_packages(packages.shown(host)) == []


def asked(host: Packaged, monkeypatch: pytest.MonkeyPatch, name: str, pinned: dict[str, str]) -> dict[str, Any]:
    """Return what a command of the program answers."""
    wanted = {"packages": pinned, "despite": [], "parameters": [], "pins": ""}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(wanted)))
    return program.COMMANDS[name](host, argparse.Namespace(why="because"))


def test_the_kernel_moves_first_and_then_the_packages(host: Packaged, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, as the playbook calls it."""
    whole = DOCKER_SET | kernels.SET
    look = asked(host, monkeypatch, "look", whole)
    assert (look["changes"], look["refused"]) == (True, [])
    assert look["lines"][0].startswith(f"reboot once into {repository.OLD}")
    assert f"install docker-ce {NEW_DOCKER} instead of {BEFORE['docker-ce']}" in look["lines"]
    assert look["lines"][-1] == "stop every container of the host, also those of others, and restart Docker"
    steps = []
    for _ in range(4):
        begun = asked(host, monkeypatch, "begin", whole)
        steps.append(tuple(begun.values()))
        if begun["reboot"]:
            host.power()
        host.work()
    assert steps == [
        ("trial", "proving", True, True), ("trial", "trying", True, True),
        ("packages", "changing", False, False), ("packages", None, False, False),
    ]  # fmt: skip
    host.of_set(DOCKER_SET)
    assert trial.running(host) == repository.NEW
    nothing = {"changes": False, "lines": [], "refused": [], "hangs": False}
    assert asked(host, monkeypatch, "look", whole) == nothing
    assert asked(host, monkeypatch, "wait", whole)["packages"]["phase"] == "good"
    assert asked(host, monkeypatch, "back", whole) == {"reboot": False}
