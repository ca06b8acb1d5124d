"""A gateway on booted hosts: two hosts serve one alias behind it, under steady load, and nothing short fails.

They are rolled to a new version; then the key of a client and that of the servers are rotated. HAProxy is that of this
machine, in an image whose entrypoint is that of docker.io/library/haproxy: a stand-in for it. Keys and prompts are
unique, and at the end they are nowhere but in the files for them. Rows of a table are printed with -s.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e import load
from tests.e2e.bed.bed import USER
from tests.e2e.bed.shell import run, wait_for
from tests.e2e.faults import RECIPE, UNITS
from tests.e2e.lab import KEY, Lab
from tests.e2e.polls import PrintingModule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
ADDRESS, GATEWAY = "10.77.0.12", "spark-02"
URL = f"http://{ADDRESS}:8088"
GATE_KEY, LAPTOP_KEY = "canary-gate-5a90e1-not-real", "canary-laptop-c07d2b-not-real"
NEXT = {"laptop_key": "canary-laptop-next-1e64", "vllm_api_key": "canary-servers-next-88f2"}
CANARIES = (KEY, GATE_KEY, LAPTOP_KEY, *NEXT.values(), load.PROMPT[:19])
IMAGE = "docker.io/library/haproxy:3.2-alpine"
ENTRYPOINT = """\
#!/bin/sh
# As the entrypoint of docker.io/library/haproxy, for Debian's HAProxy: a stand-in for that image.
set -e
if [ "${1#-}" != "$1" ]; then set -- haproxy "$@"; fi
if [ "$1" = haproxy ]; then shift; set -- haproxy -W -db "$@"; fi
exec "$@"
"""
LAUNCHER = '#!/bin/sh\nLD_LIBRARY_PATH=/opt/haproxy exec /opt/haproxy/haproxy "$@"\n'
NOT_TAKEN = re.compile(r"(ld-linux|libc\.|libm\.|linux-vdso)")
"""Libraries that the image has."""
DRAIN_S, TOKEN_S, TOKENS = 20, 0.1, 450
"""A long stream takes 45 s, more than twice as long as a host drains; a short request about one."""
SETTINGS = f"""\
    env: {{STANDIN_TOKEN_SECONDS: "{TOKEN_S}"}}
    timeouts: {{ready_s: 200, drain_s: {DRAIN_S}}}
    set: {{max_model_len: 32768}}
"""
SERVICES = """
services:
  gateway:
    kind: gateway
    hosts: spark-02
    api_key: {secret: gate_key}
    clients: {laptop: {api_key: {secret: laptop_key}}}
routes:
  fast: {to: [qwen36, gemma4]}
"""
LOOK = """
import glob, json, sys, time
canaries, found, looks, end = json.loads(sys.stdin.readline()), set(), 0, time.monotonic() + 3600
print("ready", flush=True)
import select
while not select.select([sys.stdin], [], [], 0.2)[0]:
    looks += 1
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            text = open(path, "rb").read().decode("utf-8", "replace")
        except OSError:
            continue
        found |= {each for each in canaries if each in text}
