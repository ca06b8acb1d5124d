"""Certificates of the fleet's own authority, with a real HAProxy and a client that trusts it."""

from __future__ import annotations

import json
import ssl
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac.commands.audit import certificates
from sparkiac.commands.secrets import store
from sparkiac.words import audit, clients
from tests.gateway.certificate import pem
from tests.gateway.standins import FLEET, Gateway
from tests.plan.fleets import planned

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

TEXT = FLEET.replace("    kind: gateway\n", "    kind: gateway\n    tls: {secret: gateway_tls}\n")
VALUES, AUTHORITY, SIGNER = (Path("secrets") / each for each in ("lab.json", "lab.ca.crt", "lab.ca.json"))
NAMES = ("192.168.1.12", "spark-02", "127.0.0.1", "localhost")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test beside an inventory whose gateway has a certificate of the authority."""
    monkeypatch.chdir(tmp_path)
    Path("lab.yaml").write_text(TEXT)
    return tmp_path


def issued(cli: Cli, *more: str) -> str:
    """Return certificate and key of the gateway; they are made if they do not exist."""
    found = cli("secrets", "new", "lab.yaml", *more)
    assert found.code == 0, found.text
    return str(json.loads(VALUES.read_text())["sparkiac_secrets"]["gateway_tls"])


def reached(gateway: Gateway, trusted: str) -> bool:
    """Return whether a client that trusts one authority alone gets an answer."""
    context = ssl.create_default_context(cadata=trusted)
    with urllib.request.urlopen(f"https://127.0.0.1:{gateway.port}/health", context=context, timeout=9) as found:
        return bool(found.status == 200)


def test_a_client_needs_the_authority_alone_and_a_new_certificate_needs_a_reload(directory: Path, cli: Cli) -> None:
    servers = dict.fromkeys(("one", "two", "spare"), 9)
    gateway = Gateway(directory / "host", servers, TEXT, gateway_tls=issued(cli))
    trusted = AUTHORITY.read_text()
    with gateway.running(lambda: reached(gateway, trusted)):
        SIGNER.unlink()
        renewed, other = issued(cli, "--replace", "gateway_tls"), AUTHORITY.read_text()
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            reached(gateway, other)
        gateway.secret("gateway_tls", renewed)
        gateway.write_keys()
        gateway.reload(lambda: reached(gateway, other))


def test_no_host_gets_the_key_of_the_authority_and_another_run_changes_nothing(cli: Cli) -> None:
    first = issued(cli)
    files = {path: path.read_bytes() for path in Path("secrets").iterdir()}
    key = json.loads(SIGNER.read_text())["sparkiac_secrets"]["key"]
    assert key.startswith("-----BEGIN PRIVATE KEY-----\n")
    assert [path for path, text in files.items() if key[40:80].encode() in text] == [SIGNER]
    assert {path.stat().st_mode & 0o777 for path in files if path.name != ".gitignore"} == {0o600}
    assert issued(cli) == first
    assert {path: path.read_bytes() for path in Path("secrets").iterdir()} == files
    host = next(host for host in planned(TEXT).hosts if host.name == "spark-02")
    assert "gateway_tls" in host.secrets
    assert "ca" not in host.secrets


def test_with_a_password_the_key_of_the_authority_is_encrypted(cli: Cli) -> None:
    Path("password").write_text("a password")
    for more in ((), ("--replace", "gateway_tls")):
        assert cli("secrets", "new", "lab.yaml", "--vault-password-file", "password", *more).code == 0
    assert SIGNER.read_text().startswith("$ANSIBLE_VAULT")
    assert cli("secrets", "new", "lab.yaml").code == 2


def audited(text: str, days: int) -> dict[str, str]:
    """Return name → what to do of each certificate, so many days from now."""
    today = (datetime.now(UTC) + timedelta(days=days)).date()
    plan = planned(text)
    rows = audit.data(plan, (), certificates(plan), today)["certificates"]
    return {each["name"]: each["to_do"] for each in rows}


def test_the_audit_names_the_end_and_what_to_do(cli: Cli) -> None:
    issued(cli)
    [own, other] = certificates(planned(TEXT))
    assert (own.name, own.names, other.name, other.names) == ("ca", (), "gateway_tls", NAMES)
    assert other.ends.isoformat() in cli("audit", "lab.yaml").out
    renew = "sparkiac secrets rotate gateway_tls"
    assert audited(TEXT, 360) == {"ca": "", "gateway_tls": ""}
    assert audited(TEXT, 370) == {"ca": "", "gateway_tls": f"ends: {renew}"}
    assert audited(TEXT, 3640)["ca"] == "ends: make another one (docs/gateway.md)"
    moved = TEXT.replace("192.168.1.12", "192.168.1.99")
    assert audited(moved, 0)["gateway_tls"] == f"is not for 192.168.1.99: {renew}"
    assert audited(FLEET, 0) == {"ca": ""}


def test_a_given_certificate_is_audited_too_and_anything_else_is_refused(cli: Cli) -> None:
    issued(cli)
    secret = next(each for each in store.secrets_of(planned(TEXT), {}) if each.name == "gateway_tls")
    store.rotation(VALUES, secret, pem(), None)
    assert [*certificates(planned(TEXT))][1].ends.isoformat() == "2035-12-30"
    with pytest.raises(Exception, match="must be PEM"):
        store.rotation(VALUES, secret, "a password", None)


def test_clients_get_the_certificate_of_the_authority(cli: Cli) -> None:
    issued(cli)
    page = cli("clients", "lab.yaml", "gateway").out
    assert AUTHORITY.read_text() in page
    assert "--cacert ~/.config/sparkiac/lab/ca.crt" in page
    assert "--cacert" not in clients.of(planned(FLEET))[0].request
