"""Plan the fleet timer: which endpoints one host checks, at which URLs it reaches them, and who gets messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.host.fleet.settings import (
    EmailChannel,
    FleetChannels,
    FleetCheck,
    FleetEndpoint,
    TelegramChannel,
    WebhookChannel,
)
from sparkiac.plan import order
from sparkiac.plan.preflight import group_links
from sparkiac.plan.topology import ListenAddress, Route, route

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sparkiac.host.generation import Promise
    from sparkiac.model.inventory import Inventory
    from sparkiac.model.monitoring import Alerts, ExternalEndpoint, Monitoring
    from sparkiac.plan.container import Container, Program
    from sparkiac.plan.placement import PlacedHost
    from sparkiac.report import Path

    Promises = Mapping[str, Mapping[str, Promise]]
    """Host → unit → its API checks."""

_BOT_API: Final = "https://api.telegram.org"
_MINUTE_S: Final = 60


class Unwatched(NamedTuple):
    """An endpoint that the host of the timer cannot reach."""

    path: Path
    """Path of its definition in the inventory."""
    name: str
    host: str
    obstacle: str
    """Why: it listens on `loopback`, or on a `fabric` that the host of the timer does not have."""


class PlannedFleetTimer(NamedTuple):
    """The fleet timer of one host."""

    check: FleetCheck
    secrets: tuple[str, ...]
    """Secrets that it reads: those of its channels, and the API keys of the endpoints."""
    unwatched: tuple[Unwatched, ...]


def fleet_timer(inventory: Inventory, placed: Collection[PlacedHost], promises: Promises) -> PlannedFleetTimer | None:
    """Return the fleet timer, if the inventory has one."""
    written = inventory.monitoring
    timer, alerts = written.timer, written.alerts
    if timer is None or alerts is None:
        return None
    reached = list(_reached(placed, promises, timer.hosts))
    found = order.turns(inventory)
    own = [
        _endpoint(unit, host, promise, way, order.running(found, unit.name))
        for unit, host, promise, way in reached
        if way.origin is not None
    ]
    check = FleetCheck(
        fleet=inventory.name,
        host=timer.hosts,
        period_s=timer.every_min * _MINUTE_S,
        endpoints=(*own, *map(_external, written.external)),
        links=tuple(link.interface for host in placed if host.name == timer.hosts for link in group_links(host)),
        channels=_channels(alerts),
        heartbeat=timer.heartbeat.secret if timer.heartbeat else None,
    )
    unwatched = (Unwatched(unit.path, unit.name, host, way.obstacle) for unit, host, _, way in reached if way.obstacle)
    return PlannedFleetTimer(check, _secrets(check), tuple(unwatched))


def is_watched(monitoring: Monitoring) -> bool:
    """Return whether anyone gets a message when a server of the fleet fails."""
    return monitoring.alerts is not None and (monitoring.timer is not None or monitoring.prometheus is not None)


def _reached(
    placed: Collection[PlacedHost], promises: Promises, timer_host: str
) -> Iterator[tuple[Container | Program, str, Promise, Route]]:
    """Return each unit with an HTTP API to check, with its host and the route to it from the timer's host."""
    hosts = {host.name: host.values for host in placed}
    for host in placed:
        for unit in sorted(host.units, key=lambda each: each.name):
            promise = promises[host.name].get(unit.unit)
            if promise is None or unit.network.listen is None or not (promise.health or promise.models):
                continue
            address, port = unit.network.listen
            target = ListenAddress(unit.name, host.name, address, port, None)
            yield unit, host.name, promise, route(timer_host, target, hosts, in_container=False)


def _endpoint(
    unit: Container | Program, host: str, promise: Promise, way: Route, taking: tuple[str, ...]
) -> FleetEndpoint:
    verify = f"sparkiac verify INVENTORY {unit.name}; " if unit.path[0] == "deployments" else ""
    return FleetEndpoint(
        name=f"{unit.name} on {host}",
        host=host,
        url=way.origin or "",
        remedy=f"{verify}on {host}: journalctl --unit={unit.unit}",
        turns=taking,
        promise=promise._replace(url=way.origin),
    )


def _external(endpoint: ExternalEndpoint) -> FleetEndpoint:
    remedy = f"curl -i {endpoint.url}; sparkiac does not manage this endpoint"
    return FleetEndpoint(name=endpoint.name, host=None, url=endpoint.url, remedy=remedy, turns=(), promise=None)


def _channels(alerts: Alerts) -> FleetChannels:
    telegram, email, webhook = alerts.telegram, alerts.email, alerts.webhook
    return FleetChannels(
        telegram=TelegramChannel(_BOT_API, telegram.chat_id, telegram.token.secret) if telegram else None,
        email=None
        if email is None
        else EmailChannel(
            host=email.smarthost.rpartition(":")[0],
            port=int(email.smarthost.rpartition(":")[2]),
            sender=email.sender,
            to=email.to,
            user=email.user,
            password=email.password.secret if email.password else None,
        ),
        webhook=None
        if webhook is None
        else WebhookChannel(webhook.url, webhook.secret_url.secret if webhook.secret_url else None),
    )


def _secrets(check: FleetCheck) -> tuple[str, ...]:
    channels = check.channels
    found = {
        check.heartbeat,
        channels.telegram and channels.telegram.token,
        channels.email and channels.email.password,
        channels.webhook and channels.webhook.secret_url,
        *(each.promise.api_key for each in check.endpoints if each.promise),
    }
    return tuple(sorted(name for name in found if name))
