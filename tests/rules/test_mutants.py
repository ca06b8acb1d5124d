"""A rule whose condition is broken does not go unnoticed: its examples and cases tell it from the real one.

Every comparison of a rule is negated, every `and` made an `or`, every `if` made always true and always false, one
at a time. A mutant that says the same about all inventories is a condition that nothing tests. `make test` runs a
sample of the rules, `make test-deep` all of them.
"""

from __future__ import annotations

import ast
import copy
import inspect
from types import ModuleType
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import rules
from sparkiac.plan import build
from tests.plan.fleets import LOCK, resolved
from tests.rules.cases import CASES
from tests.rules.pages import CODES, MODULES, examples, lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.report import Finding

OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Give every single change of one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [OPPOSITES[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
        for always in (True, False):
            yield ast.If(ast.Constant(always), node.body, node.orelse)


def mutants(module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Give a module for each single change in the code of a rule, and what was changed."""
    tree = ast.parse(inspect.getsource(module))
    places = [index for index, node in enumerate(ast.walk(tree)) for _ in changes(node)]
    for order, index in enumerate(places):
        changed = copy.deepcopy(tree)
        node = list(ast.walk(changed))[index]
        replacement = list(changes(node))[order - places.index(index)]
        what = f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)} → {ast.unparse(replacement)}"
        node.__class__, node.__dict__ = type(replacement), vars(replacement) | {"lineno": 1, "col_offset": 0}
        mutant = ModuleType(module.__name__, module.__doc__)
        exec(compile(ast.fix_missing_locations(changed), "mutant", "exec"), mutant.__dict__)  # noqa: S102  the rule
        yield what, mutant


def verdict(module: ModuleType, inputs: list[tuple[str, str | None]]) -> list[tuple[Finding, ...]]:
    findings = []
    for text, locked in inputs:
        found = resolved(text, locked=locked or "version: 1\nimages: {}\n")
        findings.append(rules.check(build(found), found, rules=[module]))
    return findings


EACH: Final = 12
"""`make test` takes every twelfth rule."""
SAMPLED: Final = [
    pytest.param(module, id=code, marks=() if index % EACH == 0 else pytest.mark.deep)
    for index, (module, code) in enumerate(zip(MODULES, CODES, strict=True))
]


@pytest.mark.parametrize("module", SAMPLED)
def test_a_broken_rule_is_noticed(module: ModuleType) -> None:
    shown = examples(module, "Bad") + examples(module, "Good")
    inputs: list[tuple[str, str | None]] = [(text, lock(module)) for text in shown]
    inputs += [(case.text, case.locked) for case in CASES.get(module.RULE.code, ())]
    right = verdict(module, inputs)
    made = list(mutants(module))
    assert made, "a rule without a condition?"
    survivors = [what for what, mutant in made if verdict(mutant, inputs) == right]
    assert survivors == [], f"add a case for {module.RULE.code} to tests/rules/cases.py that tells these apart"


def test_the_lock_of_the_cases_is_a_lock() -> None:
    assert resolved("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n", locked=LOCK).lock is not None
