"""A host for the tests of `switch`: files below a directory, and stand-ins for systemd, Docker and the model servers.

What a unit runs is the text of its compose file at its last start. The model server of a compose file that contains
"crash" does not become ready, that of one with "wrong" answers wrongly, and "hang" ends only when it is stopped.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sparkiac.host import local as units_host
from sparkiac.host import state
from sparkiac.host.generation import PlacedFile, generation_id
from sparkiac.host.switch import program as switch_program
from sparkiac.host.switch import record, store
from sparkiac.host.switch import run as runs
from sparkiac.host.switch import start as starts
from tests.host.probed import promise

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = switch_program
"""The executable; its modules are imported under their own names, as on a host."""
LocalHost: Any = PROGRAM.LocalHost
Result: Any = units_host.CommandResult
TIMER = ["etc/systemd/system/sparkiac-fleet.timer", "etc/systemd/system/sparkiac-fleet.service"]
RECOVER = "etc/systemd/system/sparkiac-recover.service"


class KilledError(BaseException):
    """The program was killed, or the host lost its power."""


@dataclass
class Unit:
    """What systemd knows of a unit."""

    active: str = "inactive"
    enabled: bool = False
    invocation: str = ""
    runs: str | None = None
    """Its compose file at its last start; None if it does not run."""


class Host(LocalHost):  # type: ignore[misc]
    """A host of stand-ins. The program is killed at the operation `kill_at`: a command, or a change of a file."""

    nothing = Unit()

    def __init__(self, root: Path, *, name: str = "spark-01") -> None:
        """Make an empty host."""
        super().__init__(root)
        for place in ("etc/systemd/system", "usr/local/lib", "var/lib", "run", "proc/sys/vm"):
            (root / place).mkdir(parents=True, exist_ok=True)
        (root / "proc/sys/vm/swappiness").write_text("60\n")
        (root / "proc/meminfo").write_text(f"MemAvailable: {100 << 20} kB\n")
        self.name = name
        self.units: dict[str, Unit] = {}
        self.log: list[str] = []
        self.stop_seconds = 0.0
        """How long a unit takes to stop."""
        self.operations = 0
        self.kill_at: int | None = None
        self.dead = False
        self.lock = threading.RLock()
        self.stopping = threading.Condition(self.lock)
        self.watch: Any = lambda: None
        self.journal = "ValueError: a reason\n"
        self.planned: dict[str, Any] | None = None
        """Plan that counts as installed; None for that of the installed generation."""
        self.said: dict[str, dict[str, str]] = {}
        """Properties that systemd reports instead of the real ones."""
        self.launched: list[str] = []
        self.dropped: list[str] = []
        """Networks that Docker was told to remove."""
        self.table = ""
        """The table of nftables."""
        self.queued: list[str] = []
        """Units that systemd starts during the boot; stopping a unit removes its job."""

    def count(self) -> None:
        """Count an operation; be killed at the wanted one, and do nothing after that."""
        with self.lock:
            self.operations += 1
            self.dead = self.dead or self.operations == self.kill_at
            if self.dead:
                raise KilledError

    def run(self, *argv: str) -> Any:  # noqa: ANN401 - CommandResult of a script
        """Run a command of the host."""
        self.count()
        verb, *words = [word for word in argv if not word.startswith("--")]
        if verb == "systemctl":
            return self.systemctl(words[0], [name.removesuffix(".service") for name in words[1:]], argv)
        if verb == "journalctl":
            return Result(0, self.journal, "")
        if verb == "nft":
            return self.nft(argv)
        if verb in {"sshd", "systemd-notify", "systemd-cat"}:
            return Result(1, "", "")
        if verb in {"systemd-run", "timeout"}:
            assert verb == "timeout" or "--collect" in argv
            (self.dropped if verb == "timeout" else self.launched).append(words[-1])
            return Result(0, "", "")
        assert verb == "python3", argv
        return self.probe(argv[-1])

    def nft(self, argv: tuple[str, ...]) -> Any:  # noqa: ANN401
        """Do what nft does."""
        if "list" in argv:
            return Result(0, self.table, "") if self.table else Result(1, "", "No such file or directory")
        assert argv[1] == "--file", argv
        lines = self.path(argv[2].removeprefix(str(self.root))).read_text().splitlines()
        added = [line for line in lines if line.startswith("add ")]
        former, self.table = self.table.count(" drained_"), "\n".join(added) if "add set" in "\n".join(added) else ""
        drained = self.table.count(" drained_")
        if drained != former:
            self.log.append("drain" if drained > former else "undrain")
        return Result(0, "", "")

    def probe(self, name: str) -> Any:  # noqa: ANN401
        """Answer as the model server of a unit."""
        text = self.units[name].runs
        if text is None or "wrong" in text.split():
            return Result(1, "", f"http://host/{name}: wrong answer: '12' instead of 371\n")
        return Result(0, "", "")

    def systemctl(self, verb: str, names: list[str], argv: tuple[str, ...]) -> Any:  # noqa: ANN401
        """Do what systemctl does."""
        with self.lock:
            if verb == "show":
                wanted = next(word for word in argv if word.startswith("--property="))[11:].split(",")
                blocks = [self.properties(name, wanted) for name in names]
                lines = [[f"{key}={value}" for key, value in block.items()] for block in blocks]
                lines = [list(block.values()) for block in blocks] if "--value" in argv else lines
                return Result(0, "\n\n".join("\n".join(block) for block in lines) + "\n", "")
            assert verb in {"daemon-reload", "enable", "disable", "start", "stop", "restart", "reset-failed"}, argv
            self.log.append(" ".join([verb, *names]))
            for name in names:
                self.change(verb, name, argv)
        return Result(0, "", "")

    def properties(self, name: str, wanted: list[str]) -> dict[str, str]:
        """Return properties of a unit."""
        unit = self.units.get(name, Unit())
        known = {
            "LoadState": "loaded" if name in self.units else "not-found",
            "ActiveState": unit.active,
            "SubState": "auto-restart" if unit.active == "activating" else "running",
            "UnitFileState": ("enabled" if unit.enabled else "disabled") if name in self.units else "",
            "InvocationID": unit.invocation,
            "DropInPaths": "",
            "NeedDaemonReload": "no",
            "Result": "exit-code",
            "NRestarts": "0",
            "ActiveEnterTimestampMonotonic": "0",
            "ActiveExitTimestampMonotonic": "0",
            "StatusText": "",
        }
        return {key: value for key, value in {**known, **self.said.get(name, {})}.items() if key in wanted}

    def change(self, verb: str, name: str, argv: tuple[str, ...]) -> None:
        """Change the state of a unit."""
        unit = self.units.setdefault(name, Unit())
        if verb in {"enable", "disable"}:
            unit.enabled = verb == "enable"
        if verb == "stop" and name in self.queued:
            self.queued.remove(name)
        if verb in {"stop", "restart"} or "--now" in argv:
            time.sleep(self.stop_seconds if unit.runs else 0)
            unit.active, unit.runs = "inactive", None
            self.watch()
            self.stopping.notify_all()
        if verb in {"start", "restart"} and name.startswith("sparkiac-") and unit.active != "active":
            self.start(name, unit)

    def start(self, name: str, unit: Unit) -> None:
        """Start a unit from the files that are installed now."""
        if name.endswith(".timer"):
            unit.active = "active" if self.path(f"/etc/systemd/system/{name}").exists() else "failed"
            return
        compose = self.path(f"/etc/sparkiac/{name.removeprefix('sparkiac-')}/compose.yaml")
        if not compose.exists():
            return
        self.said.get(name, {}).pop("ActiveState", None)
        self.said.get(name, {}).pop("SubState", None)
        unit.invocation = sha256(f"{self.name} {name} {len(self.log)}".encode()).hexdigest()
        unit.runs, unit.active = compose.read_text(), "activating"
        self.watch()
        self.record(name, unit.invocation)
        if "hang" in unit.runs.split():
            self.stopping.wait_for(lambda: unit.runs is None, timeout=60)
        elif "crash" not in unit.runs.split():
            unit.active = "active"

    def record(self, name: str, invocation: str) -> None:
        """Record the inputs of a unit that starts, as `switch started` does."""
        plan = self.planned or (store.installed(self) if self.path(f"/{store.PLAN}").exists() else {"units": []})
        if any(each["name"] == name for each in plan["units"]):
            record.record(self, plan, name, invocation)

    def write(self, path: str, text: str) -> None:
        """Write a file of the host."""
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def serving(self) -> dict[str, str | None]:
        """Return what each unit runs."""
        return {name: unit.runs for name, unit in sorted(self.units.items()) if unit.runs is not None}

    def reboot(self) -> None:
        """Lose the power: only files on the disk stay, and enabled units are queued to start."""
        self.dead, self.kill_at = False, None
        for path in (self.root / "run/sparkiac").rglob("*"):
            if path.is_file():
                path.unlink()
        for unit in self.units.values():
            unit.active, unit.runs = "inactive", None

    def boot(self) -> None:
        """Recover, then start the units that are enabled and still installed."""
        self.queued = [name for name, unit in self.units.items() if unit.enabled]
        starts.recover(self)
        for name in self.queued:
            unit = self.units[name]
            if unit.active != "active" and self.path(f"/etc/systemd/system/{name}.service").exists():
                self.start(name, unit)


@dataclass
class Made:
    """A generation as the controller stages it."""

    name: str
    staged: dict[str, Any] = field(repr=False)

    @property
    def plan(self) -> dict[str, Any]:
        """The plan of the generation."""
        text = next(each["text"] for each in self.staged["files"] if each["path"] == store.PLAN)
        return dict(json.loads(text))


def unit(name: str, **values: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the plan of a unit with a promise."""
    wanted = promise(f"sparkiac-{name}", url=f"http://host/sparkiac-{name}", answer_s=5)
    files = [f"etc/systemd/system/sparkiac-{name}.service", f"etc/sparkiac/{name}/compose.yaml"]
    found = {"name": f"sparkiac-{name}", "files": files, "secrets": [], "memory_bytes": 10, "listen": None}
    found |= {"group": False, "ready_timeout_s": 60, "drain_s": 0, "turns": []}
    return {**found, "promise": wanted, **values}


