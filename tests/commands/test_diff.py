"""`sparkiac diff`: what a change of an inventory does to the hosts."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.upstream import git
from sparkiac.upstream.programs import ProgramError
from tests.plan.fleets import COMMIT, LOCK, ONES, PAIR, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

TWO: Final = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
THREES: Final = "sha256:" + "4" * 64


@pytest.fixture
def put(folder: Path) -> Callable[..., None]:
    """Return a function that writes old.yaml and new.yaml with their locks."""

    def write(old: str, new: str, *, old_lock: str = LOCK, new_lock: str = LOCK) -> None:
        for name, text, lock in (("old", old, old_lock), ("new", new, new_lock)):
            (folder / f"{name}.yaml").write_text(text)
            (folder / f"{name}.lock.yaml").write_text(lock)

    return write


def compared(cli: Cli, *arguments: str) -> dict[str, Any]:
    """Return the comparison as data."""
    outcome = cli("diff", *(arguments or ("old.yaml", "new.yaml")), "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def steps(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(host["host"], each["action"], each["unit"]) for host in found["hosts"] for each in host["units"]]


def test_an_option_that_changes_memory(cli: Cli, put: Callable[..., None]) -> None:
    measured = "measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}"
    put(
        deployment("set: {gpu_memory_utilization: 0.5}", measured),
        deployment("set: {gpu_memory_utilization: 0.6}", measured),
    )
    outcome = cli("diff", "old.yaml", "new.yaml")
    assert outcome == type(outcome)(
        0,
        "old.yaml → new.yaml\n"
        "1 of 1 host changes. Units: 1 to restart.\n"
        "\n"
        "Hosts:\n"
        "  spark-01: restart chat (changed: /etc/sparkiac/chat/compose.yaml)\n"
        "  spark-01: write 2 files (/etc/sparkiac/generation.json, /etc/sparkiac/preflight.json)\n"
        "  order: spark-01\n"
        "\n"
        "Memory:\n"
        "  spark-01: chat 60.5 GiB → 72.4 GiB\n"
        "  spark-01: left free 46.6 GiB → 34.7 GiB\n"
        "\n"
        "Versions and options:\n"
        "  chat: option gpu_memory_utilization: 0.5 → 0.6\n",
        "",
    )


def test_memory_is_in_bytes_and_says_whether_all_of_it_is_known(cli: Cli, put: Callable[..., None]) -> None:
    measured = "measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}"
    chat = deployment("set: {gpu_memory_utilization: 0.5}", measured)
    asr = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01}}}}\n"
    put(chat, chat + asr)
    sizes = {each["name"]: (each["before"], each["after"]) for each in compared(cli)["memory"]}
    total = 119 << 30
    left = total - total // 2 - (1 << 30) - total // 10
    assert sizes == {
        "asr": (None, {"text": "unknown", "size_bytes": None, "exact": False}),
        "left free": (
            {"text": "46.6 GiB", "size_bytes": left, "exact": True},
            {"text": "at most 46.6 GiB", "size_bytes": left, "exact": False},
        ),
    }


def test_units_that_go_stop_in_the_reverse_order_of_their_start(cli: Cli, put: Callable[..., None]) -> None:
    others = "".join(
        f"  {name}: {{recipe: base/single-spark, model: example/model, hosts: spark-01, port: {port}}}\n"
        for port, name in enumerate(("aa", "bb", "cc", "dd"), 8101)
    )
    put(deployment() + others, deployment())
    stopped = [unit for _, action, unit in steps(compared(cli)) if action == "remove"]
    assert stopped == [f"sparkiac-{name}" for name in ("dd", "cc", "bb", "aa")]


def test_settings_of_the_container_and_timeouts(cli: Cli, put: Callable[..., None]) -> None:
    put(
        deployment("container: {tmp_size_gib: 1, ipc: host, ulimits: {stack: 9}}", "timeouts: {stop_s: 60}"),
        deployment("container: {tmp_size_gib: 2, read_only: false}", "timeouts: {stop_s: 70}"),
    )
    assert [(each["what"], each["before"], each["after"]) for each in compared(cli)["values"]] == [
        ("container.ipc", '"host"', '"private"'),
        ("container.read_only", "true", "false"),
        ("container.tmp_size_gib", "1.0 GiB", "2.0 GiB"),
        ("container.ulimits", '{"stack": 9}', None),
        ("timeouts.stop_s", "60 s", "70 s"),
    ]


def test_a_description_restarts_nothing(cli: Cli, put: Callable[..., None]) -> None:
    """The host decides so too: `effective` is its own code."""
    put(deployment(), deployment("description: Fast answers"))
    found = compared(cli)
    assert steps(found) == []
    [host] = found["hosts"]
    assert any("sparkiac-chat.service" in each["because"] for each in host["effects"])


def test_the_same_inventory_changes_nothing(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(), f"# a comment\n{deployment()}")
    outcome = cli("diff", "old.yaml", "new.yaml")
    assert outcome.out == "old.yaml → new.yaml\nNo difference: an apply changes no host.\n"
    assert compared(cli)["differs"] is False


def test_a_digest_and_a_commit_that_move(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(), deployment(), new_lock=LOCK.replace(ONES, THREES).replace(COMMIT, "5" * 40))
    found = compared(cli)
    assert steps(found) == [("spark-01", "restart", "sparkiac-chat")]
    assert [(each["what"], each["before"], each["after"]) for each in found["values"]] == [
        ("image", f"nvcr.io/nvidia/vllm:26.04-py3 {ONES}", f"nvcr.io/nvidia/vllm:26.04-py3 {THREES}"),
        ("model example/model", COMMIT, "5" * 40),
    ]
    shown = cli("diff", "old.yaml", "new.yaml").out
    assert f"chat: model example/model: {COMMIT[:12]} → {'5' * 12}\n" in shown
    assert "5" * 13 not in shown


def test_a_deployment_that_moves_to_another_host(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(host=TWO), deployment(host=TWO).replace("hosts: spark-01", "hosts: spark-02"))
    found = compared(cli)
    assert steps(found) == [("spark-01", "remove", "sparkiac-chat"), ("spark-02", "start", "sparkiac-chat")]
    assert found["units"] == [{"kind": "deployment", "name": "chat", "before": ["spark-01"], "after": ["spark-02"]}]
    assert "deployment chat moves from spark-01 to spark-02\n" in cli("diff", "old.yaml", "new.yaml").out


def test_a_service_that_comes_and_one_that_goes(cli: Cli, put: Callable[..., None]) -> None:
    asr = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01}}}}\n"
    put(deployment(), deployment() + asr)
    assert "  service asr is new on spark-01\n" in cli("diff", "old.yaml", "new.yaml").out
    assert steps(compared(cli)) == [("spark-01", "start", "sparkiac-asr")]
    assert "  service asr is removed from spark-01\n" in cli("diff", "new.yaml", "old.yaml").out
    assert steps(compared(cli, "new.yaml", "old.yaml")) == [("spark-01", "remove", "sparkiac-asr")]


def test_all_nodes_of_a_group_restart_together(cli: Cli, put: Callable[..., None]) -> None:
    put(PAIR, PAIR.replace("    address: 192.168.1.12\n", "    address: 192.168.1.12\n    model_store: /data\n"))
    found = compared(cli)
    assert steps(found) == [("spark-01", "restart", "sparkiac-big"), ("spark-02", "restart", "sparkiac-big")]
    reasons = [host["units"][0]["because"] for host in found["hosts"]]
    assert reasons[0] == "changed: /etc/sparkiac/big/group.json"  # the version that all nodes start
    assert reasons[1].startswith("changed: /etc/sparkiac/big/compose.yaml")
    assert found["order"] == [["spark-01", "spark-02"]]


def test_a_check_that_changes_restarts_nothing(cli: Cli, put: Callable[..., None]) -> None:
    """The MTU of a link is only checked; the other host of the group has no changed file."""
    put(PAIR, PAIR.replace("address: 192.168.177.12/24}", "address: 192.168.177.12/24, mtu: 9000}"))
    assert cli("diff", "old.yaml", "new.yaml").out.splitlines()[:5] == [
        "old.yaml → new.yaml",
        "2 of 2 hosts change. Units: none restarts.",
        "",
        "Hosts:",
        "  spark-01: no unit restarts; it changes with its group",
    ]


def test_a_unit_of_a_turn_restarts_only_in_it(cli: Cli, put: Callable[..., None]) -> None:
    turns = "turns: {day: [chat], night: [asr]}\n"
    asr = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01}}}}\n"
    put(deployment() + asr + turns, deployment("set: {max_num_seqs: 3}") + asr + turns)
    [step] = [each for each in compared(cli)["hosts"][0]["units"] if each["unit"] == "sparkiac-chat"]
    assert step["because"] == "changed: /etc/sparkiac/chat/compose.yaml; only during its turns: day"


def test_hosts_that_come_go_and_retire(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(host=TWO), deployment())
    assert (
        "  spark-02 is no longer in the inventory: its units keep running; list it under `retired` to remove them\n"
        in (cli("diff", "old.yaml", "new.yaml").out)
    )
    assert compared(cli)["dropped"] == ["spark-02"]
    assert compared(cli, "new.yaml", "old.yaml")["added"] == ["spark-02"]
    put(deployment(host=TWO), deployment() + "retired: {spark-02: {address: 192.168.1.12}}\n")
    found = compared(cli)
    assert (found["dropped"], found["retired"]) == ([], ["spark-02"])


def test_a_host_at_another_address(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(), deployment().replace("192.168.1.11", "192.168.1.21"))
    assert "spark-01 is reached at another address: 192.168.1.11 → 192.168.1.21\n" in (
        cli("diff", "old.yaml", "new.yaml").out
    )


def test_new_findings_have_their_place_and_old_ones_are_not_repeated(cli: Cli, put: Callable[..., None]) -> None:
    worse = deployment("set: {gpu_memory_utilization: 0.97}")
    put(deployment("image: nvcr.io/nvidia/vllm:26.03-py3"), worse)
    found = compared(cli)
    assert "MEM001" in {each["code"] for each in found["new_findings"]}
    assert {each["file"] for each in found["new_findings"]} == {"new.yaml"}
    assert "IMG003" in {each["code"] for each in found["gone_findings"]}
    put(worse, f"# one line more\n{worse}")
    assert compared(cli)["new_findings"] == []


def test_a_secret_that_a_unit_newly_reads(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(), deployment("api_key: {secret: chat_key}"))
    found = compared(cli)
    assert found["hosts"][0]["secrets"] == ["chat_key"]
    assert "etc/sparkiac/secrets/chat_key" in found["hosts"][0]["units"][0]["because"]


def test_markdown_is_not_formatted_by_names(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(), deployment("api_key: {secret: a_key_of_mine}"))
    out = cli("diff", "old.yaml", "new.yaml", "--format", "markdown").out
    assert out.startswith(
        "### old.yaml → new.yaml\n\n1 of 1 host changes. Units: 1 to restart.\n\n**Hosts**\n\n- spark-01: "
    )
    assert "- spark-01: write secret a\\_key\\_of\\_mine (new or changed)\n" in out


def test_an_inventory_that_is_not_valid_is_refused(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment(), deployment("prot: 8001"))
    outcome = cli("diff", "old.yaml", "new.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("new.yaml:10:5: error ")
    assert cli("diff", "old.yaml", "missing.yaml").code == 2


def test_two_inventories_that_are_not_valid_give_one_document(cli: Cli, put: Callable[..., None]) -> None:
    put(deployment("prot: 8001"), deployment("prot: 8002"))
    outcome = cli("diff", "old.yaml", "new.yaml", "--format", "json")
    assert outcome.code == 2
    assert {each["file"] for each in json.loads(outcome.out)["findings"]} == {"old.yaml", "new.yaml"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name two inventories, OLD and NEW"),
        (["old.yaml"], "name two inventories, OLD and NEW"),
        (["--git", "HEAD"], "name an inventory file; the directory inventories has none"),
        (["--git", "HEAD", "old.yaml", "new.yaml"], "--git REV takes one inventory"),
    ],
)
def test_a_wrong_number_of_inventories(cli: Cli, put: Callable[..., None], arguments: list[str], says: str) -> None:
    put(deployment(), deployment())
    outcome = cli("diff", *arguments)
    assert outcome.code == 2
    assert says in outcome.err


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a Git repository whose commit has an inventory with its lock, in a folder."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(deployment())
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "."], [*who, "commit", "--quiet", "-m", "one"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def test_a_commit_is_compared_with_the_disk(cli: Cli, repository: Path) -> None:
    lab = "inventories/lab.yaml"
    assert compared(cli, "--git", "main", lab)["differs"] is False
    (repository / "inventories/lab.lock.yaml").write_text(LOCK.replace(ONES, THREES))
    found = compared(cli, "--git", "HEAD", lab)
    assert (found["old"], found["new"]) == ("HEAD:inventories/lab.yaml", lab)
    assert [each["what"] for each in found["values"]] == ["image"]
    assert steps(found) == [("spark-01", "restart", "sparkiac-chat")]


def test_records_are_taken_from_the_commit(cli: Cli, repository: Path) -> None:
    """A record that only the commit has is read from it: this one is broken, and the message names the commit."""
    folder = repository / "inventories/measurements"
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    for words in (["add", "."], [*who, "commit", "--quiet", "-m", "two"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    (folder / "a.json").unlink()
    outcome = cli("diff", "--git", "main", "inventories/lab.yaml")
    assert outcome.code == 2
    assert "main:inventories/measurements/a.json cannot be read: " in outcome.err


@pytest.mark.parametrize(
    ("revision", "reason"),
    [
        ("nope", "nope is not a commit, branch or tag of this repository"),
        ("--output=x", "--output=x is not a revision"),
        ("", "an empty text is not a revision; name a commit, a branch or a tag"),
    ],
)
def test_a_revision_that_does_not_exist(cli: Cli, repository: Path, revision: str, reason: str) -> None:
    outcome = cli("diff", f"--git={revision}", "inventories/lab.yaml")
    assert outcome.code == 2
    assert reason in outcome.err
    assert sorted(path.name for path in repository.iterdir()) == [".git", "inventories"]


@pytest.mark.usefixtures("repository")
def test_a_revision_instead_of_a_path(cli: Cli) -> None:
    outcome = cli("diff", "HEAD", "inventories/lab.yaml")
    assert outcome.code == 2
    assert "HEAD does not exist; " in outcome.err
    assert "to compare with a commit: sparkiac diff --git HEAD inventories/lab.yaml" in outcome.err
    assert "--git" not in cli("diff", "inventories/lba.yaml", "inventories/lab.yaml").err


@pytest.mark.usefixtures("repository")
def test_an_inventory_that_the_commit_does_not_have(cli: Cli, repository: Path) -> None:
    (repository / "inventories/new.yaml").write_text(deployment())
    outcome = cli("diff", "--git", "main", "inventories/new.yaml")
    assert outcome.code == 2
    assert "main has no inventories/new.yaml; name a commit that has it" in outcome.err


def test_outside_a_repository_the_reason_is_gits(cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(lab.parent))
    monkeypatch.setenv("LC_ALL", "C")
    outcome = cli("diff", "--git", "main", "lab.yaml")
    assert outcome.code == 2
    assert "lab.yaml cannot be read from main: not a git repository" in outcome.err


def test_advice_of_git_does_not_hide_its_reason(cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    outcome = cli("diff", "--git", "main", "inventories/lab.yaml")
    assert outcome.code == 2
    assert f"detected dubious ownership in repository at '{repository}'" in outcome.err


def test_a_symbolic_link_of_a_commit_is_refused(repository: Path) -> None:
    (repository / "inventories/link.yaml").symlink_to("lab.yaml")
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    for words in (["add", "."], [*who, "commit", "--quiet", "-m", "two"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    with pytest.raises(ProgramError, match=r"link\.yaml is a symbolic link in main"):
        git.files(repository / "inventories", "main", ["link.yaml"])


def test_content_is_as_committed(repository: Path) -> None:
    """Line ends and bytes that are not UTF-8 stay, also where attributes ask for a conversion."""
    (repository / ".gitattributes").write_text("*.yaml diff=upper\n")
    subprocess.run(["git", "config", "diff.upper.textconv", "tr a-z A-Z <"], cwd=repository, check=True)
    (repository / "inventories/raw.yaml").write_bytes(b"a: \xff\r\n")
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "core.autocrlf=false")
    for words in (["add", "."], [*who, "commit", "--quiet", "-m", "two"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    assert git.files(repository / "inventories", "main", ["raw.yaml"]) == {"raw.yaml": b"a: \xff\r\n"}
