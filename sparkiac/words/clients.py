"""How clients use each deployment: address, models, where the key is, a request, settings of client programs."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from string import Template
from typing import Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.catalog import interfaces
from sparkiac.host.generation import Promise
from sparkiac.model.tables import ClientSettings
from sparkiac.plan import Container, Plan, exposure
from sparkiac.plan.agents import variable
from sparkiac.plan.topology import EVERY, LOOPBACK, locally
from sparkiac.plan.values import HostPlan
from sparkiac.words.page import Block, Blocks, Verbatim, bullets, grid, heading, line, names

_CHATS: Final = frozenset({"chat", "generate"})
_AUTHORITY: Final = "ca.crt"
_NO_KEY: Final = "none"
"""What programs send that require a key, to a server that requires none."""


class ClientKey(NamedTuple):
    """Where the key of a deployment is. Its value is nowhere in the output."""

    secret: str
    on_host: str
    in_repository: str
    """File that `sparkiac secrets new` writes."""
    file: str
    """File on the client's machine that the request and the settings read."""
    fetch: str
    """Command that copies the key from the host into that file."""


class ClientSetup(NamedTuple):
    """Settings of one program for one deployment."""

    title: str
    file: str
    settings: str | None
    """None if the program cannot use the deployment."""
    obstacle: str | None
    notes: tuple[str, ...]


class ServedDeployment(NamedTuple):
    """A deployment as its clients see it."""

    name: str
    host: str
    turns: tuple[str, ...]
    """Turns in which it runs; empty if it always does."""
    url: str
    """URL on another machine, where `tunnel` runs if there is one."""
    open_to: str
    """Who can connect to its port."""
    tunnel: str | None
    """Command that makes it reachable from another machine; None if none is required."""
    models: tuple[str, ...]
    context: int | None
    """Tokens of a request and its answer; None if the server decides."""
    key: ClientKey | None
    authority: str | None
    """Certificate of the authority of the fleet, if its own certificate is issued by that."""
    request: str
    """Shell command that sends a request."""
    clients: Mapping[str, ClientSetup]


class _SettingsLine(Template):
    """A line of settings. `$` is for the program that reads them."""

    delimiter = "@"


def of(plan: Plan, authority: str | None = None) -> tuple[ServedDeployment, ...]:
    """Return the gateways, and all deployments that accept requests; `authority` is the certificate of the fleet's."""
    units = [(host, unit, unit.network.listen) for host in plan.hosts for unit in host.containers]
    gateways = [
        _gateway(plan, host, unit, listen)._replace(authority=authority if unit.certificate else None)
        for host, unit, listen in units
        if listen and unit.reloaded
    ]
    deployments = (
        _served(plan, host, unit, listen, ((unit, host.promises[unit.unit]),))
        for host, unit, listen in units
        if unit.kind == "deployment" and listen and unit.server.served
    )
    return (*gateways, *deployments)


def _gateway(plan: Plan, host: HostPlan, unit: Container, listen: tuple[str, int]) -> ServedDeployment:
    """Return a gateway; programs get the first of its models that they can use."""
    leaders = {
        each.name: (each, other.promises[each.unit])
        for other, each in plan.containers
        if each.kind == "deployment" and each.server.leads
    }
    aliases = [(str(link.path[1]), leaders[link.name]) for link in unit.dependencies if link.name in leaders]
    options = tuple((server, promise._replace(models=(alias,))) for alias, (server, promise) in aliases)
    return _served(plan, host, unit, listen, options)


