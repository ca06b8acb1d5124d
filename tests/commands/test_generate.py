"""`sparkiac generate`: what it writes and what it says."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.commands.looks import contents, everything
from tests.plan.fleets import ONES, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

COMPOSE = "generated/lab/hosts/spark-01/etc/sparkiac/chat/compose.yaml"


def change(lab: Path) -> None:
    """Change the inventory so that some files change, one appears and one goes."""
    moved = deployment("description: Moved").replace("  chat:", "  talk:").replace("8001", "8009")
    (lab / "lab.yaml").write_text(moved)


def test_the_tree_goes_to_generated_and_its_name(cli: Cli, lab: Path) -> None:
    outcome = cli("generate", "lab.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert (lab / "generated/lab/PLAN.md").is_file()
    assert "+ generated/lab/PLAN.md\n" in outcome.out
    files = sum(path.is_file() for path in (lab / "generated/lab").rglob("*"))
    assert outcome.out.endswith(f"generated/lab: written: {files} new, 0 changed, 0 removed, 0 as before\n")


def test_the_files_of_a_new_or_removed_host_are_one_line_and_so_are_the_playbooks(cli: Cli, lab: Path) -> None:
    lines = cli("generate", "lab.yaml").out.splitlines()
    assert len(lines) <= 12
    assert "+ generated/lab/hosts/spark-01/: 6 files" in lines
    assert [line for line in lines if "playbooks" in line] == [lines[-2]]
    text = (lab / "lab.yaml").read_text()
    (lab / "lab.yaml").write_text(text.replace("8001", "8009"))
    changed = cli("generate", "lab.yaml").out
    assert f"~ {COMPOSE}\n" in changed
    assert "hosts/spark-01/:" not in changed
    (lab / "lab.yaml").write_text(text.replace("spark-01", "spark-09"))
    moved = cli("generate", "lab.yaml").out.splitlines()
    assert {"+ generated/lab/hosts/spark-09/: 6 files", "- generated/lab/hosts/spark-01/: 6 files"} <= set(moved)


def test_generate_writes_to_the_output_directory(cli: Cli, lab: Path) -> None:
    outcome = cli("generate", "lab.yaml", "--output", "some/where")
    assert outcome.code == 0
    assert (lab / "some/where/PLAN.md").is_file()
    assert not (lab / "generated").exists()


def test_a_second_run_changes_nothing_not_even_a_time(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    before = everything(lab)
    outcome = cli("generate", "lab.yaml")
    assert (outcome.code, outcome.out) == (0, "generated/lab: up to date\n")
    assert everything(lab) == before


def test_findings_are_shown_with_the_files_and_then_counted(cli: Cli, lab: Path) -> None:
    (lab / "lab.yaml").write_text((lab / "lab.yaml").read_text() + "    set: {gpu_memory_utilization: 0.9}\n")
    first = cli("generate", "lab.yaml").err
    assert "MEM001" in first
    [line] = [each for each in cli("generate", "lab.yaml").err.splitlines() if "shows all" in each]
    number, _, _ = first.splitlines()[-1].partition(";")
    assert re.fullmatch(rf"{number} \(.*MEM001.*\); sparkiac check lab\.yaml shows all", line)
    assert "warning MEM001" not in cli("generate", "lab.yaml", "--check").err
    assert "MEM001" in cli("generate", "lab.yaml", "--check", "--format", "json").out


def test_a_change_is_listed_file_by_file(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    change(lab)
    outcome = cli("generate", "lab.yaml")
    signs = {sign: re.findall(rf"^{re.escape(sign)} (\S+)$", outcome.out, re.MULTILINE) for sign in "+~-"}
    assert COMPOSE.replace("chat", "talk") in signs["+"]
    assert "generated/lab/PLAN.md" in signs["~"]
    assert COMPOSE in signs["-"]
    assert not (lab / COMPOSE).exists()
    assert re.search(r"written: \d+ new, \d+ changed, \d+ removed, \d+ as before$", outcome.out.strip())


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_nothing_is_written_by_a_look(cli: Cli, lab: Path, option: str) -> None:
    assert cli("generate", "lab.yaml", option).code == 3
    assert not (lab / "generated").exists()
    cli("generate", "lab.yaml")
    change(lab)
    before = everything(lab)
    assert cli("generate", "lab.yaml", option).code == 3
    assert everything(lab) == before


def test_check_says_what_would_be_written(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    change(lab)
    outcome = cli("generate", "lab.yaml", "--check")
    assert "~ generated/lab/PLAN.md\n" in outcome.out
    assert "would be written: " in outcome.out


def test_diff_is_a_patch_on_standard_output(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    (lab / "lab.yaml").write_text(deployment("bind: loopback"))
    outcome = cli("generate", "lab.yaml", "--diff")
    assert '-        host_ip: "192.168.1.11"' in outcome.out or '-      - host_ip: "192.168.1.11"' in outcome.out
    assert re.search(r'^\+ .*host_ip: "127.0.0.1"$', outcome.out, re.MULTILINE)
    assert "would be written" not in outcome.out
    assert "generated/lab: would be written: 0 new" in outcome.err


def test_force_takes_a_hand_edited_file_back(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    before = contents(lab)
    (lab / "generated/lab/PLAN.md").write_text("mine")
    assert cli("generate", "lab.yaml", "--force").code == 0
    assert contents(lab) == before


def test_a_first_look_without_a_lock_says_unlocked_wherever_a_digest_would_stand(cli: Cli, lab: Path) -> None:
    (lab / "lab.lock.yaml").unlink()
    outcome = cli("generate", "lab.yaml", "--allow-unlocked")
    assert outcome.code == 0
    assert "warning IMG003" in outcome.err
    for name in ("PLAN.md", "host_vars/spark-01/main.yml", "hosts/spark-01/etc/sparkiac/chat/compose.yaml"):
        text = (lab / "generated/lab" / name).read_text()
        assert "nvcr.io/nvidia/vllm@UNLOCKED" in text, name
        assert "@sha256:" not in text, name


def test_the_manifest_names_inputs_without_folders(cli: Cli, lab: Path) -> None:
    cli("generate", str(lab / "lab.yaml"))
    manifest = json.loads((lab / "generated/lab/.sparkiac-manifest.json").read_text())
    assert set(manifest["inputs"]) == {"lab.yaml", "lab.lock.yaml"}
    assert str(lab) not in json.dumps(manifest)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Read standard output, which holds one JSON document whatever happened."""
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["format_version"] == 1
    return found