print(json.dumps([looks, sorted(found)]))
"""
"""Looks at the arguments of all processes of a host five times a second, until standard input ends."""
SEARCH = {
    "docker inspect": "docker inspect $(docker ps -aq) $(docker images -q)",
    "log of containers": "cat /var/lib/docker/containers/*/*.log; docker ps -aq | xargs -n 1 docker logs 2>&1",
    "journal": "journalctl --no-pager --output=export",
    "log of the gateway": "journalctl --no-pager --output=cat --unit=sparkiac-gateway",
    "metrics": "for port in 8405 8001; do curl -s http://127.0.0.1:$port/metrics http://10.77.0.11:$port/metrics"
    " http://10.77.0.12:$port/metrics; done",
    "units": "systemctl show 'sparkiac-*'",
    "files of sparkiac": "grep -rah canary /etc /var/lib/sparkiac /usr/local/lib/sparkiac --exclude-dir=secrets",
}
PATIENCE_S = 600


class Ended(NamedTuple):
    """A request that has ended."""

    at_s: float
    kind: str
    took_s: float
    by: str
    outcome: str


class Load(PrintingModule):
    """Steady load with one key for as long as the context lasts."""

    def __init__(self, bed: Bed, key: str) -> None:
        """Send nothing yet."""
        super().__init__(bed, "tests.e2e.load", URL, "fast", key, str(TOKENS))
        self.ended: list[Ended] = []

    def take(self, *words: str) -> None:
        """Keep a request."""
        at_s, kind, took_s, by, outcome = words
        self.ended.append(Ended(float(at_s), kind, float(took_s), by, outcome))

    def settle(self, since_s: float) -> None:
        """Wait until some short requests of each server, sent after a time, are answered."""

        def both() -> bool:
            whole = [each.by for each in self.ended if each.at_s >= since_s and each.outcome == load.WHOLE]
            return min(whole.count(name) for name in ("qwen36", "gemma4")) >= 3

        wait_for(both, "answers of both servers", timeout=PATIENCE_S)


@dataclass
class Site:
    """The lab, applied, and all that was printed by its commands."""

    lab: Lab
    printed: list[str] = field(default_factory=list)

    def root(self, host: str, command: str) -> str:
        """Run a command on a host as root and return its output."""
        return self.lab.bed.ssh(host, command, root=True, check=False).stdout.strip()

    def apply(self) -> None:
        """Apply, which must succeed."""
        recap = self.lab.sparkiac_apply("--yes")
        self.printed.append(recap.output)
        assert recap.code == 0, recap.output

    def rotate(self, name: str) -> None:
        """Give a secret its next value."""
        (self.lab.folder / "next").write_text(NEXT[name])
        words = ["secrets", "rotate", "inventories/lab.yaml", name, "--yes", "--from", "next"]
        with self.lab.running([sys.executable, "-m", "sparkiac", *words], folder=self.lab.folder) as process:
            output, _ = process.communicate(timeout=3600)
        self.printed.append(output)
        assert process.returncode == 0, output
        self.commit(f"rotate {name}")

    def commit(self, message: str) -> None:
        """Commit all that Git does not ignore, as a user does."""
        for words in (["add", "--all"], ["commit", "--quiet", "--allow-empty", "--message", message]):
            run(["git", "-c", "user.name=x", "-c", "user.email=x@localhost", *words], cwd=self.lab.folder)

    def started(self) -> dict[str, str]:
        """Return which start of each server runs."""
        return {host: self.root(host, f"systemctl show --property=InvocationID {unit}") for host, unit in UNITS.items()}

    def ask(self, key: str, path: str = "/v1/models") -> str:
        """Return the status and the body of an answer of the gateway."""
        argv = ["curl", "-s", "-m", "20", "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {key}", f"{URL}{path}"]
        return self.lab.bed.run(argv, check=False).stdout

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Look at the arguments of all processes of both hosts meanwhile: none is a canary."""
        with contextlib.ExitStack() as stack:
            looks = {host: stack.enter_context(self.look(host)) for host in UNITS}
            yield
            for host, process in looks.items():
                output, _ = process.communicate("\n", timeout=60)
                number, found = json.loads(output)
                print(f"| arguments of all processes of {host} | {number} looks | {len(found)} canaries |", flush=True)  # noqa: T201
                assert number
                assert found == []

    def look(self, host: str) -> subprocess.Popen[str]:
        """Start looking."""
        bed = self.lab.bed
        command = f"sudo -n python3 -c {shlex.quote(LOOK)}"
        argv = bed.inside(["ssh", *bed.ssh_options, f"{USER}@{bed.hosts[host].address}", command])
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{json.dumps(CANARIES)}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        return process

    @contextlib.contextmanager
    def loaded(self, what: str, key: str) -> Iterator[Load]:
        """Load the gateway meanwhile, and print and judge what came of it: no short request may fail."""
        with self.looking(), Load(self.lab.bed, key) as found:
            found.settle(0)
            yield found
            found.settle(time.monotonic())
            time.sleep(TOKENS * TOKEN_S + 5)  # the streams that began last
        print(row(what, found.ended), flush=True)  # noqa: T201 - shown with -s
        failed = [each for each in found.ended if each.outcome != load.WHOLE]
        for each in failed:
            print(f"|   {each.kind}, answered by {each.by}, ended after {each.took_s:.1f} s: {each.outcome} | | | | |")  # noqa: T201
        assert [each for each in failed if each.kind == "short"] == []
        assert all(each.took_s >= DRAIN_S - 2 or each.kind == "long" for each in failed)