def _served(
    plan: Plan,
    host: HostPlan,
    unit: Container,
    listen: tuple[str, int],
    options: tuple[tuple[Container, Promise], ...],
) -> ServedDeployment:
    """Return a server; `options` are the servers behind it, each with the names that its clients send for it."""
    address, port = listen
    direct = address in {EVERY, host.address}
    scheme = "https" if unit.reloaded and not unit.checks.path else "http"
    url = f"{scheme}://{locally(host.address) if direct else LOOPBACK}:{port}"
    secret = unit.reloaded[0] if unit.reloaded else host.promises[unit.unit].api_key
    key = _key(plan, host, secret) if secret else None
    values: dict[str, object] = {"name": unit.name, "host": host.name, "url": url}
    values |= {"key_file": key.file, "variable": variable(key.secret)} if key else {"keyless": _NO_KEY}
    routed = tuple(dict.fromkeys(str(link.path[1]) for link in unit.dependencies))
    own = options[0][1] if options else host.promises[unit.unit]
    return ServedDeployment(
        name=unit.name,
        host=host.name,
        turns=host.turns_of(unit),
        url=url,
        open_to=exposure.reach(host, address),
        tunnel=None if direct else _ssh(host, "-N", "-L", f"{port}:{locally(address)}:{port}"),
        models=routed or own.models,
        context=None if unit.reloaded else own.max_model_len,
        key=key,
        authority=None,
        request=_request(url, key, own, f"{_folder(plan)}/{_AUTHORITY}" if unit.certificate else None),
        clients={name: _first(client, options, values) for name, client in catalog.clients().items()},
    )


def _first(
    client: ClientSettings, options: tuple[tuple[Container, Promise], ...], values: Mapping[str, object]
) -> ClientSetup:
    """Return the settings for the first server that a program can use, or why it cannot use the first one."""
    setups = [_setup(client, server, promise, values) for server, promise in options]
    none = ClientSetup(client.title, client.file, None, "no deployment is behind it", ())
    return next((each for each in setups if each.settings is not None), (setups or [none])[0])


def _ssh(host: HostPlan, *words: str) -> str:
    port = ("-p", str(host.ssh_port)) if host.ssh_port else ()
    return shlex.join(("ssh", *port, *words, f"{host.user}@{host.address}" if host.user else host.address))


def _folder(plan: Plan) -> str:
    """Return the directory of the client's machine for what its programs read."""
    return f"~/.config/sparkiac/{plan.name}"


def _key(plan: Plan, host: HostPlan, secret: str) -> ClientKey:
    there, folder = f"/etc/sparkiac/secrets/{secret}", _folder(plan)
    fetch = f"(umask 077 && mkdir -p {folder} && {_ssh(host)} sudo cat {there} >{folder}/{secret})"
    return ClientKey(secret, there, f"secrets/{plan.name}.json", f"{folder}/{secret}", fetch)


def _request(url: str, key: ClientKey | None, promise: Promise, authority: str | None) -> str:
    """Return a command whose arguments do not contain the key: `printf` is a part of the shell."""
    words = ["curl", "-sS", f"{url}/v1/models"]
    if promise.kind in _CHATS:
        question = {"role": "user", "content": "Which city is the capital of France?"}
        body = json.dumps({"model": promise.models[0], "messages": [question], "max_tokens": 512})
        words = ["curl", "-sS", f"{url}/v1/chat/completions", "-H", "Content-Type: application/json", "-d", body]
    trust = f" --cacert {authority}" if authority else ""
    if key is None:
        return f"{shlex.join(words)}{trust}"
    return f"printf 'Authorization: Bearer %s\\n' \"$(cat {key.file})\" | {shlex.join([*words, '-H', '@-'])}{trust}"


def _setup(client: ClientSettings, unit: Container, promise: Promise, values: Mapping[str, object]) -> ClientSetup:
    model = next((each for each in promise.models if re.fullmatch(client.names, each)), None)
    obstacle = _obstacle(client, unit, promise.kind, model)
    if obstacle is not None:
        return ClientSetup(client.title, client.file, None, obstacle, ())
    values = {**values, "context": promise.max_model_len, "model": model}
    settings, notes = (_filled(text, values) for text in (client.settings, "\n".join(client.notes)))
    seen = [f"Tried: {client.tried}."] if client.tried else []
    seen += [f"Not verified: {each}" for each in client.not_verified]
    told = (*_doubts(unit, client), *notes.splitlines(), *seen)
    return ClientSetup(client.title, client.file, settings, None, told)


