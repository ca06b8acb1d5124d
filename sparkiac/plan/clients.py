"""Configure the programs that use models: Open WebUI, OpenClaw and Hermes Agent.

Open WebUI (source: open-webui 0.12.4, config.py): URLs and keys are lists separated by semicolons and paired by
position. An empty list of URLs would mean api.openai.com, so an API that is not used is disabled.

OpenClaw (source: openclaw 2026.9.6, docs/gateway: custom-providers, config-agents/models, config-secrets-env): each
alias is a provider. A key is a reference to an environment variable, or any word if the server requires none. The
`params` of a model are sent with each request.

Hermes Agent (source: hermes-agent 0.19.0): model and URL can only be set in $HERMES_HOME/config.yaml, where ${NAME} in
a text is replaced by an environment variable; API_SERVER_* variables configure its API server.
"""

from __future__ import annotations

from typing import Any, Final

from sparkiac.model.resolved import ResolvedHermesAgentService, ResolvedHost, ResolvedOpenWebuiService
from sparkiac.model.services import Alias, OpenClawService, Sampling
from sparkiac.plan.container import ConfigFile, ModelServer, Program
from sparkiac.plan.parts import Dependency, Export, Secret, stated_bytes
from sparkiac.plan.topology import bind_address

_SESSION_KEY: Final = "/run/secrets/webui_secret_key"
_NO_KEY: Final = "none"
_MODEL_KEY: Final = "SPARKIAC_MODEL_KEY"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path for other programs, after the directory of the program itself."""


def webui_environment(
    service: ResolvedOpenWebuiService, links: tuple[Dependency, ...], own: dict[str, str]
) -> dict[str, str]:
    """Return the variables for its dependencies, its `own` variables, and the file with its session key."""
    env = _urls("OPENAI", "OPENAI_API_BASE_URLS", _openai(links))
    env |= _urls("OLLAMA", "OLLAMA_BASE_URLS", [link for link in links if link.api == "ollama"])
    return env | own | ({"WEBUI_SECRET_KEY_FILE": _SESSION_KEY} if service.secret_key else {})


def webui_exports(links: tuple[Dependency, ...]) -> tuple[Export, ...]:
    """Return the variable with the API keys of its dependencies, if one of them requires a key."""
    keys = tuple(link.secret for link in _openai(links))
    return (Export("OPENAI_API_KEYS", keys),) if any(keys) else ()


def webui_secrets(service: ResolvedOpenWebuiService, links: tuple[Dependency, ...]) -> tuple[Secret, ...]:
    """Return the API keys of its dependencies and its session key."""
    keys = dict.fromkeys(link.secret for link in _openai(links) if link.secret is not None)
    found = [Secret(name, f"/run/secrets/{name}") for name in keys]
    return (*found, *((Secret(service.secret_key.secret, _SESSION_KEY),) if service.secret_key else ()))


def _openai(links: tuple[Dependency, ...]) -> list[Dependency]:
    return [link for link in links if link.api == "openai"]


def _urls(name: str, variable: str, links: list[Dependency]) -> dict[str, str]:
    if not links:
        return {f"ENABLE_{name}_API": "False"}
    return {f"ENABLE_{name}_API": "True", variable: ";".join(link.url or "" for link in links)}


def openclaw_file(name: str, service: OpenClawService, links: tuple[Dependency, ...]) -> ConfigFile:
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
        "apiKey": f"${{{openclaw_variable(link.secret)}}}" if link.secret else _NO_KEY,
        "api": "openai-completions",
        "models": [{"id": model, "name": named}],
    }


def openclaw_variable(secret: str) -> str:
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


def hermes_program(
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
        env=_hermes_environment(service, address, state),
        state=state,
        config={"model": _hermes_model(model_server)},
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


def _hermes_environment(service: ResolvedHermesAgentService, address: str, state: str) -> dict[str, str]:
    own = {
        "API_SERVER_ENABLED": "true",
        "API_SERVER_HOST": address,
        "API_SERVER_PORT": str(service.port),
        "HERMES_HOME": state,
        "PATH": f"{service.program.rpartition('/')[0]}:{_PATH}",
    }
    return dict(sorted((own | {name: str(value) for name, value in service.env.items()}).items()))


def _hermes_model(link: Dependency) -> dict[str, str]:
    model = {"provider": "custom", "default": link.model or "", "base_url": link.url or ""}
    return model | ({"api_key": f"${{{_MODEL_KEY}}}"} if link.secret else {})
