"""Agents that use model servers: Hermes Agent, a program on the host, and the configuration file of OpenClaw.

Source: hermes-agent 0.19.0. Model and URL can only be set in $HERMES_HOME/config.yaml, where ${NAME} in a text is
replaced by an environment variable; API_SERVER_* variables configure its API server.

Source: openclaw 2026.9.6, docs/gateway (custom-providers, config-agents/models, config-secrets-env). Each alias is a
provider. A key is a reference to an environment variable, or any word if the server requires none. The `params` of a
model are sent with each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sparkiac.model.resolved import ResolvedHermesAgentService, ResolvedHost
from sparkiac.model.services import Alias, OpenClawService, Sampling
from sparkiac.plan.container import ModelServer, Program
from sparkiac.plan.links import is_address
from sparkiac.plan.parts import Dependency, Export, Secret, stated_bytes
from sparkiac.plan.topology import bind_address
from sparkiac.report import Path

_MODEL_KEY: Final = "SPARKIAC_MODEL_KEY"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path for other programs, after the directory of the program itself."""
_NO_KEY: Final = "none"


class ConfigFile(NamedTuple):
    """A configuration file for a program that sparkiac does not start."""

    name: str
    description: str
    path: Path
    """Path in the inventory."""
    file: str
    """Path on the host, without the leading slash."""
    content: Mapping[str, Any]
    dependencies: tuple[Dependency, ...]


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
        config={"model": _model_of(model_server)},
        exports=tuple(Export(variable, (secret,)) for variable, secret in keys.items()),
        secrets=tuple(
            Secret(secret, f"/run/credentials/sparkiac-{name}.service/{secret}")
            for secret in dict.fromkeys(keys.values())
        ),
        listen=(address, service.port),
        clients=service.reachable_from,
        egress=_egress(service, model_server),
        health_path=service.health,
        server=ModelServer(served=service.served_names),
        dependencies=links,
        memory_bytes=stated_bytes(service.memory_gib),
        timeouts=service.timeouts,
    )


def _egress(service: ResolvedHermesAgentService, model_server: Dependency) -> tuple[str, ...] | None:
    """Return what it may connect to: by default its server, or everything if that one has a name, not an address."""
    address = model_server.hostname or ""
    default = (address,) if is_address(address) else None
    return default if service.egress is None else service.egress


def _environment(service: ResolvedHermesAgentService, address: str, state: str) -> dict[str, str]:
    own = {
        "API_SERVER_ENABLED": "true",
        "API_SERVER_HOST": address,
        "API_SERVER_PORT": str(service.port),
        "HERMES_HOME": state,
        "PATH": f"{service.program.rpartition('/')[0]}:{_PATH}",
    }
    return dict(sorted((own | {name: str(value) for name, value in service.env.items()}).items()))


def _model_of(link: Dependency) -> dict[str, str]:
    model = {"provider": "custom", "default": link.model or "", "base_url": link.url or ""}
    return model | ({"api_key": f"${{{_MODEL_KEY}}}"} if link.secret else {})


def config_file(name: str, service: OpenClawService, links: tuple[Dependency, ...]) -> ConfigFile:
    """Return the configuration file of the service `name`."""
    by_alias = {str(link.path[-2]): link for link in links}
    content = {
        "models": {
            "mode": "merge",
            "providers": {alias: _provider(by_alias[alias], entry) for alias, entry in service.aliases.items()},
        },
        "agents": {
            "defaults": {
                "models": {
                    f"{alias}/{by_alias[alias].model}": {"alias": alias} | _params(entry)
                    for alias, entry in service.aliases.items()
                }
            }
        },
    }
    description = service.description or "models for OpenClaw"
    return ConfigFile(name, description, ("services", name), f"etc/sparkiac/{name}/openclaw.json", content, links)


def _provider(link: Dependency, alias: Alias) -> dict[str, Any]:
    model = link.model or ""
    named = f"{model} ({alias.use})" if alias.use is not None else model
    return {
        "baseUrl": link.url or "",
        "apiKey": f"${{{variable(link.secret)}}}" if link.secret else _NO_KEY,
        "api": "openai-completions",
        "models": [{"id": model, "name": named}],
    }


def variable(secret: str) -> str:
    """Return the environment variable that holds a secret."""
    return secret.upper().replace("-", "_")


def _params(alias: Alias) -> dict[str, Any]:
    sampling = alias.sampling or Sampling()
    params: dict[str, Any] = {"temperature": sampling.temperature, "maxTokens": sampling.max_tokens}
    if sampling.top_p is not None:
        params["extra_body"] = {"top_p": sampling.top_p}
    if alias.thinking is not None:
        params["chat_template_kwargs"] = {"enable_thinking": alias.thinking}
    chosen = {key: value for key, value in params.items() if value is not None}
    return {"params": chosen} if chosen else {}
