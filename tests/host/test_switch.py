"""The program that switches a host to another generation, on a host of stand-ins."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sparkiac.host import durable
from tests.host import switching
from tests.host.switching import (
    PROGRAM,
    Host,
    KilledError,
    Made,
    Result,
    committed,
    generation,
    runs,
    starts,
    state,
    store,
    switch,
)

pytestmark = pytest.mark.usefixtures("no_fsync")
PROGRAMS = Path(__file__).parents[2] / "playbooks/roles/programs/files"
FIRST = generation({"a": "a 1", "b": "b 1"}, sysctls=[{"key": "vm.swappiness", "value": "1"}])
SECOND = generation({"a": "a 2", "c": "c 2"})


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host that runs the first generation."""
    found = Host(tmp_path)
    assert switch(found, FIRST, "first")["outcome"] == "committed"
    found.log.clear()
    found.operations = 0
    return found


def installed(host: Host, made: Made) -> bool:
    """Return whether the files of a generation are installed, and no other file of a generation."""
    wanted = {each["path"]: each["text"] for each in made.staged["files"]}
    paths = [*(host.root / "etc").rglob("*")]
    return {str(path.relative_to(host.root)): path.read_text() for path in paths if path.is_file()} == wanted


def test_a_first_switch_starts_everything(tmp_path: Path) -> None:
    host = Host(tmp_path)
    result = switch(host, FIRST)
    assert (result["outcome"], result["changed"], result["failed"]) == ("committed", True, [])
    assert [(each["unit"], each["action"]) for each in result["done"]] == [
        ("sparkiac-a", "start"), ("sparkiac-b", "start"),
    ]  # fmt: skip
    assert host.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}
    assert committed(host) == FIRST.name
    assert installed(host, FIRST)
    assert (host.root / "proc/sys/vm/swappiness").read_text() == "1\n"


def test_the_user_of_the_units_can_read_the_files(host: Host) -> None:
    (host.root / "etc/sparkiac").chmod(0o700)
    (host.root / "etc").chmod(0o711)
    switch(host, SECOND)
    modes = {name: (host.root / name).stat().st_mode & 0o777 for name in ("etc", "etc/sparkiac", "etc/sparkiac/c")}
    assert modes == {"etc": 0o711, "etc/sparkiac": 0o755, "etc/sparkiac/c": 0o755}


def test_a_switch_changes_only_what_differs(host: Host) -> None:
    both = generation({"a": "a 1", "b": "b 2"}, sysctls=[{"key": "vm.swappiness", "value": "1"}])
    assert switch(host, both)["outcome"] == "committed"
    assert [line for line in host.log if line.startswith(("start", "restart", "stop"))] == ["restart sparkiac-b"]
    found = state.read(host)
    assert (found.committed, found.previous) == (both.name, FIRST.name)


def test_units_and_settings_that_a_generation_does_not_have_go(host: Host) -> None:
    assert switch(host, SECOND)["outcome"] == "committed"
    assert host.serving() == {"sparkiac-a": "a 2", "sparkiac-c": "c 2"}
    assert installed(host, SECOND)
    assert (host.root / "proc/sys/vm/swappiness").read_text() == "60\n"
    assert not (host.root / "etc/sparkiac/b").exists()


def test_a_unit_that_promises_more_is_asked_without_a_restart(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    switch(host, generation({"a": "first", "b": "first"}))
    asked: list[str] = []

    def probe(name: str) -> Any:  # noqa: ANN401 - CommandResult of a script
        asked.append(name)
        return Result(0, "", "")

    monkeypatch.setattr(host, "probe", probe)
    made = generation({"a": "first", "b": "first"})
    monkeypatch.setattr(switching, "promise", partial(switching.promise, clients=["tools"]))
    more = generation({"a": "first", "b": "first"})
    assert switch(host, made, "again")["done"] == []
    assert asked == []
    assert switch(host, more, "more")["done"] == []
    assert asked == ["sparkiac-a", "sparkiac-b"]
    assert committed(host) == more.name


@pytest.mark.parametrize(("text", "said"), [("crash", "did not become ready"), ("wrong", "wrong answer")])
def test_a_bad_generation_goes_back_as_a_whole(host: Host, text: str, said: str) -> None:
    bad = generation({"a": "a 2", "b": text, "c": "c 2"})
    result = switch(host, bad)
    assert result["outcome"] == "back"
    [report] = result["failed"]
    assert said in report
    assert "ValueError: a reason" in report
    assert report.splitlines()[-1] == f"The host went back to generation {FIRST.name}, which runs again."
    assert len(report.splitlines()) <= 10
    assert host.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}
    assert committed(host) == FIRST.name
    assert installed(host, FIRST)
    assert (host.root / "proc/sys/vm/swappiness").read_text() == "1\n"
    assert state.read(host).previous is None


def test_a_setting_that_cannot_be_set_fails_a_switch_and_not_the_way_back(host: Host) -> None:
    (host.root / "proc/sys/vm/swappiness").unlink()
    result = switch(host, generation({"a": "a 2"}, sysctls=[{"key": "vm.swappiness", "value": "2"}]))
    assert result["outcome"] == "back"
    assert "swappiness" in result["failed"][0]
    assert "a setting of the former generation is not set" in result["failed"][1]
    assert host.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}
    assert (committed(host), installed(host, FIRST)) == (FIRST.name, True)


