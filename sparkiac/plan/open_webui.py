"""Environment variables and secrets of Open WebUI.

Source: open-webui 0.12.4, config.py. URLs and keys are lists separated by semicolons and paired by position. An empty
list of URLs would mean api.openai.com, so an API that is not used is disabled.
"""

from __future__ import annotations

from typing import Final

from sparkiac.model.resolved import ResolvedOpenWebuiService
from sparkiac.plan.parts import Dependency, Export, Secret

_SESSION_KEY: Final = "/run/secrets/webui_secret_key"


def environment(
    service: ResolvedOpenWebuiService, links: tuple[Dependency, ...], own: dict[str, str]
) -> dict[str, str]:
    """Return the variables for its dependencies, its `own` variables, and the file with its session key."""
    env = _urls("OPENAI", "OPENAI_API_BASE_URLS", _openai(links))
    env |= _urls("OLLAMA", "OLLAMA_BASE_URLS", [link for link in links if link.api == "ollama"])
    return env | own | ({"WEBUI_SECRET_KEY_FILE": _SESSION_KEY} if service.secret_key else {})


def exports(links: tuple[Dependency, ...]) -> tuple[Export, ...]:
    """Return the variable with the API keys of its dependencies, if one of them requires a key."""
    keys = tuple(link.secret for link in _openai(links))
    return (Export("OPENAI_API_KEYS", keys),) if any(keys) else ()


def secrets(service: ResolvedOpenWebuiService, links: tuple[Dependency, ...]) -> tuple[Secret, ...]:
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
