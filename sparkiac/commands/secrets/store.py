"""The secrets that hosts need, and their file, in the form that `ansible-playbook -e @FILE` reads.

A secret that is a certificate is issued by an authority of the fleet. Its key is in a file of its own, so that no play
has it. Certificates without their keys are files beside it, which clients and `sparkiac audit` read.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sparkiac import write
from sparkiac.commands.inputs import reject
from sparkiac.host.preflight.gateway_keys import FORMER
from sparkiac.model import answers
from sparkiac.model.base import SECRET_KEYS
from sparkiac.plan import exposure
from sparkiac.upstream import playbook
from sparkiac.words.audit import AUTHORITY, certified
from sparkiac.write.single import exclusive

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from sparkiac.plan import Plan
    from sparkiac.report import Path as Keys

_NEW: Final = ".new"
_KEY: Final = "sparkiac_secrets"
_BYTES: Final = 32
_MODE: Final = 0o600
_IGNORE: Final = "*"
"""The line of .gitignore that matches every file."""
_FORM: Final = f'JSON of the form {{"{_KEY}": {{"NAME": "VALUE"}}}}'
_ISSUED: Final = frozenset({"heartbeat", "password", "secret_url", "token"})
"""Keys of secrets that another service issues: a messenger, a mail server, a webhook."""
_DAY: Final = timedelta(days=1)
_AUTHORITY_DAYS: Final = 3650
_DAYS: Final = 397
"""Some clients accept no certificate that is valid for longer."""
_HUB: Final = "hub"
"""The key of the model hub, whose `api_key` is a token that the hub issues."""


class NeededSecret(NamedTuple):
    """A secret that a host needs."""

    name: str
    hosts: tuple[str, ...]
    keys: tuple[str, ...]
    """Keys of the inventory that name it, such as `defaults.api_key`."""
    issued: bool
    """Whether another service issues its value, so that sparkiac cannot generate it."""
    names: tuple[str, ...] = ()
    """Names and addresses that the certificate is for, if it is one."""
    overlaps: bool = False
    """Whether its former value stays valid beside a new one: the key of a client of the gateway."""


def known(path: Path) -> Collection[str]:
    """Return the values that a file and those of its unfinished rotations have; none of encrypted files."""
    files = [each for each in (path, *path.parent.glob(f"{path.stem}.*{_NEW}")) if each.is_file()]
    found = [(each, raw) for each in files if not playbook.is_encrypted(raw := each.read_bytes())]
    return [value for each, raw in found for value in _read(each, raw, None).values()]


def secrets_of(plan: Plan, data: object) -> tuple[NeededSecret, ...]:
    """Return the secrets of all hosts of a plan, sorted; `data` is the inventory."""
    named: dict[str, list[Keys]] = {}
    for path, name in _references(data, ()):
        named.setdefault(name, []).append(path)
    hosts: dict[str, list[str]] = {}
    for host in plan.hosts:
        for name in host.secrets:
            hosts.setdefault(name, []).append(host.name)
    found = (_secret(name, hosts[name], named.get(name, [])) for name in sorted(hosts))
    return tuple(each._replace(names=certified(plan, each.name), overlaps=_overlaps(plan, each.name)) for each in found)


def _overlaps(plan: Plan, name: str) -> bool:
    """Return whether only gateways read a secret, as the key of a client: they also accept its former value."""
    return all(each.reloads for each in exposure.readers(plan, name)) and not certified(plan, name)


def _secret(name: str, hosts: list[str], paths: list[Keys]) -> NeededSecret:
    issued = any(path[-1] in _ISSUED or path[0] == _HUB for path in paths)
    return NeededSecret(name, tuple(hosts), tuple(".".join(map(str, path)) for path in paths), issued)


def _references(data: object, path: Keys) -> Iterator[tuple[Keys, str]]:
    """Yield each key that refers to a secret, with the name of the secret."""
    if isinstance(data, tuple):
        for index, value in enumerate(data):
            yield from _references(value, (*path, index))
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        if key in {*SECRET_KEYS, "tls"} and isinstance(value, dict) and "secret" in value:
            yield (*path, key), value["secret"]
        else:
            yield from _references(value, (*path, key))


def complete(
    path: Path, needed: Sequence[NeededSecret], password: Path | None, replaced: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Generate the missing and replaced values and store all; return values and states by name.

    A state is `generated`, `kept` or `missing`; only a secret of another service can be missing. Other values of
    the file stay. Raises click.UsageError, ProgramError and OSError.
    """
    _prepare(path)
    with exclusive(path.parent.parent):  # two runs must not generate different values
        former = path.read_bytes() if path.exists() else None
        values = {} if former is None else _read(path, former, password)
        states = {each.name: _state(each, {} if each.name in replaced else values) for each in needed}
        values |= {each.name: _value(path, each, password) for each in needed if states[each.name] == "generated"}
        encrypts = password is not None and not (former and playbook.is_encrypted(former))
        if former is None or encrypts or "generated" in states.values():
            write.replace(path, _text(values, password), mode=_MODE)
        path.chmod(_MODE)
    return values, states


