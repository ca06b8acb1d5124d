"""What the look announces is what the switch then does, and nothing else happens: each line is found on the host."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.host import state
from sparkiac.host.generation import PlacedFile, generation_id
from sparkiac.host.stage import prune
from sparkiac.host.switch import drain, effects, look, store
from tests import changes
from tests.announcement import Deed, Line, Meaning
from tests.e2e.lab import LAB, moved
from tests.host.switching import Host, Made, Unit, generation, switch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ORIGINAL: Final = "60"
"""Kernel settings of a host before sparkiac."""
PROGRAMS: Final = ("sparkiac-recover", "sparkiac-doors", "sparkiac-answer")
"""Units that come and go with the programs."""
PORTS: Final = {"a": "10.0.0.1:8001", "b": "10.0.0.1:8002", "c": "10.0.0.1:8002"}
MODEL: Final = {"model": "x/y", "commit": "c0", "layout": "hub", "manifest": "", "own": None}
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


def announced(host: Host, made: Made) -> tuple[list[Line], Meaning]:
    """Return what the look says, as one list, and what that means on this host."""
    data: dict[str, Any] = {
        "generation": made.name,
        "files": [{key: each[key] for key in ("path", "mode", "sha256")} for each in made.staged["files"]],
        "texts": {each["path"]: each["text"] for each in made.staged["files"]},
        "plan": made.plan,
        "secrets": {"salt": "", "hashes": {}, "read": []},
        "images": [],
        "networks": [],
        "directories": [],
        "extra_files": [],
        "user": "",
        "controller": {"owner": "ann", "running": [], "take_over": False},
    }
    found = look.look(host, data)
    said = [Line(each["action"], each["unit"], each["because"]) for each in found["units"]]
    said += [Line(each["action"], each["subject"], each["because"]) for each in found["effects"]]
    assert found["lines"] == [f"{action} {subject}: {because}" for action, subject, because in said]
    reads = {unit["name"]: unit["files"] for unit in made.plan["units"]}
    return said, Meaning(found["files"], reads, dict.fromkeys(kernel(host), ORIGINAL))


def kernel(host: Host) -> dict[str, str]:
    """Return the kernel settings."""
    root = host.root / "proc/sys"
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)).replace("/", "."): path.read_text().strip() for path in paths}


def files(host: Host) -> dict[str, bytes]:
    """Return the installed files."""
    paths = [path for top in ("etc", "usr") for path in (host.root / top).rglob("*") if path.is_file()]
    return {f"/{path.relative_to(host.root)}": path.read_bytes() for path in paths}


class Facts:
    """What can be seen of a host: its files, units, ports and kernel settings."""

    def __init__(self, host: Host) -> None:
        """Look at a host."""
        self.files, self.kernel = files(host), kernel(host)
        self.units = {name: replace(unit) for name, unit in host.units.items() if not name.startswith(PROGRAMS)}
        planned = store.load(host, state.read(host).committed).plan["units"]
        self.planned = {each["name"] for each in planned}
        self.lists = dict(lists(store.load(host, state.read(host).committed).plan))
        self.ports = {each["listen"]: each["name"] for each in planned if each["listen"]}


def happened(before: Facts, after: Facts) -> Iterator[Deed]:
    """Return what a switch did."""
    for name, now in after.units.items():
        was = before.units.get(name, Unit())
        if name in before.planned - after.planned and now.active != "active":
            yield "remove", name
        elif was.active == "active" != now.active:
            yield "stop", name
        elif now.active == "active" != was.active:
            yield "start", name
        elif now.invocation != was.invocation:
            yield "restart", name
        if now.enabled and not was.enabled:
            yield "enable", name
    for path in differing(before.files, after.files):
        yield "write" if path in after.files else "delete", path
    for listen in differing(before.ports, after.ports):
        yield "port", listen, before.ports.get(listen, ""), after.ports.get(listen, "")
    changed = (each for each in differing(before.lists, after.lists) if each[1] in after.planned & before.planned)
    yield from ((*each, after.lists.get(each, effects.LISTS[each[0]][0])) for each in changed)
    yield from (("kernel", key, after.kernel[key]) for key in differing(before.kernel, after.kernel))


def lists(plan: dict[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield which unit has a list of clients or of what it may connect to, and the list."""
    for name, each in plan["clients"].items():
        yield ("clients", name), ", ".join((*each["networks"], *each["units"])) or "this host only"
    for name, networks in plan["egress"].items():
        yield ("egress", name), ", ".join(networks) or "nothing"


