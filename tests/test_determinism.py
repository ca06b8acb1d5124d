"""Same input, same bytes: whatever the machine, the locale, the clock, the hash seed or the folder is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparkiac import pipeline, source
from sparkiac.console import run
from sparkiac.model.inventory import Inventory
from tests.commands.looks import contents, everything
from tests.conftest import ROOT
from tests.plan.fleets import PAIR, checked
from tests.pythons import environment
from tests.resolve.built import as_yaml, fleets

INVENTORIES = ("lab", "solo")
MANIFEST = ".sparkiac-manifest.json"
LOCALES = {"tr_TR.UTF-8": ("tr_TR", "UTF-8"), "de_DE.ISO-8859-1": ("de_DE", "ISO-8859-1")}
"""Turkish has its own case rules; German in Latin-1 writes 0,8 and is no Unicode."""


@dataclass(frozen=True)
class Surroundings:
    """Everything about a run that must not show in its output."""

    env: dict[str, str] = field(default_factory=dict)
    umask: int = 0o022
    cwd: str = ""
    """Where to stand, below the folder of the run; names are absolute if it is not the top."""


SURROUNDINGS = {
    "seed 0": Surroundings({"PYTHONHASHSEED": "0"}),
    "seed 1, Kiritimati": Surroundings({"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8"}),
    "random seed, POSIX": Surroundings({"PYTHONHASHSEED": "random", "LC_ALL": "POSIX", "TZ": "UTC"}),
    "ASCII": Surroundings({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "umask 077": Surroundings(umask=0o077),
    "umask 000": Surroundings(umask=0o000),
    "another folder": Surroundings(cwd="far/away"),
    "Turkish": Surroundings({"LC_ALL": "tr_TR.UTF-8"}),
    "Latin-1": Surroundings({"LC_ALL": "de_DE.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "another person": Surroundings({"HOME": "/home/other", "USER": "other", "LOGNAME": "other", "HOSTNAME": "other"}),
    "optimized": Surroundings({"PYTHONOPTIMIZE": "2"}),
}


@pytest.fixture(scope="session")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Compile locales that most machines have not installed; None where that is not possible."""
    compiler = shutil.which("localedef")
    if compiler is None:
        return None
    folder = tmp_path_factory.mktemp("locales")
    for name, (language, charset) in LOCALES.items():
        command = [compiler, "--no-archive", "-i", language, "-f", charset, folder / name]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    return folder


