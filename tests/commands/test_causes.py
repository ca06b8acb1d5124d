"""What an operator reads at the end of a failed `sparkiac apply`: each failure has its cause and the next step.

Ansible, ssh, Docker's client, the programs of the hosts and Linux are real. Failures that need sshd, sudo, dockerd, apt
or systemd are texts: where a text is from stands beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import yaml

from sparkiac.commands.apply.results import Results
from sparkiac.host.local import CommandResult, LocalHost
from sparkiac.host.preflight.expectations import Expectations
from sparkiac.host.switch import report
from sparkiac.upstream import playbook
from tests.callback import LESS_WORK
from tests.forked_python import interpreter
from tests.host.conftest import SCRIPTS
from tests.host.expected import complete
from tests.host.staging import Store, tiny, write_stubs
from tests.standin.hub import Fault, Hub
from tests.upstream.registry.servers import Authority, Reply, Server, authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT: Final = Path(__file__).parents[2]
LEAKS: Final = ("One or more items failed", "{}", "Traceback", "non-zero return code", "task failed:")
"""What no reader can use."""
STAGE: Final = f"""
import sys
sys.path.insert(0, {str(SCRIPTS)!r})
from host.stage import fetch, program
fetch.WAITS_S = fetch.PEER_WAITS_S = (0,)  # in place of half a minute between the attempts
sys.exit(program.main(sys.argv[1:]))
"""
CONTENT: Final = bytes(200_000)
Tasks = list[dict[str, Any]]


class Provoked(NamedTuple):
    """What Ansible does so that it fails."""

    tasks: Tasks
    variables: Mapping[str, object] = {}


class Machine:
    """The machine of the test as a host, with what fails on it."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        """Use a folder, and end what was started with the stack."""
        self.folder, self.stack = folder, stack

    @cached_property
    def authority(self) -> Authority:
        """A certificate that nobody trusts."""
        return authority(self.folder)

    @cached_property
    def url(self) -> str:
        """A server that answers with the code in the path."""
        return f"http://{self.stack.enter_context(Server(lambda asked: Reply(int(asked.path[1:4])), None)).host}"

    @cached_property
    def secure_url(self) -> str:
        """A server with the certificate."""
        return f"https://{self.stack.enter_context(Server(lambda _: Reply(200), self.authority)).host}"

    def disk(self, options: str) -> Path:
        """Mount a small file system."""
        place = self.folder / f"disk-{options}"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
        self.stack.callback(subprocess.run, ["umount", "--lazy", place], check=True)
        return place

    def ssh(self, address: str, port: int = 22) -> Provoked:
        """Connect to an address with the real client."""
        options = "-F none -o BatchMode=yes -o ControlMaster=no"
        place = {"ansible_host": address, "ansible_port": port}
        return Provoked([command("true")], {"ansible_connection": "ssh", "ansible_ssh_args": options, **place})

    def closing_port(self) -> int:
        """Return a port whose server closes each connection."""
        listener = self.stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=serve, daemon=True).start()
        return int(listener.getsockname()[1])

    def download(self, url: str) -> Provoked:
        """Download an extra file, as the role does."""
        words = {"url": url, "dest": str(self.folder / "extra"), "checksum": f"sha256:{'0' * 64}"}
        return Provoked([module("get_url", **words)])

    def stage(self, *faults: Fault, url: str = "", disk: str = "", words: tuple[str, ...] = ()) -> Provoked:
        """Fetch a model from a stand-in for the hub, or from a URL."""
        place = self.disk(disk) if disk else self.folder / f"store-{time.monotonic_ns()}"
        store, model = Store(place), tiny(files={"config.json": b"{}", "m.bin": CONTENT})
        store.want(model)
        hub = self.stack.enter_context(Hub(model))
        hub.fail(*faults)
        argv = store.command("fetch", "--endpoint", url or hub.url, "--reserve-bytes", "0", *words)
        return Provoked([command(sys.executable, "-c", STAGE, *argv[2:])])

    def switch(self, *words: str, given: object = None, **files: str) -> Provoked:
        """Run the program `switch` on a host with these files; `__` stands for a slash."""
        root = self.folder / f"root-{time.monotonic_ns()}"
        root.mkdir()
        for name, text in files.items():
            path = root / f"{name.replace('__', '/')}.json"
            path.parent.mkdir(parents=True)
            path.write_text(text)
        argv = [sys.executable, SCRIPTS / "switch", "--root", root, *words]
        return Provoked([{"ansible.builtin.command": {"argv": list(map(str, argv)), "stdin": json.dumps(given or {})}}])

    def preflight(self, smi: str = "", **wanted: object) -> Provoked:
        """Run the role `preflight`, with a stand-in for nvidia-smi."""
        stubs = self.folder / f"bin-{time.monotonic_ns()}"
        stubs.mkdir()
        write_stubs(stubs, {"nvidia-smi": f"#!/bin/sh\n{smi}\n"})
        expected = complete(Expectations, {"host": "spark-01", **wanted})
        variables = {"sparkiac": {"host": "spark-01"}, "sparkiac_given_secrets": {}, "preflight_wanted": expected}
        role = {"name": str(ROOT / "playbooks/roles/preflight")}
        path = {"PATH": f"{stubs}:{os.environ['PATH']}"}
        return Provoked([{"block": [{"ansible.builtin.include_role": role}], "vars": variables, "environment": path}])

    def held(self) -> Provoked:
        """Take a lease that somebody else holds."""
        now = float(Path("/proc/uptime").read_text().split()[0])
        lease = {"run": "other", "owner": "ada@desk, pid 7", "taken": now - 200, "renewed": now, "session": None}
        asking = {"owner": "me@here, pid 8", "running": [], "take_over": False}
        return self.switch("lease", "take", "--run", "mine", given=asking, run__sparkiac__lease=json.dumps(lease))


def module(name: str, /, **words: object) -> dict[str, Any]:
    """Return a task."""
    return {f"ansible.builtin.{name}": words}


def command(*argv: str | Path) -> dict[str, Any]:
    """Return a task that runs a command."""
    return module("command", argv=list(map(str, argv)), expand_argument_vars=False)


def copied(place: Path) -> Provoked:
    """Copy 100 kB to a disk."""
    return Provoked([module("copy", content="x" * 100_000, dest=f"{place}/x")])


HERE: Final[dict[str, tuple[Callable[[Machine], Provoked], str, str]]] = {
    "ssh-closed": (lambda host: host.ssh("127.0.0.1", 9), "its SSH server does not run", "systemctl status ssh"),
    "ssh-unknown-name": (
        lambda host: host.ssh("nosuchhost.invalid"), "The resolver does not know the name", "resolvectl query"
    ),
    "ssh-ended": (
        lambda host: host.ssh("127.0.0.1", host.closing_port()), "Too many connections are open", "Wait a minute"
    ),
    "no-python": (
        lambda _: Provoked([module("stat", path="/")], {"ansible_python_interpreter": "/usr/bin/python9"}),
        "Python 3 is not installed", "sudo apt install python3",
    ),
    "no-home": (
        lambda _: Provoked([copied(Path("/"))[0][0]], {"ansible_remote_tmp": "/proc/none", "ansible_pipelining": False}),  # noqa: E501
        "The home of the user does not exist", "touch ~/.ansible-test",
    ),
    "no-group": (
        lambda _: Provoked([module("user", name="nobody", groups=["nosuchgroup"], append=True)]),
        "that a file or a unit names is not on the host", "install Docker Engine",
    ),
    "no-user": (
        lambda host: Provoked([module("file", path=str(host.folder), state="directory", owner="nosuchuser")]),
        "failed to look up user nosuchuser", "getent passwd NAME",
    ),
    "no-program": (
        lambda _: Provoked([command("/usr/local/lib/sparkiac/nosuch", "fetch")]),
        "/usr/local/lib/sparkiac/nosuch cannot be run", "comes with an apply",
    ),
    "no-docker-daemon": (
        lambda _: Provoked([command("docker", "--host=unix:///run/nosuch.sock", "pull", "x")]),
        "The Docker daemon is stopped", "sudo systemctl start docker",
    ),
    "disk-full": (lambda host: copied(host.disk("size=16k")), "fill the disk", "sparkiac prune INVENTORY"),
    "disk-without-inodes": (lambda host: copied(host.disk("nr_inodes=1")), "fill the disk", "df -i"),
    "disk-read-only": (lambda host: copied(host.disk("ro")), "is mounted read-only", "findmnt --target PATH"),
    "download-unknown": (lambda host: host.download(f"{host.url}/404"), "/404", "sparkiac lock INVENTORY --upgrade"),
    "download-forbidden": (lambda host: host.download(f"{host.url}/403"), "needs a login", "Give a URL"),
    "download-limited": (lambda host: host.download(f"{host.url}/429"), "Too many requests", "Wait some minutes"),
    "download-differs": (lambda host: host.download(f"{host.url}/200"), "has other content", "Apply again"),
    "download-silent": (lambda host: host.download("http://127.0.0.1:9/x"), "nothing listens there", "curl -I URL"),
    "download-untrusted": (
        lambda host: host.download(f"{host.secure_url}/x"), "an authority that the host does not know", "update-ca-c"
    ),
    "hub-gated": (
        lambda host: host.stage(Fault("m.bin", status=401, times=9)), "no token was sent", "accept its terms on http"
    ),
    "hub-forbids": (
        lambda host: host.stage(Fault("m.bin", status=403, times=9)), "HTTP 403", "the account of the token"
    ),
    "hub-has-none": (
        lambda host: host.stage(Fault("m.bin", status=404, times=9)), "was removed from the server", "--upgrade NAME"
    ),
    "hub-limits": (lambda host: host.stage(Fault("m.bin", status=429, times=9)), "Too many requests", "Wait some"),
    "hub-fails": (
        lambda host: host.stage(Fault("m.bin", status=503, times=9)), "an error of its own", "Apply again later"
    ),
    "hub-differs": (
        lambda host: host.stage(Fault("m.bin", body=CONTENT[1:] + b"x", times=9)), "was discarded", "Apply again"
    ),
    "hub-shorter": (
        lambda host: host.stage(Fault("m.bin", body=b"x", times=9)), "shorter than in its manifest", "--upgrade NAME"
    ),
    "hub-and-peer-silent": (
        lambda host: host.stage(url="http://127.0.0.1:9", words=("--from=http://127.0.0.1:9",)),
        "The host has no way to the server", "curl -I URL",
    ),
    "hub-untrusted": (
        lambda host: host.stage(url=host.secure_url), "an authority that the host does not know", "update-ca-c"
    ),
    "store-full": (
        lambda host: host.stage(disk="size=64k"), "200002 bytes must be downloaded", "sparkiac prune"
    ),
    "lease-held": (lambda host: host.held(), "is being applied by ada@desk, pid 7, for 3 min", "wait until it ends"),
    "state-damaged": (
        lambda host: host.switch("status", var__lib__sparkiac__state="{"),
        "/var/lib/sparkiac/state.json is not JSON", "move it away, and apply again",
    ),
    "state-newer": (
        lambda host: host.switch("status", var__lib__sparkiac__state='{"future": 1}'),
        "state.json: this program does not know future", "generate and apply again",
    ),
    "no-generation": (
        lambda host: host.switch("start", "0" * 16, "--run", "a"), "it has none", "sparkiac rollback INVENTORY"
    ),
    "never-applied": (
        lambda host: host.switch("drain"), "Nothing has been applied to this host", "sparkiac apply INVENTORY"
    ),
    "driver-too-old": (
        lambda host: host.preflight("echo NVIDIA GB10, 12.1, 550.1", driver="580"),
        "driver: found 550.1, wanted 580", "install and hold the driver in the inventory and reboot",
    ),
    "no-gpu": (
        lambda host: host.preflight("echo No devices were found; exit 6", driver="580"),
        "found No devices were found", "install and hold the driver in the inventory and reboot",
    ),
    "no-secret": (
        lambda host: host.preflight(secrets=[{"name": "nosuchkey", "mode": "0600", "header": False}]),
        "/etc/sparkiac/secrets/nosuchkey: No such file", "pass it in sparkiac_secrets",
    ),
    "no-room": (
        lambda host: host.preflight(disk=[{"path": "/var", "free_bytes": 1 << 60}]), "free, wanted", "free disk space"
    ),
}  # fmt: skip
"""Failures that this machine has: how they are provoked, the cause, and the next step."""
OF_ANSIBLE: Final = {
    "vault": (("--extra-vars=@vault.yml",), "Ansible has no password for the vault", "--ask-vault-pass"),
    "option": (("--no-such-option",), "unrecognized arguments: --no-such-option", "ansible-playbook --help"),
}
"""Failures before the first host: the options, the cause, and the next step."""


def told(folder: Path, provoked: Mapping[str, Provoked], *options: str) -> dict[str, str]:
    """Run a play with one host for each failure, and return what is told of each; empty for the run itself."""
    hosts = {name: {"ansible_connection": "local", **each.variables} for name, each in provoked.items()}
    (folder / "inventory.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    (folder / "playbooks").mkdir(exist_ok=True)
    for name, each in provoked.items():
        (folder / f"playbooks/{name}.yml").write_text(yaml.safe_dump(each.tasks))
    failing = {"block": [{"ansible.builtin.include_tasks": "{{ inventory_hostname }}.yml"}]}
    failing |= {"rescue": [{"ansible.builtin.meta": "noop"}]}
    play = {"hosts": "all", "gather_facts": False, "serial": 1, "ignore_unreachable": True, "tasks": [failing]}
    play["vars_files"] = [str(ROOT / "playbooks/vars/main.yml")]
    (folder / "playbooks/play.yml").write_text(json.dumps([play]))
    results = Results(())
    wanted = playbook.PlaybookRun(folder, "playbooks/play.yml", options, folder / "log")
    playbook.run(wanted, results.on_event, lambda: None)
    found = results.failed | results.unreachable
    return found or {"": "\n".join(results.reasons(folder / "log"))}


@pytest.fixture(scope="module")
def ansible(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder for plays, with the programs as in a generated tree."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts file systems")
    folder = tmp_path_factory.mktemp("causes")
    programs = folder / "playbooks/roles/programs/files/usr/local/lib/sparkiac"
    shutil.copytree(SCRIPTS, programs)
    for name in ("bundle.py", "lookup_plugins"):
        (folder / "playbooks" / name).symlink_to(ROOT / "playbooks" / name)
    with pytest.MonkeyPatch.context() as patch:
        settings = {"HOME": str(folder / "home"), "ANSIBLE_PIPELINING": "1", "ANSIBLE_NOCOLOR": "1", **LESS_WORK}
        settings["ANSIBLE_PYTHON_INTERPRETER"] = str(interpreter())
        for name, value in settings.items():
            patch.setenv(name, value)
        yield folder


@pytest.fixture(scope="module")
def here(ansible: Path) -> dict[str, str]:
    """Return what is told of the failures of this machine."""
    with contextlib.ExitStack() as stack:
        machine = Machine(ansible, stack)
        return told(ansible, {name: provoke(machine) for name, (provoke, *_) in HERE.items()})


def check(text: str, cause: str, step: str) -> None:
    """Check that a text has the cause and the next step, and nothing that no reader can use."""
    shown = " ".join(text.split())
    assert cause in shown, text
    assert step in shown, text
    assert not [leak for leak in LEAKS if leak in f"{text}\n"], text


@pytest.mark.parametrize("name", HERE)
def test_a_failure_on_this_machine(here: dict[str, str], name: str) -> None:
    check(here[name], *HERE[name][1:])


@pytest.mark.parametrize("name", OF_ANSIBLE)
def test_a_failure_before_the_first_host(ansible: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, *wanted = OF_ANSIBLE[name]
    monkeypatch.chdir(ansible)
    (ansible / "vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n3132\n")
    (ansible / "log").unlink(missing_ok=True)
    check(told(ansible, {"host": Provoked([command("true")])}, *options)[""], *wanted)


ROOTFS: Final = "the root of the test bed, with the daemons of Debian 13, Docker 26.1 and ansible-core 2.19"
DAEMON: Final = "Error response from daemon: "
RECORDED: Final = {
    "sudo-password": (ROOTFS, "Task failed: Missing sudo password", "only with a password", "--ask-become-pass"),
    "sudo-wrong": (ROOTFS, "Task failed: Incorrect sudo password", "none or a wrong one", "--ask-become-pass"),
    "ssh-key": (ROOTFS, "nosuch@127.0.0.1: Permission denied (publickey).", "does not know a key", "ssh-copy-id"),
    "ssh-host-key": (
        ROOTFS,
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
        "another machine has its address",
        "ssh-keygen -R ADDRESS",
    ),
    "digest": (
        ROOTFS,
        DAEMON + "manifest for 127.0.0.1:5000/nvidia/vllm@sha256:00 not found: manifest unknown: manifest unknown",
        "was deleted in the registry",
        "sparkiac lock INVENTORY --upgrade IMAGE",
    ),
    "registry-401": (
        ROOTFS,
        DAEMON + 'Head "http://127.0.0.1:7001/v2/a/b/manifests/1": no basic auth credentials',
        "no login at this registry",
        "docker login REGISTRY",
    ),
    "registry-403": (ROOTFS, DAEMON + "denied", "may not read this image", "docker login REGISTRY"),
    "registry-404": (
        ROOTFS,
        DAEMON + "error parsing HTTP 404 response body: invalid character '<' looking for beginning of value",
        "the name of the image is wrong",
        "sparkiac lock INVENTORY --check --online",
    ),
    "registry-429": (
        ROOTFS,
        DAEMON + "toomanyrequests: You have reached your unauthenticated pull rate limit.",
        "only a number of pulls",
        "docker login REGISTRY",
    ),
    "registry-500": (
        ROOTFS,
        DAEMON + "received unexpected HTTP status: 500 Internal Server Error",
        "answers with an error of its own",
        "Apply again later",
    ),
    "registry-silent": (
        ROOTFS,
        DAEMON + 'Get "http://127.0.0.1:7010/v2/": context deadline exceeded',
        "does not reach it",
        "curl -I https://REGISTRY/v2/",
    ),
    "registry-untrusted": (
        ROOTFS,
        DAEMON
        + 'Get "https://10.77.0.11:7020/v2/": tls: failed to verify certificate: x509: certificate signed by '
        + "unknown authority",
        "an authority that the host does not know",
        "/etc/docker/certs.d/REGISTRY/ca.crt",
    ),
    "registry-plain": (
        ROOTFS,
        DAEMON + 'Get "https://10.77.0.11:22/v2/": tls: first record does not look like a TLS handshake',
        "has no certificate",
        "insecure-registries",
    ),
    "platform": (
        ROOTFS,
        "no matching manifest for linux/s390x in the manifest list entries",
        "is of another architecture",
        "linux/arm64",
    ),
    "pull-disk-full": (
        ROOTFS,
        "write /var/lib/docker/tmp/GetImageBlob4068641591: no space left on device",
        "fill the disk",
        "docker system df",
    ),
    "docker-denied": (
        ROOTFS,
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
        "not in the group docker",
        "usermod -aG docker",
    ),
    "apt-interrupted": (
        ROOTFS,
        "E: dpkg was interrupted, you must manually run 'sudo dpkg --configure -a' to correct the problem.",
        "or one was interrupted",
        "sudo dpkg --configure -a",
    ),
    "apt-without-package": (
        ROOTFS,
        "No package matching 'nosuchpackage' is available",
        "NVIDIA's source is missing",
        "apt policy NAME",
    ),
    "apt-silent": (ROOTFS, "Failed to update apt cache after 5 retries:", "does not reach a server", "sudo apt update"),
    "task-killed": (
        ROOTFS,
        "Module result deserialization failed: No start of json char found\nKilled",
        "Its process was killed",
        "sudo dmesg",
    ),
    "option-of-the-engine": (
        "a switch on the test bed",
        "vllm: error: unrecognized arguments: --no-such-option=1",
        "its name is misspelt",
        "Remove it",
    ),
    "vote-lost": (
        "the program switch",
        "the group does not switch: another host of it failed or cannot be reached",
        "its vote did not arrive",
        "The lines of the other host",
    ),
    "interrupted": (
        "the program switch",
        "the switch was interrupted: its program or the host ended before it was committed",
        "was rebooted",
        "apply again",
    ),
}
"""Failures that were recorded: where, the text, the cause, and the next step."""
OF_UNITS: Final = {
    "timeout": ("it was not ready in time", "timeouts: {ready_s"),
    "exit-code": ("its process ended with an error", "sparkiac diagnose --inventory"),
    "signal": ("its process was killed", "sparkiac diagnose --inventory"),
    "watchdog": ("its health check failed for too long", "sparkiac logs INVENTORY NAME"),
    "oom-kill": ("it was killed because memory ran out", "Lower its share or context"),
    "start-limit-hit": ("systemd gave it up after too many starts", "systemctl reset-failed NAME"),
    "success": ("Unit docker.service is masked", "systemctl unmask"),
}
"""Result of a unit that systemd shows: the cause, and the next step."""


class Journal(LocalHost):
    """A stand-in for systemd and its journal."""

    def __init__(self, result: str) -> None:
        """Show a result of each unit."""
        super().__init__(Path("/nonexistent"))
        self.result = result

    def run(self, *argv: str) -> CommandResult:
        """Answer."""
        return CommandResult(0, f"{self.result}\n" if argv[0] == "systemctl" else "", "")


def of_role(text: str) -> str:
    """Return what is told at the end when a role fails with a text."""
    results = Results(())
    results.on_event(
        {"event": "failed", "host": "spark-01", "role": "images", "task": "t", "action": "fail", "msg": text}
    )
    return results.failed["spark-01"]


@pytest.mark.parametrize("name", RECORDED)
def test_a_failure_that_was_recorded(name: str) -> None:
    source, text, *wanted = RECORDED[name]
    assert source
    check(of_role(text), *wanted)


@pytest.mark.parametrize("result", OF_UNITS)
def test_a_unit_that_does_not_become_ready(result: str) -> None:
    refused = "Failed to restart sparkiac-chat.service: Unit docker.service is masked.\n" if result == "success" else ""
    text = report.report(Journal(result), {"name": "sparkiac-chat"}, "", refused)
    assert "success" not in text
    check(of_role(text), *OF_UNITS[result])


@pytest.mark.parametrize("fault", ["one token repeated", "null answer", "empty answer", "HTTP 503"])
def test_a_gate_that_does_not_pass(fault: str) -> None:
    unit = {"name": "sparkiac-chat", "promise": {"url": "http://127.0.0.1:8000"}}
    text = report.answered(Journal(""), unit, f"/v1/chat/completions: {fault}", "")
    check(of_role(text), fault, "sparkiac verify INVENTORY NAME")