def test_a_setting_that_cannot_be_set_at_boot_does_not_keep_a_host_from_its_committed_generation(host: Host) -> None:
    """A setting may belong to a kernel module that is loaded later."""
    store.stage(host, SECOND.staged)
    host.kill_at = 12
    with pytest.raises(KilledError):
        runs.run(host, runs.Request(SECOND.name, "second", "", []))
    host.reboot()
    (host.root / "proc/sys/vm/swappiness").unlink()
    assert state.read(host).pending is not None
    host.boot()
    assert (committed(host), installed(host, FIRST)) == (FIRST.name, True)
    assert host.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}


@pytest.fixture
def interrupted(host: Host) -> Host:
    """Return a host that lost its power during a switch, after the file of one unit was replaced."""
    store.stage(host, generation({"a": "a 2", "b": "b 2"}).staged)
    [name] = {*store.kept(host)} - {FIRST.name}
    state.write(host, state.State(name, None, FIRST.name, state.Pending(name, "second", "", state.TRYING, [])))
    host.write("etc/sparkiac/a/compose.yaml", "a 2")
    host.reboot()
    return host


def test_a_unit_does_not_start_from_files_that_no_recovery_replaced(interrupted: Host) -> None:
    """Whatever keeps the recovery at boot from its work; a unit whose files are those of the committed one starts."""
    with pytest.raises(store.GenerationError, match=r"not finished; see journalctl --unit=sparkiac-recover$"):
        PROGRAM.started(interrupted, "sparkiac-a")
    PROGRAM.started(interrupted, "sparkiac-b")
    assert (interrupted.root / "run/sparkiac/started/sparkiac-b.json").exists()
    assert not (interrupted.root / "run/sparkiac/started/sparkiac-a.json").exists()


def test_it_starts_after_the_recovery_and_during_a_switch(interrupted: Host) -> None:
    interrupted.said["sparkiac-switch"] = {"ActiveState": "activating"}
    PROGRAM.started(interrupted, "sparkiac-a")
    del interrupted.said["sparkiac-switch"]
    starts.recover(interrupted)
    PROGRAM.started(interrupted, "sparkiac-a")
    assert interrupted.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}


def test_a_rank_of_a_group_does_not_start_before_its_switch_has_ended(tmp_path: Path) -> None:
    """Its files may be right, while the other hosts still run the other generation."""
    group = {
        "members": ["spark-01", "spark-02"],
        "coordinator": "spark-02",
        "address": "10.0.0.1",
        "port": 1,
        "peers": [],
    }
    host, made = Host(tmp_path), generation({"a": "a 1"}, group=group)
    store.stage(host, made.staged)
    host.write("etc/sparkiac/a/compose.yaml", "a 1")
    host.write("etc/systemd/system/sparkiac-a.service", "a")
    state.write(host, state.State(made.name, None, made.name, state.Pending(made.name, "run", "", state.TRYING, [])))
    with pytest.raises(store.GenerationError, match="not finished"):
        PROGRAM.started(host, "sparkiac-a")


def test_a_recovery_that_has_nothing_to_do_keeps_no_unit_from_its_start(host: Host) -> None:
    """The state cannot be read, so the recovery fails; the files are whole."""
    host.write(state.STATE, '{"current": ')
    with pytest.raises(ValueError, match="Expecting value"):
        starts.recover(host)
    PROGRAM.started(host, "sparkiac-a")


def test_inputs_that_cannot_be_recorded_keep_no_unit_from_its_start(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    PROGRAM.started(host, "sparkiac-unknown")
    said = capsys.readouterr().err
    assert said == (
        "switch started: the installed generation has no unit sparkiac-unknown; the next apply restarts it\n"
    )


def test_the_unit_that_recovers_has_the_kernel_settings_of_the_host() -> None:
    """With a network of its own it would have other ones, of which some cannot be set at all."""
    unit = PROGRAMS / "etc/systemd/system/sparkiac-recover.service"
    lines = unit.read_text().splitlines()
    assert not [line for line in lines if line.startswith(("PrivateNetwork=", "ProtectKernelTunables="))]


def test_a_unit_that_does_not_differ_stays_on_the_way_back(host: Host) -> None:
    switch(host, generation({"a": "a 1", "b": "crash"}))
    assert not [line for line in host.log if line.endswith("sparkiac-a") and not line.startswith("enable")]


def test_a_bad_first_generation_leaves_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path)
    result = switch(host, generation({"a": "crash"}))
    assert result["failed"][0].splitlines()[-1].startswith("The host had no earlier generation")
    assert (host.serving(), committed(host)) == ({}, None)
    assert not (host.root / "etc/sparkiac/generation.json").exists()


