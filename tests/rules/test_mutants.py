"""A rule whose condition is broken does not go unnoticed: its examples and cases tell it from the real one.

In a module every comparison is negated, every `and` made an `or`, every `if` made always true and always false, one
at a time. Of a fact every condition and its range of releases are dropped, one at a time. A mutant that finds the
same in all inventories is a condition that nothing tests. `make test` runs a sample of the rules, `make test-deep` all
of them.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import rules
from sparkiac.catalog.evidence import sheets
from sparkiac.plan import build
from tests.plan.fleets import LOCK, resolved
from tests.rules.cases import CASES
from tests.rules.combinations import inventories
from tests.rules.pages import CHECKS, examples, lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.catalog.evidence import Fact
    from sparkiac.plan import Plan
    from sparkiac.report import Finding
    from sparkiac.resolve import Resolved
    from sparkiac.rules import Check

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
    """Yield every single change of one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [OPPOSITES[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
        for always in (True, False):
            yield ast.If(ast.Constant(always), node.body, node.orelse)


def mutants(check: Check) -> Iterator[tuple[str, Check]]:
    """Yield a rule for each single change in its code or facts, and what was changed."""
    sheet = next((sheet for sheet in sheets() if sheet.code == check.rule.code), None)
    if sheet is not None:
        for what, facts in changed_facts(sheet.facts):
            yield what, rules.of_facts(sheet._replace(facts=facts))
        return
    name = f"{check.rule.code.lower()}_{check.rule.slug.replace('-', '_')}"
    for what, module in changed_modules(importlib.import_module(f"sparkiac.rules.{name}")):
        yield what, rules.of_module(module)


def changed_facts(facts: tuple[Fact, ...]) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    for index, fact in enumerate(facts):
        changes = [(f"releases of fact {index + 1}", fact._replace(releases=None))] if fact.releases else []
        changes += [
            (f"{path} of fact {index + 1}", fact._replace(when=without(fact.when, path)))
            for path in conditions(fact.when)
        ]
        for what, changed in changes:
            yield what, (*facts[:index], changed, *facts[index + 1 :])


def conditions(when: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  plain data
    """Yield the path of every entry of a condition, also of those inside `any` and `none`."""
    for name, wanted in when.items():
        if name in {"any", "none"}:
            for index, each in enumerate(wanted):
                yield from conditions(each, (*path, name, index))
        else:
            yield *path, name


def without(when: Any, path: tuple[Any, ...]) -> Any:  # noqa: ANN401  plain data
    changed = copy.deepcopy(when)
    *inner, last = path
    entry = changed
    for key in inner:
        entry = entry[key]
    del entry[last]
    return changed


def changed_modules(module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
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


def verdict(check: Check, plans: list[tuple[Plan, Resolved]]) -> list[tuple[Finding, ...]]:
    return [rules.check(plan, found, rules=[check]) for plan, found in plans]


EACH: Final = 12
"""`make test` takes every twelfth rule."""
UNCONDITIONAL: Final = {"MON101"}
"""Rules that report what the plan has found."""
ASKED: Final = "VAL"
"""Rules whose conditions tools/vllm_validators/draws.py compares with vLLM itself, in each release that it knows."""
SAMPLED: Final = [
    pytest.param(check, id=check.rule.code, marks=() if index % EACH == 0 else pytest.mark.deep)
    for index, check in enumerate(CHECKS)
    if not check.rule.code.startswith(ASKED)
]


@pytest.mark.parametrize("check", SAMPLED)
def test_a_broken_rule_is_noticed(check: Check) -> None:
    shown = examples(check, "Bad") + examples(check, "Good")
    inputs: list[tuple[str, str | None]] = [(text, lock(check)) for text in shown]
    inputs += [(case.text, case.locked) for case in CASES.get(check.rule.code, ())]
    inputs += inventories(check.rule.code)
    read = [resolved(text, locked=locked or "version: 1\nimages: {}\n") for text, locked in inputs]
    plans = [(build(each), each) for each in read]
    right = verdict(check, plans)
    made = list(mutants(check))
    assert bool(made) != (check.rule.code in UNCONDITIONAL), "a rule without a condition?"
    survivors = [what for what, mutant in made if verdict(mutant, plans) == right]
    assert not survivors, "\n".join(
        [f"add a case for {check.rule.code} to cases.py or combinations.yaml; no test notices", *survivors]
    )


def test_the_lock_of_the_cases_is_a_lock() -> None:
    assert resolved("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n", locked=LOCK).lock is not None
