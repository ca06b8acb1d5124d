"""What the look announces is what the switch then does, and nothing else happens: each line is found on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.host import state
from sparkiac.host.switch import drain, effects, look, store
from tests.host.switching import Host, Made, generation, switch

if TYPE_CHECKING:
    from pathlib import Path

PORTS: Final = {"a": "10.0.0.1:8001", "b": "10.0.0.1:8002", "c": "10.0.0.1:8002"}
MODEL: Final = {"model": "x/y", "commit": "c0", "layout": "hub", "manifest": ""}
NEEDS: Final = {"stores": [{"path": "/models", "models": [MODEL]}], "caches": ["/var/cache/sparkiac/b/1"]}
SWAP: Final = {"key": "vm.swappiness", "value": "1"}
TURNS: Final = {"day": ["a"], "night": ["b"]}
BEFORE: Final = generation({"a": "one", "b": "two"}, sysctls=[SWAP], timer="daily", listen=PORTS, needs=NEEDS)
CHANGES: Final[dict[str, tuple[Made, Made]]] = {
    "first": (generation({}), generation({"a": "one"}, listen=PORTS)),
    "restart": (BEFORE, generation({"a": "1", "b": "two"}, sysctls=[SWAP], timer="daily", listen=PORTS, needs=NEEDS)),
    "remove": (BEFORE, generation({"a": "one"}, sysctls=[SWAP], timer="daily", listen=PORTS)),
    "rename": (BEFORE, generation({"a": "one", "c": "two"}, sysctls=[SWAP], timer="daily", listen=PORTS)),
    "ports swap": (
        BEFORE,
        generation({"a": "1", "b": "2"}, sysctls=[SWAP], timer="daily", listen={"a": PORTS["b"], "b": PORTS["a"]}),
    ),
    "another port": (BEFORE, generation({"a": "1", "b": "two"}, timer="daily", listen={**PORTS, "a": "10.0.0.1:9"})),
    "kernel setting goes": (BEFORE, generation({"a": "one", "b": "two"}, timer="daily", listen=PORTS, needs=NEEDS)),
    "kernel setting": (BEFORE, generation({"a": "one"}, sysctls=[{**SWAP, "value": "5"}], timer="daily")),
    "timer": (BEFORE, generation({"a": "one", "b": "two"}, sysctls=[SWAP], timer="hourly", listen=PORTS)),
    "timer goes": (BEFORE, generation({"a": "one", "b": "two"}, sysctls=[SWAP], listen=PORTS)),
    "programs": (
        BEFORE,
        generation({"a": "one", "b": "two"}, sysctls=[SWAP], timer="daily", listen=PORTS, programs=("x", "host/y.py")),
    ),
    "turns": (generation({"a": "one", "b": "two"}), generation({"a": "one", "b": "two"}, turns=TURNS)),
    "a turn goes": (
        generation({"a": "one", "b": "two"}, turns=TURNS),
        generation({"a": "one"}, turns={"day": ["a"]}),
    ),
    "everything": (BEFORE, generation({"c": "three"}, programs=("x",), listen={"c": "10.0.0.1:9"})),
}


def announced(host: Host, made: Made) -> list[dict[str, str]]:
    """Return what the look says, as one list of actions with their subjects and reasons."""
    data: dict[str, Any] = {
        "generation": made.name,
        "files": [{key: each[key] for key in ("path", "mode", "sha256")} for each in made.staged["files"]],
        "texts": {each["path"]: each["text"] for each in made.staged["files"]},
        "plan": made.plan,
        "secrets": {"salt": "", "hashes": {}},
        "images": [],
        "networks": [],
        "directories": [],
        "extra_files": [],
        "user": "",
        "controller": {"owner": "ann", "running": [], "take_over": False},
    }
    found = look.look(host, data)
    units = [{**each, "subject": each["unit"]} for each in found["units"]]
    said = [*units, *found["effects"]]
    assert found["lines"] == [f"{each['action']} {each['subject']}: {each['because']}" for each in said]
    return said


def files(host: Host) -> dict[str, bytes]:
    """Return the installed files."""
    roots = [host.root / each for each in ("etc", "usr")]
    return {str(path.relative_to(host.root)): path.read_bytes() for at in roots for path in at.rglob("*.*")} | {
        str(path.relative_to(host.root)): path.read_bytes() for at in roots for path in at.rglob("x")
    }


def ports(host: Host) -> dict[str, str]:
    """Return the ports of the installed plan, with their units."""
    units = store.load(host, state.read(host).committed).plan["units"]
    return {each["listen"]: each["name"] for each in units if each["listen"]}


class Facts:
    """What can be seen of a host: its files, ports and kernel settings, and what systemd was told."""

    def __init__(self, host: Host) -> None:
        """Look at a host."""
        self.files, self.ports = files(host), ports(host)
        self.swappiness = host.path("/proc/sys/vm/swappiness").read_text().strip()
        self.enabled = {name for name, unit in host.units.items() if unit.enabled}


def happened(host: Host, before: Facts, log: list[str]) -> set[tuple[str, str]]:
    """Return what a switch did, as pairs of a verb and its object."""
    after, found = Facts(host), set[tuple[str, str]]()
    for verb, _, name in (line.partition(" ") for line in log):
        if verb == "restart":
            found.add(("started", name))
        if verb == "disable":
            found.add(("stopped", name))
    found |= {("enabled", name) for name in after.enabled - before.enabled}
    found |= {("written", path) for path, text in after.files.items() if before.files.get(path) != text}
    found |= {("deleted", path) for path in before.files.keys() - after.files.keys()}
    for listen in before.ports.keys() | after.ports.keys():
        was, now = before.ports.get(listen), after.ports.get(listen)
        found |= {("port", f"{listen} {was} {now}")} if was != now else set()
    if before.swappiness != after.swappiness:
        found.add(("kernel", "vm.swappiness"))
    return found


def meant(said: list[dict[str, str]], made: Made, former: Made) -> set[tuple[str, str]]:
    """Return what the announcement says will happen, in the same pairs; a start also writes the files of its unit."""
    reads = {unit["name"]: unit["files"] for unit in made.plan["units"]}
    texts = [{each["path"]: each["text"] for each in side.staged["files"]} for side in (former, made)]
    differing = {path for path, text in texts[1].items() if texts[0].get(path) != text}
    programs = {path for path in texts[0].keys() ^ texts[1].keys() if path.startswith(effects.PROGRAMS)}
    found = set[tuple[str, str]]()
    for each in said:
        action, subject, because = each["action"], each["subject"], each["because"]
        listed = [path.removeprefix("/") for path in because.removeprefix("changed: ").split(", ")]
        listed = [path for word in listed for path in (programs if word == "its programs" else [word])]
        if action in {"start", "restart"}:
            found |= {("started", subject), *(("written", path) for path in differing.intersection(reads[subject]))}
            found |= {("enabled", subject)} if action == "start" else set()
        elif action in {"stop", "remove"}:
            found.add(("stopped", subject))
        elif action in {"write", "delete", "reload"}:
            found |= {("deleted" if action == "delete" else "written", path) for path in listed}
        elif action in {"open", "close", "move"}:
            was, _, now = because.removeprefix("port of ").partition(", to ")
            units = {"open": (None, was), "close": (was, None), "move": (was, now)}[action]
            found.add(("port", f"{subject} {units[0]} {units[1]}"))
        else:
            assert action in {"set", "reset"}, each
            found.add(("kernel", subject))
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_announced_happens_and_nothing_else(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one line of the announcement, it is not what happens."""
    monkeypatch.setattr(look, "faults", lambda *_: [])
    host, (former, made) = Host(tmp_path), CHANGES[name]
    assert switch(host, former, "former")["outcome"] == "committed"
    before, said = Facts(host), announced(host, made)
    told = [each for each in said if each["action"] != "keep"]
    host.log.clear()
    assert switch(host, made, "new")["outcome"] == "committed"
    done = happened(host, before, host.log)
    assert meant(told, made, former) == done
    for line in told:
        assert meant([each for each in told if each != line], made, former) != done, line
    assert announced(host, made) == []


