"""What a platform is stands in its file: another machine with unified memory is one file more."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import sparkiac
from sparkiac import catalog
from sparkiac.memory.values import Unknown
from sparkiac.rules import deployments
from tests.plan.fleets import PAIR, checked, deployment, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

THOR: Final = """\
title: NVIDIA Jetson Thor (sm_110, unified memory)
architecture: arm64
gpu: {name: NVIDIA Thor, compute_capability: "11.0", unified_memory: true}
driver: "580"
memory_gib: 122
"""
ON_THOR: Final = deployment(
    "set: {gpu_memory_utilization: 0.99}", host="spark-01: {address: 192.168.1.11, platform: jetson-thor}"
)
ONE_MACHINE: Final = re.compile(r"\b12\.1\b|GB10|sm_?121(?! reference)", re.IGNORECASE)
ITS_MEMORY_GIB: Final = 119
SENTENCE: Final = 4
"""A text with this many words is for people: a source, a reason, a title."""


@pytest.fixture
def thor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add one file to a copy of the platforms, in a folder that has the rest of the catalog as links."""
    root = Path(catalog.__file__).parent
    for each in root.iterdir():
        if each.name != "platforms":
            (tmp_path / each.name).symlink_to(each)
    shutil.copytree(root / "platforms", tmp_path / "platforms")
    (tmp_path / "platforms" / "jetson-thor.yaml").write_text(THOR)
    monkeypatch.setattr(catalog, "_ROOT", tmp_path)
    catalog.platform.cache_clear()
    yield
    catalog.platform.cache_clear()


@pytest.mark.usefixtures("thor")
def test_a_platform_with_unified_memory_is_one_file() -> None:
    plan = planned(ON_THOR)
    (host,) = plan.hosts
    assert [(found.name, each.name) for found, each in deployments.deployments(plan)] == [("spark-01", "chat")]
    share = host.containers[0].memory_bytes
    assert share is not None
    assert share == pytest.approx(0.99 * 122 * 2**30, rel=1e-6)
    assert host.proofs["chat"].server.requested.size_bytes == pytest.approx(share)
    assert host.proofs["chat"].decode == Unknown(("speed of this GPU",))


@pytest.mark.usefixtures("thor")
def test_rules_about_unified_memory_treat_it_as_a_dgx_spark() -> None:
    spark = ON_THOR.replace("jetson-thor", "dgx-spark")
    assert "MEM001" in codes(ON_THOR)
    assert codes(ON_THOR) == codes(spark) - {code for code in codes(spark) if code.startswith("DRV")}


def test_a_platform_of_the_inventory_has_the_memory_of_its_gpu_or_says_so() -> None:
    head = "platforms: {own: {title: Own, architecture: arm64, memory_gib: 64, gpu: {name: GPU, compute_capability: "
    text = deployment("set: {gpu_memory_utilization: 0.99}", host="spark-01: {address: 192.168.1.11, platform: own}")
    assert "MEM001" in codes(f"{head}'12.1'}}}}}}\n{text}")
    assert "MEM001" in codes(f"{head}'11.0', unified_memory: true}}}}}}\n{text}")
    assert "MEM001" not in codes(f"{head}'12.1', unified_memory: false}}}}}}\n{text}")
    assert "MEM001" not in codes(f"{head}'9.0'}}}}}}\n{text}")


@pytest.mark.parametrize(
    ("gpu", "memory_gib", "platform"),
    [
        ("NVIDIA GB10", 121.7, "dgx-spark"),
        ("NVIDIA GB10", 119.2, "dgx-spark"),
        ("NVIDIA GB10", 57.4, "dgx-spark-64gb"),
        ("NVIDIA GB10", 200, "dgx-spark"),
        ("NVIDIA Thor", 57.4, "dgx-spark"),
    ],
)
def test_a_machine_is_known_by_its_gpu_and_its_memory(gpu: str, memory_gib: float, platform: str) -> None:
    assert catalog.platform_of(gpu, memory_gib) == platform


def test_memory_that_no_source_states_is_unknown_until_it_is_read() -> None:
    host = "spark-01: {address: 192.168.1.11, platform: dgx-spark-64gb}"
    text = deployment("set: {gpu_memory_utilization: 0.85}", host=host)
    (unread,) = planned(text).hosts
    assert (unread.memory_bytes, unread.containers[0].memory_bytes, unread.preflight.memory_bytes) == (None, None, None)
    assert isinstance(unread.proofs["chat"].server.requested.size_bytes, Unknown)
    (read,) = planned(text.replace("-64gb", "-64gb, memory: {total_gib: 57.4}")).hosts
    assert read.preflight.memory_bytes == int(57.4 * 2**30)
    assert read.proofs["chat"].server.requested.size_bytes == pytest.approx(0.85 * 57.4 * 2**30)


def test_hosts_of_two_sizes_are_planned_each_with_its_own_and_a_group_with_the_smaller() -> None:
    small = "    platform: dgx-spark-64gb\n    memory: {total_gib: 57.4}\n"
    one = "  chat: {recipe: base/single-spark, model: example/model, hosts: spark-02, port: 8002}\n"
    mixed = PAIR.replace("    address: 192.168.1.11\n", f"    address: 192.168.1.11\n{small}") + one
    first, second = planned(mixed).hosts
    share = 0.85 * 2**30
    assert [first.memory_bytes, second.memory_bytes] == [int(57.4 * 2**30), 119 * 2**30]
    assert second.proofs["chat"].server.requested.size_bytes == pytest.approx(119 * share)
    for host in (first, second):
        assert host.proofs["big"].server.requested.size_bytes == pytest.approx(57.4 * share)
    assert first.proofs["big"].fit == second.proofs["big"].fit


def test_no_expression_knows_one_machine() -> None:
    """Docstrings and sentences may speak of a DGX Spark; what decides is in the file of the platform."""
    root = Path(sparkiac.__file__).parent
    found = [
        f"{path.relative_to(root)}:{line}: {value!r}"
        for path in sorted(root.rglob("*.py"))
        for line, value in constants(ast.parse(path.read_text("utf-8")))
        if of_one_machine(value)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("expression", ["gpu == '12.1'", "name in {'NVIDIA GB10'}", "f'sm_121{x}'", "size > 119"])
def test_an_expression_that_knows_one_machine_is_found(expression: str) -> None:
    assert any(of_one_machine(value) for _, value in constants(ast.parse(f'"""GB10."""\nx = {expression}')))


def codes(text: str) -> set[str]:
    """Return the codes of the rules that an inventory violates."""
    return {finding.code for finding in checked(text).report.findings}


def constants(tree: ast.Module) -> Iterator[tuple[int, object]]:
    """Yield line and value of the constants that are part of an expression: a text alone is a docstring."""
    alone = {each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    found = (each for each in ast.walk(tree) if isinstance(each, ast.Constant) and each not in alone)
    return ((each.lineno, each.value) for each in found)


def of_one_machine(value: object) -> bool:
    """Return whether a constant is a fact of a DGX Spark."""
    if isinstance(value, str):
        return len(value.split()) < SENTENCE and ONE_MACHINE.search(value) is not None
    return value == ITS_MEMORY_GIB
