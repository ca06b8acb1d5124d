"""Every resolved value says where it comes from, and the place really holds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings

import sparkiac
from sparkiac.engines.records import vllm
from sparkiac.report import Mark, Origin
from sparkiac.resolve import fabric, hosts_of, services
from tests.conftest import ROOT
from tests.plan.fleets import PAIR, deployment, dumped, resolved, service
from tests.resolve.built import as_yaml, fleets
from tests.resolve.test_precedence import get, plain

if TYPE_CHECKING:
    from sparkiac.resolve import Resolved

PACKAGE = Path(sparkiac.__file__).parent
OWN = {"container": {"ipc": "private", "shm_size_gib": 16}}
"""Shared memory of a server on one host, with a shipped recipe."""


def words_at(text: str, mark: Mark) -> Any:  # noqa: ANN401  any YAML value
    """Read what stands between a mark's ends, with PyYAML's own loader and not the project's."""
    lines = text.split("\n")[mark.line - 1 : mark.end_line]
    lines[-1] = lines[-1][: mark.end_column - 1]
    lines[0] = " " * (mark.column - 1) + lines[0][mark.column - 1 :]
    return yaml.safe_load("\n".join(lines))


def prove(found: Resolved, text: str) -> int:
    """Look every origin up; return how many leaves there were."""
    texts = {found.inventory.document.name: text}
    for path, (value, origin) in found.leaves.items():
        assert isinstance(origin, Origin), path
        if origin.layer.startswith("group: "):
            written = found.written
            members = [fabric.links_of(written.hosts[name]) for name in hosts_of(written.deployments[str(path[1])])]
            layer = fabric.layer(written.hosts[str(path[2])], members, "mp")
            assert layer[path[3:]] == (value, origin), path
            continue
        if origin.file is None:
            start = 2 if path[0] == "services" else 3
            tables = {"engine vllm": vllm.DEFAULTS, "service default": services.DEFAULTS, "a server on one host": OWN}
            table = tables[origin.layer]
            assert get(table, path[start:]) == value, path
            continue
        assert origin.mark is not None, path
        if origin.file not in texts:
            texts[origin.file] = (PACKAGE / origin.file).read_text()
        assert words_at(texts[origin.file], origin.mark) == plain(value), (path, str(origin))
    return len(found.leaves)


def tips(value: object, path: tuple[str, ...], leaves: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the paths of all values, down to mappings that are one value."""
    if path in leaves or not isinstance(value, dict):
        return {path}
    return {tip for key, inner in value.items() for tip in tips(inner, (*path, key), leaves)}


@pytest.mark.parametrize(("name", "least"), [("lab", 80), ("solo", 35)])
def test_shipped_inventories(name: str, least: int) -> None:
    text = (ROOT / "inventories" / f"{name}.yaml").read_text()
    assert prove(resolved(text), text) > least


@settings(max_examples=40)
@given(fleets())
def test_any_inventory(data: dict[str, Any]) -> None:
    text = as_yaml(data)
    found = resolved(text)
    assert prove(found, text) >= 1
    leaves = {tuple(map(str, path)) for path in found.leaves}
    assert tips(dumped(found.fleet), (), leaves) == leaves


@pytest.mark.parametrize("text", [deployment(), service("port: 1", "health: /"), PAIR])
def test_small_inventories(text: str) -> None:
    assert prove(resolved(text), text) > 10


def test_an_origin_reads_as_layer_file_and_line() -> None:
    leaves = resolved(deployment("set: {dtype: auto}")).leaves
    chat = ("deployments", "chat", "spark-01")
    assert str(leaves[*chat, "set", "dtype"][1]) == "inventory lab.yaml:10"
    assert str(leaves[*chat, "timeouts", "stop_s"][1]) == "engine vllm"
    recipe = leaves[*chat, "set", "max_num_seqs"][1]
    line = 1 + (PACKAGE / "catalog/recipes/base/single-spark.yaml").read_text().splitlines().index("  max_num_seqs: 4")
    assert str(recipe) == f"recipe base/single-spark catalog/recipes/base/single-spark.yaml:{line}"
    assert leaves["hosts", "spark-01", "driver"][1].layer == "platform dgx-spark"