def test_json_shows_what_changed(cli: Cli, lab: Path) -> None:
    first = as_json(cli("generate", "lab.yaml", "--format", "json"))
    assert (first["output"], first["findings"]) == ("generated/lab", [])
    assert "PLAN.md" in first["created"]
    assert (first["changed"], first["removed"], first["unchanged"]) == ([], [], 0)
    again = cli("generate", "lab.yaml", "--format", "json", "--check")
    assert (again.code, as_json(again)["unchanged"]) == (0, len(first["created"]))
    change(lab)
    stale = cli("generate", "lab.yaml", "--format", "json", "--diff")
    assert stale.code == 3
    assert "hosts/spark-01/etc/sparkiac/chat/compose.yaml" in as_json(stale)["removed"]


def test_json_shows_why_nothing_was_written(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    (lab / "generated/lab/PLAN.md").write_text("mine")
    outcome = cli("generate", "lab.yaml", "--format", "json")
    assert outcome.code == 3
    assert "PLAN.md: edited by hand" in as_json(outcome)["error"]
    assert as_json(outcome)["output"] == "generated/lab"


def test_findings_are_shown_even_when_the_writer_refuses(cli: Cli, lab: Path) -> None:
    (lab / "lab.yaml").write_text(service("allow: [{code: ENT001, reason: x}]"))
    cli("generate", "lab.yaml")
    (lab / "generated/lab/PLAN.md").write_text("mine")
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 3
    assert "warning WVR001" in outcome.err
    assert "edited by hand" in outcome.err


@pytest.mark.parametrize(
    ("text", "code", "rule"),
    [
        (deployment("variant: x"), 2, "REF001"),
        (service("command: [vllm, serve, x]").replace("example.org/asr", "vllm/vllm-openai"), 1, "ENT001"),
        (deployment("image: vllm/vllm-openai:v0.19.0"), 4, "IMG003"),
        ("", 2, "YML004"),
    ],
)
def test_json_shows_findings(cli: Cli, lab: Path, text: str, code: int, rule: str) -> None:
    (lab / "lab.yaml").write_text(text)
    outcome = cli("generate", "lab.yaml", "--format", "json")
    assert (outcome.code, outcome.err) == (code, "")
    assert [finding["code"] for finding in as_json(outcome)["findings"]] == [rule]


def test_a_fleet_of_its_own_name_has_a_tree_of_its_own(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    before = everything(lab / "generated/lab")
    (lab / "other.yaml").write_text(f"name: other\nhosts: {{h: {{address: 10.0.0.1}}}}\n# {ONES}\n")
    assert cli("generate", "other.yaml").code == 0
    assert everything(lab / "generated/lab") == before
    assert (lab / "generated/other/PLAN.md").is_file()


def test_kubernetes_has_a_folder_of_its_own_and_says_what_is_not_covered(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml")
    outcome = cli("generate", "lab.yaml", "--target", "kubernetes")
    assert outcome.code == 0
    assert "+ generated/lab.kubernetes/kustomization.yaml\n" in outcome.out
    notes = (lab / "generated/lab.kubernetes/NOTES.md").read_text()
    shown = [line.removeprefix("not covered: ") for line in outcome.err.splitlines()]
    assert shown
    assert notes.endswith("## Not covered\n\n" + "".join(f"- {line}\n" for line in shown))
    assert cli("generate", "lab.yaml", "--target", "kubernetes", "--check").out.endswith("up to date\n")
    assert cli("generate", "lab.yaml", "--check").code == 0
    found = json.loads(cli("generate", "lab.yaml", "--target", "kubernetes", "--format", "json").out)
    assert found["not_covered"] == shown


@pytest.mark.parametrize("targets", [("ansible", "kubernetes"), ("kubernetes", "ansible")])
def test_the_files_of_one_target_do_not_replace_those_of_the_other(
    cli: Cli, lab: Path, targets: tuple[str, str]
) -> None:
    first, second = targets
    assert cli("generate", "lab.yaml", "--target", first, "--output", "out").code == 0
    before = everything(lab / "out")
    outcome = cli("generate", "lab.yaml", "--target", second, "--output", "out", "--force")
    assert outcome.code == 2
    assert f"out contains the files for {first}, which those for {second} would replace" in outcome.err
    assert "choose another directory for --output, or remove out first" in outcome.err
    assert everything(lab / "out") == before


def test_a_file_for_kubernetes_that_was_edited_is_not_overwritten(cli: Cli, lab: Path) -> None:
    cli("generate", "lab.yaml", "--target", "kubernetes")
    (lab / "generated/lab.kubernetes/chat/service.yaml").write_text("mine\n")
    outcome = cli("generate", "lab.yaml", "--target", "kubernetes")
    assert (outcome.code, "chat/service.yaml: edited by hand" in outcome.err) == (3, True)


def test_an_unknown_target_and_one_that_cannot_express_the_inventory_are_bad_usage(cli: Cli, lab: Path) -> None:
    outcome = cli("generate", "lab.yaml", "--target", "kubernets")
    assert (outcome.code, "unknown target 'kubernets'; did you mean 'kubernetes'?" in outcome.err) == (2, True)
    (lab / "lab.yaml").write_text(deployment().replace("  chat:", "  chat-:"))
    outcome = cli("generate", "lab.yaml", "--target", "kubernetes")
    assert (outcome.code, "do not end with a hyphen: rename chat-" in outcome.err) == (2, True)
    assert not (lab / "generated").exists()


def test_pods_without_pins_are_named(cli: Cli, lab: Path) -> None:
    (lab / "lab.lock.yaml").unlink()
    outcome = cli("generate", "lab.yaml", "--target", "kubernetes", "--allow-unlocked")
    assert (outcome.code, "Pods with these images or models do not start." in outcome.err) == (0, True)
    assert "**Cannot be applied" in (lab / "generated/lab.kubernetes/NOTES.md").read_text()


def test_variables_of_a_former_version_are_removed(cli: Cli, lab: Path) -> None:
    """Ansible would merge host_vars/spark-01.yml with the folder beside it."""
    assert cli("generate", "lab.yaml").code == 0
    tree, former = lab / "generated/lab", b"former: true\n"
    manifest = json.loads((tree / ".sparkiac-manifest.json").read_text())
    (tree / "host_vars/spark-01.yml").write_bytes(former)
    digest = hashlib.sha256(former).hexdigest()
    manifest["files"]["host_vars/spark-01.yml"] = {"mode": "0644", "sha256": digest}
    (tree / ".sparkiac-manifest.json").write_text(json.dumps(manifest))
    assert cli("generate", "lab.yaml").code == 0
    assert [path.name for path in (tree / "host_vars").iterdir()] == ["spark-01"]