def rotation(path: Path, secret: NeededSecret, given: str | None, password: Path | None) -> Path:
    """Store the new value of a secret beside the file, and return where: it stays there until all hosts have it.

    Without a given value it is that of an unfinished rotation, or generated. Raises click.UsageError, ProgramError and
    OSError.
    """
    _prepare(path)
    if given is not None and not (given.strip() and _is_text(given)):
        reject(f"the new value of {secret.name} is empty, or not UTF-8 text without NUL")
    new = path.with_name(f"{path.stem}.{secret.name}{_NEW}")
    with exclusive(path.parent.parent):
        former = _read(path, path.read_bytes(), password) if path.exists() else {}
        pending = _read(new, new.read_bytes(), password) if new.exists() else {}
        value = _value(path, secret, password, given or pending.get(secret.name))
        kept = {f"{secret.name}{FORMER}": former[secret.name]} if secret.overlaps and secret.name in former else {}
        write.replace(new, _text({secret.name: value, **kept}, password), mode=_MODE)
    return new


def _value(path: Path, secret: NeededSecret, password: Path | None, given: str | None = None) -> str:
    """Return a value of a secret, a new one if none is given, and store its certificate if it has one."""
    if not secret.names:
        return given or secrets.token_hex(_BYTES)
    value = given or _issued(secret, *_authority(path, password))
    try:
        found = x509.load_pem_x509_certificate(value.encode())
    except ValueError:
        reject(f"the value of {secret.name} must be PEM: the certificate, others up to its authority, and the key")
    _publish(path, secret.name, found)
    return value


def certificate_of(path: Path, name: str) -> Path:
    """Return the file beside the secrets that has the certificate of a secret, or of the authority, without its key."""
    return path.with_name(f"{path.stem}.{name}.crt")


def _publish(path: Path, name: str, certificate: x509.Certificate) -> None:
    write.replace(certificate_of(path, name), certificate.public_bytes(Encoding.PEM), mode=_MODE)


