"""`extends` of Compose: a service that inherits from another one in the same file.

Source: the Compose Specification, 05-services.md, "extends" and "merging service definitions": mappings are merged
and lists are joined; `command` and `entrypoint` replace the inherited ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_REPLACED: Final = frozenset({"command", "entrypoint", "healthcheck"})
_MAX_DEPTH: Final = 9


def is_elsewhere(value: object) -> bool:
    """Return whether `extends` names a service in another file."""
    return isinstance(value, dict) and "file" in value


def resolved(services: Mapping[str, Any], name: str, depth: int = 0) -> Any:  # noqa: ANN401  any plain data
    """Return a service merged with the services that it extends within the same file."""
    own = services[name]
    extends = own.get("extends") if isinstance(own, dict) else None
    base = extends.get("service") if isinstance(extends, dict) else extends
    if is_elsewhere(extends) or not isinstance(base, str) or base not in services or base == name or depth > _MAX_DEPTH:
        return own
    inherited = resolved(services, base, depth + 1)
    return _merged(inherited, own) if isinstance(inherited, dict) else own


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{key: _value(key, base.get(key), value) for key, value in own.items()}}


def _value(key: str, base: Any, own: Any) -> Any:  # noqa: ANN401
    if key == "environment" and base is not None and own is not None:
        return _variables(base) | _variables(own)
    if key in _REPLACED or type(base) is not type(own):
        return own
    if isinstance(own, dict):
        return _merged(base, own)
    return (*base, *(each for each in own if each not in base)) if isinstance(own, tuple) else own


def _variables(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return variables as a mapping, also if they are written as a list."""
    if isinstance(value, dict):
        return value
    pairs = (str(each).partition("=") for each in (value if isinstance(value, tuple) else ()))
    return {name: text if equals else None for name, equals, text in pairs}
