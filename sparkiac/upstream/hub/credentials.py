"""Endpoint and token of the model hub, from the given environment and the login of `hf auth login`.

`huggingface_hub.get_token` is not used: it can send requests of its own, without this package's limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sparkiac.model import forms
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError

ENDPOINT: Final = "https://huggingface.co"
"""The default of HF_ENDPOINT."""
_TOKEN: Final = re.compile(r"[!-~]+")
"""Characters that a header can contain."""
_TRUE: Final = frozenset({"1", "ON", "YES", "TRUE"})


def endpoint(environ: Mapping[str, str]) -> str:
    """Return the hub's URL without a final slash. Raises `UpstreamError` if HF_ENDPOINT is not a plain URL."""
    url = environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    if not re.fullmatch(forms.URL, url):
        message = f"HF_ENDPOINT is not {forms.FORMS[forms.URL]}"
        hint = "remove user and password from it; the token is in HF_TOKEN"
        raise UpstreamError(errors.HUB_NO_RESPONSE, message, hint)
    return url


def token(environ: Mapping[str, str]) -> str | None:
    """Return the token of HF_TOKEN or `hf auth login`. Raises `UpstreamError` if it has invalid characters."""
    text = environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN") or _stored(environ)
    cleaned = text.replace("\r", "").replace("\n", "").strip()
    if cleaned and not _TOKEN.fullmatch(cleaned):
        message = "the token for the model hub contains a space or a character that is not ASCII"
        raise UpstreamError(errors.NO_MODEL, message, "set HF_TOKEN to the token only, or run `hf auth login`")
    return cleaned or None


def offline(environ: Mapping[str, str]) -> str | None:
    """Return the name of the variable that forbids requests to the hub, if one is set."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return next((name for name in names if environ.get(name, "").upper() in _TRUE), None)


def _stored(environ: Mapping[str, str]) -> str:
    """Read the token that `hf auth login` stored, at the path that huggingface_hub documents."""
    home = environ.get("HOME", "")
    cache = environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    folder = environ.get("HF_HOME") or (f"{cache}/huggingface" if cache else "")
    path = environ.get("HF_TOKEN_PATH") or (f"{folder}/token" if folder else "")
    expanded = home + path[1:] if path.startswith("~/") else path
    try:
        return Path(expanded).read_text(encoding="utf-8") if expanded else ""
    except (OSError, UnicodeDecodeError):
        return ""
