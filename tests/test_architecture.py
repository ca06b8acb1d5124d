"""The shape of the house: sizes, and who calls a stage. What imports what is held by import-linter."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.report import assets
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

PACKAGE: Final = ROOT / "sparkiac"
MODULES: Final = sorted(PACKAGE.rglob("*.py"))
RULES: Final = [path for path in MODULES if path.parent.name == "rules" and "_" in path.stem.strip("_")]
TEMPLATES: Final = sorted((ROOT / "templates").rglob("*.j2"))
SCRIPTS: Final = [*(path for _, path in assets.files("playbooks/roles/programs/files")), PACKAGE / "host/launcher"]
SHARED: Final = frozenset({
    "commands", "completion", "editing", "inputs", "inventories", "live", "prompts", "terminal", "verbs"
})  # fmt: skip
"""What stands beside the commands, and is none."""
LONGEST_FUNCTION: Final = 40
LONGEST_MODULE: Final = 300
LONGEST_RULE: Final = 80
LONGEST_TEMPLATE: Final = 80
PURE: Final = (
    "pipeline.py",
    *("engines", "fix", "model", "plan", "render", "report", "resolve"),
)
STAGES: Final = {
    "sparkiac.source": {
        "load": {"sparkiac/catalog/__init__.py", "sparkiac/catalog/library.py", "sparkiac/pipeline.py"}
    },
    "sparkiac.resolve": {"resolve": {"sparkiac/pipeline.py"}},
    "sparkiac.plan": {"build": {"sparkiac/pipeline.py"}},
    "sparkiac.rules": {"check": {"sparkiac/pipeline.py"}},
    "sparkiac.fix": {"repair": {"sparkiac/pipeline.py"}},
    "sparkiac.render": {"render": {"sparkiac/pipeline.py"}},
    "sparkiac.write": {
        "commit": {"sparkiac/commands/bench/trials.py", "sparkiac/commands/generate.py"},
        "survey": {"sparkiac/commands/apply/tree.py", "sparkiac/commands/generate.py"},
    },
}
"""Package → the function that is the stage → who may call it."""


def name(path: Path) -> str:
    """Return a path as people write it."""
    return path.relative_to(ROOT).as_posix()


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield name and length of every function, docstring included; a command's options stand above it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield f"{name(path)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def runtime(path: Path) -> Iterator[ast.AST]:
    """Yield all nodes of a module that run: what stands under TYPE_CHECKING does not."""
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        pending += ast.iter_child_nodes(node)


def rule_lines(path: Path) -> int:
    """Return the lines of a rule below its docstring, which is its page."""
    page = ast.parse(path.read_text()).body[0]
    assert page.end_lineno is not None
    return lines(path) - page.end_lineno


def test_modules_rules_and_templates_are_short() -> None:
    limits = (
        ([*MODULES, *SCRIPTS], lines, LONGEST_MODULE),
        (RULES, rule_lines, LONGEST_RULE),
        (TEMPLATES, lines, LONGEST_TEMPLATE),
    )
    assert all(paths for paths, _, _ in limits)
    found = [(name(path), size(path), limit) for paths, size, limit in limits for path in paths]
    assert [f"{path}: {count} lines, at most {limit}" for path, count, limit in found if count > limit] == []


def test_a_function_fits_on_a_screen() -> None:
    python = [*MODULES, *(path for path in SCRIPTS if "python" in path.read_text().partition("\n")[0])]
    found = [each for path in python for each in functions(path)]
    assert len(found) > 100
    assert [each for each in found if each[1] > LONGEST_FUNCTION] == []


def test_functions_are_small_in_general() -> None:
    """As in tox: nine of ten stay under 24 lines."""
    sizes = sorted(size for path in MODULES for _, size in functions(path))
    assert sizes[len(sizes) * 9 // 10] <= 24


def test_every_module_says_what_it_is() -> None:
    assert [name(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_no_two_classes_have_the_same_name() -> None:
    """A name has one meaning in the whole package, with or without a leading underscore; hosts run other programs."""
    classes = [
        (node.name.lstrip("_"), name(path))
        for path in MODULES
        if PACKAGE / "host" not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    counts = Counter(each for each, _ in classes)
    assert [(each, path) for each, path in classes if counts[each] > 1] == []


def test_a_module_has_every_name_that_it_exports() -> None:
    exporting = [path for path in MODULES if "\n__all__ = " in path.read_text()]
    dotted = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in exporting]
    modules = [importlib.import_module(each) for each in dotted]
    assert len(modules) > 3
    assert [(each.__name__, name) for each in modules for name in each.__all__ if not hasattr(each, name)] == []


def test_there_is_no_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert [name(path) for path in MODULES if drawers & {path.stem, path.parent.name}] == []


@cache
def imported(path: Path) -> frozenset[tuple[str, str]]:
    """Return what a module takes from others at run time, as (module, name)."""
    taken = [node for node in runtime(path) if isinstance(node, ast.ImportFrom)]
    return frozenset((node.module, alias.name) for node in taken if node.module for alias in node.names)


@pytest.mark.parametrize("package", STAGES)
def test_only_the_pipeline_calls_a_stage(package: str) -> None:
    for stage, callers in STAGES[package].items():
        inside = PACKAGE / package.partition(".")[2]
        outside = [path for path in MODULES if inside not in path.parents]
        found = {name(path) for path in outside if (package, stage) in imported(path)}
        parent, _, own = package.rpartition(".")
        for path in outside:
            if (parent, own) in imported(path):
                calls = {ast.unparse(node.func) for node in runtime(path) if isinstance(node, ast.Call)}
                attributes = {ast.unparse(node) for node in runtime(path) if isinstance(node, ast.Attribute)}
                found |= {name(path)} if f"{own}.{stage}" in calls | attributes else set()
        assert found == callers, f"{package}.{stage}"


def test_the_pure_stages_print_nothing_and_open_nothing() -> None:
    """Reading the catalog and templates has its own modules: catalog and assets."""
    forbidden = {"open", "print", "input", "eval", "exec", "breakpoint", "__import__"}
    pure = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] in (*PURE, "rules", "source")]
    assert len(pure) > 30
    found = [
        f"{name(path)}:{node.lineno} {ast.unparse(node.func)}"
        for path in pure
        for node in runtime(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in forbidden
    ]
    assert found == []


def test_no_part_is_left_for_later() -> None:
    words = ("TODO", "FIXME", "XXX", "NotImplementedError", "HACK")
    sources = [*MODULES, *SCRIPTS, *TEMPLATES, *(path for path in (ROOT / "playbooks").rglob("*.yml"))]
    assert [(name(path), word) for path in sources for word in words if word in path.read_text()] == []


def test_a_command_is_small_and_there_is_one_for_each_file() -> None:
    """A group is one command too: what stands below it is in its file. A package has its command in `__init__.py`."""
    for path in (PACKAGE / "commands").rglob("*.py"):
        command = path.parent.name if path.stem == "__init__" else path.stem
        shared = command in SHARED or (path.stem != "__init__" and path.parent.name != "commands")
        decorated = [
            (ast.unparse(decorator).partition("(")[0], node.name)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
        ]
        commands = [found for kind, found in decorated if kind in {"click.command", "click.group"}]
        assert commands == ([] if shared else [command])
        below = {
            kind for kind, _ in decorated if kind.endswith((".command", ".group")) and not kind.startswith("click.")
        }
        assert below == ({f"{command}.command"} if ("click.group", command) in decorated else set())


def test_no_modules_import_each_other() -> None:
    """An import for types alone counts, and so does one in a function."""
    known = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    graph = {module: set(needed(module, path, known)) - {module} for module, path in known.items()}
    TopologicalSorter(graph).prepare()


def needed(module: str, path: Path, known: Container[str]) -> Iterator[str]:
    """Yield the modules of the package that a module imports."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{above}.{alias.name}" for alias in node.names]
            yield from (name if name in known else above for name in names if name in known or above in known)


def test_the_import_contracts_are_kept() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