def differing(one: Mapping[str, object], two: Mapping[str, object]) -> set[str]:
    """Return the keys whose values differ."""
    return {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}


def check(host: Host, made: Made) -> None:
    """Announce a switch and do it: without any one line of the announcement, it is not what happens."""
    before, (said, meaning) = Facts(host), announced(host, made)
    told = {each for each in said if each.action != "keep"}
    assert switch(host, made, f"to-{made.name}")["outcome"] == "committed"
    done = set(happened(before, Facts(host)))
    assert meaning.of(told) == done
    assert [line for line in told if meaning.of(told - {line}) == done] == []
    assert announced(host, made)[0] == []


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Return a host on which nothing runs, without Docker, and whose servers nobody asks."""
    monkeypatch.setattr(look, "faults", lambda *_: [])
    monkeypatch.setattr(prune, "inspect", lambda _: None)
    return Host(tmp_path)


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_announced_happens_and_nothing_else(host: Host, name: str) -> None:
    former, made = CHANGES[name]
    assert switch(host, former, "former")["outcome"] == "committed"
    check(host, made)


@pytest.mark.parametrize("name", ["spark-01", "spark-02"])
def test_the_same_for_changes_of_an_inventory(host: Host, name: str) -> None:
    """tests/e2e/test_announced.py does the same on booted hosts."""
    trees = [changes.rendered(each.data) for each in changes.changes(moved(LAB.read_text()))]
    every = [placed(tree, name) for tree in trees if tree and any(path.startswith(f"hosts/{name}/") for path in tree)]
    for key in {each["key"] for made in every for each in made.plan["sysctls"]}:
        host.write(f"proc/sys/{key.replace('.', '/')}", ORIGINAL)
    for made in every:
        check(host, made)


def placed(tree: dict[str, bytes], name: str) -> Made:
    """Return the generation of a host in a generated tree."""
    root = f"hosts/{name}/"
    texts = {path.removeprefix(root): content.decode() for path, content in tree.items() if path.startswith(root)}
    files = [
        {"path": path, "mode": "0644", "sha256": sha256(text.encode()).hexdigest(), "text": text}
        for path, text in sorted(texts.items())
    ]
    generation = generation_id([PlacedFile(each["path"], each["mode"], each["sha256"]) for each in files])
    return Made(generation, {"generation": generation, "files": files})


def test_the_data_of_a_removed_unit_stays_and_is_named(host: Host) -> None:
    former, made = CHANGES["remove"]
    switch(host, former, "former")
    for path in ("var/lib/sparkiac/b", "var/lib/sparkiac/a"):
        (host.root / path).mkdir()
    assert [each[1:] for each in announced(host, made)[0] if each.action == "keep"] == [
        ("/var/lib/sparkiac/b", "data, which no playbook removes"),
        ("model x/y@c0 in /models", effects.PRUNED),
        ("/var/cache/sparkiac/b/1", effects.PRUNED),
    ]
    switch(host, made, "new")
    assert (host.root / "var/lib/sparkiac/b").is_dir()


def test_a_renamed_unit_stops_before_the_new_one_starts(host: Host) -> None:
    former, made = CHANGES["rename"]
    switch(host, former, "former")
    units = [(action, subject) for action, subject, _ in announced(host, made)[0] if subject.startswith("sparkiac-")]
    assert units == [("remove", "sparkiac-b"), ("start", "sparkiac-c")]
    host.log.clear()
    switch(host, made, "new")
    left = [host.log.index(f"{verb} sparkiac-b") for verb in ("disable", "reset-failed")]
    assert left == sorted(left)
    assert left[-1] < host.log.index("restart sparkiac-c")
    assert host.dropped == ["sparkiac-b_default"]


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
    [said] = [each for each in announced(host, made)[0] if each.action == "remove"]
    assert said[1:] == ("sparkiac-b", "no longer on this host; drained first, for at most 30 s")
    host.log.clear()
    switch(host, made, "new")
    assert host.log.index("drain sparkiac-b 30") < host.log.index("disable sparkiac-b")
