"""Plan Hermes Agent, a program on the host.

Source: hermes-agent 0.19.0. Model and URL can only be set in $HERMES_HOME/config.yaml, where ${NAME} in a text is
replaced by an environment variable; API_SERVER_* variables configure its API server.
"""

from __future__ import annotations

from typing import Final

from sparkiac.model.resolved import ResolvedHermesAgentService, ResolvedHost
from sparkiac.plan.container import ModelServer, Program
from sparkiac.plan.parts import Dependency, Export, Secret, stated_bytes
from sparkiac.plan.topology import bind_address

_MODEL_KEY: Final = "SPARKIAC_MODEL_KEY"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path for other programs, after the directory of the program itself."""


def program(
    name: str, service: ResolvedHermesAgentService, links: tuple[Dependency, ...], *, host: ResolvedHost
) -> Program:
    """Plan the agent `name` on its host."""
    address = bind_address(host, service.bind)
    [model_server] = links
    keys = {"API_SERVER_KEY": service.api_key.secret}
    if model_server.secret is not None:
        keys[_MODEL_KEY] = model_server.secret
    state = f"/var/lib/sparkiac/{name}"
    return Program(
        name=name,
        description=service.description or "Hermes Agent",
        path=("services", name),
        argv=(service.program, "gateway", "run"),
        user=service.user,
        env=_environment(service, address, state),
        state=state,
        config={"model": _model(model_server)},
        exports=tuple(Export(variable, (secret,)) for variable, secret in keys.items()),
        secrets=tuple(
            Secret(secret, f"/run/credentials/sparkiac-{name}.service/{secret}")
            for secret in dict.fromkeys(keys.values())
        ),
        listen=(address, service.port),
        health_path=service.health,
        server=ModelServer(served=service.served_names),
        dependencies=links,
        memory_bytes=stated_bytes(service.memory_gib),
        timeouts=service.timeouts,
    )


def _environment(service: ResolvedHermesAgentService, address: str, state: str) -> dict[str, str]:
    own = {
        "API_SERVER_ENABLED": "true",
        "API_SERVER_HOST": address,
        "API_SERVER_PORT": str(service.port),
        "HERMES_HOME": state,
        "PATH": f"{service.program.rpartition('/')[0]}:{_PATH}",
    }
    return dict(sorted((own | {name: str(value) for name, value in service.env.items()}).items()))


def _model(link: Dependency) -> dict[str, str]:
    model = {"provider": "custom", "default": link.model or "", "base_url": link.url or ""}
    return model | ({"api_key": f"${{{_MODEL_KEY}}}"} if link.secret else {})