def row(what: str, ended: list[Ended]) -> str:
    """Count what has ended, as a row of a table."""
    counts = []
    for kind in ("short", "long"):
        mine = [each for each in ended if each.kind == kind]
        failed = [each for each in mine if each.outcome != load.WHOLE]
        counts += [len(mine), len(failed)]
    longest = max(each.took_s for each in ended if each.kind == "short")
    return f"| {what} | {counts[0]} | {counts[1]} | {longest:.1f} s | {counts[2]} | {counts[3]} |"


def haproxy_files() -> dict[str, bytes]:
    """Return the files of the stand-in image: HAProxy of this machine with its libraries."""
    program = shutil.which("haproxy", path="/usr/local/sbin:/usr/sbin:/usr/bin")
    if program is None:
        pytest.skip("haproxy is not installed (Debian package haproxy)")
    linked = re.findall(r"(\S+\.so\S*) => (/\S+)", run(["ldd", program]).stdout)
    files = {f"/opt/haproxy/{name}": Path(path).read_bytes() for name, path in linked if not NOT_TAKEN.match(name)}
    files["/opt/haproxy/haproxy"] = Path(program).read_bytes()
    files["/usr/local/bin/haproxy"] = LAUNCHER.encode()
    files["/usr/local/bin/docker-entrypoint.sh"] = ENTRYPOINT.encode()
    return files


def add_gateway(lab: Lab) -> None:
    """Push the stand-in image, lock it, and add the gateway to the inventory."""
    entrypoint = ["docker-entrypoint.sh"]
    digest = lab.bed.push("hub/library/haproxy", entrypoint=entrypoint, files=haproxy_files())
    lock = lab.inventory.with_name("lab.lock.yaml")
    locked = json.loads(lock.read_text())
    locked["images"][IMAGE] = {"digest": digest, "entrypoint": entrypoint}
    lock.write_text(json.dumps(locked))
    lab.inventory.write_text(lab.inventory.read_text() + SERVICES)


