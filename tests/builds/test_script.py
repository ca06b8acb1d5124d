"""What the build script is written in: it runs on machines with older tools than ours."""

from __future__ import annotations

import ast
import subprocess
import sys

from sparkiac.report import assets

SCRIPT = assets.directory("templates") / "build" / "build"
OLDEST_PYTHON = (3, 8)


def test_it_parses_on_an_old_python_and_needs_nothing_else() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=OLDEST_PYTHON)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_it_is_clean_and_typed() -> None:
    # `ruff check .` and mypy look at *.py alone, and the script has no suffix.
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy", "--strict"]):
        argv = [sys.executable, "-m", *command, SCRIPT]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_it_fits_into_the_head() -> None:
    functions = [node for node in ast.walk(ast.parse(SCRIPT.read_text())) if isinstance(node, ast.FunctionDef)]
    assert len(SCRIPT.read_text().splitlines()) <= 300
    assert max((node.end_lineno or 0) - node.lineno + 1 for node in functions) <= 40
    assert SCRIPT.stat().st_mode & 0o111 == 0o111
    assert sorted(path.name for path in SCRIPT.parent.iterdir()) == ["Dockerfile.j2", "build"]
