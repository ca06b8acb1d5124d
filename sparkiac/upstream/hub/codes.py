"""Codes of what the model hub's answers are refused for, and those of other files."""

from __future__ import annotations

from typing import Final

MISSING: Final = "LCK010"
"""No such repository, or it is private, which the hub does not tell apart."""
GATED: Final = "LCK011"
"""Its terms were not accepted, or the token may not read it."""
REVISION: Final = "LCK012"
"""No such branch, tag or commit."""
UNANSWERED: Final = "LCK013"
"""The hub does not answer."""
UNTRUE: Final = "LCK014"
"""Something is not what the hub says of it."""
NO_FILE: Final = "LCK015"
"""The repository has no such file."""
FILE_MISSING: Final = "LCK020"
"""There is no such file at an address."""
FILE_UNANSWERED: Final = "LCK021"
"""An address does not answer."""
FILE_UNFIT: Final = "LCK022"
"""A file is too large, or not whole."""