def generated(folder: Path, name: str, around: Surroundings, python: str = sys.executable) -> dict[str, Any]:
    """Generate a shipped inventory in its own process; give modes and bytes of the tree."""
    where = folder / around.cwd
    where.mkdir(parents=True)
    for file in (f"{name}.yaml", f"{name}.lock.yaml"):
        shutil.copy(ROOT / "inventories" / file, folder / file)
    inventory, output = (folder / f"{name}.yaml", folder / "out") if around.cwd else (f"{name}.yaml", "out")
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        [python, "-m", "sparkiac", "generate", inventory, "--output", output],
        cwd=where,
        env={**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **around.env},
        umask=around.umask,
        capture_output=True,
        text=True,
        encoding="latin-1",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return contents(folder / "out")


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Generate each inventory once, in the usual surroundings."""
    return {name: generated(tmp_path_factory.mktemp(name) / "run", name, Surroundings()) for name in INVENTORIES}


@pytest.mark.parametrize("around", SURROUNDINGS.values(), ids=SURROUNDINGS.keys())
def test_surroundings_do_not_show(
    around: Surroundings, tmp_path: Path, reference: dict[str, dict[str, Any]], locales: Path | None
) -> None:
    if around.env.get("LC_ALL") in LOCALES:
        if locales is None:
            pytest.skip("needs localedef and its sources (Debian package locales)")
        around = Surroundings({**around.env, "LOCPATH": str(locales)}, around.umask, around.cwd)
    for name in INVENTORIES:
        assert generated(tmp_path / name, name, around) == reference[name]


def test_the_locales_are_really_in_effect(locales: Path | None) -> None:
    if locales is None:
        pytest.skip("needs localedef and its sources (Debian package locales)")
    ask = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])"
    for name in LOCALES:
        env = {"LC_ALL": name, "LOCPATH": str(locales), "PATH": os.environ["PATH"]}
        assert subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, check=True).stdout == b",\n"


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_version_of_python_does_not_show(
    version: str, tmp_path: Path, reference: dict[str, dict[str, Any]]
) -> None:
    pinned = [f"{name}=={metadata.version(name)}" for name in ("click", "jinja2", "pydantic", "pyyaml")]
    python = str(environment(version, *pinned) / "python")
    for name in INVENTORIES:
        assert generated(tmp_path / name, name, Surroundings(), python) == reference[name]


@pytest.mark.parametrize("name", INVENTORIES)
def test_a_second_run_touches_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    command = ["generate", f"inventories/{name}.yaml", "--output", str(tmp_path / "out")]
    assert run(command) == 0
    before = everything(tmp_path)
    assert run(command) == 0
    assert everything(tmp_path) == before


def shuffled(value: Any, random: Random) -> Any:  # noqa: ANN401  any YAML value
    """Reorder the keys of all mappings; lists keep their order, which means something."""
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: shuffled(value[key], random) for key in keys}
    return [shuffled(inner, random) for inner in value] if isinstance(value, list | tuple) else value


def rendered(text: str, locked: str) -> list[tuple[str, bytes, int]]:
    """Render an inventory in memory."""
    outcome = checked(text, locked=locked)
    assert outcome.plan is not None, outcome.report.findings
    return [(each.path, each.content, each.mode) for each in pipeline.render(outcome.plan)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*INVENTORIES, "pair"])
def test_the_order_of_keys_does_not_show(name: str, seed: int) -> None:
    text, locked = PAIR, ""
    if name != "pair":
        text = (ROOT / f"inventories/{name}.yaml").read_text()
    locked = (ROOT / f"inventories/{'solo' if name == 'pair' else name}.lock.yaml").read_text()
    data = source.load(text.encode(), name="lab.yaml", model=Inventory).document.data
    other = as_yaml(shuffled(data, Random(seed)))
    assert other != as_yaml(shuffled(data, Random(seed + 100)))
    assert rendered(other, as_yaml(shuffled(yaml.safe_load(locked), Random(seed)))) == rendered(text, locked)


@settings(max_examples=25)
@given(fleets(), st.integers(0, 9))
def test_the_order_of_keys_of_any_inventory_does_not_show(data: dict[str, Any], seed: int) -> None:
    """Apart from groups that share hosts: the order of the inventory numbers them, so that a new one is the last."""
    groups = [each for each in data.get("deployments", {}).values() if isinstance(each.get("hosts"), list)]
    assume(len(groups) < 2)
    locked = (ROOT / "inventories/lab.lock.yaml").read_text()
    other = shuffled(data, Random(seed))
    assert rendered(as_yaml(other), locked) == rendered(as_yaml(data), locked)


def test_the_inventorys_bytes_show_in_the_manifest_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, comment in (("one", ""), ("two", "# a comment\n")):
        Path(folder).mkdir()
        text = (ROOT / "inventories/solo.yaml").read_text()
        Path(folder, "solo.yaml").write_text(text + comment)
        shutil.copy(ROOT / "inventories/solo.lock.yaml", folder)
        assert run(["generate", f"{folder}/solo.yaml", "--output", f"{folder}/out"]) == 0
    one, two = contents(tmp_path / "one/out"), contents(tmp_path / "two/out")
    assert {path for path in one if one[path] != two[path]} == {MANIFEST}
    inputs = [json.loads(tree[MANIFEST][1])["inputs"] for tree in (one, two)]
    assert [name for name in inputs[0] if inputs[0][name] != inputs[1][name]] == ["solo.yaml"]


def test_nothing_of_the_machine_shows(reference: dict[str, dict[str, Any]]) -> None:
    """No path of the generator, no version of Python; another person and home give the same bytes above."""
    words = {str(ROOT), sys.prefix, sys.version.split()[0]}
    for tree in reference.values():
        text = b"".join(content for path, (_, content) in tree.items() if not path.startswith("playbooks/"))
        assert [word for word in words if word.encode() in text] == []
