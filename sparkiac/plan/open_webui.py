"""Open WebUI: what it asks, in its own variables.

Source: open-webui 0.12.4, config.py. URLs and keys are lists with semicolons, paired by position; an empty list of URLs
would mean api.openai.com, so what is not used is turned off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.plan.parts import Export, Secret
from sparkiac.plan.topology import GATEWAY_ENTRY

if TYPE_CHECKING:
    from sparkiac.plan.askers import Link
    from sparkiac.plan.values import Container

_SESSION_KEY = "/run/secrets/webui_secret_key"


def connected(container: Container, values: dict[str, Any], links: tuple[Link, ...]) -> Container:
    """Tell the container what it asks, and where the key of its sessions lies."""
    openai = [link for link in links if link.api == "openai"]
    keys = tuple(link.secret for link in openai)
    secrets = [Secret(name, f"/run/secrets/{name}") for name in dict.fromkeys(keys) if name is not None]
    env = _urls("OPENAI", "OPENAI_API_BASE_URLS", openai)
    env |= _urls("OLLAMA", "OLLAMA_BASE_URLS", [link for link in links if link.api == "ollama"])
    said = dict(container.env)
    if "secret_key" in values:
        secrets.append(Secret(values["secret_key"]["secret"], _SESSION_KEY))
        said["WEBUI_SECRET_KEY_FILE"] = _SESSION_KEY
    return container._replace(
        env=dict(sorted((env | said).items())),
        exports=(Export("OPENAI_API_KEYS", keys),) if any(keys) else (),
        secrets=tuple(secrets),
        extra_hosts=(GATEWAY_ENTRY,) if any(link.gateway for link in links) else (),
        links=links,
    )


def _urls(name: str, variable: str, links: list[Link]) -> dict[str, str]:
    if not links:
        return {f"ENABLE_{name}_API": "False"}
    return {f"ENABLE_{name}_API": "True", variable: ";".join(link.url or "" for link in links)}