def test_the_data_of_a_removed_unit_stays_and_is_named(tmp_path: Path) -> None:
    host, (former, made) = Host(tmp_path), CHANGES["remove"]
    switch(host, former, "former")
    for path in ("var/lib/sparkiac/b", "var/lib/sparkiac/a"):
        (tmp_path / path).mkdir()
    said = announced(host, made)
    assert [(each["subject"], each["because"]) for each in said if each["action"] == "keep"] == [
        ("/var/lib/sparkiac/b", "data, which no playbook removes"),
        ("model x/y@c0 in /models", effects.PRUNED),
        ("/var/cache/sparkiac/b/1", effects.PRUNED),
    ]
    switch(host, made, "new")
    assert (tmp_path / "var/lib/sparkiac/b").is_dir()


def test_a_renamed_unit_stops_before_the_new_one_starts(tmp_path: Path) -> None:
    host, (former, made) = Host(tmp_path), CHANGES["rename"]
    switch(host, former, "former")
    units = [(each["action"], each["subject"]) for each in announced(host, made) if "unit" in each]
    assert units == [("remove", "sparkiac-b"), ("start", "sparkiac-c")]
    host.log.clear()
    switch(host, made, "new")
    assert host.log.index("disable sparkiac-b") < host.log.index("restart sparkiac-c")


@pytest.mark.parametrize("names", [("a",), ("a", "c")], ids=["removed", "renamed"])
def test_a_unit_that_goes_is_drained_before_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    """The drain of a real server with a real nftables is in test_switch_drain.py; here it is a line of the log."""
    host = Host(tmp_path)
    monkeypatch.setattr(
        drain, "drain", lambda host, units, within_s: host.log.append(f"drain {units[0]['name']} {within_s}")
    )
    former = generation({"a": "one", "b": "two"}, listen=PORTS, drain_s=30)
    made = generation(dict.fromkeys(names, "one"), listen=PORTS, drain_s=30)
    switch(host, former, "former")
    [said] = [each for each in announced(host, made) if each["action"] == "remove"]
    assert (said["subject"], said["because"]) == (
        "sparkiac-b",
        "no longer on this host; drained first, for at most 30 s",
    )
    host.log.clear()
    switch(host, made, "new")
    assert host.log.index("drain sparkiac-b 30") < host.log.index("disable sparkiac-b")
