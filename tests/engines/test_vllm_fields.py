"""Every key of every JSON option of every known release: what its type takes is accepted, anything else refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.catalog import interfaces
from sparkiac.engines.vllm_check import check
from tests.engines.fields import outsides, rights, wrongs
from tests.engines.test_vllm_check import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkiac.catalog.interfaces import Interface

every_release = pytest.mark.parametrize("version", interfaces.versions())


def objects(interface: Interface) -> Iterator[tuple[str, str]]:
    """Return the options of a release that take an object, as under `set`, and the class of each."""
    for option in interface.options.values():
        if option.object is not None:
            yield option.name[2:].replace("-", "_"), option.object


def refused(option: str, values: dict[str, Any], interface: Interface) -> list[tuple[str, ...]]:
    """Return the paths to the values with which the server does not start."""
    return [fault.path for fault in check({option: values}, interface) if fault.kind in {"name", "range", "value"}]


def places(name: str, interface: Interface, make: Callable[[str, Interface], dict[str, Any]]) -> dict[str, Any]:
    """Return values for the keys of a class, and for those of the classes in it that are not given as a whole."""
    found = make(name, interface)
    for key, each in interface.objects[name].items():
        inner = next((kind for kind in each.type.split(" | ") if kind in interface.objects), None)
        if inner is not None:
            found[key] = places(inner, interface, make)
    return found


def paths(values: dict[str, Any], name: str, interface: Interface) -> Iterator[tuple[str, ...]]:
    """Return the paths to all values that are no objects of a class."""
    for key, value in values.items():
        kinds = interface.objects[name][key].type.split(" | ")
        inner = next((kind for kind in kinds if kind in interface.objects), None)
        yield from [(key, *rest) for rest in paths(value, inner, interface)] if inner else [(key,)]


@every_release
def test_every_key_takes_a_value_of_its_type(version: str) -> None:
    for option, name in objects(known(version)):
        assert refused(option, rights(name, known(version)), known(version)) == [], option


@every_release
@pytest.mark.parametrize("make", [wrongs, outsides])
def test_every_key_refuses_another_value(version: str, make: Callable[[str, Interface], dict[str, Any]]) -> None:
    count = 0
    for option, name in objects(known(version)):
        values = places(name, known(version), make)
        found = refused(option, values, known(version))
        assert sorted(found) == sorted(paths(values, name, known(version))), option
        count += len(found)
    assert count > 50 or make is outsides


@every_release
def test_null_is_a_value_where_the_type_says_so(version: str) -> None:
    for option, name in objects(known(version)):
        values = {key: None for key, each in known(version).objects[name].items() if each.type.endswith(" | None")}
        assert refused(option, values, known(version)) == [], option
