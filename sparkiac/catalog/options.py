"""Options of engines other than vLLM by release: one file for each engine under `options/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parent / "options"


def read(engine: str) -> dict[str, Any]:
    """Return the content of an engine's file; `sparkiac.engines.tables` describes the format."""
    found: dict[str, Any] = json.loads((_ROOT / f"{engine}.json").read_bytes())
    return found
