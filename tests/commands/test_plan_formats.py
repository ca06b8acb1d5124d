"""`sparkiac plan` in a terminal, in a pipe, as JSON and as a page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
from rich.cells import cell_len

from sparkiac import pipeline
from tests.commands.looks import printed_on_terminal
from tests.conftest import ROOT
from tests.plan.fleets import LOCK, ONES, deployment, planned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

MEASURED: Final = "measured: {overhead_bytes: 3221225472, graphs_bytes: 1073741824}"
ASR: Final = (
    f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01, memory_gib: 8}}}}\n"
)


@pytest.fixture
def written(folder: Path) -> Callable[[str], None]:
    """Return a function that writes the inventory of this folder."""
    (folder / "lab.lock.yaml").write_text(LOCK)
    return lambda text: (folder / "lab.yaml").write_text(text) and None


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_bar_is_as_wide_as_the_terminal(
    cli: Cli, written: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED) + ASR)
    monkeypatch.setenv("COLUMNS", columns)
    lines = cli("plan", "lab.yaml").out.splitlines()
    assert max(cell_len(line) for line in lines) <= int(columns)
    start = lines.index("memory 119.0 GiB, driver 580")
    verdict, bar = lines[start + 1 : start + 3]
    assert verdict == "fits: 38.6 GiB left free"
    assert len(bar) == int(columns)
    runs = [(match[0], len(match[0])) for match in re.finditer(r"(.)\1*", bar)]
    assert [run[0] for run, _ in runs] == ["█", "▓", "▒", "▓", "▞", "░", "·"]
    for (_, width), gib in zip(runs, (14.9, 3, 41.6, 1, 8, 11.9, 38.6), strict=True):
        assert abs(width - gib * int(columns) / 119) <= 1


def test_the_legend_names_every_part_in_the_order_of_the_bar(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED) + ASR)
    lines = cli("plan", "lab.yaml").out.splitlines()
    start = lines.index("memory 119.0 GiB, driver 580") + 3
    assert [" ".join(line.split()) for line in lines[start : start + 8]] == [
        "█ chat weights 14.9 GiB tensors of the locked files",
        "▓ chat runtime 3.0 GiB measured: startup log",
        "▒ chat KV cache 41.6 GiB what the other terms leave",
        "▓ chat CUDA graphs 1.0 GiB [1]",
        "▞ asr 8.0 GiB the inventory",
        "░ processes of vLLM 4.3 GiB assumed [2]",
        "░ system and page cache 7.6 GiB assumed [3]",
        "· left free 38.6 GiB not used",
    ]
    notes = " ".join(" ".join(lines[lines.index("Where sizes come from:") :]).split())
    assert "[3] SM121 reference L17: use at most 0.90 of the memory" in notes


def test_what_is_not_known_is_not_free_memory(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}") + ASR.replace(", memory_gib: 8", ""))
    out = cli("plan", "lab.yaml").out
    assert re.search(r"░\?+\n", out)
    assert "? left free             at most 47.5 GiB unknown, missing: asr" in out


def test_where_the_memory_ends_is_marked(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.9}", MEASURED) + ASR.replace("8}", "40}"))
    lines = cli("plan", "lab.yaml").out.splitlines()
    [number] = [number for number, line in enumerate(lines) if line.endswith("the memory ends here ^")]
    bar = lines[number - 1]
    assert "·" not in bar
    total = 0.9 * 119 + 1 + 40 + 11.9
    assert abs(lines[number].index("^") - 119 / total * len(bar)) <= 1
    assert any("over budget" in line for line in lines)


def test_a_terminal_shows_colours_unless_it_is_told_not_to(folder: Path, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED))
    coloured = printed_on_terminal("plan", "lab.yaml", cwd=folder, env={"PYTHONPATH": str(ROOT)}).decode()
    plain = printed_on_terminal("plan", "lab.yaml", cwd=folder, env={"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}).decode()
    assert "\x1b[34m█" in coloured
    assert not re.search(r"\x1b\[[\d;]*3[0-7]m", plain)
    strip = lambda text: [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()]  # noqa: E731
    assert strip(coloured) == strip(plain)


def test_a_stream_of_another_encoding_still_gets_its_bars(folder: Path, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}", MEASURED))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "sparkiac", "plan", "lab.yaml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "█ chat weights" in done.stdout.decode()


def host(cli: Cli) -> dict[str, Any]:
    """Return the memory of the one host as JSON."""
    found: dict[str, Any] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"][0]
    assert not {"budget", "proofs"} & set(found)
    memory: dict[str, Any] = found["memory"]
    return memory


def test_json_has_the_proof_under_stable_keys(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}", "workload: {users: 2, context: 65536}", MEASURED))
    memory = host(cli)
    keys = ["accounts", "headroom_bytes", "loading", "most_bytes", "parts", "total_bytes", "verdict"]
    assert sorted(memory) == keys
    assert memory["loading"].keys() == {"name", "low_bytes", "high_bytes", "resting_bytes"}
    assert memory["loading"]["low_bytes"] < memory["loading"]["high_bytes"] < memory["loading"]["resting_bytes"]
    assert sorted(memory["verdict"]) == ["reason", "word"]
    part = ["assumed", "high_bytes", "kind", "low_bytes", "name", "owner", "size_bytes", "source"]
    assert sorted(memory["parts"][0]) == part
    [account] = memory["accounts"]
    assert sorted(account) == [
        *("advice", "assumes", "busy", "compared", "context", "decode", "first_token", "fit", "inside", "leads"),
        *("max_num_seqs", "name", "outside", "pool", "record", "request_bytes", "requested", "shortage_bytes", "stall"),
        *("steps", "unused_records", "utilization", "workload"),
    ]
    assert account["workload"] == {"users": 2, "context": 65536}
    assert sorted(account["advice"]) == ["freed_bytes", "pool_bytes", "told", "utilization"]
    assert sorted(account["steps"][0]) == ["concurrency", "host_bytes", "pool_bytes", "tokens", "utilization"]
    assert account["fit"]["one"] is account["fit"]["all"] is True


def test_json_keys_do_not_change_with_the_fields_of_the_plan(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment())
    [host] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"]
    [container] = host["containers"]
    assert {"documents", "links", "starts"} <= host.keys()
    assert (container["links"], container["command"]["prelude"], container["server"]["cautions"]) == ([], [], [])


def test_json_says_unknown_with_what_is_missing(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.5}") + ASR.replace(", memory_gib: 8", ""))
    memory = host(cli)
    assert memory["headroom_bytes"] == {"unknown": ["asr"]}
    assert memory["most_bytes"] > 0
    assert memory["accounts"][0]["first_token"] == {"unknown": ["published prefill rate"]}


def test_the_page_goes_to_standard_output_and_findings_to_the_other_one(
    cli: Cli, written: Callable[[str], None]
) -> None:
    written(deployment("set: {gpu_memory_utilization: 0.9}", MEASURED) + ASR.replace("8}", "40}"))
    outcome = cli("plan", "lab.yaml", "--format", "html")
    assert outcome.code == 1
    assert outcome.out.startswith("<!doctype html>\n")
    assert outcome.out.endswith("</html>\n")
    assert "MEM103" in outcome.out
    assert "error MEM103" in outcome.err


def test_one_shortage_has_one_figure_everywhere(cli: Cli, written: Callable[[str], None]) -> None:
    """The finding, the terminal, the page, PLAN.md and JSON count the same terms, the reserve among them."""
    text = deployment("set: {gpu_memory_utilization: 0.9}", MEASURED) + ASR.replace("8}", "40}")
    written(text)
    [finding] = [line for line in cli("check", "lab.yaml").err.splitlines() if "error MEM103" in line]
    said = "41.0 GiB over budget"
    assert f"spark-01 is {said}: it has 119.0 GiB, and these are needed: chat 107.1 GiB" in finding
    assert "processes of vLLM 4.3 GiB, system and page cache 7.6 GiB" in finding
    memory = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"][0]["memory"]
    assert f"{-memory['headroom_bytes'] / 2**30:.1f} GiB over budget" == said
    assert memory["most_bytes"] == memory["headroom_bytes"]
    tree = {artifact.path: artifact.content.decode() for artifact in pipeline.render(planned(text))}
    pages = (cli("plan", "lab.yaml").out, cli("plan", "lab.yaml", "--format", "html").out, tree["PLAN.md"])
    for page in pages:
        assert set(re.findall(r"[\d.]+ GiB over budget", page)) == {said}


def test_there_is_no_page_of_a_bad_inventory(cli: Cli, written: Callable[[str], None]) -> None:
    written("name: lab\n")
    outcome = cli("plan", "lab.yaml", "--format", "html")
    assert (outcome.code, outcome.out) == (2, "")
    assert "error INV" in outcome.err


def test_an_explanation_is_not_a_page(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment())
    outcome = cli("plan", "lab.yaml", "--explain", "name", "--format", "html")
    assert outcome.code == 2
    assert "--explain prints text or JSON" in outcome.err


def test_the_waivers_are_listed_with_their_ends(cli: Cli, written: Callable[[str], None]) -> None:
    written(deployment('allow: [{code: SEC100, reason: a closed network, until: {release: "0.34"}}]'))
    lines = cli("plan", "lab.yaml").out.splitlines()
    at = lines.index("waivers")
    assert re.split(r"  +", lines[at + 2].strip()) == ["waives", "for", "until", "reason"]
    assert any(
        re.split(r"  +", line.strip()) == ["SEC100", "deployments.chat", "release 0.34", "a closed network"]
        for line in lines[at:]
    )
    [listed] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["waivers"]
    assert (listed["code"], listed["release"], listed["image_after"]) == ("SEC100", "0.34", None)
