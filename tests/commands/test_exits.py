"""Every command's exit code for every way that it can end."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import pipeline
from sparkiac.cli import COMMANDS, ELSEWHERE, GROUPS
from sparkiac.commands.verbs import VERBS
from sparkiac.write.staging import TargetPaths
from tests.commands.looks import everything
from tests.plan.fleets import LOCK, deployment, service
from tests.test_architecture import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

READERS = ("check", "plan", "generate")
REFUSED = service("command: [vllm, serve, x]").replace("example.org/asr", "vllm/vllm-openai")


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("command", READERS)
def test_exit_0_when_all_is_well(cli: Cli, command: str) -> None:
    assert cli(command, "lab.yaml").code == 0


def test_exit_0_for_help_and_version(cli: Cli) -> None:
    assert cli("--help").code == cli("-h").code == cli("--version").code == cli("schema").code == 0


@pytest.mark.parametrize("command", READERS)
def test_exit_1_for_what_a_rule_refuses(cli: Cli, folder: Path, command: str) -> None:
    (folder / "lab.yaml").write_text(REFUSED)
    outcome = cli(command, "lab.yaml")
    assert outcome.code == 1
    assert "lab.yaml:9:14: error ENT001" in outcome.err
    assert outcome.err.endswith("1 error\n")


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "lab.yaml:1:1: error YML004"),
        ("name: [", "error YML004"),
        ("name: lab\nname: lab\n", "lab.yaml:2:1: error YML005"),
        ("name: lab\nhosts: {}\n", "error INV002"),
        (deployment("portt: 1"), "lab.yaml:10:5: error INV001"),
        (deployment("variant: x"), "lab.yaml:10:14: error REF001"),
        (deployment("set: null"), "lab.yaml:10:5: error REF003"),
    ],
)
def test_exit_2_for_an_inventory_that_is_wrong(cli: Cli, folder: Path, command: str, text: str, says: str) -> None:
    (folder / "lab.yaml").write_text(text)
    outcome = cli(command, "lab.yaml")
    assert outcome.code == 2
    assert says in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("command", READERS)
def test_exit_2_for_bytes_that_are_not_text(cli: Cli, folder: Path, command: str) -> None:
    (folder / "lab.yaml").write_bytes(b"name: \xff\n")
    assert cli(command, "lab.yaml").code == 2


@pytest.mark.parametrize("command", READERS)
def test_exit_2_for_a_lock_that_is_wrong(cli: Cli, lab: Path, command: str) -> None:
    (lab / "lab.lock.yaml").write_text("version: 2\nimages: {}\n")
    outcome = cli(command, "lab.yaml")
    assert outcome.code == 2
    assert "lab.lock.yaml:1:10: error INV002" in outcome.err


@pytest.mark.parametrize("command", READERS)
def test_exit_2_for_what_is_not_an_inventory_file(cli: Cli, folder: Path, command: str) -> None:
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        for name, says in (("none", "does not exist"), ("folder", "is a directory"), ("door", "is not a file")):
            outcome = cli(command, name)
            assert outcome.code == 2
            assert f"{name} {says}; name an inventory file, such as inventories/lab.yaml" in outcome.err


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("command", READERS)
def test_exit_2_for_a_lock_in_the_place_of_its_inventory(cli: Cli, command: str) -> None:
    outcome = cli(command, "lab.lock.yaml")
    assert outcome.code == 2
    assert outcome.err.endswith("Error: lab.lock.yaml is a lock; name its inventory, lab.yaml\n")


@pytest.mark.parametrize("command", READERS)
def test_exit_2_for_a_name_that_cannot_be_printed(cli: Cli, folder: Path, command: str) -> None:
    for name in (os.fsdecode(b"\xff.yaml"), "a\nb.yaml"):
        (folder / name).write_text(service())
        outcome = cli(command, name)
        assert outcome.code == 2
        assert "has an unprintable character in its name" in outcome.err


@pytest.mark.usefixtures("lab")
def test_exit_2_for_an_output_whose_name_cannot_be_printed(cli: Cli) -> None:
    assert cli("generate", "lab.yaml", "--output", os.fsdecode(b"\xff")).code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Usage: sparkiac"),
        (["genrate", "lab.yaml"], "unknown command 'genrate'; did you mean 'generate'?"),
        (["qqq"], "unknown command 'qqq'; none of the "),
        (["--verbose"], "No such option"),
        (["generate"], "name one of the inventories: inventories/"),
        (["check", "lab.yaml", "more"], "takes one inventory"),
        (["check", "lab.yaml", "--format", "xml"], "'xml' is not one of"),
        (["generate", "lab.yaml", "--forse"], "--force"),
        (["schema", "lab.yaml", "more"], "takes one inventory"),
        (["apply", "lab.yaml", "--limit", "spark-01"], "Options of ansible-playbook go after --"),
    ],
)
def test_exit_2_for_wrong_usage(cli: Cli, arguments: list[str], says: str) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert says in outcome.err


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_exit_3_for_a_tree_that_is_not_up_to_date(cli: Cli, option: str) -> None:
    assert cli("generate", "lab.yaml", option).code == 3
    assert cli("generate", "lab.yaml").code == 0
    assert cli("generate", "lab.yaml", option).code == 0


@pytest.mark.parametrize("options", [[], ["--check"], ["--diff"]])
def test_exit_3_for_a_file_that_was_changed_by_hand(cli: Cli, lab: Path, options: list[str]) -> None:
    cli("generate", "lab.yaml")
    (lab / "generated/lab/PLAN.md").write_text("mine")
    outcome = cli("generate", "lab.yaml", *options)
    assert outcome.code == 3
    assert "PLAN.md: edited by hand" in outcome.err
    assert (lab / "generated/lab/PLAN.md").read_text() == "mine"


def test_exit_3_for_a_target_that_is_not_sparkiacs(cli: Cli, lab: Path) -> None:
    (lab / "mine").mkdir()
    (lab / "mine/notes").touch()
    outcome = cli("generate", "lab.yaml", "--output", "mine")
    assert outcome.code == 3
    assert "--force overwrites it" in outcome.err


@pytest.mark.parametrize("options", [[], ["--check"], ["--diff"], ["--force"]])
def test_exit_4_for_a_lock_that_is_missing(cli: Cli, lab: Path, options: list[str]) -> None:
    (lab / "lab.lock.yaml").unlink()
    outcome = cli("generate", "lab.yaml", *options)
    assert outcome.code == 4
    assert "error IMG003" in outcome.err
    assert "lab.lock.yaml does not exist: run sparkiac lock lab.yaml; --allow-unlocked" in outcome.err


def test_exit_4_for_a_lock_that_lacks_an_image(cli: Cli, lab: Path) -> None:
    (lab / "lab.lock.yaml").write_text("version: 1\nimages: {}\n")
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 4
    assert "lab.lock.yaml does not pin everything: run sparkiac lock lab.yaml" in outcome.err


def test_a_missing_lock_is_1_when_something_else_is_refused_as_well(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(REFUSED + "  tts: {kind: container, image: 'a:1', hosts: spark-01}\n")
    assert cli("generate", "lab.yaml").code == 1


def test_without_a_lock_check_is_1_and_plan_0(cli: Cli, lab: Path) -> None:
    (lab / "lab.lock.yaml").unlink()
    assert cli("check", "lab.yaml").code == 1
    assert cli("plan", "lab.yaml").code == 0


def test_exit_5_for_another_run_that_is_writing(cli: Cli, lab: Path) -> None:
    (lab / "generated").mkdir()
    staging = TargetPaths.of(Path("generated/lab")).new
    staging.mkdir()
    held = os.open(staging, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = cli("generate", "lab.yaml")
    finally:
        os.close(held)
    assert outcome.code == 5
    assert "another run is writing here" in outcome.err
    assert cli("generate", "lab.yaml").code == 0


@pytest.mark.parametrize("command", READERS)
def test_exit_6_for_a_file_that_cannot_be_read(cli: Cli, command: str) -> None:
    """The kernel refuses to read this one at its start, even to root."""
    outcome = cli(command, "/proc/self/mem")
    assert outcome.code == 6
    assert outcome.err == "sparkiac: Input/output error\n"


@pytest.mark.parametrize("target", ["file", "file/below", "link"])
def test_exit_6_for_an_output_that_cannot_be_written(cli: Cli, lab: Path, target: str) -> None:
    (lab / "file").write_text("mine")
    (lab / "link").symlink_to("elsewhere")
    before = everything(lab)
    assert cli("generate", "lab.yaml", "--output", target).code == 6
    assert everything(lab) == before


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("command", READERS)
def test_exit_130_when_interrupted(cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "check", interrupted)
    assert cli(command, "lab.yaml").code == 130


@pytest.mark.parametrize("text", [REFUSED, deployment("variant: x"), deployment("image: a:1"), "", "name: ["])
@pytest.mark.parametrize("options", [[], ["--force"]])
def test_what_is_refused_is_refused_before_anything_is_written(
    cli: Cli, lab: Path, text: str, options: list[str]
) -> None:
    cli("generate", "lab.yaml")
    (lab / "lab.yaml").write_text(text)
    before = everything(lab)
    assert cli("generate", "lab.yaml", *options).code in {1, 2, 4}
    assert everything(lab) == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "lab.yaml"], 0),
        (["check", "refused.yaml"], 1),
        (["check", "none.yaml"], 2),
        (["generate", "lab.yaml", "--check"], 3),
        (["generate", "unlocked.yaml"], 4),
        (["plan", "/proc/self/mem"], 6),
    ],
)
def test_the_shell_sees_the_same_codes(
    sparkiac: Callable[..., Outcome], lab: Path, arguments: list[str], code: int
) -> None:
    (lab / "refused.yaml").write_text(REFUSED)
    (lab / "unlocked.yaml").write_text(deployment())
    outcome = sparkiac(*arguments, cwd=lab)
    assert outcome.code == code
    assert "Traceback" not in outcome.text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_every_option(cli: Cli, command: str) -> None:
    outcome = cli(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"Usage: sparkiac {command}" in outcome.out
    if command in READERS:
        assert "Exit codes: 0" in outcome.out
        assert "--format [text|json" in outcome.out


def test_the_list_of_commands_is_the_folders() -> None:
    folder = Path(pipeline.__file__).parent / "commands"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py")} - SHARED - {"__init__"}
    assert set(COMMANDS) == {name.rstrip("_") for name in packages | modules} | set(VERBS)


def test_the_help_has_every_command_once_on_one_line_of_a_narrow_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = cli("--help").out.partition("\nStart:\n")[2].splitlines()
    lines = [line for line in listed if line and not line.endswith(":")]
    assert lines == [f"  {name:9}  {text}" for name, text in COMMANDS.items()]
    assert max(map(len, lines)) <= 80
    assert len(COMMANDS) == sum(map(len, GROUPS.values()))
    assert list(COMMANDS)[:9] == ["init", "propose", "add", "recipes", "lock", "check", "plan", "generate", "diff"]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_name_of_another_tool_leads_to_the_command(cli: Cli, name: str) -> None:
    outcome = cli(name, "lab.yaml")
    assert outcome.code == 2
    called = re.findall(r"`sparkiac (\w+)", outcome.err.partition("there is no command")[2])
    assert called
    assert set(called) <= set(COMMANDS)


def test_a_lock_beside_the_inventory_is_read_and_no_other(cli: Cli, folder: Path) -> None:
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yml").write_text(deployment())
    (folder / "lab.lock.yaml").write_text(LOCK)
    assert cli("generate", "inventories/lab.yml").code == 4
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    assert cli("generate", "inventories/lab.yml").code == 0


def test_exit_6_when_there_is_no_room_for_what_is_printed(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sparkiac", "schema"], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (6, b"sparkiac: No space left on device\n")


def test_a_link_to_itself_is_called_one(sparkiac: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").symlink_to("lab.yaml")
    done = sparkiac("check", "lab.yaml")
    assert done.code == 2
    assert "lab.yaml is a symbolic link to itself or to a missing file" in done.text