def _issued(secret: NeededSecret, authority: x509.Certificate, signer: ec.EllipticCurvePrivateKey) -> str:
    """Return a certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    issued = (
        _builder(secret.names[0], authority.subject, key.public_key(), _DAYS, authority.not_valid_after_utc)
        .add_extension(x509.SubjectAlternativeName([*map(_general, secret.names)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(usage, critical=False)
        .sign(signer, hashes.SHA256())
    )
    return (issued.public_bytes(Encoding.PEM) + _private(key)).decode()


def _authority(path: Path, password: Path | None) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return the certificate and the key of the authority of a fleet, which is made if there is none."""
    file = path.with_name(f"{path.stem}.{AUTHORITY}.json")
    if file.exists():
        values = _read(file, file.read_bytes(), password)
        key = load_pem_private_key(values["key"].encode(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey), "it was made here"  # noqa: S101
        return x509.load_pem_x509_certificate(values["certificate"].encode()), key
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    made = (
        _builder(f"sparkiac {path.stem}", None, public, _AUTHORITY_DAYS, None)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    values = {"certificate": made.public_bytes(Encoding.PEM).decode(), "key": _private(key).decode()}
    write.replace(file, _text(values, password), mode=_MODE)
    _publish(path, AUTHORITY, made)
    return made, key


def _builder(
    name: str, issuer: x509.Name | None, key: ec.EllipticCurvePublicKey, days: int, last: datetime | None
) -> x509.CertificateBuilder:
    """Return a certificate without extensions, valid since yesterday for slow clocks; without an issuer, its own."""
    now, own = datetime.now(UTC), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ends = now + days * _DAY
    number = x509.random_serial_number()
    return x509.CertificateBuilder(issuer or own, own, key, number, now - _DAY, min(ends, last or ends))


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def settle(path: Path, new: Path, password: Path | None) -> bool:
    """Replace the former value of a secret, now that all hosts have the new one. Return whether it stays valid too."""
    with exclusive(path.parent.parent):
        values = _read(path, path.read_bytes(), password) if path.exists() else {}
        rotated = _read(new, new.read_bytes(), password)
        write.replace(path, _text(values | rotated, password), mode=_MODE)
        new.unlink()
    return len(rotated) > 1


def _state(secret: NeededSecret, values: Mapping[str, str]) -> str:
    if values.get(secret.name, "").strip():
        return "kept"
    return "missing" if secret.issued else "generated"


def _prepare(path: Path) -> None:
    """Make the directory, which Git ignores."""
    if path.is_symlink() or path.parent.is_symlink():
        reject(f"{path} must not be behind a symbolic link, which could lead to a directory that Git tracks")
    for place, wrong, kind in ((path.parent, path.parent.is_file(), "directory"), (path, path.is_dir(), "file")):
        if wrong:
            reject(f"{place} must be a {kind}: move what is there to another place")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    for place in (path.parent, path):
        _require_private(place)
    ignore = path.with_name(".gitignore")
    if not ignore.exists():
        write.replace(ignore, f"{_IGNORE}\n".encode())
    if _IGNORE not in ignore.read_text(encoding="utf-8", errors="replace").splitlines():
        reject(f"{ignore} does not ignore all files, so secrets could be committed: add a line with only {_IGNORE}")


def _require_private(path: Path) -> None:
    """Refuse a file or directory of secrets that other users of this machine can read or change."""
    if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        kept = f"{mode & 0o700:o}"
        reject(f"{path} can be accessed by other users (mode {mode:04o}): run chmod {kept} {path}")


def _read(path: Path, raw: bytes, password: Path | None) -> dict[str, str]:
    """Return the values of the file; no message contains any of its text."""
    if playbook.is_encrypted(raw):
        if password is None:
            reject(f"{path} is encrypted; add --vault-password-file FILE")
        raw = playbook.decrypted(raw, password)
    try:
        data: Any = answers.plain(raw)
    except ValueError:
        data = None
    values = data.get(_KEY) if isinstance(data, dict) and data.keys() == {_KEY} else None
    if isinstance(values, dict) and (wrong := [name for name, value in values.items() if not _is_text(value)]):
        reject(f"{path}: the value of {', '.join(wrong)} is not UTF-8 text without NUL; correct it or remove it")
    if not isinstance(values, dict):
        reject(f"{path} is not {_FORM}; correct it or move it away")
    return values


def _text(values: Mapping[str, str], password: Path | None) -> bytes:
    text = f"{json.dumps({_KEY: values}, indent=1, sort_keys=True)}\n".encode()
    return text if password is None else playbook.encrypted(text, password)


def _is_text(value: object) -> bool:
    """Return whether a value can be an environment variable: text that UTF-8 can encode, without NUL."""
    return isinstance(value, str) and "\0" not in value and value == value.encode(errors="ignore").decode()
