"""The configuration file with the models for OpenClaw.

Source: openclaw 2026.9.6, docs/gateway (custom-providers, config-agents/models, config-secrets-env). Each alias is a
provider. A key is a reference to an environment variable, or any word if the server requires none. The `params` of a
model are sent with each request.
"""

from __future__ import annotations

from typing import Any, Final

from sparkiac.model.services import Alias, OpenClawService, Sampling
from sparkiac.plan.container import ConfigFile
from sparkiac.plan.parts import Dependency

_NO_KEY: Final = "none"


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
