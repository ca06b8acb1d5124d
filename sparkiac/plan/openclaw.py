"""OpenClaw: a table of models as a configuration file.

Source: openclaw 2026.9.6, docs/gateway (custom-providers, config-agents/models, config-secrets-env): one provider for
each alias; a key is a reference to an environment variable, and any word where none is wanted; `params` of a model go
into each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.plan.askers import Document

if TYPE_CHECKING:
    from sparkiac.plan.askers import Link
    from sparkiac.resolve import Resolved

_NO_KEY: Final = "none"


def document(resolved: Resolved, name: str, links: tuple[Link, ...]) -> Document:
    """Write the table of the service `name`."""
    values: dict[str, Any] = resolved.values["services"][name]
    aliases: dict[str, dict[str, Any]] = values["aliases"]
    by_alias = {str(link.path[-2]): link for link in links}
    content = {
        "models": {
            "mode": "merge",
            "providers": {alias: _provider(by_alias[alias], entry) for alias, entry in aliases.items()},
        },
        "agents": {
            "defaults": {
                "models": {
                    f"{alias}/{by_alias[alias].model}": {"alias": alias} | _params(entry)
                    for alias, entry in aliases.items()
                }
            }
        },
    }
    description = values.get("description", "models for OpenClaw")
    return Document(name, description, ("services", name), f"etc/sparkiac/{name}/openclaw.json", content, links)


def _provider(link: Link, alias: dict[str, Any]) -> dict[str, Any]:
    model = link.model or ""
    named = f"{model} ({alias['use']})" if "use" in alias else model
    return {
        "baseUrl": link.url or "",
        "apiKey": f"${{{variable(link.secret)}}}" if link.secret else _NO_KEY,
        "api": "openai-completions",
        "models": [{"id": model, "name": named}],
    }


def variable(secret: str) -> str:
    """Give the environment variable that stands for a secret."""
    return secret.upper().replace("-", "_")


def _params(alias: dict[str, Any]) -> dict[str, Any]:
    sampling = alias.get("sampling", {})
    params = {"temperature": sampling.get("temperature"), "maxTokens": sampling.get("max_tokens")}
    if "top_p" in sampling:
        params["extra_body"] = {"top_p": sampling["top_p"]}
    if "thinking" in alias:
        params["chat_template_kwargs"] = {"enable_thinking": alias["thinking"]}
    chosen = {key: value for key, value in params.items() if value is not None}
    return {"params": chosen} if chosen else {}
