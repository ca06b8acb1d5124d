"""The error that upstream clients raise, and the codes of the findings that it becomes."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_IMAGE: Final = "LCK001"
"""The registry has no such repository, tag or digest."""
NO_ARCHITECTURE: Final = "LCK002"
"""The image is not built for the architecture of the hosts."""
LOGIN: Final = "LCK003"
"""A login for a registry is missing, refused or unreadable."""
REGISTRY_NO_RESPONSE: Final = "LCK004"
"""The registry does not respond."""
REGISTRY_INVALID: Final = "LCK005"
"""The registry's response does not match its digest or its type."""
NO_MODEL: Final = "LCK010"
"""The hub has no such repository, or it is private: the hub does not distinguish these."""
GATED: Final = "LCK011"
"""The terms of the model were not accepted, or the token has no read access."""
NO_REVISION: Final = "LCK012"
"""The repository has no such branch, tag or commit."""
HUB_NO_RESPONSE: Final = "LCK013"
"""The hub does not respond."""
HUB_INVALID: Final = "LCK014"
"""A file does not match what the hub lists."""
NO_MODEL_FILE: Final = "LCK015"
"""The repository has no such file."""
NO_FILE: Final = "LCK020"
"""The URL leads to no file."""
FILE_NO_RESPONSE: Final = "LCK021"
"""The server of the URL does not respond."""
FILE_INVALID: Final = "LCK022"
"""The file is too large or incomplete."""


class UpstreamError(Exception):
    """A name could not be resolved. Its text contains hosts and references, and never a credential."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        """Store the code of the finding, its message and what to do."""
        super().__init__(message)
        self.code = code
        self.hint = hint


class FailureCodes(NamedTuple):
    """Codes for requests that fail before there is a complete response."""

    no_response: str
    incomplete: str
    oversize: str


REGISTRY: Final = FailureCodes(REGISTRY_NO_RESPONSE, REGISTRY_INVALID, REGISTRY_INVALID)
HUB: Final = FailureCodes(HUB_NO_RESPONSE, HUB_NO_RESPONSE, HUB_INVALID)
FILE: Final = FailureCodes(FILE_NO_RESPONSE, FILE_INVALID, FILE_INVALID)
