"""Monitoring of the fleet: Prometheus, Alertmanager, exporters, Grafana, the fleet timer, and who gets messages.

Ports, images and memory of these services have defaults in the catalog, see sparkiac/model/kinds.py.
"""

from typing import Annotated

from pydantic import Field

from sparkiac.model.base import (
    Bind,
    Gib,
    HostName,
    ImageReference,
    Line,
    MailAddress,
    Model,
    Name,
    Network,
    Port,
    Retention,
    SecretRef,
    SmtpServer,
    Url,
    Waiver,
)


class MonitoringContainer(Model):
    """Fields of all containers of the monitoring."""

    image: ImageReference | None = None
    """Image to run, pinned by the lock or by a digest in the reference; the default is in the catalog."""
    port: Port | None = None
    """Port on the host; the default depends on the kind."""
    bind: Bind | None = None
    """Where it listens: loopback, lan (the address of the host), fabric, or any."""
    reachable_from: tuple[Network, ...] | None = None
    """Networks and addresses of the clients that may connect to the port; default is that of the host."""
    memory_gib: Gib | None = None
    """Measured memory use in GiB; the plan adds it to the budget of the host."""


class Prometheus(MonitoringContainer):
    """Prometheus: it collects the metrics of all servers and hosts and evaluates the alerts."""

    hosts: HostName
    """Host that it runs on; Alertmanager runs on the same host."""
    retention: Retention = "30d"
    """How long it keeps the metrics, such as 30d or 12w."""


class Grafana(MonitoringContainer):
    """Grafana with dashboards of the fleet, the hosts, the deployments and speculative decoding."""

    hosts: HostName
    """Host that it runs on."""
    admin_password: SecretRef
    """Password of the account `admin`."""


class Exporters(Model):
    """Exporters, which run on every host if there is a Prometheus."""

    node: MonitoringContainer | None = None
    """node_exporter: memory, disks, network, clock, and what sparkiac records about the host."""
    gpu: MonitoringContainer | None = None
    """Exporter of GPU temperature, power and utilization; it runs on hosts with a GPU."""


class Telegram(Model):
    """Messages to a Telegram chat."""

    chat_id: Annotated[int, Field(ge=-(10**15), le=10**15)]
    """Number of the chat; that of a group is negative."""
    token: SecretRef
    """Token of the bot that sends the messages."""


class Email(Model):
    """Messages by e-mail."""

    to: Annotated[tuple[MailAddress, ...], Field(min_length=1)]
    """Recipients."""
    sender: MailAddress
    """Address that the messages come from."""
    smarthost: SmtpServer
    """Mail server and its port, such as smtp.example.org:587; the connection must support TLS."""
    user: Line | None = None
    """User name at the mail server."""
    password: SecretRef | None = None
    """Password of that user."""


class Webhook(Model):
    """Messages as JSON to an HTTP address. Set one of the two."""

    url: Url | None = None
    """Address, if it contains no secret."""
    secret_url: SecretRef | None = None
    """Secret that contains the whole address, for services whose addresses are secret."""


class Alerts(Model):
    """Who gets messages from Alertmanager and from the fleet timer. Set one or more."""

    telegram: Telegram | None = None
    """Telegram chat."""
    email: Email | None = None
    """E-mail."""
    webhook: Webhook | None = None
    """Webhook."""


class FleetTimer(Model):
    """A timer that checks every endpoint and sends one message when something fails; it needs no Prometheus."""

    hosts: HostName
    """Host that it runs on."""
    every_min: Annotated[int, Field(ge=1, le=1_440)] = 15
    """Minutes between two checks."""
    heartbeat: SecretRef | None = None
    """Secret with the URL of a dead man's switch, which is requested after each check."""


class ExternalEndpoint(Model):
    """An endpoint that does not belong to the fleet."""

    name: Name
    """Name in messages and dashboards."""
    url: Url
    """Address that answers 200 when the endpoint works, such as http://192.168.1.10:8009/v1/models."""
    metrics: Url | None = None
    """Address of its metrics for Prometheus, such as http://192.168.1.10:8009/metrics."""


class Monitoring(Model):
    """What watches the fleet, and who gets messages."""

    prometheus: Prometheus | None = None
    """Prometheus; with it, the exporters run on every host."""
    alertmanager: MonitoringContainer | None = None
    """Alertmanager; it runs on the host of Prometheus if there are `alerts`."""
    grafana: Grafana | None = None
    """Grafana."""
    exporters: Exporters | None = None
    """Exporters."""
    alerts: Alerts | None = None
    """Who gets messages from Alertmanager and from the fleet timer."""
    timer: FleetTimer | None = None
    """Fleet timer."""
    external: tuple[ExternalEndpoint, ...] = ()
    """Endpoints that do not belong to the fleet."""
    allow: tuple[Waiver, ...] = ()
    """Findings about the monitoring that are accepted, with a reason for each."""
