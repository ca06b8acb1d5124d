"""Headers of safetensors files, whole and otherwise."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from sparkiac.host.sent import safetensors
from tests.standin.hub import safetensors as written


def _file(header: object, size_bytes: int) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + bytes(size_bytes)


def _tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_elements_are_counted_by_type_and_bytes_in_all() -> None:
    content = written({
        "a": ("BF16", (4, 8), bytes(64)), "b": ("F8_E4M3", (16,), bytes(16)), "c": ("BF16", (2,), bytes(4)),
        "d": ("F32", (), bytes(4)), "e": ("BF16", (0, 8), b""), "f": ("F4", (6,), bytes(3)),
    })  # fmt: skip

    read = safetensors.read(content, size_bytes=len(content))

    assert read == ({"BF16": 34, "F8_E4M3": 16, "F32": 1, "F4": 6}, 91)


def test_a_packed_format_counts_what_is_stored() -> None:
    content = written({"weight": ("U8", (64, 32), bytes(2048))})

    assert safetensors.read(content, size_bytes=len(content)).elements == {"U8": 2048}


def test_a_type_that_is_new_counts_by_its_shape() -> None:
    content = written({"weight": ("F2_E1", (16,), bytes(4))})

    assert safetensors.read(content, size_bytes=len(content)) == ({"F2_E1": 16}, 4)


def test_the_tensors_need_not_be_read() -> None:
    content = written({"weight": ("U8", (4096,), bytes(4096))})

    start = content[: safetensors.header_end(content)]
    assert safetensors.read(start, size_bytes=len(content)) == ({"U8": 4096}, 4096)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0" * 8, b"\xff" * 16, b"<!doctype html><html>", _file(b"{}x", 0), _file([], 0), _file(b"{" * 9000, 0),
        _file({"a": None}, 0), _file({"a": {"dtype": "U8"}}, 0), _file({"a": _tensor("U8", [4], 0, 4)}, 3),
        _file({"a": _tensor("U8", [4], 0, 4)}, 5), _file({"a": _tensor("U8", [4], 1, 5)}, 5),
        _file({"a": _tensor("U8", [4], 0, 4), "b": _tensor("U8", [4], 2, 6)}, 6),
        _file({"a": _tensor("BF16", [4], 0, 4)}, 4), _file({"a": _tensor("U8", [-2, -2], 0, 4)}, 4),
        _file({"a": _tensor("U8", [4], 4, 0)}, 4), _file({"a": {**_tensor("U8", [4], 0, 4), "dtype": 8}}, 4),
        _file({"a": {**_tensor("U8", [4], 0, 4), "dtype": "u8\n"}}, 4),
    ],
)  # fmt: skip
def test_nonsense_is_distinguished_from_a_header(content: bytes) -> None:
    with pytest.raises(safetensors.HeaderError):
        safetensors.read(content, size_bytes=len(content))


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
@pytest.mark.parametrize("padding", ["", "   ", "\n"])
def test_a_header_is_read_in_every_layout(layout: dict[str, Any], padding: str) -> None:
    tensors = {
        "__metadata__": {"format": "pt", "notes": '{"a": "}"}'},
        'we"ird\\ {name}': {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
        "b": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [2, 14]},
    }
    header = (json.dumps(tensors, **layout) + padding).encode()
    start = len(header).to_bytes(8, "little") + header
    assert safetensors.read(start, size_bytes=len(start) + 14).elements == {"U8": 2, "BF16": 6}


@pytest.mark.parametrize(
    "header",
    [
        '{"a":X,}',
        '{,"a":X}',
        '{"a":X',
        '{"a":X}}',
        "[]",
        "{}{}",
        '{"a":X "b":X}',
        '{"a":X;"b":X}',
        '{"a":"X"}',
        "{a:X}",
    ],
)
def test_a_header_that_is_no_object_of_tensors_is_refused(header: str) -> None:
    raw = header.replace("X", '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}').encode()
    start = len(raw).to_bytes(8, "little") + raw
    with pytest.raises(safetensors.HeaderError, match="its header does not list tensors"):
        safetensors.read(start, size_bytes=len(start))
