"""Where the hub is and what it is asked with, from the environment that the caller passes.

huggingface_hub reads the environment once, when it is imported; so nothing is left to it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkiac.model import forms
from sparkiac.upstream.hub import codes
from sparkiac.upstream.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDPOINT: Final = "https://huggingface.co"
"""The hub, if HF_ENDPOINT names no other."""
_TOKEN: Final = re.compile(r"[!-~]+")
"""What a header can carry."""


def endpoint(environ: Mapping[str, str]) -> str:
    """Give the hub's address, without a slash at its end.

    Raises `Refusal` if HF_ENDPOINT is no plain address.
    """
    address = environ.get("HF_ENDPOINT", "").rstrip("/") or ENDPOINT
    if not re.fullmatch(forms.URL, address):
        message = f"HF_ENDPOINT is not {forms.FORMS[forms.URL]}"
        raise Refusal(codes.UNANSWERED, message, "name the hub without user or password; HF_TOKEN is for those")
    return address


def token(environ: Mapping[str, str]) -> str | None:
    """Give the token: HF_TOKEN, or what `hf auth login` left.

    Raises `Refusal` if it holds what no token does.
    """
    said = environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN") or _left(_token_path(environ))
    cleaned = said.replace("\r", "").replace("\n", "").strip()
    if cleaned and not _TOKEN.fullmatch(cleaned):
        message = "the hub's token holds a blank or a character outside ASCII"
        raise Refusal(codes.MISSING, message, "set HF_TOKEN to the token alone, or run `hf auth login`")
    return cleaned or None


def offline(environ: Mapping[str, str]) -> str | None:
    """Name the variable that forbids to ask the hub, if one does."""
    said = (name for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if _is_true(environ.get(name, "")))
    return next(said, None)


def _is_true(value: str) -> bool:
    return value.upper() in {"1", "ON", "YES", "TRUE"}


def _token_path(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("HF_TOKEN_PATH"):
        return _expanded(named, environ)
    if home := environ.get("HF_HOME"):
        return _expanded(home, environ) / "token"
    cache = environ.get("XDG_CACHE_HOME") or (f"{environ['HOME']}/.cache" if environ.get("HOME") else None)
    return _expanded(cache, environ) / "huggingface/token" if cache else None


def _expanded(path: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    return Path(home + path[1:] if path == "~" or path.startswith("~/") else path)


def _left(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