def _obstacle(client: ClientSettings, unit: Container, kind: str, model: str | None) -> str | None:
    """Return why a program cannot use a server; `model` is a name of the server that it can send."""
    engine, release = engines.named(unit.server.engine), _release(unit)
    if kind not in _CHATS:
        return f"it needs a chat, and the deployment serves {kind}"
    if client.api != "chat" and client.api not in engine.apis:
        return f"it needs /v1/{client.api}, which no release of {engine.title} is known to have"
    first = engine.apis.get(client.api)
    if first and release and interfaces.release(release) < interfaces.release(first):
        return f"it needs /v1/{client.api}, which {engine.title} has since {first}; the image has {release}"
    missing = [option for option in engine.tools if not unit.server.options.get(option)]
    if client.tools and missing:
        return f"it sends tools; set {names(missing)} (API001)"
    return None if model else f"it cannot send the name {names(unit.server.served)}; add another one to served_names"


def _doubts(unit: Container, client: ClientSettings) -> Iterator[str]:
    engine = engines.named(unit.server.engine)
    first = engine.apis.get(client.api)
    if client.api != "chat" and not (first and _release(unit)):
        since = f" since {first}" if first else ", in a release that no source names"
        yield f"{engine.title} has /v1/{client.api}{since}; the release in this image is unknown."


def _release(unit: Container) -> str | None:
    engine = engines.named(unit.server.engine)
    return unit.image.vllm if engine.vllm else unit.image.versions.get(engine.name)


def _filled(settings: str, values: Mapping[str, object]) -> str:
    """Return settings with their values, escaped for a text in double quotes as JSON, TOML and YAML read it."""
    written = {name: json.dumps(str(value), ensure_ascii=False)[1:-1] for name, value in values.items()}
    lines = map(_SettingsLine, settings.splitlines())
    kept = (each for each in lines if all(values.get(name) for name in each.get_identifiers()))
    return "\n".join(each.substitute(written) for each in kept)


def page(servers: tuple[ServedDeployment, ...]) -> Blocks:
    """Return the deployments as a page."""
    for server in servers:
        yield heading(f"{server.name} on {server.host}")
        yield grid(_rows(server))
        if server.authority:
            what = f"Write its certificate authority into {_AUTHORITY} beside the key, and let programs trust it:"
            yield from _command(what, server.authority)
        if server.tunnel:
            yield from _command("Run this on the client's machine, for as long as it is used:", server.tunnel)
        if server.key:
            yield from _command(f"Copy the key into {server.key.file}, once:", server.key.fetch)
        yield from _command("Ask it:", server.request)
        for setup in server.clients.values():
            yield from _settings(setup)


def _rows(server: ServedDeployment) -> Iterator[tuple[str, str]]:
    yield "address", server.url
    yield "open to", server.open_to
    yield "models", ", ".join(server.models)
    yield "context", f"{server.context} tokens" if server.context else "not set; the server decides"
    key = server.key
    yield "key", f"secret {key.secret}: {key.on_host} on the host, {key.in_repository} here" if key else "none"
    if server.turns:
        yield "runs", f"in the turns {names(server.turns)}"


def _command(what: str, command: str) -> Iterator[Block]:
    yield line(f"\n{what}")
    yield Verbatim(command)


def _settings(setup: ClientSetup) -> Iterator[Block]:
    if setup.settings is None:
        yield line("\n", (setup.title, "bold"), f": not possible: {setup.obstacle}")
        return
    yield line("\n", (setup.title, "bold"), f": {setup.file}")
    yield Verbatim(textwrap.indent(setup.settings, "  "))
    yield bullets(setup.notes)
