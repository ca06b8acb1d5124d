"""What no inventory can get wrong, because there is no way to say it: the codes that need no rule."""

from __future__ import annotations

import re
from typing import Final

import pytest

from sparkiac import catalog, pipeline, rules
from sparkiac.memory.values import GIB
from sparkiac.plan.facts import facts
from sparkiac.resolve.catalogued import named
from sparkiac.rules.pages import others
from tests.conftest import ROOT
from tests.plan.fleets import checked, deployment, planned
from tests.rules.coverage_fleet import COVERED

_RULES: Final = {check.rule.code for check in rules.checks()}


@pytest.mark.parametrize("code", COVERED)
def test_what_covers_a_code_is_there(code: str) -> None:
    how = COVERED[code]
    if how == "rule":
        assert code in _RULES
    elif how == "symptom":
        assert code in {symptom.code for symptom in catalog.symptoms()}
    elif how.startswith("merged into "):
        assert how.rpartition(" ")[2] in _RULES | {other.rule.code for other in others()}
    elif how.startswith("by construction: "):
        file, _, name = how.partition(": ")[2].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text()
    else:
        assert how.startswith(("not done: ", "dropped: "))


@pytest.mark.parametrize("key", ["memory", "mem_limit", "memory_gib"])
def test_no_container_has_a_cap_of_memory(key: str) -> None:
    """MEM008: the GPU's memory is the machine's, and a cap would end the server while it loads."""
    outcome = checked(deployment(f"container: {{{key}: 64}}"))
    assert {finding.code for finding in outcome.report.findings} == {"INV001"}
    for artifact in pipeline.render(planned(deployment())):
        if artifact.path.endswith("compose.yaml"):
            assert not re.search(rb"mem_limit|memswap|memory:", artifact.content)


def test_sizes_in_gb_and_gib_are_bytes_at_once() -> None:
    """MEM022: 10^9 and 2^30 differ by 7%."""
    in_gib = facts(named("nvidia/qwen3.6-35b-a3b-nvfp4").entries, model="nvidia/Qwen3.6-35B-A3B-NVFP4")
    in_gb = facts(named("redhatai/qwen3.6-35b-a3b-nvfp4").entries, model="RedHatAI/Qwen3.6-35B-A3B-NVFP4")
    assert in_gib is not None
    assert in_gb is not None
    assert (in_gib.weights_bytes, in_gb.weights_bytes) == (int(21.94 * GIB), 23_500_000_000)
    assert planned(deployment()).hosts[0].memory_bytes == 119 * GIB


def test_a_unit_starts_after_docker_and_the_network() -> None:
    """SYS005: and it is started at boot."""
    files = {artifact.path: artifact.content.decode() for artifact in pipeline.render(planned(deployment()))}
    unit = files["hosts/spark-01/etc/systemd/system/sparkiac-chat.service"]
    after = re.findall(r"^After=(.*)$", unit, re.MULTILINE)
    assert {"docker.service", "network-online.target"} <= {name for line in after for name in line.split()}
    assert re.search(r"^Requires=.*docker\.service", unit, re.MULTILINE)
    assert re.search(r"^Wants=.*network-online\.target", unit, re.MULTILINE)
    assert "[Install]" in unit


@pytest.mark.parametrize("path", ["~/models", "$HOME/models", "models", "$(pwd)/models"])
def test_no_path_waits_for_a_shell(path: str) -> None:
    """SYS006: neither systemd nor Compose would expand it as a shell does."""
    outcome = checked(deployment(defaults=f"{{model_store: '{path}'}}"))
    assert {finding.code for finding in outcome.report.findings} == {"INV002"}


def test_a_recipe_of_another_tool_is_not_an_inventory() -> None:
    """MN018: it is refused as a whole, so that nothing of it is lost in silence."""
    keys = "recipe_version: '1'\nname: x\ncontainer: vllm-node-dsv4\ncluster_only: true\ncommand: serve {port}\n"
    outcome = checked(keys)
    [finding] = outcome.report.findings
    assert (finding.code, finding.message) == ("INV003", "not an inventory: the file is in eugr format")
    assert outcome.plan is None


def test_no_query_uses_a_gauge_that_no_server_has() -> None:
    """MON002: the rate of prefix cache hits is put together from two counters."""
    places = [path for top in ("sparkiac", "templates", "playbooks") for path in (ROOT / top).rglob("*.*")]
    texts = [path.read_bytes() for path in places if path.is_file() and path.suffix != ".pyc"]
    assert len(texts) > len(COVERED)
    assert not [text for text in texts if b"gpu_prefix_cache_hit_rate" in text]


def test_contested_figures_stand_side_by_side_with_their_sources() -> None:
    """BEN007: what users measured of one model differs, and none of it is sparkiac's."""
    names = ("deepseek-ai/deepseek-v4-flash", "deepseek-ai/deepseek-v4-flash-pinned")
    entries = [found.value for name in names if (found := catalog.recipe(name)) is not None]
    figures = [figure for entry in entries if entry is not None for figure in entry.measured]
    lines = {line for figure in figures for line in re.findall(r"L\d+", figure.source)}
    assert len({figure.value for figure in figures}) > len(names)
    assert len(lines) > len(names)
    assert all(figure.source for figure in figures)
