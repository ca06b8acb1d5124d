"""Another kernel is tried once, and kept only if the models answer well: refusals, both ends, and power cuts."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import software
from sparkiac.host.kernel import checks, gate, grub, trial
from tests.host import kernels
from tests.host.debian import META, NEW, NEWER, OLD, Debian
from tests.host.kernels import SET, Machine
from tests.host.known import about_trial
from tests.host.switching import KilledError, committed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(bool(kernels.missing()), reason=f"not installed: {kernels.missing()}")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return kernels.made(Debian(tmp_path, monkeypatch), monkeypatch)


def proven(host: Machine) -> Machine:
    """Return the host after the first run."""
    assert trial.begin(host, SET, []) is not None
    assert host.power() == OLD
    assert trial.read(host).proven
    return host


def serves(host: Machine) -> None:
    """Assert that everything serves, and that the next boot needs no menu."""
    assert host.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}
    assert committed(host)
    assert "next_entry" not in grub.environment(host)


def test_the_first_run_proves_the_way_back_with_the_running_kernel(host: Machine) -> None:
    begun = trial.begin(host, SET, [])
    assert begun is not None
    assert (begun.phase, begun.kernel, begun.former) == ("proving", OLD, OLD)
    assert grub.environment(host)["next_entry"] == grub.TRIAL
    assert host.power() == OLD
    assert "panic=30" in host.read("/proc/cmdline")
    assert trial.read(host).proven
    assert f"linux-image-{NEW}" not in host.debian.versions(), "nothing was installed"
    serves(host)
    assert host.power() == OLD
    assert "panic=30" not in host.read("/proc/cmdline")


def test_a_kernel_that_passes_becomes_the_default_and_what_follows_it_moves(host: Machine) -> None:
    begun = trial.begin(proven(host), SET, ["GpuHot"])
    assert begun is not None
    assert (begun.phase, begun.despite, begun.speeds["sparkiac-a"]) == ("trying", ["GpuHot"], 40.0)
    assert host.debian.versions()[META] != NEWER[META], "the metapackage stays until the end"
    assert host.power() == NEW
    assert trial.read(host).trial == begun._replace(phase="good")
    assert host.debian.versions().items() >= SET.items()
    assert f"linux-image-{OLD}" in host.debian.versions()
    serves(host)
    assert not host.path(grub.SCRIPT).exists()
    assert host.power() == NEW
    assert trial.begin(host, SET, []) is None, "nothing is left to do"


@pytest.mark.parametrize("fault", ["preflight", "speed", "answer", "start", "hang"])
def test_a_kernel_that_does_not_pass_is_left_at_once(host: Machine, fault: str) -> None:
    proven(host)
    if fault in {"answer", "start"}:  # of this kernel alone
        word = {"answer": "wrong", "start": "crash"}[fault]
        start = host.start

        def started(name: str, unit: Any) -> None:  # noqa: ANN401
            start(name, unit)
            if trial.running(host) == NEW and name == "sparkiac-b":
                unit.runs, unit.active = f"b {word}", "active" if word == "wrong" else "failed"

        host.start = started  # type: ignore[method-assign]
    host.preflight_fails = {NEW} if fault == "preflight" else set()
    host.speeds[NEW] = 27.9 if fault == "speed" else 28.1
    host.hangs = {NEW} if fault == "hang" else set()
    trial.begin(host, SET, [])
    assert host.power() == OLD
    ended = trial.read(host).trial
    assert ended is not None
    said = {
        "preflight": "FAIL HST015 software: memory that cannot be pinned".replace("FAIL HST", "FAIL     HST"),
        "speed": "sparkiac-a answers with 27.9 tokens/s, before it was 40.0",
        "answer": "sparkiac-b is ready, but does not answer as its clients need",
        "start": "sparkiac-b did not become ready",
        "hang": "the host started the former kernel again",
    }[fault]
    assert ended.phase == "failed"
    assert said.replace("     ", " ") in ended.why.replace("     ", " ").replace("  ", " ")
    assert f"linux-image-{NEW}" not in host.debian.versions(), "no kernel is left that another boot could start"
    assert not host.path(checks.image(NEW)).exists()
    serves(host)
    assert host.power() == OLD
    host.preflight_fails, host.hangs, host.speeds[NEW] = set(), set(), 40.0
    host.__dict__.pop("start", None)
    assert host.converge() == NEW, "the next run converges"


def test_a_unit_without_a_former_speed_is_not_compared(host: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    host.speeds = {OLD: 0.0, NEW: 1.0}
    assert proven(host).converge() == NEW
    assert "sparkiac-a: its speed was not measured before, and is not compared" in capsys.readouterr().err


def lacking(path: str) -> Callable[[Machine], None]:
    """Return what removes a file of the host."""
    return lambda host: host.path(path).unlink()


def full(host: Machine) -> None:
    """Let the initrd of the running kernel be larger than what is free."""
    with host.path(checks.initrd(OLD)).open("wb") as file:
        file.truncate(1 << 43)


def overridden(host: Machine) -> None:
    """Let another file decide what GRUB starts."""
    host.write("etc/default/grub.d/99-cloud.cfg", "GRUB_DEFAULT=0\n")


def on_lvm(host: Machine) -> None:
    """Put /boot where GRUB only reads."""
    host.filesystem = "btrfs"


def no_menu(host: Machine) -> None:
    """Remove the entry of the running kernel."""
    path = host.path(grub.CONFIG)
    path.write_text(path.read_text().replace(f"gnulinux-{OLD}", "by-hand"))
    host.update_grub = lambda *_: kernels.Result(0, "", "")  # type: ignore[method-assign]


REFUSALS: dict[str, tuple[Callable[[Machine], None], str]] = {
    "image": (lacking(checks.image(OLD)), f"/boot/vmlinuz-{OLD} is missing"),
    "modules": (lacking(f"lib/modules/{OLD}/modules.dep"), f"/lib/modules/{OLD}/modules.dep is missing"),
    "room": (full, "MiB are needed, twice the running kernel and initrd"),
    "default": (overridden, "another file in /etc/default/grub.d sets GRUB_DEFAULT"),
    "writable": (on_lvm, "GRUB cannot write /boot/grub/grubenv on btrfs"),
    "environment": (lacking(grub.ENVIRONMENT), "/boot/grub/grubenv is not a file of 1024 bytes"),
    "entry": (no_menu, f"has no entry for the running kernel {OLD}"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_host_without_a_way_back_is_refused(host: Machine, name: str) -> None:
    provoke, said = REFUSALS[name]
    provoke(host)
    with pytest.raises((trial.TrialError, grub.GrubError), match=said.replace(".", "[.]")):
        trial.begin(host, SET, [])
    assert trial.read(host).trial is None
    assert host.debian.versions()[META] != NEWER[META]


def large(host: Machine) -> None:
    """Let the package of the kernel have an initrd of 209 MB."""
    install = host.update_grub

    def updated(*argv: str) -> Any:  # noqa: ANN401
        if host.path(checks.initrd(NEW)).exists():
            os.truncate(host.path(checks.initrd(NEW)), 209_000_000)
        return install(*argv)

    host.update_grub = updated  # type: ignore[method-assign]


def unsigned(host: Machine) -> None:
    """Turn Secure Boot on; the module of the new kernel has no signature."""
    path = host.path(software.SECURE_BOOT)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\6\0\0\0\1")
    host.modules[NEW]["signer"] = ""


def other_key(host: Machine) -> None:
    """Let a key sign it that this machine made for itself."""
    unsigned(host)
    host.modules[NEW]["signer"] = "spark-01 Secure Boot Module Signature key"


def other_module(host: Machine) -> None:
    """Let the new kernel have the module of another driver."""
    host.modules[NEW]["version"] = "580.178.04"


def automatic(host: Machine) -> None:
    """Let something mark the kernel as installed automatically."""

    def updated(*_argv: str) -> Any:  # noqa: ANN401
        if f"linux-image-{NEW}" in host.debian.versions():
            host.debian.run("apt-mark", "auto", f"linux-image-{NEW}")
        return Machine.update_grub(host)

    host.update_grub = updated  # type: ignore[method-assign]


AFTERWARDS: dict[str, tuple[Callable[[Machine], None], str]] = {
    "initrd": (large, f"/boot/initrd.img-{NEW} has 199 MiB, at most 128 MiB are tried"),
    "unsigned": (unsigned, f"the module nvidia of {NEW} is signed by nobody, that of the running kernel by Canonical"),
    "key": (other_key, "is signed by spark-01 Secure Boot Module Signature key"),
    "automatic": (automatic, f"APT could remove linux-image-{NEW}: not marked as installed manually"),
    "module": (other_module, f"the module nvidia of {NEW} has version 580.178.04, the libraries have 580.173.02"),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_a_kernel_that_should_not_be_started_is_removed_again(host: Machine, name: str) -> None:
    proven(host)
    provoke, said = AFTERWARDS[name]
    provoke(host)
    with pytest.raises(trial.TrialError) as refused:
        trial.begin(host, SET, [])
    assert said in str(refused.value)
    assert f"linux-image-{NEW}" not in host.debian.versions()
    assert host.power() == OLD
    serves(host)


def test_an_installation_that_would_change_other_packages_is_refused(host: Machine) -> None:
    wanted = {f"linux-image-{NEW}": "7.0.0-1019.20", META: NEWER[META]}
    host.debian.publish({"bash": "5.2-3"})
    kernels.depends(host.debian, f"linux-image-{NEW}", "7.0.0-1019.20", "bash (>= 5.2-3)")
    proven(host)
    with pytest.raises(trial.TrialError, match="the installation would change bash"):
        trial.begin(host, wanted, [])
    with pytest.raises(trial.TrialError, match="APT cannot install the packages of the set"):
        trial.begin(host, {f"linux-image-{NEW}": "1"}, [])
    with pytest.raises(trial.TrialError, match="the pins of this host name no kernel"):
        trial.begin(host, {META: NEWER[META]}, [])


def test_a_grub_that_does_not_forget_is_not_trusted(host: Machine) -> None:
    host.forgets = False
    trial.begin(host, SET, [])
    host.power()
    found = trial.read(host)
    assert (found.proven, found.trial and found.trial.phase) == (False, "failed")
    assert found.trial is not None
    assert "did not forget the entry" in found.trial.why
    serves(host)


@pytest.mark.parametrize(("bad", "at"), [(False, 20), (False, 26), (True, 12), (True, 24)])
def test_a_power_cut_leaves_the_host_on_one_of_the_two_sets(host: Machine, *, bad: bool, at: int) -> None:
    assert cut(proven(host), at, bad=bad)


@pytest.mark.deep
@pytest.mark.parametrize("bad", [False, True], ids=["good", "bad"])
def test_a_power_cut_at_every_step_leaves_the_host_on_one_of_the_two_sets(host: Machine, *, bad: bool) -> None:
    saved = proven(host).saved()
    points = 1
    while cut(host, points, bad=bad):
        host.restore(saved)
        points += 1
    assert points > 20


def cut(host: Machine, at: int, *, bad: bool) -> bool:
    """Take the power away before a command of a whole upgrade; return False if it has fewer commands."""
    host.preflight_fails = {NEW} if bad else set()
    host.operations, host.kill_at = 0, at
    try:
        host.converge()
    except KilledError:
        kernel = host.power()
    else:
        return False
    serves(host)
    found = trial.read(host).trial
    assert found is not None
    assert kernel in {OLD, NEW}
    assert (kernel == NEW) <= (found.phase == "good"), at
    wanted = OLD if bad else NEW
    assert host.converge() == wanted, at
    serves(host)
    assert host.power() == wanted
    there = host.debian.versions()
    assert (there[META] == NEWER[META], f"linux-image-{NEW}" in there) == (not bad, not bad), at
    return True


KHO = "kho=off"


def test_the_menu_names_the_sets_that_are_installed_and_no_default_is_one_of_them(host: Machine) -> None:
    proven(host)
    trial.begin(host, SET, [], [KHO], "b")
    assert host.power() == NEW
    menu = host.read(grub.CONFIG)
    named = re.findall(r"menuentry '(sparkiac [^']*)'", menu)
    assert named == [f"sparkiac before it: kernel {OLD}", f"sparkiac set b: kernel {NEW} {KHO}"]
    assert grub.environment(host)["saved_entry"] == grub.entry_of(host, NEW).name
    host.debian.apt("purge", f"linux-image-{OLD}")
    host.update_grub()
    assert f"kernel {OLD}" not in host.read(grub.CONFIG), "a kernel that is gone has no entry"
    host.boots.clear()
    assert host.power() == NEW


def own_words(host: Machine) -> list[str]:
    """Return the parameters of the running kernel, without what GRUB and the trial add."""
    return [each for each in host.read("/proc/cmdline").split()[2:] if each != "panic=30"]


def test_a_parameter_is_tried_once_then_kept_and_undone_when_its_declaration_goes(host: Machine) -> None:
    proven(host)
    begun = trial.begin(host, {}, [], [KHO])
    assert begun is not None
    assert (begun.kernel, begun.former, begun.parameters, begun.former_parameters) == (OLD, OLD, [KHO], [])
    assert KHO not in host.read(software.SAVED_DEFAULT), "the next boots have it only after the gate"
    assert host.power() == OLD
    assert host.read("/proc/cmdline").split()[-2:] == [KHO, "panic=30"]
    assert software.own_parameters(host) == [KHO]
    host.power()
    assert own_words(host) == ["ro", "quiet", "splash", KHO]
    assert trial.begin(host, {}, [], [KHO]) is None, "nothing is left to do"
    serves(host)
    assert host.converge(SET, [KHO]) == NEW
    assert own_words(host)[-1] == KHO, "another kernel gets it too"
    assert host.converge(SET, []) == NEW
    assert own_words(host) == ["ro", "quiet", "splash"]
    assert KHO not in host.read(grub.CONFIG)
    serves(host)


@pytest.mark.parametrize("fault", ["preflight", "hang"])
def test_a_parameter_that_does_not_pass_is_left_at_once(host: Machine, fault: str) -> None:
    assert proven(host).converge({}, ["a=1"]) == OLD
    (host.preflight_fails if fault == "preflight" else host.hangs).add(KHO)
    trial.begin(host, {}, [], [KHO])
    host.power()
    found = trial.read(host).trial
    assert found is not None
    assert found.phase == "failed"
    said = {"preflight": "HST015", "hang": "started the former parameters again"}[fault]
    assert said in found.why
    assert own_words(host) == ["ro", "quiet", "splash", "a=1"]
    serves(host)


def test_a_parameter_that_an_owner_has_set_is_neither_tried_nor_removed(host: Machine) -> None:
    host.write("etc/default/grub.d/50-own.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT kho=off"\n')
    host.update_grub()
    host.power()
    assert trial.begin(host, {}, [], [KHO]) is None
    assert proven_with(host, ["a=1", KHO]) == ["a=1"]
    assert host.converge({}, []) == OLD
    assert own_words(host) == ["ro", "quiet", "splash", KHO]
    host.write("etc/default/grub.d/95-own.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n')
    trial.begin(host, {}, [], ["a=1"])
    assert host.power() == OLD
    ended = trial.read(host).trial
    assert ended is not None
    assert (ended.phase, "lacks a=1" in ended.why) == ("failed", True)
    assert own_words(host) == ["ro", "quiet"], "another file of the owner sets all parameters"
    serves(host)


def proven_with(host: Machine, declared: list[str]) -> list[str]:
    """Try parameters on a host; return those that sparkiac has set."""
    host.converge({}, declared)
    return software.own_parameters(host)


@pytest.mark.deep
@pytest.mark.parametrize("bad", [False, True], ids=["good", "bad"])
def test_a_power_cut_leaves_kernel_and_parameters_together(host: Machine, *, bad: bool) -> None:
    saved, points = proven(host).saved(), 1
    while cut_both(host, points, bad=bad):
        host.restore(saved)
        points += 1
    assert points > 20


@pytest.mark.parametrize("at", [28, 32, 34, 36, 38, 40])
def test_no_boot_has_a_kernel_without_its_parameters(host: Machine, at: int) -> None:
    cut_both(proven(host), at, bad=False)


def cut_both(host: Machine, at: int, *, bad: bool) -> bool:
    """Take the power away before a command while both change; return False if it has fewer commands."""
    host.preflight_fails = {NEW} if bad else set()
    host.operations, host.kill_at = 0, at
    began = len(host.boots)
    started, seen = host.started, []
    host.started = lambda kernel, options: (seen.append((kernel, KHO in options.split())), started(kernel, options))  # type: ignore[method-assign, func-returns-value, assignment, return-value]
    try:
        host.converge(SET, [KHO])
    except KilledError:
        host.power()
        host.converge(SET, [KHO])
        host.power()
        whole = True
    else:
        whole = False
    host.__dict__.pop("started")
    assert len(host.boots) > began
    assert {*seen} <= {(OLD, False), (NEW, True)}, (at, seen)
    assert seen[-1] == ((OLD, False) if bad else (NEW, True)), at
    serves(host)
    return whole


def test_status_shows_a_trial_and_no_next_boot_that_grub_will_not_make(host: Machine) -> None:
    assert software.read(host)["next_kernel"] is None
    host.debian.apt("install", f"linux-image-{NEW}")
    assert software.read(host)["next_kernel"] == NEW, "the newest kernel starts, as nothing was proven"
    host.debian.apt("purge", f"linux-image-{NEW}")
    proven(host)
    assert said(host) == []
    trial.begin(host, SET, [])
    [text] = said(host)
    assert text == f"kernel {NEW} is tried (trying): any other boot starts {OLD} as before"
    assert software.read(host)["next_kernel"] is None, "the default is the running kernel"
    host.hangs = {NEW}
    host.power()
    [text] = said(host)
    assert text.startswith(f"kernel {NEW}: the host started the former kernel again")


def test_a_trial_that_an_older_version_recorded_can_be_read(host: Machine) -> None:
    proven(host)
    trial.begin(host, SET, [])
    recorded = json.loads(host.read(trial.STATE))
    for key in trial.ADDED:
        del recorded["trial"][key]
    before = trial.read(host)
    host.path(trial.STATE).write_text(json.dumps(recorded))
    assert trial.read(host) == before


def said(host: Machine) -> list[str]:
    """Return what the status of the host says of the last trial."""
    return [each.text for each in about_trial(trial.shown(host)["trial"])]


@pytest.fixture
def node(host: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a node of a group, which has passed its gate. What its group decides is said by the playbook."""
    monkeypatch.setattr(gate, "grouped", lambda _machine: True)
    proven(host)
    trial.begin(host, SET, [])
    assert host.power() == NEW
    found = trial.read(host).trial
    assert found is not None
    assert found.phase == "passed"
    assert grub.default_fault(host, OLD) == "", "the former kernel is still the default"
    return host


