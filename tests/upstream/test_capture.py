"""`sparkiac images capture`: the extractor runs in an image, and the inventory is checked against what it says.

`docker` and `ssh` are stand-ins here. The one takes the very words that the real client documents (tests/e2e has the
real one), refuses all others, and runs the program on its input with a Python that has a small vLLM installed; the
other hands its command to a shell, as sshd does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.catalog.test_extractor import tree
from tests.plan.fleets import ONES, TWOS, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

__all__ = ["tree"]
IMAGE: Final = "example.org/vllm:1"
NAME: Final = "interfaces/vllm-1.json"
ID: Final = "sha256:" + "e" * 64
DOCKER: Final = """\
#!{python}
# Stand-in for Docker's client.
import os, subprocess, sys
with open({log!r}, "a") as log:
    print(*sys.argv[1:], file=log)
known = {known!r}
match sys.argv[1:]:
    case ["image", "inspect", "--format", "{{{{json .RepoDigests}}}} {{{{json .Id}}}}", image]:
        if image not in known:
            sys.exit("[]\\nError response from daemon: No such image: " + image)
        print(known[image])
    case ["run", "--rm", "--interactive", "--pull=never", "--network=none", "--entrypoint=python3", image, *words]:
        assert image in known
        env = os.environ | {{"PYTHONPATH": {site!r}}}
        sys.exit(subprocess.run([{python!r}, *words], env=env).returncode)
    case _:
        sys.exit("unknown flag")
