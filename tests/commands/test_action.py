"""action.yml: its form, and its steps as a runner starts them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac import catalog
from tests.conftest import ROOT, Outcome
from tests.plan.fleets import deployment

if TYPE_CHECKING:
    from collections.abc import Callable

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
INSTALL, CHECK = ACTION["runs"]["steps"]
GITHUB_BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
PYTHON = """\
#!/bin/sh
# Stands for python3 and for the python of the environment: it writes down how it was called.
echo "$*" >> "$LOG"
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
"""


def test_the_form_is_that_of_a_composite_action() -> None:
    assert {"name", "description", "inputs", "runs"} == ACTION.keys()
    assert ACTION["runs"]["using"] == "composite"
    assert list(ACTION["inputs"]) == ["inventory", "strict", "profile"]
    for name, wanted in ACTION["inputs"].items():
        assert wanted["description"]
        assert wanted.get("required", False) == (name == "inventory")
        assert isinstance(wanted.get("default", ""), str)
    assert ACTION["inputs"]["profile"]["default"] == catalog.profiles().default
    for profile in catalog.profiles().profiles:
        assert profile in ACTION["inputs"]["profile"]["description"]


def test_steps_run_scripts_alone_and_no_input_is_part_of_one() -> None:
    for step in ACTION["runs"]["steps"]:
        assert step.keys() <= {"name", "shell", "env", "run"}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
    given = {re.fullmatch(r"\$\{\{ inputs\.([a-z]+) \}\}", value)[1] for value in CHECK["env"].values()}  # type: ignore[index]
    assert given == ACTION["inputs"].keys()


def test_it_installs_what_the_lock_pins_and_then_its_own_checkout(tmp_path: Path) -> None:
    stub = tmp_path / "bin/python3"
    stub.parent.mkdir()
    stub.write_text(PYTHON)
    stub.chmod(0o755)
    environment = {
        "PATH": f"{stub.parent}:{os.environ['PATH']}",
        "LOG": str(tmp_path / "log"),
        "RUNNER_TEMP": str(tmp_path / "temp dir"),
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    subprocess.run([*GITHUB_BASH, INSTALL["run"]], env=environment, check=True)
    pip = "-m pip --quiet --disable-pip-version-check install"
    assert (tmp_path / "log").read_text().splitlines() == [
        f"-m venv {tmp_path / 'temp dir'}/sparkiac",
        f"{pip} --require-hashes --no-deps --requirement {ROOT}/requirements.lock",
        f"{pip} --no-deps --no-build-isolation {ROOT}",
    ]
    assert "hatchling==" in (ROOT / "requirements.lock").read_text(), "the build needs it, for it is not isolated"


@pytest.fixture
def runner(folder: Path) -> Path:
    """Run the test in a checkout whose runner has installed sparkiac."""
    program = folder / "temp/sparkiac/bin/sparkiac"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).with_name("sparkiac"))
    (folder / "my lab.yaml").write_text(deployment())
    return folder


def checked(folder: Path, **inputs: str) -> Outcome:
    """Run the second step with these inputs and the defaults of the others."""
    defaults = {name: wanted["default"] for name, wanted in ACTION["inputs"].items() if "default" in wanted}
    given = {name.upper(): value for name, value in ({"inventory": "my lab.yaml"} | defaults | inputs).items()}
    environment = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(folder / "temp"), **given}
    command = [*GITHUB_BASH, CHECK["run"]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_findings_become_annotations_and_fail_the_step(runner: Path) -> None:
    outcome = checked(runner)
    assert outcome.code == 1
    assert outcome.out.startswith("::error file=my lab.yaml,line=5,")
    assert outcome.err == "my lab.yaml: 2 errors\n"


def test_strict_and_profile_are_passed_on(runner: Path) -> None:
    allowed = "allow: [{code: NET005, reason: it was needed once}]\n"
    (runner / "my lab.yaml").write_text("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n" + allowed)
    assert checked(runner).code == 0
    assert checked(runner).out.startswith("::warning ")
    assert checked(runner, strict="true").code == 1
    assert checked(runner, strict="true", profile="minimal") == Outcome(0, "", "my lab.yaml: no findings\n")


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"strict": "yes"}, "::error::strict is true or false"),
        ({"profile": "most"}, "unknown profile 'most'"),
        ({"inventory": "--help"}, "--help does not exist"),
        ({"inventory": "$(touch owned)"}, "does not exist"),
    ],
)
def test_exit_2_for_inputs_that_are_wrong(runner: Path, inputs: dict[str, str], says: str) -> None:
    outcome = checked(runner, **inputs)
    assert outcome.code == 2
    assert says in outcome.text
    assert not (runner / "owned").exists()


def test_every_file_for_ci_in_the_documentation_is_yaml_and_names_what_exists(
    folder: Path, cli: Callable[..., Outcome]
) -> None:
    """Hook and action exist here; the commands of GitLab's job know their options, and find what a new fleet lacks."""
    texts = re.findall(r"```yaml\n(# \..*?)```", (ROOT / "docs/checks.md").read_text(), re.DOTALL)
    files = {text.split()[1]: yaml.safe_load(text) for text in texts}
    assert files.keys() >= {".pre-commit-config.yaml", ".github/workflows/inventory.yml", ".gitlab-ci.yml"}
    [hook] = files[".pre-commit-config.yaml"]["repos"][0]["hooks"]
    assert hook["id"] in {each["id"] for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    checkout, action = files[".github/workflows/inventory.yml"]["jobs"]["check"]["steps"]
    assert re.fullmatch(r"actions/checkout@[0-9a-f]{40}", checkout["uses"])
    assert action["with"].keys() <= ACTION["inputs"].keys()
    install, *commands = files[".gitlab-ci.yml"]["sparkiac"]["script"]
    assert install.startswith("pip install ")
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(deployment())
    assert [cli(*command.split()[1:]).code for command in commands] == [3, 1, 4]
