"""What `sparkiac apply --check` announces is what an apply does: systemd, Docker and the kernel of hosts are asked.

The changes are those of tests/changes.py. Each begins with the hosts that the one before it left. Without any one line
of its announcement, a change would not be what happened. tests/host/test_switch_announced.py does the same with
stand-ins.
"""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac.commands.diff import changes as diff
from sparkiac.commands.inputs import Exit, read
from sparkiac.host import secrets
from sparkiac.host.switch import effects, uninstall
from sparkiac.host.switch.store import NOTHING
from sparkiac.words.page import plain
from tests.announcement import Deed, Line, Meaning
from tests.changes import COUNT, Change, changes
from tests.e2e.faults import IMAGE, pin
from tests.e2e.lab import IMAGES, Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

    Data = dict[str, Any]
    Facts = dict[str, dict[str, Any]]

pytestmark = pytest.mark.deep

HOSTS: Final = ("spark-01", "spark-02")
OWN: Final = ("sparkiac-recover", "sparkiac-doors", "sparkiac-switch", "sparkiac-answer", "sparkiac-secrets")
"""Units of the programs: they come and go with them."""
DECRYPTS: Final = f"/{secrets.UNIT}"
"""No generation has its file: it comes with the first secret, which is announced."""
OWN_PLACES: Final = {f"/var/lib/sparkiac/{name}" for name in uninstall.OWN}
SEEN: Final = r"""
import glob, hashlib, json, os, re, subprocess

def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True).stdout

def content(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest() + oct(os.stat(path).st_mode)

def below(*roots):
    return [path for root in roots for path in glob.glob(root + "/**", recursive=True)]

names = {os.path.basename(path) for path in glob.glob("/etc/systemd/system/sparkiac-*.*") if os.path.isfile(path)}
names |= set(re.findall(r"sparkiac-[\w-]+\.(?:service|timer)", run("systemctl", "list-units", "--all", "--plain")))
keys = ("ActiveState", "InvocationID", "UnitFileState", "ActiveEnterTimestampMonotonic")
units = {}
for name in sorted(names):
    shown = run("systemctl", "show", *("--property=" + key for key in keys), name)
    units[name] = dict(line.split("=", 1) for line in shown.splitlines())
ids = run("docker", "ps", "-aq", "--no-trunc").split()
containers = {}
for each in json.loads(run("docker", "inspect", *ids) or "[]") if ids else []:
    bindings = each["HostConfig"]["PortBindings"] or {}
    containers[each["Config"]["Labels"].get("com.docker.compose.project", each["Name"])] = {
        "started": each["State"]["StartedAt"],
        "ports": ["{HostIp}:{HostPort}".format(**port) for ports in bindings.values() for port in ports],
    }
roots = ("/etc/sparkiac", "/usr/local/lib/sparkiac")
found = [*below(*roots), *glob.glob("/etc/systemd/system/sparkiac-*"), *glob.glob("/etc/sysctl.d/*sparkiac*")]
files = {path: content(path) for path in found if os.path.isfile(path)}
plan = json.load(open("/etc/sparkiac/generation.json")) if "/etc/sparkiac/generation.json" in files else None
kernel = {}
for path in below("/proc/sys/vm", "/proc/sys/net/core", "/proc/sys/net/ipv4"):
    if path.endswith("/drop_caches"):  # written at each start
        continue
    try:
        kernel[path[len("/proc/sys/"):].replace("/", ".")] = " ".join(open(path).read().split())
    except OSError:
        pass
directories = [*glob.glob("/var/lib/sparkiac/*"), *glob.glob("/var/cache/sparkiac/*/*")]
weights = glob.glob("/home/spark/.cache/huggingface/hub/models--*/snapshots/*")
networks = run("docker", "network", "ls", "--format", "{{.Name}}").split()
print(json.dumps({
    "units": units, "containers": containers, "files": files, "plan": plan, "kernel": kernel,
    "directories": [path for path in directories if os.path.isdir(path)],
    "images": run("docker", "images", "--digests", "--format", "{{.Repository}}@{{.Digest}}").split(),
    "networks": [name for name in networks if not name.endswith("_default")],
    "projects": [name for name in networks if name.endswith("_default")],
    "models": [re.sub("(.*)/hub/models--(.*?)--(.*)/snapshots/(.*)", r"model \2/\3@\4 in \1", at) for at in weights],
    "shut": re.findall(r"elements = .*", run("nft", "list", "table", "inet", "sparkiac")),
    "users": run("id", "-nu", "sparkiac").split(),
    "switched": os.stat("/var/lib/sparkiac/state.json").st_mtime if plan else 0,
}))
"""


# -- what is announced ------------------------------------------------------------------------------


