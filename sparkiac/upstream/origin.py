"""Where the installed sparkiac came from, as pip and uv record it in `direct_url.json`: CI installs the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from sparkiac import __version__

_NAME: Final = "sparkiac"


class UrlOrigin(NamedTuple):
    """The requirement that installs this version elsewhere, or the local path that no other machine has."""

    requirement: str | None
    path: Path | None = None
    """Wheel, or directory with the sources."""


def read() -> UrlOrigin:
    """Return the origin of the sparkiac that runs."""
    recorded = metadata.distribution(_NAME).read_text("direct_url.json")
    return of(json.loads(recorded) if recorded else {})


def of(recorded: Mapping[str, Any]) -> UrlOrigin:
    """Return the origin for the content of `direct_url.json`, which an installation from an index lacks."""
    if not recorded:
        return UrlOrigin(f"{_NAME}=={__version__}")
    url = urlsplit(recorded["url"])
    if url.scheme == "file":
        return UrlOrigin(None, Path(unquote(url.path)))
    if found := recorded.get("vcs_info"):
        return UrlOrigin(f"{_NAME} @ {found['vcs']}+{recorded['url']}@{found['commit_id']}")
    digest = recorded.get("archive_info", {}).get("hashes", {}).get("sha256")
    return UrlOrigin(f"{_NAME} @ {recorded['url']}{f'#sha256={digest}' if digest else ''}")
