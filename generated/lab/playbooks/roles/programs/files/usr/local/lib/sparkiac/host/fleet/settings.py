"""The file that the fleet timer reads. sparkiac fills these records and writes every field."""

from __future__ import annotations

from typing import NamedTuple

from ..generation import Promise


class FleetEndpoint(NamedTuple):
    """One endpoint that the fleet timer checks."""

    name: str
    """Name in messages: `chat on spark-01`, or the name of an external endpoint."""
    host: str | None
    """Host of the fleet that it runs on; None for an external endpoint."""
    url: str
    remedy: str
    """What to do when it fails, for the message."""
    turns: tuple[str, ...]
    """Turns in which it runs; empty if it always runs."""
    promise: Promise | None
    """What is checked, with the URL at which the host of the timer reaches it; None for a URL that must return 200."""


class TelegramChannel(NamedTuple):
    """Messages to a Telegram chat."""

    url: str
    """URL of the Bot API."""
    chat_id: int
    token: str
    """Secret with the token of the bot."""


class EmailChannel(NamedTuple):
    """Messages by e-mail, over TLS."""

    host: str
    port: int
    sender: str
    to: tuple[str, ...]
    user: str | None
    password: str | None
    """Secret with the password of the user."""


class WebhookChannel(NamedTuple):
    """Messages in the format of Alertmanager's webhook. One of the two is set."""

    url: str | None
    secret_url: str | None
    """Secret with the whole URL."""


class FleetChannels(NamedTuple):
    """Where the fleet timer sends its messages."""

    telegram: TelegramChannel | None
    email: EmailChannel | None
    webhook: WebhookChannel | None


class FleetCheck(NamedTuple):
    """What the fleet timer of a host checks: etc/sparkiac/fleet.json, read by `fleet_check`."""

    fleet: str
    """Name of the fleet."""
    host: str
    period_s: int
    """Time between two checks."""
    endpoints: tuple[FleetEndpoint, ...]
    links: tuple[str, ...]
    """Interfaces of the links between nodes of groups, if the host of the timer is such a node."""
    channels: FleetChannels
    heartbeat: str | None
    """Secret with the URL of a dead man's switch, which is requested after each check."""
