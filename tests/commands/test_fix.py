"""`sparkiac check --fix`: what is written, what is shown, and when nothing is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import rules
from sparkiac.report import Edit, Severity
from sparkiac.rules.pages import pages
from sparkiac.rules.rule import Hit, Rule
from tests.plan.fleets import ONES, service
from tests.rules.test_check import saying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

COMMAND = "    command: [vllm, serve, a/b]  # ours\n"
TEXT = "# the lab\n" + service().replace("example.org/asr", "vllm/vllm-openai") + COMMAND
DIFF = """\
diff --git a/lab.yaml b/lab.yaml
--- a/lab.yaml
+++ b/lab.yaml
@@ -7,4 +7,4 @@
     kind: container
     image: vllm/vllm-openai@{digest}
     hosts: spark-01
-    command: [vllm, serve, a/b]  # ours
+    command: [a/b]  # ours
"""
MENDED = TEXT.replace("[vllm, serve, a/b]", "[a/b]")
WARNED = "allow: [{code: ZZZ001, reason: it stays}]\n"


CHOSEN = tuple(check for check in rules.checks() if check.rule.code in {"ENT001", "NET005"})


@pytest.fixture(autouse=True)
def _two_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave only rules that these texts are about."""
    monkeypatch.setattr(rules, "checks", lambda: CHOSEN)
    pages.cache_clear()
    yield
    pages.cache_clear()


@pytest.fixture
def lab(folder: Path) -> Path:
    """Run the test in a folder with an inventory that can be fixed."""
    path = folder / "lab.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[rules.Check]:
    """Put a rule with a useless fix in the place of the real ones."""
    hit = Hit(("name",), "wrong", "mend it", fix=(Edit(("name",), "other"),))
    module = saying(hit, rule=Rule("AAA001", "is-wrong", Severity.WARNING, (), "0.1.0"))
    module = module._replace(page=lambda: "It is wrong.\n\nIt would break.\n")
    monkeypatch.setattr(rules, "checks", lambda: (module,))
    pages.cache_clear()
    yield module
    pages.cache_clear()


def said(outcome: Outcome) -> dict[str, object]:
    data = json.loads(outcome.out)
    assert isinstance(data, dict)
    return data


def test_the_file_is_fixed_and_the_diff_shown(cli: Cli, lab: Path) -> None:
    outcome = cli("check", "lab.yaml", "--fix")
    assert (outcome.code, outcome.out) == (0, DIFF.format(digest=ONES))
    assert outcome.err == "lab.yaml: fixed ENT001\nlab.yaml: no findings\n"
    assert lab.read_text() == MENDED
    assert cli("check", "lab.yaml").code == 0


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--strict"], 1)])
def test_the_exit_code_is_of_what_is_left(cli: Cli, lab: Path, options: list[str], code: int) -> None:
    lab.write_text(TEXT + WARNED)
    outcome = cli("check", "lab.yaml", "--fix", *options)
    assert (outcome.code, lab.read_text()) == (code, MENDED + WARNED)
    assert "lab.yaml:11:16: warning WVR001" in outcome.err
    assert "ENT001 double" not in outcome.err


def test_json_has_what_is_gone_and_what_is_left(cli: Cli, lab: Path) -> None:
    lab.write_text(TEXT + WARNED)
    data = said(cli("check", "lab.yaml", "--fix", "--format", "json"))
    assert {key: [each["code"] for each in data[key]] for key in ("fixed", "findings")} == {  # type: ignore[attr-defined]
        "fixed": ["ENT001"],
        "findings": ["WVR001"],
    }
    assert (data["format_version"], str(data["diff"])[:30]) == (1, DIFF[:30])
    assert lab.read_text() == MENDED + WARNED


def test_json_says_what_could_be_fixed(cli: Cli, lab: Path) -> None:
    lab.write_text(TEXT + WARNED)
    data = said(cli("check", "lab.yaml", "--format", "json"))
    found = {each["code"]: each.get("fixable") for each in data["findings"]}  # type: ignore[attr-defined]
    assert found == {"ENT001": True, "WVR001": None}
    assert "fixed" not in data
    assert lab.read_text() == TEXT + WARNED