def generation(  # noqa: PLR0913  each is a part of a generation
    texts: dict[str, str],
    *,
    group: Any = None,  # noqa: ANN401
    sysctls: Any = (),  # noqa: ANN401
    host: str = "spark-01",
    timer: str | None = None,
    turns: dict[str, list[str]] | None = None,
    programs: tuple[str, ...] = (),
    listen: dict[str, str] | None = None,
    needs: dict[str, Any] | None = None,
    drain_s: int = 0,
) -> Made:
    """Return a generation of units, each with the text of its compose file, and a timer with this text.

    `turns` is the name of each turn → the units in it; `programs` are paths in the directory of programs; `listen` is
    the name of a unit → its address and port.
    """
    turns = turns or {}
    needed = {"images": [], "stores": [], "extra_files": [], "caches": [], **(needs or {})}
    plan = {
        "host": host,
        "memory_bytes": None,
        "turns": list(turns),
        "sysctls": list(sysctls),
        "packages": {},
        "parameters": [],
        "clients": {},
        "egress": {},
        "group": group,
        "nft_optional": False,
        "needs": needed,
    }
    plan["units"] = [
        unit(
            name,
            group=group is not None,
            drain_s=drain_s,
            turns=[turn for turn, names in turns.items() if name in names],
        )
        for name in texts
    ]
    for each in plan["units"]:
        each["listen"] = (listen or {}).get(each["name"].removeprefix("sparkiac-"))
    if timer is not None:
        plan["units"].append({**unit("fleet"), "name": "sparkiac-fleet.timer", "files": TIMER, "promise": None})
    contents = {"etc/sparkiac/generation.json": json.dumps(plan), RECOVER: "[Unit]\n"}
    for name, text in texts.items():
        contents |= {f"etc/sparkiac/{name}/compose.yaml": text, f"etc/systemd/system/sparkiac-{name}.service": name}
    contents |= dict.fromkeys(TIMER, timer) if timer is not None else {}
    contents |= {f"usr/local/lib/sparkiac/{path}": path for path in programs}
    files = [
        {"path": path, "mode": "0644", "sha256": sha256(text.encode()).hexdigest(), "text": text}
        for path, text in sorted(contents.items())
    ]
    listed = [PlacedFile(each["path"], each["mode"], each["sha256"]) for each in files]
    name = generation_id(listed)
    return Made(name, {"generation": name, "files": files})


def switch(host: Host, made: Made, run: str = "run", **values: Any) -> dict[str, Any]:  # noqa: ANN401
    """Stage a generation and switch to it, as the unit that systemd-run starts does."""
    store.stage(host, made.staged)
    request = runs.Request(made.name, run, values.get("token", ""), values.get("also", []), values.get("turn"))
    return dict(runs.run(host, request))


def committed(host: Host) -> str | None:
    """Return the committed generation of a host on which no switch is pending."""
    found = state.read(host)
    assert found.pending is None
    assert found.current == found.committed
    return None if found.committed is None else str(found.committed)
