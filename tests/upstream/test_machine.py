"""What a machine says of itself, over ssh: the readers with recorded texts, and the whole with an ssh that stays here.

Texts of a DGX Spark follow notes on it and were not recorded on one: not verified on hardware.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.fleet import machine
from sparkiac.host.sent import facts
from sparkiac.upstream.programs import ProgramError
from tests import pythons

if TYPE_CHECKING:
    from pathlib import Path

SMI: Final = "NVIDIA GB10, 12.1, 580.142\n"
SSH: Final = """\
#!/bin/sh
# Stands in for ssh: it takes the options that the real one is given here, and runs the command on this machine.
set -eu
[ "$1 $2 $3 $4 $5" = "-o BatchMode=yes -o ConnectTimeout=10 --" ]
[ "$6" = "milo@192.0.2.7" ]
[ $# -eq 7 ]
PATH="{tools}:$PATH" exec sh -c "$7"
"""


def host(root: Path, **said: str) -> Any:  # noqa: ANN401  the program's own class
    """Return a machine whose files lie under `root` and whose programs say these texts."""

    class Machine(facts.LocalHost):
        machine = "aarch64"

        def run(self, *argv: str) -> str:
            if argv[0] not in said:
                message = f"{argv[0]}: not found"
                raise RuntimeError(message)
            return said[argv[0]]

    found = Machine()
    found.root = root
    return found


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """Lay out the files of a Spark."""
    for name, text in (("proc/sys/kernel/hostname", "spark-7f3a.lan\n"), ("proc/meminfo", "MemTotal: 125458392 kB\n")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_spark_shows_memory_driver_and_room(spark: Path) -> None:
    found = facts.facts(host(spark, **{"nvidia-smi": SMI}), ["/srv/models"])
    assert found.pop("disks")[0]["path"] == "/srv/models"
    assert found.pop("software")["kernel"] is None
    assert isinstance(found.pop("users"), list)
    assert found == {
        "name": "spark-7f3a",
        "architecture": "aarch64",
        "memory_bytes": 125458392 * 1024,
        "gpus": [["NVIDIA GB10", "12.1", "580.142"]],
        "unknown": {},
    }


def test_what_cannot_be_read_is_nothing_with_its_reason(spark: Path) -> None:
    (spark / "proc/meminfo").unlink()
    found = facts.facts(host(spark), ["/srv/models"])
    assert (found["memory_bytes"], found["gpus"]) == (None, None)
    assert found["unknown"]["gpus"] == "nvidia-smi: not found"
    assert "No such file" in found["unknown"]["memory_bytes"]


def test_facts_are_read_as_values() -> None:
    data = {"name": "a", "architecture": "aarch64", "memory_bytes": 1, "gpus": [["NVIDIA GB10", "12.1", "580.142"]]}
    said = json.dumps(data | {"disks": [{"path": "/", "free_bytes": 2}], "unknown": {"x": "y"}})
    found = machine.Machine.of_output(f"Welcome to Ubuntu\n{said}\n")
    assert (found.name, found.architecture, found.memory_bytes) == ("a", "aarch64", 1)
    assert (found.gpus, found.disks) == (
        (("NVIDIA GB10", "12.1", "580.142"),),
        (machine.FreeDisk(path="/", free_bytes=2),),
    )
    assert found.unknown == {"x": "y"}
    nothing = {**dict.fromkeys(data), "disks": None, "software": None, "users": None, "unknown": {}}
    assert machine.Machine.of_output(json.dumps(nothing)).model_dump() == nothing


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "ssh").write_text(text)
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("version", ["3.10", None])
def test_the_program_travels_whole_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    """In the oldest Python and in this machine's own, with a stand-in for nvidia-smi: the rest is this machine's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    if version is not None:
        (tools / "python3").symlink_to(pythons.interpreter(version))
    (tools / "nvidia-smi").write_text(f"#!/bin/sh\nprintf '{SMI.strip()}\\n'\n")
    (tools / "nvidia-smi").chmod(0o755)
    stand_in(tmp_path / "bin", monkeypatch, SSH.format(tools=tools))
    monkeypatch.chdir(tmp_path)
    found = machine.inspect("milo@192.0.2.7", store="/srv/it's here")
    assert found.gpus == (("NVIDIA GB10", "12.1", "580.142"),)
    assert found.architecture == os.uname().machine
    assert found.memory_bytes is not None
    assert [disk.path for disk in found.disks or ()] == ["/var/lib/docker", "/srv/it's here"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "tools"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "echo 'ssh: connect to host a port 22: Connection refused' >&2; exit 255",
            "no ssh connection to a: ssh: conn",
        ),
        ("echo 'sh: 1: python3: not found' >&2; exit 127", "a has no python3: sh: 1: python3: not found; install it"),
        ("exit 3", "a could not be read: exit code 3"),
        ("true", "a: no output; check what a login there prints"),
        ("echo nonsense", "a: unexpected output, at the line: 'nonsense'; check what a login there prints"),
        ("echo '[1]'", "a: unexpected output, at the line: '[1]'"),
        ("""echo '{"name": 3}'""", "a: unexpected output, at name: '3'"),
    ],
)
def test_a_failure_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str) -> None:
    stand_in(tmp_path / "bin", monkeypatch, f"#!/bin/sh\ncat >/dev/null\n{script}\n")
    with pytest.raises(ProgramError) as raised:
        machine.inspect("a", store="/srv/models")
    assert str(raised.value).startswith(said)


def test_without_ssh_the_way_around_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ProgramError,
        match="a: ssh is not installed on this machine, or not in PATH; try `ssh a true`, or use --host",
    ):
        machine.inspect("a", store="/srv/models")
