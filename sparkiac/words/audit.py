"""The audit of an inventory: who can reach what, what containers may do, who has which secret, and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final, NamedTuple

from sparkiac.plan import Container, Plan, exposure, weights
from sparkiac.plan.container import Program
from sparkiac.plan.exposure import OpenPort, SecretReader
from sparkiac.plan.topology import LOOPBACK
from sparkiac.render import summary
from sparkiac.report import Finding
from sparkiac.words.page import Blocks, Data, Row, bullets, duration, names, section, table

_RULES: Final = "SEC"
AUTHORITY: Final = "ca"
"""Name of the certificate of a fleet's own authority."""
_SOON_DAYS: Final = 30


class IssuedCertificate(NamedTuple):
    """A certificate of the authority of the fleet, or its own."""

    name: str
    """Name of its secret, or `ca`."""
    names: tuple[str, ...]
    """Names and addresses that it is for; none of the authority."""
    ends: date


def page(plan: Plan, findings: Iterable[Finding], certificates: Iterable[IssuedCertificate], today: date) -> Blocks:
    """Return the audit as a page."""
    ports = [port for host in plan.hosts for port in exposure.of(host)]
    yield from section(
        "Who can reach what", table(("host", *summary.PORT_HEADS), ((each.host, *summary.port(each)) for each in ports))
    )
    yield from section("Answered without the key", table(("units", "paths"), _keyless(ports)))
    yield from section("What containers may do beyond the default", table(("host", "unit", "may"), privileges(plan)))
    yield from section("Secrets", table(("secret", "read by", "hosts"), _secrets(plan)))
    yield from section(
        "Certificates", table(("certificate", "for", "ends", "to do"), _certificates(plan, certificates, today))
    )
    yield from section("Overdue pins", table(("host", "pinned", "review was due"), _overdue(plan, today)))
    yield from section("Findings", bullets(f"{each.code}: {each.message}" for each in doubtful(findings)))


def data(plan: Plan, findings: Iterable[Finding], certificates: Iterable[IssuedCertificate], today: date) -> Data:
    """Return the audit as plain data."""
    return {
        "ports": [port._asdict() for host in plan.hosts for port in exposure.of(host)],
        "privileges": [dict(zip(("host", "unit", "may"), each, strict=True)) for each in privileges(plan)],
        "secrets": [dict(zip(("secret", "read_by", "hosts"), each, strict=True)) for each in _secrets(plan)],
        "certificates": [
            dict(zip(("name", "for", "ends", "to_do"), each, strict=True))
            for each in _certificates(plan, certificates, today)
        ],
        "overdue": [dict(zip(("host", "since", "review_by"), each, strict=True)) for each in _overdue(plan, today)],
        "findings": [{"code": each.code, "message": each.message} for each in doubtful(findings)],
    }


def doubtful(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings about security."""
    return [each for each in findings if each.code.startswith(_RULES)]


def _keyless(ports: Iterable[OpenPort]) -> Iterator[Row]:
    """Return each list of paths once, with the units that answer them."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for port in ports:
        if port.keyless:
            found.setdefault(port.keyless, {})[port.unit] = None
    yield from ((names(list(units)), " ".join(paths)) for paths, units in found.items())


def privileges(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Return host, unit and what the unit may do beyond the default."""
    for host in plan.hosts:
        for unit in host.units:
            if isinstance(unit, Program):
                yield host.name, unit.name, f"runs on the host as {unit.user}, without a container; {_connects(unit)}"
            elif found := [*_of_container(unit)]:
                yield host.name, unit.name, "; ".join(found)


def _of_container(unit: Container) -> Iterator[str]:
    confined = unit.confinement
    if confined.user is None:
        yield "runs as the user of its image, which may be root"
    if unit.network.host:
        yield "uses the network of the host"
    if unit.network.egress != ():
        yield _connects(unit)
    if confined.ipc == "host":
        yield "shares memory with every process of the host"
    if not confined.read_only:
        yield "can change its root file system"
    if confined.devices:
        yield f"has {names(confined.devices)}"
    if written := [each.source for each in unit.storage.mounts if not each.read_only]:
        yield f"writes to {names(written)}"
    if any(mount.source == unit.weights.store for mount in weights.mounted(unit)):
        yield "sees every model of the store"
    if unit.server.options.get("trust_remote_code"):
        yield "runs code from the repository of its model"


def _connects(unit: Container | Program) -> str:
    egress = unit.network.egress
    return f"connects to {'everything' if egress is None else names(egress) if egress else 'nothing'}"


def _overdue(plan: Plan, today: date) -> Iterator[tuple[str, str, str]]:
    """Return the hosts whose pins should have been reviewed."""
    for host in plan.hosts:
        if host.pins is not None and date.fromisoformat(host.pins.review_by) < today:
            yield host.name, host.pins.since, host.pins.review_by


def certified(plan: Plan, secret: str) -> tuple[str, ...]:
    """Return the names and addresses of the servers that have this certificate; none if it is another secret."""
    hosts = [host for host, unit in plan.containers if unit.certificate == secret]
    found = [name for host in hosts for name in (host.address, host.name)]
    return tuple(dict.fromkeys((*found, LOOPBACK, "localhost"))) if hosts else ()


def _certificates(
    plan: Plan, certificates: Iterable[IssuedCertificate], today: date
) -> Iterator[tuple[str, str, str, str]]:
    """Return each certificate with its names, its last day, and why it must be replaced."""
    for each in certificates:
        wanted = certified(plan, each.name)
        missing = [name for name in wanted if name not in each.names]
        late = (each.ends - today).days < _SOON_DAYS
        why = f"is not for {names(missing)}: " if missing else "ends: " if late else ""
        what = f"sparkiac secrets rotate {each.name}" if wanted else "make another one (docs/gateway.md)"
        yield each.name, names(each.names) if each.names else "clients", each.ends.isoformat(), why and why + what


def _secrets(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Return each secret with the units that read it and the hosts on which it is."""
    units = (each.name for host in plan.hosts for unit in host.units for each in unit.secrets)
    for name in sorted({*units, *(name for host in plan.hosts for name in host.secrets)}):
        found = [*exposure.readers(plan, name)]
        by = [each.unit for each in found if each.unit] or [summary.OWN]
        hosts = [host.name for host in plan.hosts if name in host.secrets]
        yield name, names(list(dict.fromkeys(by))), names(hosts) if hosts else "none"


def rotation(plan: Plan, secret: str) -> Blocks:
    """Return what a new value of a secret means for the units that read it: a page."""
    found = [*exposure.readers(plan, secret)]
    rows = [(each.host, each.unit or summary.OWN, _on_change(each)) for each in found]
    yield from section(f"{secret} is read by", table(("host", "reader", "what happens"), rows))
    yield from section("Dark while they start", bullets(map(_dark, (each for each in found if each.alone))))


def _on_change(reader: SecretReader) -> str:
    if not reader.unit:
        return "reads it when needed"
    return "reloads, before a server restarts" if reader.reloads else "restarts"


def _dark(reader: SecretReader) -> str:
    where = f"{reader.unit} on {reader.host}"
    return f"{names(reader.alone)}: only {where} serves it, which may take {duration(reader.ready_s)} to start"