def test_a_generation_that_a_former_version_adopted_can_be_restored(host: Host) -> None:
    """It has its plan beside its files, because the version that installed it had no generation.json."""
    place = store.directory(host, FIRST.name)
    (place / "files" / store.PLAN).rename(place / store.ADOPTED)
    listed = json.loads((place / "files.json").read_text())
    (place / "files.json").write_text(json.dumps([each for each in listed if each["path"] != store.PLAN]))
    switch(host, SECOND)
    assert switch(host, FIRST, "rollback")["outcome"] == "committed"
    assert host.serving() == {"sparkiac-a": "a 1", "sparkiac-b": "b 1"}


def test_going_back_to_the_previous_generation_and_forth(host: Host) -> None:
    switch(host, SECOND)
    assert starts.generation_of(host, "previous") == FIRST.name
    assert switch(host, FIRST, "rollback")["outcome"] == "committed"
    assert starts.generation_of(host, "previous") == SECOND.name


def test_another_layout_of_the_programs_replaces_the_former_one(host: Host) -> None:
    """Files and folders that a generation does not have are gone, also on the way back; a folder in use stays."""
    flat = generation({"a": "a 1"}, programs=("switch", "switch_run.py", "own/x.py"))
    folders = generation({"a": "a 1"}, programs=("switch", "host/switch/run.py", "host/contract.py"))
    place = host.root / "usr/local/lib/sparkiac"
    switch(host, flat)
    for made, wanted in (
        (folders, {"switch", "host", "host/switch", "host/switch/run.py", "host/contract.py"}),
        (flat, {"switch", "switch_run.py", "own", "own/x.py"}),
    ):
        (place / "notes").mkdir(exist_ok=True)
        if (place / "own").exists():
            (place / "own/.x.py.abc.new").touch()  # left by a power cut
        assert switch(host, made)["outcome"] == "committed"
        assert {str(path.relative_to(place)) for path in place.rglob("*")} == wanted | {"notes"}
    assert switch(host, generation({"a": "crash"}, programs=("host/deep/er/x.py",)))["outcome"] == "back"
    assert not (place / "host").exists()
    assert host.serving() == {"sparkiac-a": "a 1"}


@pytest.mark.parametrize("change", ["text", "name", "path"])
def test_what_is_not_the_generated_tree_is_refused(host: Host, change: str) -> None:
    staged: dict[str, Any] = {**SECOND.staged, "files": [dict(each) for each in SECOND.staged["files"]]}
    if change == "name":
        staged["generation"] = "0" * 16
    else:
        staged["files"][0][change] = "../../tmp/x"
    with pytest.raises((store.GenerationError, ValueError)):
        store.stage(host, staged)
    assert store.kept(host) == [FIRST.name]


def test_a_damaged_generation_is_not_installed(host: Host) -> None:
    store.stage(host, SECOND.staged)
    (host.root / f"var/lib/sparkiac/generations/{SECOND.name}/files/etc/sparkiac/a/compose.yaml").write_text("x")
    with pytest.raises(store.GenerationError, match="is damaged: apply again"):
        runs.run(host, runs.Request(SECOND.name, "run", "", []))
    assert committed(host) == FIRST.name


def counted(monkeypatch: pytest.MonkeyPatch, host: Host) -> None:
    """Count every change of a file as an operation at which the program can be killed."""
    for name in ("write", "rename", "remove", "make_directory"):
        plain = getattr(durable, name)

        def counting(*words: Any, plain: Any = plain, **values: Any) -> Any:  # noqa: ANN401
            host.count()
            return plain(*words, **values)

        monkeypatch.setattr(durable, name, counting)


def killed_at(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Made) -> Host | None:
    """Return a host on which a switch was killed at a step; None if the switch has fewer steps."""
    host = Host(tmp_path / str(step))
    switch(host, FIRST, "first")
    with monkeypatch.context() as patch:
        counted(patch, host)
        host.operations, host.kill_at = 0, step
        try:
            switch(host, made)
        except KilledError:
            host.dead, host.kill_at = False, None
            return host
    return None


@pytest.mark.parametrize("made", [SECOND, generation({"a": "a 1", "b": "crash", "d": "d 2"})], ids=["good", "bad"])
@pytest.mark.parametrize("power", [False, True], ids=["program", "host"])
def test_a_kill_at_any_step_ends_on_one_committed_generation(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Made,
    power: bool,  # noqa: FBT001
) -> None:
    """The program is killed and started again by systemd, or the host loses its power and boots."""
    for step in range(1, 1000):
        host = killed_at(step, tmp_path, monkeypatch, made)
        if host is None:
            break
        if power:
            host.reboot()
            host.boot()
        elif state.read(host).pending is not None:
            assert runs.run(host, None)["outcome"] == "back"
        ends = {FIRST.name: FIRST, made.name: made}[str(committed(host))]
        assert installed(host, ends), step
        texts = {each["path"]: each["text"] for each in ends.staged["files"]}
        assert host.serving() == {
            f"sparkiac-{path.split('/')[2]}": text for path, text in texts.items() if path.endswith("compose.yaml")
        }, step
        assert switch(host, SECOND, "again")["outcome"] == "committed"
        assert not [path for path in (host.root / "etc").rglob("*.new") if path.is_file() and not power], step
    assert step > 40
