"""One test of many cases: where each checks little, a test of its own costs more than the check."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")


def every(
    cases: Iterable[T], name: Callable[[T], object] = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a test of one case, its first parameter, into one test of all cases. It names each case that fails."""
    listed = list(cases)
    assert listed, "no case"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:  # noqa: ANN401  whatever the test asks for
            failed = [f"{name(case)}: {why}" for case in listed if (why := failure(test, case, fixtures))]
            assert not failed, "\n".join(failed)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        run.__signature__ = inspect.Signature([*inspect.signature(test).parameters.values()][1:])  # type: ignore[attr-defined]
        return run

    return decorate


def failure(test: Callable[..., None], case: object, fixtures: Mapping[str, Any]) -> str:
    """Return why a test of a case fails; nothing if it passes."""
    try:
        test(case, **fixtures)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  the other cases run too
        return f"{type(error).__name__}: {error}"
    return ""
