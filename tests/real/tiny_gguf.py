"""Write a GGUF file with a tiny Llama model and random weights, so that real programs of llama.cpp can serve it."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

WIDTH, HEADS, LAYERS, INNER = 64, 4, 4, 128
_WORDS: Final = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *(f"▁w{n}" for n in range(61))]
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_FORMATS: Final = {_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f"}
_ALIGNMENT: Final = 32


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(kind: int, value: Any) -> bytes:  # noqa: ANN401 - a number or a text
    return _text(value) if kind == _STRING else struct.pack(_FORMATS[kind], value)


def _one(key: str, kind: int, value: Any) -> bytes:  # noqa: ANN401
    return _text(key) + struct.pack("<I", kind) + _value(kind, value)


def _list(key: str, kind: int, values: list[Any]) -> bytes:
    body = b"".join(_value(kind, each) for each in values)
    return _text(key) + struct.pack("<IIQ", _ARRAY, kind, len(values)) + body


def _metadata() -> list[bytes]:
    sizes = {
        "context_length": 512,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS,
        "rope.dimension_count": WIDTH // HEADS,
        "vocab_size": len(_WORDS),
    }
    special = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    return [
        _one("general.architecture", _STRING, "llama"),
        *(_one(f"llama.{key}", _UINT32, value) for key, value in sizes.items()),
        _one("llama.attention.layer_norm_rms_epsilon", _FLOAT32, 1e-5),
        _one("tokenizer.ggml.model", _STRING, "llama"),
        _list("tokenizer.ggml.tokens", _STRING, _WORDS),
        _list("tokenizer.ggml.scores", _FLOAT32, [0.0] * len(_WORDS)),
        _list("tokenizer.ggml.token_type", _INT32, [2, 3, 3] + [6] * 256 + [1] * 61),
        *(_one(f"tokenizer.ggml.{key}", _UINT32, value) for key, value in special.items()),
    ]


def _tensors() -> Iterable[tuple[str, tuple[int, ...]]]:
    words = len(_WORDS)
    yield from (("token_embd", (WIDTH, words)), ("output_norm", (WIDTH,)), ("output", (WIDTH, words)))
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        yield from ((f"{block}attn_{name}", (WIDTH, WIDTH)) for name in ("q", "k", "v", "output"))
        yield from ((f"{block}ffn_{name}", (WIDTH, INNER)) for name in ("gate", "up"))
        yield f"{block}ffn_down", (INNER, WIDTH)
        yield from ((f"{block}{name}_norm", (WIDTH,)) for name in ("attn", "ffn"))


def write(path: Path) -> None:
    """Write the file."""
    chance, described, data = random.Random(0), b"", b""
    tensors = list(_tensors())
    for name, shape in tensors:
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if name.endswith("norm") else [chance.gauss(0, 0.05) for _ in range(count)]
        described += _text(f"{name}.weight") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        data += struct.pack(f"<{count}f", *values)
        data += bytes(-len(data) % _ALIGNMENT)
    metadata = _metadata()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + b"".join(metadata) + described
    path.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + data)