def preview(lab: Lab) -> Data:
    """Return what `sparkiac apply --check` says as JSON."""
    recap = lab.sparkiac_apply("--check", "--format", "json")
    assert recap.code in (Exit.OK, Exit.STALE), recap.output
    return dict(json.loads(recap.output))


def said(told: Data, host: str) -> list[Line]:
    """Return the lines about one host."""
    look = next((each for each in told["hosts"] if each["host"] == host), {"units": [], "effects": [], "missing": []})
    units = [Line(each["action"], each["unit"], each["because"]) for each in look["units"]]
    besides = [Line(each["action"], each["subject"], each["because"]) for each in look["effects"]]
    gone = [Line("clean", host, "retired")] if host in told["retired"] else []
    return [*units, *besides, *(Line("get", text, "") for text in look["missing"]), *gone]


# -- what happened ----------------------------------------------------------------------------------


def facts(lab: Lab) -> Facts:
    """Ask systemd, Docker and the kernel of each host."""
    command = shlex.join(["python3", "-c", SEEN])
    return {host: json.loads(lab.bed.ssh(host, command, root=True).stdout) for host in HOSTS}


def happened(host: str, before: Data, after: Data, originals: dict[str, str]) -> set[Deed]:
    """Return what is different on a host."""
    if before["plan"] and not (after["files"] or after["units"] or after["containers"]):
        ours = [each["key"] for each in before["plan"]["sysctls"]]
        assert [after["kernel"][key] for key in ours] == [originals[key] for key in ours]
        return {("clean", host)}
    return {deed for found in (units, containers, files, gotten, kept) for deed in found(before, after)}


def units(before: Data, after: Data) -> Iterator[Deed]:
    """Return what systemd did. The service of the fleet timer runs whenever the timer wants."""
    for name in before["units"].keys() | after["units"].keys():
        was, now = (found["units"].get(name, {}) for found in (before, after))
        unit = name.removesuffix(".service")
        if unit.startswith(OWN) or unit == "sparkiac-fleet":
            continue
        ran, runs = (each.get("ActiveState") == "active" for each in (was, now))
        if was.get("UnitFileState") in ("enabled", "disabled") and not (now.get("UnitFileState") or runs):
            yield "remove", unit
        elif ran and not runs:
            yield "stop", unit
        elif runs and not ran:
            yield "start", unit
        elif runs and was["InvocationID"] != now["InvocationID"]:
            yield "restart", unit
        if now.get("UnitFileState") == "enabled" != was.get("UnitFileState"):
            yield "enable", unit


def containers(before: Data, after: Data) -> Iterator[Deed]:
    """Return what Docker did besides: ports of containers, and a container that is another one than its unit says."""
    was, now = (
        {port: unit for unit, each in found["containers"].items() for port in each["ports"]}
        for found in (before, after)
    )
    yield from (
        ("port", port, was.get(port, ""), now.get(port, ""))
        for port in was.keys() | now.keys()
        if was.get(port) != now.get(port)
    )
    for unit in before["containers"].keys() & after["containers"].keys():
        another = before["containers"][unit]["started"] != after["containers"][unit]["started"]
        invoked = [found["units"].get(f"{unit}.service", {}).get("InvocationID") for found in (before, after)]
        if another != (invoked[0] != invoked[1]):
            yield "container", unit
    yield from (("shut", each) for each in after["shut"])


def files(before: Data, after: Data) -> Iterator[Deed]:
    """Return files and kernel settings that differ."""
    for path in before["files"].keys() | after["files"].keys():
        was, now = before["files"].get(path), after["files"].get(path)
        if was != now and path != DECRYPTS:
            yield "write" if now else "delete", path
    for key in before["kernel"].keys() & after["kernel"].keys():
        if before["kernel"][key] != after["kernel"][key]:
            yield "kernel", key, after["kernel"][key]


def gotten(before: Data, after: Data) -> Iterator[Deed]:
    """Return what the host has from now on, and networks of containers that it should not have any more."""
    for kind, key in (("directory", "directories"), ("image", "images"), ("network", "networks"), ("user", "users")):
        yield from (("get", kind, name) for name in after[key] if name not in before[key] and name not in OWN_PLACES)
    runs = {f"{unit}_default" for unit in after["containers"]}
    yield from (("network", name) for name in after["projects"] if name not in runs)


