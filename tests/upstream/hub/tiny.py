"""A small repository of an invented organisation, and the client as tests ask it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.hub import model
from sparkiac.upstream.hub.client import HubClient as Client
from sparkiac.upstream.transport import HttpTimeouts
from tests.standin.hub import Repository, safetensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.model.lock import LockedModel
    from tests.standin.hub import Hub

HANDLE = "acme/tiny"
TOKEN = "hf_of_a_test_and_nobody_else"  # noqa: S105  no secret: the stand-in alone knows it
CONFIG = json.dumps({
    "architectures": ["TinyForCausalLM"], "model_type": "tiny", "num_hidden_layers": 2, "num_key_value_heads": 1,
    "head_dim": 8, "layer_types": ["full_attention", "sliding_attention"], "sliding_window": None, "id2label": {},
}).encode()  # fmt: skip
FIRST = safetensors({"embed": ("BF16", (4, 8), b"\1" * 64), "scale": ("F32", (), b"\0" * 4)})
SECOND = safetensors({"experts": ("U8", (3, 5), b"\2" * 15), "norm": ("BF16", (8,), b"\3" * 16)})
FILES = {
    "config.json": CONFIG,
    "tokenizer.json": b'{"model": {}}',
    "tokenizer_config.json": b"{}",
    "chat_template.jinja": b"{{ messages }}",
    "model-00001-of-00002.safetensors": FIRST,
    "model-00002-of-00002.safetensors": SECOND,
    "model.safetensors.index.json": b'{"weight_map": {}}',
    "LICENSE": b"Do as you like.",
    "README.md": b"# Tiny",
    ".gitattributes": b"*.safetensors filter=lfs",
    "figure.png": b"\x89PNG",
}


def tiny(changed: Mapping[str, bytes | None] | None = None, **told: object) -> Repository:
    """Make acme/tiny with other files, or without those that are None."""
    files = {**FILES, **(changed or {})}
    return Repository(HANDLE, {path: content for path, content in files.items() if content is not None}, **told)  # type: ignore[arg-type]


def client(hub: Hub, *, token: str | None = None, timeout_s: float = 10) -> Client:
    """Return a client that does not wait between tries."""
    return Client(hub.url, token, timeouts=HttpTimeouts(timeout_s, timeout_s, 6 * timeout_s), sleep=lambda _: None)


def refused(ask: Callable[[], object]) -> UpstreamError:
    """Return the refusal that asking ends with."""
    with pytest.raises(UpstreamError) as caught:
        ask()
    return caught.value


def resolve(handle: str, *, hub: Client, revision: str = "main", file: str | None = None) -> LockedModel:
    """Resolve a repository as a whole, or one file of it."""
    files, forms = ((file,), ()) if file else ((), ("shards",))
    return model.resolve(handle, hub=hub, revision=revision, files=files, forms=forms)