def test_nothing_to_mend_writes_nothing(cli: Cli, lab: Path) -> None:
    lab.write_text(MENDED + WARNED)
    before = lab.stat()
    outcome = cli("check", "lab.yaml", "--fix")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("lab.yaml: nothing to fix\n")
    assert lab.stat()[:9] == before[:9]
    assert said(cli("check", "lab.yaml", "--fix", "--format", "json"))["fixed"] == []


def test_only_selected_rules_are_fixed(cli: Cli, lab: Path) -> None:
    waiver = "allow: [{code: NET005, reason: it was needed}]\n"
    lab.write_text(TEXT + waiver)
    assert cli("check", "lab.yaml", "--fix", "--select", "WVR001").code == 0
    assert lab.read_text() == TEXT
    lab.write_text(TEXT + waiver)
    assert cli("check", "lab.yaml", "--fix", "--ignore", "WVR").code == 0
    assert lab.read_text() == MENDED + waiver


def test_mode_and_the_folder_are_kept(cli: Cli, lab: Path) -> None:
    lab.chmod(0o640)
    assert cli("check", "lab.yaml", "--fix").code == 0
    assert (lab.stat().st_mode & 0o777, [*lab.parent.iterdir()]) == (0o640, [lab])


def test_a_diff_of_a_file_elsewhere_names_it(cli: Cli, lab: Path) -> None:
    (lab.parent / "sub").mkdir()
    lab.rename(lab.parent / "sub/lab.yaml")
    assert "--- a/sub/lab.yaml\n+++ b/sub/lab.yaml\n" in cli("check", "sub/lab.yaml", "--fix").out


def test_a_useless_fix_is_a_defect_and_changes_nothing(cli: Cli, lab: Path, broken: rules.Check) -> None:
    outcome = cli("check", "lab.yaml", "--fix")
    assert (outcome.code, outcome.out, lab.read_text()) == (1, "", TEXT)
    assert f"error INT001 internal-error: the fix of {broken.rule.code} was undone" in outcome.err
    assert "hint: mend it; not fixed by --fix: the fix was undone" in outcome.err


@pytest.mark.parametrize("text", ["name: no\n", "a: &b 1\n", TEXT + "portt: 1\n", TEXT.replace("spark-01:", "x:")])
def test_an_inventory_that_does_not_load_is_not_touched(cli: Cli, lab: Path, text: str) -> None:
    lab.write_text(text)
    outcome = cli("check", "lab.yaml", "--fix")
    assert (outcome.code, outcome.out, lab.read_text()) == (2, "", text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gone.yaml"], "gone.yaml does not exist; name an inventory file"),
        (["."], ". is a directory; name an inventory file"),
        (["link.yaml"], "link.yaml is a symbolic link; pass the path of the file itself to --fix"),
        (["lab.yaml", "--format", "sarif"], "--fix prints a diff, which --format sarif cannot contain"),
        (["lab.yaml", "--format", "github"], "use text or json"),
        (["lab.yaml", "--select", "ZZZ"], "unknown rule 'ZZZ'"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_read(cli: Cli, lab: Path, arguments: list[str], says: str) -> None:
    (lab.parent / "link.yaml").symlink_to("lab.yaml")
    outcome = cli("check", "--fix", *arguments)
    assert (outcome.code, outcome.out, lab.read_text()) == (2, "", TEXT)
    assert says in outcome.err


def test_a_file_that_cannot_be_written_stays(cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "lab.yaml")

    monkeypatch.setattr(Path, "replace", refuse)
    outcome = cli("check", "lab.yaml", "--fix")
    assert (outcome.code, outcome.out, lab.read_text()) == (6, "", TEXT)
    assert outcome.err == "sparkiac: lab.yaml: Permission denied\n"
    assert [*lab.parent.iterdir()] == [lab]


def test_a_file_that_somebody_changes_meanwhile_is_theirs(cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = rules.check

    def check(*given: object) -> object:
        lab.write_text("theirs")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rules, "check", check)
    outcome = cli("check", "lab.yaml", "--fix")
    assert (outcome.code, outcome.out, lab.read_text()) == (5, "", "theirs")
    assert "lab.yaml changed during the check" in outcome.err
