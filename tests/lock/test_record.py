"""A record of a build into the lock: which one is taken, and what stays as it was."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac.console import run
from sparkiac.lock.text import HEADER
from sparkiac.write import single
from tests.builds.toys import LOCK, fleet, plan
from tests.conftest import Outcome
from tests.plan.fleets import ONES, TWOS, checked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Outcome]

SOURCE = ("repository: https://example.org/engine.git", f"commit: '{'1' * 40}'")
TEXT = fleet(*SOURCE)


def record(**changes: object) -> dict[str, Any]:
    """Return a record of the build, with these changes."""
    [build] = plan(TEXT).builds
    made = {"name": "engine", "id": TWOS, "spec": build.digest, "commit": "1" * 40, "tree": "2" * 40, "picked": []}
    return made | {"entrypoint": ["/entry.sh"], "command": None} | changes


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a folder with an inventory, its lock and a record."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.yaml").write_text(TEXT)
    (tmp_path / "lab.lock.yaml").write_text(LOCK)
    (tmp_path / "record.json").write_text(json.dumps(record()))
    return tmp_path


@pytest.fixture
def lock(lab: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], Outcome]:
    """Return a function that runs `sparkiac lock` there."""
    assert lab.is_dir()

    def call() -> Outcome:
        capsys.readouterr()
        code = run(["lock", "lab.yaml", "--record", "record.json"])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return call


def refused(lab: Path, lock: Callable[[], Outcome]) -> str:
    """Lock what must be refused; give the sentence. The lock is as it was."""
    before = (lab / "lab.lock.yaml").read_bytes()
    outcome = lock()
    assert (outcome.code, outcome.out) == (2, "")
    assert (lab / "lab.lock.yaml").read_bytes() == before
    assert outcome.err.count("\n") == 1
    return outcome.err.strip()


def test_the_image_is_pinned_and_all_else_stays(lab: Path, lock: Callable[[], Outcome]) -> None:
    header = "# A comment of a person.\n"
    (lab / "lab.lock.yaml").write_text(header + LOCK)
    assert lock() == Outcome(0, "lab.lock.yaml: written\n", "")
    text = (lab / "lab.lock.yaml").read_text()
    assert text.startswith(header + LOCK)
    entry = {"id": TWOS, "spec": record()["spec"], "entrypoint": ["/entry.sh"]}
    assert yaml.safe_load(text)["builds"] == {"engine": entry}
    assert checked(TEXT, locked=text).report.findings == ()
    assert run(["generate", "lab.yaml"]) == 0


def test_a_recorded_build_is_not_missing(lab: Path, lock: Callable[[], Outcome]) -> None:
    base = f"{{digest: '{ONES}', manifest: '{ONES}', config: '{ONES}', size_bytes: 1, entrypoint: [/entry.sh]}}"
    (lab / "lab.lock.yaml").write_text(f"version: 1\nimages: {{'example.org/base:1': {base}}}\n")
    assert run(["lock", "lab.yaml", "--check"]) == 3
    lock()
    assert run(["lock", "lab.yaml", "--check"]) == 0


def test_a_second_time_nothing_is_written(lab: Path, lock: Callable[[], Outcome]) -> None:
    lock()
    before = (lab / "lab.lock.yaml").stat().st_ino
    assert lock() == Outcome(0, "lab.lock.yaml: up to date\n", "")
    assert (lab / "lab.lock.yaml").stat().st_ino == before


def test_a_lock_is_made_where_there_is_none(lab: Path, lock: Callable[[], Outcome]) -> None:
    """The base is pinned by the inventory itself then."""
    text = TEXT.replace("base: example.org/base:1", f"base: 'example.org/base:1@{ONES}'")
    (lab / "lab.yaml").write_text(text)
    (lab / "lab.lock.yaml").unlink()
    (lab / "record.json").write_text(json.dumps(record(spec=plan(text).builds[0].digest)))
    assert lock().code == 0
    assert (lab / "lab.lock.yaml").read_text().startswith(f"{HEADER}version: 1\nimages: {{}}\nbuilds:\n  engine:\n")
    assert (lab / "lab.lock.yaml").stat().st_mode & 0o777 == 0o644
    assert checked(text, locked=(lab / "lab.lock.yaml").read_text()).report.findings == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"builds:\n  old: {{id: '{ONES}', spec: '{ONES}'}}\n# about images\nimages: {{}}\nversion: 1\n", "# about"),
        (f"version: 1\nbuilds:\n  engine: {{id: '{ONES}', spec: '{ONES}'}}\n\nimages: {{}}\n", "\nimages: {}\n"),
        (f"version: 1\nimages: {{}}\nbuilds: {{old: {{id: '{ONES}', spec: '{ONES}'}}}}", ""),
        ("version: 1\nimages: {}\nbuilds: {}\n# the end\n", "# the end\n"),
        ("{version: 1, images: {}}\n", ""),
        ("version: 1\nimages: {}", ""),
    ],
)
def test_a_lock_of_any_layout_is_patched_or_written_anew(
    lab: Path, lock: Callable[[], Outcome], before: str, after: str
) -> None:
    """What stands behind the builds stays behind them; what else was locked stays locked."""
    (lab / "lab.yaml").write_text(TEXT.replace("example.org/base:1", f"'example.org/base:1@{ONES}'"))
    spec = plan((lab / "lab.yaml").read_text()).builds[0].digest
    (lab / "record.json").write_text(json.dumps(record(spec=spec)))
    (lab / "lab.lock.yaml").write_text(before)
    assert lock().code == 0
    text = (lab / "lab.lock.yaml").read_text()
    assert after in text
    found, former = yaml.safe_load(text), yaml.safe_load(before)
    assert found["builds"].pop("engine")["id"] == TWOS
    former.get("builds", {}).pop("engine", None)
    assert found == {"builds": {}} | former
    assert list(found["builds"]) == sorted(found["builds"])


def test_a_record_of_what_was_changed_since(lab: Path, lock: Callable[[], Outcome]) -> None:
    (lab / "lab.yaml").write_text(fleet(*SOURCE, "check: import a"))
    assert refused(lab, lock) == (
        "record.json: the build engine has changed since; build it again or revert the change"
    )


def test_a_record_of_a_build_that_nothing_runs(lab: Path, lock: Callable[[], Outcome]) -> None:
    (lab / "record.json").write_text(json.dumps(record(name="engin")))
    assert refused(lab, lock) == (
        "record.json: it belongs to the build 'engin', which this inventory does not use; did you mean 'engine'?"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a record of a build: Invalid JSON: "),
        ("{", "not a record of a build: Invalid JSON: "),
        ("[]", "not a record of a build: must be a mapping, not a list"),
        ("[" * 100_000, "Invalid JSON: "),
        ("{}", "not a record of a build: name: Field required"),
        (json.dumps(record(id="latest")), "id: 'latest' is not a digest: sha256: and 64 lower-case hex digits"),
        (json.dumps(record(commit="abc")), "commit: 'abc' is not a full commit"),
        (json.dumps(record(picked=[{"asked": "x"}])), "picked[0].picked: Field required"),
        (json.dumps(record(entrypoint="/entry.sh")), "entrypoint: "),
        (json.dumps(record(more=1)), "more: Extra inputs are not permitted"),
        ("\xff", "not a record of a build: "),
    ],
)
def test_a_record_that_is_none(lab: Path, lock: Callable[[], Outcome], text: str, says: str) -> None:
    (lab / "record.json").write_bytes(text.encode("latin-1"))
    sentence = refused(lab, lock)
    assert sentence.startswith("record.json: not a record of a build: ")
    assert says in sentence


def test_an_inventory_or_a_lock_that_is_wrong_is_told_first(lab: Path, lock: Callable[[], Outcome]) -> None:
    (lab / "lab.lock.yaml").write_text("version: 2\nimages: {}\n")
    outcome = lock()
    assert outcome.code == 2
    assert "lab.lock.yaml:1:10: error INV002" in outcome.err


@pytest.mark.usefixtures("lab")
def test_a_record_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lock", "lab.yaml", "--record", "none.json"]) == 2
    assert "none.json" in capsys.readouterr().err


def test_a_second_record_changes_the_lines_of_its_build_and_no_other(lab: Path, lock: Callable[[], Outcome]) -> None:
    other = f"builds:\n  # a comment of a person\n  zz: {{id: '{ONES}', spec: '{ONES}'}} # and another\n"
    (lab / "lab.lock.yaml").write_text(LOCK + other)
    assert lock().code == 0
    text = (lab / "lab.lock.yaml").read_text()
    before, _, after = text.partition("  engine:\n")
    assert before == LOCK + "builds:\n"
    assert after.endswith("\n" + other.partition("\n")[2])


def test_the_former_lock_survives_a_disk_that_fails(
    lab: Path, lock: Callable[[], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in lab.iterdir()}

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(single.os, "fsync", fail)
    outcome = lock()
    assert (outcome.code, outcome.err) == (6, f"sparkiac: {lab / 'lab.lock.yaml'}: No space left on device\n")
    assert {path.name: path.read_bytes() for path in lab.iterdir()} == before


def test_mode_and_symlink_of_a_lock_stay(lab: Path, lock: Callable[[], Outcome]) -> None:
    (lab / "shared").mkdir()
    real = lab / "shared/real.yaml"
    (lab / "lab.lock.yaml").rename(real)
    real.chmod(0o600)
    (lab / "lab.lock.yaml").symlink_to("shared/real.yaml")
    assert lock().code == 0
    assert os.readlink(lab / "lab.lock.yaml") == "shared/real.yaml"  # noqa: PTH115
    assert real.stat().st_mode & 0o777 == 0o600
    assert "engine" in real.read_text()