@pytest.fixture(scope="module")
def site(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return the lab, applied: the gateway serves."""
    lab = Lab(bed, tmp_path_factory.mktemp("lab"))
    lab.write()
    for recipe in (RECIPE, "    recipe: google/gemma-4-26b-a4b-it-fp8"):
        lab.edit(f"{recipe}\n", f"{recipe}\n{SETTINGS}")
    add_gateway(lab)
    secrets = {"vllm_api_key": KEY, "gate_key": GATE_KEY, "laptop_key": LAPTOP_KEY}
    (lab.folder / "secrets.json").write_text(json.dumps({"sparkiac_secrets": secrets}))
    run(["git", "init", "--quiet"], cwd=lab.folder)
    (lab.folder / ".git/info/exclude").write_text("/secrets.json\n/next\n/bin\n")
    lab.generate()
    lab.stage()
    found = Site(lab)
    found.commit("first")
    found.apply()
    print("\n| under load | short | failed | longest | long | cut |\n|---|--:|--:|--:|--:|--:|")  # noqa: T201
    return found


def test_the_hosts_are_rolled_to_a_new_version(site: Site) -> None:
    """Requests that are shorter than the drain do not fail; streams that are longer may be cut, and are named."""
    before = site.started()
    with site.loaded("both hosts rolled to a new version", LAPTOP_KEY):
        site.lab.edit("max_model_len: 32768", "max_model_len: 65536")
        site.lab.generate()
        site.commit("longer texts")
        site.apply()
    after = site.started()
    assert all(before[host] != after[host] for host in UNITS), "both servers have restarted"


def test_the_key_of_a_client_is_rotated(site: Site) -> None:
    """The former key is valid as long as its file is there: here its value is in no file of the controller."""
    before = site.started()
    secrets = "/etc/sparkiac/secrets"
    with site.loaded("key of a client rotated, client with the former one", LAPTOP_KEY):
        site.root(GATEWAY, f"cp -p {secrets}/laptop_key {secrets}/laptop_key.previous")
        site.rotate("laptop_key")
        wait_for(lambda: site.ask(NEXT["laptop_key"]).endswith("200"), "the new key", timeout=60)
    with site.loaded("key of a client rotated, client with the new one", NEXT["laptop_key"]):
        site.root(GATEWAY, f"rm {secrets}/laptop_key.previous && systemctl reload sparkiac-gateway")
        wait_for(lambda: site.ask(LAPTOP_KEY).endswith("401"), "the end of the former key", timeout=60)
    assert site.started() == before, "no server has restarted"


def test_the_key_of_the_servers_is_rotated(site: Site) -> None:
    """Replica by replica."""
    before = site.started()
    with site.loaded("key of the servers rotated", NEXT["laptop_key"]):
        site.rotate("vllm_api_key")
    after = site.started()
    assert all(before[host] != after[host] for host in UNITS), "both servers have restarted"
    for host in UNITS:
        assert site.lab.get(host, "/v1/models")[0] == 401
        assert site.lab.get(host, "/v1/models", key=NEXT["vllm_api_key"])[0] == 200


@pytest.mark.parametrize("host", UNITS)
def test_no_canary_is_found_on_a_host(site: Site, host: str) -> None:
    for what, command in SEARCH.items():
        text = site.root(host, command)
        found = [each for each in CANARIES if each in text]
        print(f"| {host}, {what} | {len(text)} characters | {len(found)} canaries |", flush=True)  # noqa: T201
        assert text or what in {"log of the gateway", "log of containers", "files of sparkiac"}
        assert found == []


def test_no_canary_is_found_at_the_control_station(site: Site) -> None:
    """In the generated tree, in Git's history, in pages, in metrics, and in what was printed."""
    pages = [("audit",), ("audit", "--format", "json"), ("plan",), ("plan", "--format", "html"), ("clients",)]
    pages = [(name, "inventories/lab.yaml", *words) for name, *words in pages]
    texts = {
        "the tree": "".join(path.read_text(errors="replace") for path in site.lab.tree.rglob("*") if path.is_file()),
        "Git's history": run(["git", "log", "--all", "--patch", "--text"], cwd=site.lab.folder).stdout,
        "Git's objects": objects(site.lab.folder),
        "what commands printed": "".join(site.printed),
        "metrics of the gateway": site.ask(GATE_KEY, "/metrics"),
        "models of the gateway": site.ask(NEXT["laptop_key"]),
        **{" ".join(page): site.lab.sparkiac(*page).stdout for page in pages},
    }
    assert texts["metrics of the gateway"].endswith("200")
    for what, text in texts.items():
        found = [each for each in CANARIES if each in text]
        print(f"| {what} | {len(text)} characters | {len(found)} canaries |", flush=True)  # noqa: T201
        assert text
        assert found == []


def objects(folder: Path) -> str:
    """Return the content of all objects of a repository, also of those that no commit has."""
    batch = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(batch, cwd=folder, capture_output=True, check=True).stdout.decode("utf-8", "replace")
