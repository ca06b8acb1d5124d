"""What the servers of other engines than vLLM take, release by release: one file for each engine under `options/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parent / "options"


def read(engine: str) -> dict[str, Any]:
    """Read the file of an engine; `sparkiac.engines.tables` says what is in it."""
    found: dict[str, Any] = json.loads((_ROOT / f"{engine}.json").read_bytes())
    return found
