"""Hermes Agent: a program of the host.

Source: hermes-agent 0.19.0. Model and URL can only be said in $HERMES_HOME/config.yaml, where ${NAME} in a text is a
variable of the environment; the API server is told by API_SERVER_*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.plan.addresses import bind_address
from sparkiac.plan.askers import Program
from sparkiac.plan.parts import Export, Secret, stated_bytes
from sparkiac.plan.settings import waits

if TYPE_CHECKING:
    from sparkiac.plan.askers import Link
    from sparkiac.resolve import Resolved

_MODEL_KEY: Final = "SPARKIAC_MODEL_KEY"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where it finds other programs, after those that were installed beside it."""


def program(resolved: Resolved, name: str, links: tuple[Link, ...]) -> Program:
    """Decide how the agent `name` runs on its host."""
    values: dict[str, Any] = resolved.values["services"][name]
    address = bind_address(resolved.values["hosts"][values["on"]], values["bind"])
    [brain] = links
    keys = {"API_SERVER_KEY": values["api_key"]["secret"]}
    if brain.secret is not None:
        keys[_MODEL_KEY] = brain.secret
    found = Program(
        name=name,
        description=values.get("description", "Hermes Agent"),
        path=("services", name),
        argv=(values["program"], "gateway", "run"),
        user=values["user"],
        env={},
        config={"model": _model(brain)},
        exports=tuple(Export(variable, (secret,)) for variable, secret in keys.items()),
        secrets=tuple(
            Secret(secret, f"/run/credentials/sparkiac-{name}.service/{secret}")
            for secret in dict.fromkeys(keys.values())
        ),
        listen=(address, values["port"]),
        health_path=values["health"],
        served=values["served_names"],
        links=links,
        memory_bytes=stated_bytes(values.get("memory_gib")),
        **waits(values),
    )
    own = {"API_SERVER_ENABLED": "true", "API_SERVER_HOST": address, "API_SERVER_PORT": str(values["port"])}
    own["PATH"] = f"{values['program'].rpartition('/')[0]}:{_PATH}"
    said = {variable: str(value) for variable, value in values.get("env", {}).items()}
    return found._replace(env=dict(sorted((own | {"HERMES_HOME": found.state} | said).items())))


def _model(link: Link) -> dict[str, str]:
    model = {"provider": "custom", "default": link.model or "", "base_url": link.url or ""}
    return model | ({"api_key": f"${{{_MODEL_KEY}}}"} if link.secret else {})
