"""Flat layers: merging and nesting, by themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.report import Origin
from sparkiac.resolve.leaves import Leaves, constant, merge, nest

NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.dictionaries(NAMES, st.recursive(st.integers(), lambda inner: st.dictionaries(NAMES, inner, min_size=1)))


def values(leaves: Leaves) -> dict[Any, Any]:
    return {path: leaf[0] for path, leaf in leaves.items()}


@settings(max_examples=40)
@given(TREES)
def test_nesting_undoes_flattening(tree: dict[str, Any]) -> None:
    assert nest(constant(tree, layer="test")) == tree


@settings(max_examples=40)
@given(TREES)
def test_a_nested_mapping_is_sorted(tree: dict[str, Any]) -> None:
    assert list(nest(constant(tree, layer="test"))) == sorted(tree)


def test_a_later_layer_wins_with_its_origin() -> None:
    merged = merge(constant({"a": {"b": 1, "c": 1}}, layer="first"), constant({"a": {"b": 2}}, layer="second"))
    assert merged == {("a", "b"): (2, Origin("second")), ("a", "c"): (1, Origin("first"))}


def test_none_takes_away_what_stands_below_it_and_nothing_beside_it() -> None:
    first = constant({"a": {"b": {"x": 1, "y": 2}, "c": 3}, "ab": 4}, layer="first")
    assert values(merge(first, {("a", "b"): (None, Origin("second"))})) == {("a", "c"): 3, ("ab",): 4}
    assert values(merge(first, {("a",): (None, Origin("second"))}, {("a", "b"): (5, Origin("third"))})) == {
        ("ab",): 4,
        ("a", "b"): 5,
    }


def test_none_for_what_is_not_there_is_nothing() -> None:
    assert merge({("a",): (None, Origin("first"))}) == {}


def test_mappings_that_are_one_value_stay_whole() -> None:
    tree = {
        "set": {"json": {"k": 1}},
        "container": {"mounts": {"/m": {"source": "/s"}}, "ulimits": {"stack": 1}},
        "mounts": {"/m": {"source": "/s"}},
        "api_key": {"secret": "k"},
        "gpu": {"name": "GB10"},
    }
    assert set(constant(tree, layer="test")) == {
        ("set", "json"),
        ("container", "mounts", "/m"),
        ("container", "ulimits", "stack"),
        ("mounts", "/m"),
        ("api_key",),
        ("gpu",),
    }
