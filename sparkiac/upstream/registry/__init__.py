"""The client of the OCI distribution API: what a name of an image means now."""

from sparkiac.upstream.registry.client import Client
from sparkiac.upstream.registry.credentials import Credentials
from sparkiac.upstream.registry.images import resolve
from sparkiac.upstream.registry.several import Wanted, several
from sparkiac.upstream.registry.signatures import Identity, Key, verify
from sparkiac.upstream.registry.transport import Patience

__all__ = ["Client", "Credentials", "Identity", "Key", "Patience", "Wanted", "resolve", "several", "verify"]
