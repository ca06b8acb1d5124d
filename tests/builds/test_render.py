"""The rendered folder of a build: the Dockerfile, its data, the script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sparkiac import pipeline
from tests.builds.toys import fleet, plan
from tests.plan.fleets import ONES, TWOS, deployment, service

if TYPE_CHECKING:
    from sparkiac.report.artifact import Artifact

COMMIT = "1" * 40
SOURCE = ("repository: https://example.org/engine.git", f"commit: '{COMMIT}'")


def rendered(text: str) -> dict[str, Artifact]:
    """Return the files below builds/."""
    found = {artifact.path: artifact for artifact in pipeline.render(plan(text))}
    return {path.removeprefix("builds/"): file for path, file in found.items() if path.startswith("builds/")}


def dockerfile(text: str) -> list[str]:
    [file] = [file for path, file in rendered(text).items() if path.endswith("Dockerfile")]
    return [line for line in file.content.decode().splitlines() if not line.startswith("#")]


def test_a_plan_that_builds_nothing_renders_nothing() -> None:
    assert rendered(deployment()) == rendered(service()) == {}


def test_the_folder_has_three_files_and_one_of_them_runs() -> None:
    files = rendered(fleet(*SOURCE))
    modes = {path: file.mode for path, file in files.items()}
    assert modes == {"engine/Dockerfile": 0o644, "engine/build": 0o755, "engine/spec.json": 0o644}
    spec = json.loads(files["engine/spec.json"].content)
    [build] = plan(fleet(*SOURCE)).builds
    assert spec == {"name": "engine", "spec": build.digest, "build": build.spec}


def test_the_script_is_the_same_for_every_build() -> None:
    """So nothing of an inventory is ever read as code."""
    one, other = (rendered(fleet(*SOURCE, line))["engine/build"] for line in ("check: import a", "check: import b"))
    assert one == other


def test_the_base_is_named_by_its_digest_and_the_checkout_is_installed_in_its_directory() -> None:
    assert dockerfile(fleet(*SOURCE)) == [
        f"FROM example.org/base@{ONES}",
        "COPY . /opt/sparkiac/source",
        'RUN ["/bin/sh","-c","cd /opt/sparkiac/source && exec \\"$@\\"","sh","python3","-m","pip","install","."]',
    ]


def test_exact_pins_are_installed_after_everything_else() -> None:
    """An installation that pulls another version in does not have the last word."""
    lines = dockerfile(fleet(*SOURCE, "pip: ['nvidia-cutlass-dsl[cu13]==4.5.0']"))
    assert lines[-1] == 'RUN ["python3","-m","pip","install","nvidia-cutlass-dsl[cu13]==4.5.0"]'


def test_mods_run_in_their_own_directory() -> None:
    lines = dockerfile(fleet(*SOURCE, "mods: [{path: mods/a}, {path: mods/b, run: go.sh}]"))
    assert lines[-4:] == [
        "COPY sparkiac-mods/0 /opt/sparkiac/mods/0",
        'RUN ["/bin/sh","-c","cd /opt/sparkiac/mods/0 && exec \\"$@\\"","sh","./run.sh"]',
        "COPY sparkiac-mods/1 /opt/sparkiac/mods/1",
        'RUN ["/bin/sh","-c","cd /opt/sparkiac/mods/1 && exec \\"$@\\"","sh","./go.sh"]',
    ]


def test_no_dockerfile_contains_values() -> None:
    """They are arguments of docker: a `$` in them is a dollar sign."""
    lines = dockerfile(fleet(*SOURCE, "environment: {B: 1, A: $HOME}", "arguments: {JOBS: 16}"))
    assert lines[1:6] == ["ARG JOBS", "ARG sparkiac_A", "ENV A=${sparkiac_A}", "ARG sparkiac_B", "ENV B=${sparkiac_B}"]
    assert "$HOME" not in "".join(lines)


def test_a_program_brings_the_image_that_the_mods_go_on() -> None:
    text = fleet(*SOURCE, "program: [make.sh, '{image}']", "mods: [{path: mods/a}]", base="", install="")
    lines = dockerfile(text)
    assert lines[:3] == ["ARG SPARKIAC_BASE", "FROM ${SPARKIAC_BASE}", "COPY sparkiac-mods/0 /opt/sparkiac/mods/0"]


@pytest.mark.parametrize("word", ['"', "'; rm -rf /; '", "$(id)", "\\", "<<EOF", "a b", "é"])
def test_words_of_the_installation_stay_words(word: str) -> None:
    """The form that no shell reads is JSON."""
    lines = dockerfile(fleet(*SOURCE, install=f"install: [pip, {json.dumps(word)}]"))
    assert json.loads(lines[-1].removeprefix("RUN "))[-2:] == ["pip", word]


def test_hosts_get_the_build_of_an_image_that_is_in_no_registry() -> None:
    text = fleet(*SOURCE)
    [build] = plan(text).builds
    lock = f"version: 1\nimages: {{'example.org/base:1': {{digest: '{ONES}'}}}}\n"
    lock += f"builds: {{engine: {{id: '{TWOS}', spec: '{build.digest}'}}}}\n"
    files = {artifact.path: artifact.content.decode() for artifact in pipeline.render(plan(text, locked=lock))}
    assert f'  builds:\n    - image: "{TWOS}"\n      name: "engine"\n' in files["host_vars/spark-01/main.yml"]
    assert f'    image: "{TWOS}"\n    pull_policy: "never"\n' in files["hosts/spark-01/etc/sparkiac/asr/compose.yaml"]
    assert f"Image `{TWOS}`, the pin of `engine`." in files["PLAN.md"]
