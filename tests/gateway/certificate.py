"""A certificate that a test makes, with its key."""

from __future__ import annotations

import datetime as dt

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def pem() -> str:
    """Return a certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gateway.example.org")])
    day = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day + dt.timedelta(days=3650))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    signed = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return (signed + private).decode()