"""
SSH: Final = """\
#!/bin/sh
# Stand-in for ssh: a host that lets spark in, and runs what it is told with a shell.
[ "$1 $2 $3 $4 $5" = "-o BatchMode=yes -o ConnectTimeout=10 --" ] || exit 2
[ "$6" = spark@192.168.1.11 ] || { echo "Permission denied (publickey)." >&2; exit 255; }
exec sh -c "$7"
"""


class Machine:
    """A machine with a docker that has one image, and a folder with an inventory that runs it."""

    def __init__(self, folder: Path, site: Path, cli: Cli) -> None:
        """Write the programs; `site` is what Python finds in the image."""
        self.folder, self.log, self.cli, self.site = folder, folder / "docker.log", cli, site
        self.path = folder / "bin"
        self.path.mkdir()
        self.docker({f"example.org/vllm@{ONES}": f'["example.org/vllm@{ONES}"] "{ID}"'})
        self.program("ssh", SSH)

    def program(self, name: str, text: str) -> None:
        """Put a program on the path."""
        (self.path / name).write_text(text)
        (self.path / name).chmod(0o755)

    def docker(self, known: dict[str, str]) -> None:
        """Let docker list these images."""
        text = DOCKER.format(python=sys.executable, log=str(self.log), known=known, site=str(self.site))
        self.program("docker", text)

    def write(self, *lines: str, lock: str = f'{{digest: "{ONES}"}}') -> None:
        """Write the inventory and its lock."""
        (self.folder / "lab.yaml").write_text(deployment(f"image: {IMAGE}", *lines))
        text = f"version: 1\nimages: {{{IMAGE}: {lock}}}\n" if lock else "version: 1\nimages: {}\n"
        (self.folder / "lab.lock.yaml").write_text(text)

    def run(self, *words: str) -> Outcome:
        """Run sparkiac with these programs alone on the path."""
        return self.cli(*words, cwd=self.folder, env={"PATH": f"{self.path}:/usr/bin:/bin"})

    def capture(self, *words: str, image: str = IMAGE) -> Outcome:
        """Capture the image for the inventory."""
        return self.run("images", "capture", image, "--inventory", "lab.yaml", *words)

    def said(self, code: str) -> list[str]:
        """Return what `check` finds under a code, with its severity."""
        found = json.loads(self.run("check", "lab.yaml", "--profile", "strict", "--format", "json").out)["findings"]
        return [f"{each['severity']} {each['message']}" for each in found if each["code"] == code]


@pytest.fixture
def machine(tmp_path: Path, tree: Path, sparkiac: Cli) -> Machine:
    made = Machine(tmp_path, tree, sparkiac)
    made.write()
    return made


def test_options_are_checked_against_what_the_image_says(machine: Machine) -> None:
    machine.write("set: {swap_space: 4, level: high}")
    assert machine.said("FLG101") == ["warning level of chat is not an option of any known vLLM release"]
    assert len(machine.said("FLG106")) == 1
    assert machine.capture().code == 0
    title = "the vLLM 1.2.3 of example.org/vllm:1"
    assert machine.said("FLG106") == []
    others = "0.11.0 to 0.17.1 have it"
    assert machine.said("FLG101")[-1] == f"error swap_space of chat is not an option of {title}: {others}"
    assert machine.said("FLG102") == [f"error in {title}, level of chat is one of low, not 'high'"]


def test_the_file_contains_the_interface_and_names_the_image(machine: Machine) -> None:
    found = machine.capture()
    assert (found.code, found.err) == (0, "")
    assert found.out == f"{NAME}: written: vLLM 1.2.3 with 14 options\n"
    data = json.loads((machine.folder / NAME).read_text())
    assert data["image"] == {"reference": IMAGE, "digests": [ONES, ID]}
    assert data["options"]["--level"]["choices"] == ["low"]
    first = (machine.folder / NAME).read_bytes()
    assert machine.capture().code == 0
    assert (machine.folder / NAME).read_bytes() == first


def test_an_image_with_another_digest_is_another_image(machine: Machine) -> None:
    assert machine.capture().code == 0
    machine.write("set: {swap_space: 4}", lock=f'{{digest: "{TWOS}"}}')
    assert (machine.said("FLG101"), len(machine.said("FLG106"))) == ([], 1)
    machine.write("set: {swap_space: 4}", lock=f'{{digest: "{TWOS}", config: "{ID}"}}')
    assert machine.said("FLG106") == []


@pytest.mark.parametrize("words", [["--check"], ["--dry-run"], []])
def test_an_interface_that_the_lock_has_left_behind_is_reported(machine: Machine, words: list[str]) -> None:
    complete = f'{{digest: "{ONES}", manifest: "{TWOS}", config: "{ID}", size_bytes: 1}}'
    (machine.folder / "lab.yaml").write_text(service("port: 1").replace(f"example.org/asr@{ONES}", IMAGE))
    lock = machine.folder / "lab.lock.yaml"
    lock.write_text(f"version: 1\nimages: {{{IMAGE}: {complete}}}\n")
    assert machine.capture().code == 0
    fresh = machine.run("lock", "lab.yaml", *words)
    assert (fresh.code, fresh.err) == (0, "")
    lock.write_text(lock.read_text().replace(ONES, "sha256:" + "3" * 64).replace(ID, "sha256:" + "4" * 64))
    found = machine.run("lock", "lab.yaml", *words)
    assert found.code == 0
    assert f"warning LCK032 stale-interface: {NAME} was captured from another digest of {IMAGE}" in found.err
    assert f"sparkiac images capture {IMAGE} --inventory lab.yaml" in found.err


def test_a_host_is_asked_over_ssh(machine: Machine) -> None:
    assert machine.capture("--host", "spark@192.168.1.11").code == 0
    assert (machine.folder / NAME).is_file()
    assert (
        machine.log.read_text().splitlines()[1].endswith(f"--entrypoint=python3 example.org/vllm@{ONES} - --installed")
    )


def test_a_host_that_lets_nobody_in_is_named(machine: Machine) -> None:
    found = machine.capture("--host", "root@192.168.1.11")
    assert found.code == 6
    assert "no connection to root@192.168.1.11: Permission denied (publickey)." in found.err
    assert not (machine.folder / "interfaces").exists()


def test_nothing_is_pulled(machine: Machine) -> None:
    machine.docker({})
    found = machine.capture()
    assert (found.code, found.out) == (6, "")
    assert found.err == (
        f"example.org/vllm@{ONES} is not on this machine; pull it there first: docker pull example.org/vllm@{ONES}\n"
    )


def test_an_image_without_vllm_is_refused(machine: Machine) -> None:
    shutil.rmtree(machine.site / "vllm")
    found = machine.capture()
    assert (found.code, found.err) == (
        6,
        f"the python3 of example.org/vllm@{ONES} has no vLLM; the image may contain another engine\n",
    )


def test_a_vllm_that_cannot_be_read_is_refused(machine: Machine) -> None:
    (machine.site / "vllm/entrypoints/openai/cli_args.py").write_text("")
    found = machine.capture()
    assert found.code == 6
    assert "docker on this machine exited with 1" in found.err
    assert "Traceback" not in found.err


def test_what_the_image_prints_does_not_reach_the_terminal_as_it_is(machine: Machine) -> None:
    (machine.site / "vllm/entrypoints/openai/cli_args.py").write_text('raise SystemExit("\\x1b[31mred")\n')
    found = machine.capture()
    assert found.code == 6
    assert "\x1b" not in found.err


def test_without_docker_the_way_out_is_named(machine: Machine) -> None:
    (machine.path / "docker").unlink()
    words = ("images", "capture", IMAGE, "--output", "x.json")
    found = machine.cli(*words, cwd=machine.folder, env={"PATH": str(machine.path)})
    assert found.code == 6
    hint = "check docker on this machine: docker ps; or name a host that has the image with --host"
    assert found.err == f"docker is not installed on this machine, or not in PATH; {hint}\n"


def test_a_user_without_docker_permission_uses_sudo(machine: Machine) -> None:
    (machine.path / "docker").rename(machine.path / "docker-of-root")
    denied = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"
    machine.program("docker", f"#!/bin/sh\necho '{denied}' >&2\nexit 1\n")
    machine.program("sudo", '#!/bin/sh\n[ "$1 $2" = "-n docker" ] || exit 2\nshift 2\nexec docker-of-root "$@"\n')
    assert machine.capture().code == 0
    machine.program("sudo", "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    found = machine.capture()
    assert (found.code, "docker on this machine exited with 1: sudo: a password is required" in found.err) == (6, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["images", "capture", IMAGE], "--inventory or --output is missing"),
        (["images", "capture", "example.org/vlm:1", "--inventory", "lab.yaml"], "did you mean 'example.org/vllm:1'?"),
        (["images", "capture", "-x", "--output", "x.json"], "No such option"),
        (["images", "capture", "--output", "x.json", "--", "-x"], "'-x' is not an image reference"),
        (["images", "capture", "a b", "--output", "x.json"], "'a b' is not an image reference"),
        (["images", "capture", IMAGE, "--output", "x.json", "--host", "-oProxyCommand=x"], "--host takes USER@ADDRESS"),
        (["images", "capture", IMAGE, "--output", "x.json", "--host", "a b"], "--host takes USER@ADDRESS"),
    ],
)
def test_what_cannot_be_meant_is_refused(machine: Machine, words: list[str], said: str) -> None:
    found = machine.run(*words)
    assert found.code == 2
    assert said in found.err
    assert not machine.log.exists()


def test_an_image_that_the_lock_does_not_pin_is_not_asked(machine: Machine) -> None:
    machine.write(lock="")
    found = machine.capture()
    assert (found.code, found.err) == (4, f"the lock of lab.yaml does not pin {IMAGE}: run sparkiac lock\n")
    assert not machine.log.exists()


def test_an_inventory_that_does_not_load_says_so(machine: Machine) -> None:
    (machine.folder / "lab.yaml").write_text("name: 1\n")
    assert machine.capture().code == 2


def test_a_file_that_is_not_an_interface_is_named(machine: Machine) -> None:
    assert machine.capture().code == 0
    path = machine.folder / NAME
    for text in ("", "[]", "{}", '{"image": {}}', path.read_text().replace('"1.2.3"', '"main"')):
        path.write_text(text)
        found = machine.run("check", "lab.yaml")
        assert found.code == 2
        said = f"{NAME} cannot be read: it was not written by `sparkiac images capture`; capture it again, or remove it"
        assert said in found.err


def test_a_file_of_a_later_sparkiac_is_named(machine: Machine) -> None:
    assert machine.capture().code == 0
    path = machine.folder / NAME
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    found = machine.run("check", "lab.yaml")
    assert (found.code, "its format is 2; this version of sparkiac reads format 1" in found.err) == (2, True)


def test_a_folder_that_cannot_be_written_is_named(machine: Machine) -> None:
    (machine.folder / "interfaces").write_text("")
    found = machine.capture()
    assert (found.code, found.err) == (6, f"{NAME}: File exists\n")


def test_the_words_are_those_of_dockers_own_client() -> None:
    """The real client prints its help without an engine."""
    docker = shutil.which("docker")
    if docker is None:
        pytest.skip("needs the docker client")
    used = {"run": ("rm", "interactive", "pull", "network", "entrypoint"), "image inspect": ("format",)}
    for command, options in used.items():
        text = subprocess.run([docker, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
        assert all(re.search(rf"--{option}\b", text) for option in options)
