"""The stand-in for the model hub, at the control station's address of a bed: run inside its network namespace.

It has the repositories whose names follow the address, or `acme/tiny`. It answers each line on standard input with the
paths that were asked for since the last one, as JSON.
"""

from __future__ import annotations

import json
import sys

from tests.host.staging import tiny
from tests.lock.upstream import repository
from tests.standin import hub as standin

ADDRESS, *HANDLES = sys.argv[1:]


class Placed(standin.Server):
    """A server at another address than loopback."""

    def server_bind(self) -> None:
        """Bind to the bed's address."""
        self.server_address = (ADDRESS, 0)
        super().server_bind()


standin.Server = Placed  # type: ignore[misc]  # the class that Hub makes its servers of
with standin.Hub(*(map(repository, HANDLES) if HANDLES else [tiny()])) as hub:
    hub.url, hub.cdn_url = (url.replace("127.0.0.1", ADDRESS) for url in (hub.url, hub.cdn_url))
    sys.stdout.write(f"{hub.url}\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        sys.stdout.write(json.dumps(hub.asked() + hub.asked(server="cdn")) + "\n")
        sys.stdout.flush()
        hub.requests.clear()