def kept(before: Data, after: Data) -> Iterator[Deed]:
    """Return what removed units leave on the host."""
    was, now = (found["plan"] or NOTHING for found in (before, after))
    left = [unit["name"] for unit in effects.leaving(now, was)]
    gone = [name.removeprefix("sparkiac-") for name in left if not name.endswith(effects.TIMER)]
    if not gone:
        return
    yield from (("keep", path) for path in after["directories"] if path.removeprefix("/var/lib/sparkiac/") in gone)
    needed = {*effects.needed(was["needs"])} - {*effects.needed(now["needs"])}
    there = {*(f"image {name}" for name in after["images"]), *after["models"], *after["directories"]}
    yield from (("keep", each) for each in needed & there)


# -- the test ---------------------------------------------------------------------------------------


@dataclass
class Run:
    """The lab, and what its hosts are after the last change."""

    lab: Lab
    text: str
    """Its inventory as it is in this folder."""
    originals: Facts
    """What the hosts were before the first apply."""
    last: Facts


@pytest.fixture(scope="module")
def run(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the lab; nothing is applied."""
    lab = Lab(bed, tmp_path_factory.mktemp("lab"))
    lab.write()
    before = facts(lab)
    return Run(lab, lab.inventory.read_text(), before, before)


def bring(lab: Lab, change: Change) -> None:
    """Write and generate a change; the inventory before it is `old.yaml`."""
    for name in ("lab.yaml", "lab.lock.yaml"):
        shutil.copy(lab.inventory.with_name(name), lab.inventory.with_name(name.replace("lab", "old", 1)))
    lab.inventory.write_text(yaml.safe_dump(change.data, sort_keys=False))
    (lab.folder / "secrets.json").write_text(json.dumps({"sparkiac_secrets": change.secrets}))
    if change.version:
        repository, entrypoint = IMAGES[IMAGE]
        pin(lab, "images", IMAGE, digest=lab.bed.push(repository, entrypoint=entrypoint, version=change.version))
    lab.generate()
    if "retired" not in change.data:
        lab.stage()


def check_other_previews(lab: Lab, told: Data) -> None:
    """Check that `sparkiac diff` and the playbook's --check say the same; the hosts have what `old.yaml` generates."""
    sides = [diff.checked(read(lab.inventory.with_name(name))) for name in ("old.yaml", "lab.yaml")]
    compared = plain(diff.between(*sides).look.hosts)  # type: ignore[arg-type]
    names = {host.name for host in sides[0].plan.hosts}  # type: ignore[union-attr]
    for each in compared:
        if each["host"] in names:
            lines = [
                [line for line in said(page, each["host"]) if not is_own(line)]
                for page in (told, {"hosts": compared, "retired": []})
            ]
            assert lines[0] == lines[1]
    output = " ".join(lab.apply("--check").output.split())
    for look in told["hosts"]:
        for line in said(told, look["host"]):
            assert line.action == "get" or f"would {line.action} {line.subject}: {line.because}" in output, line


def is_own(line: Line) -> bool:
    """Return whether only a host knows about this: what it has already, secrets as well."""
    return line.action in {"get", "keep"} or line.subject.startswith("secret ")


@pytest.mark.parametrize("number", range(COUNT))
def test_what_is_announced_happens_and_nothing_else(run: Run, number: int) -> None:
    change = changes(run.text)[number]
    bring(run.lab, change)
    told = preview(run.lab)
    if number % 8 == 5:
        check_other_previews(run.lab, told)
    recap = run.lab.apply()
    assert recap.code == 0, recap.output
    before, run.last = run.last, facts(run.lab)
    wrong: list[tuple[object, ...]] = []
    for host in HOSTS:
        lines, originals = said(told, host), run.originals[host]["kernel"]
        meaning = meaning_of(run, told, host)
        done = happened(host, before[host], run.last[host], originals)
        print(f"{number} {change.name} {host}: {len(lines)} lines, {len(done)} facts")  # noqa: T201 - shown with -s
        print(*(f"    {action} {subject}: {because}" for action, subject, because in lines), sep="\n")  # noqa: T201
        if (wanted := meaning.of(lines)) != done:
            wrong.append((host, "announced only", sorted(wanted - done), "happened only", sorted(done - wanted)))
        wrong += [(host, "the same without", each) for each in lines if meaning.of({*lines} - {each}) == wanted]
    if told["batches"] != sorted(told["batches"], key=lambda hosts: min(run.last[host]["switched"] for host in hosts)):
        wrong.append(("another order than", told["batches"]))
    assert wrong == []


def meaning_of(run: Run, told: Data, host: str) -> Meaning:
    """Return what lines about a host mean."""
    files = next((each["files"] for each in told["hosts"] if each["host"] == host), [])
    path = run.lab.tree / f"hosts/{host}/etc/sparkiac/generation.json"
    plan = json.loads(path.read_text()) if path.exists() else NOTHING
    reads = {unit["name"]: unit["files"] for unit in plan["units"]}
    return Meaning(files, reads, run.originals[host]["kernel"])
