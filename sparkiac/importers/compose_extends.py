"""`extends` of Compose: a service that takes over another one of the same file.

Source: the Compose Specification, 05-services.md, "extends" and "merging service definitions": mappings are merged,
lists are joined, of `command` and `entrypoint` the service's own counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = frozenset({"command", "entrypoint", "healthcheck"})
_DEEPEST: Final = 9


def is_elsewhere(value: object) -> bool:
    """Whether `extends` names a service of another file."""
    return isinstance(value, dict) and "file" in value


def whole(services: Mapping[str, Any], name: str, depth: int = 0) -> Any:  # noqa: ANN401  any plain data
    """Give a service with all that it takes over, as far as it stands in the same file."""
    own = services[name]
    asked = own.get("extends") if isinstance(own, dict) else None
    base = asked.get("service") if isinstance(asked, dict) else asked
    if is_elsewhere(asked) or not isinstance(base, str) or base not in services or base == name or depth > _DEEPEST:
        return own
    taken = whole(services, base, depth + 1)
    return _merged(taken, own) if isinstance(taken, dict) else own


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{key: _value(key, base.get(key), value) for key, value in own.items()}}


def _value(key: str, base: Any, own: Any) -> Any:  # noqa: ANN401
    if key == "environment" and base is not None and own is not None:
        return _variables(base) | _variables(own)
    if key in _OWN or type(base) is not type(own):
        return own
    if isinstance(own, dict):
        return _merged(base, own)
    return (*base, *(each for each in own if each not in base)) if isinstance(own, tuple) else own


def _variables(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Read variables of a list as those of a mapping."""
    if isinstance(value, dict):
        return value
    pairs = (str(each).partition("=") for each in (value if isinstance(value, tuple) else ()))
    return {name: text if equals else None for name, equals, text in pairs}