def test_a_node_keeps_the_kernel_when_its_group_does(node: Machine) -> None:
    begun = trial.begin(node, SET, [])
    assert begun is not None
    assert begun.phase == "passed", "another run goes on with the group"
    assert trial.accept(node).phase == "good"
    assert node.power() == NEW
    assert node.debian.versions()[META] == NEWER[META]
    serves(node)


@pytest.mark.parametrize("told", [True, False], ids=["told", "power-cut"])
def test_a_node_goes_back_with_its_group_and_at_any_other_boot(node: Machine, *, told: bool) -> None:
    if told:
        assert trial.back(node, "another host of its group failed") is not None
    assert node.power() == OLD
    found = trial.read(node).trial
    assert found is not None
    assert (found.phase, found.added) == ("failed", [])
    assert found.why.startswith("another host of its group failed" if told else "the host started the former kernel")
    assert f"linux-image-{NEW}" not in node.debian.versions()
    with pytest.raises(trial.TrialError, match="no kernel that runs now has passed"):
        trial.accept(node)
    serves(node)


def test_only_a_node_of_a_group_has_ended_before_what_passed_is_kept(
    host: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the playbook reads `passed`, and does not begin the other packages."""
    proven(host)
    trial.begin(host, SET, [])
    monkeypatch.setattr(trial, "accept_alone", lambda _machine: None)
    assert host.power() == NEW
    assert not trial.ended(host)
    monkeypatch.setattr(gate, "grouped", lambda _machine: True)
    assert trial.ended(host)


def test_a_node_has_not_ended_before_its_unit_knows_of_a_power_cut(node: Machine) -> None:
    assert trial.ended(node)
    node.power()
    trial.enter(node, trial.PASSED)
    assert not trial.ended(node), "it runs the former kernel, and the unit has not said so yet"


def test_a_wait_ends_when_nothing_works_on_the_trial(host: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "POLL_S", 0)
    trial.wait(host)
    trial.begin(host, SET, [])
    with pytest.raises(trial.TrialError, match="has not ended; see journalctl --unit=sparkiac-kernel"):
        trial.wait(host)
    host.power()
    trial.wait(host)
