"""Read the header of a safetensors file: its tensors, without their data.

The file starts with the length of the header in 8 bytes, little-endian. Then follow the header as JSON and the tensors
without gaps, so the header determines the size of the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

FIRST_READ_BYTES: Final = 100_000
"""Size of the first read. According to huggingface_hub's source, 97 % of all headers are shorter."""
LENGTH_BYTES: Final = 8
_MAX_HEADER_BYTES: Final = 25_165_824
"""24 MiB, for 150,000 tensors. The format allows 100 MB."""
_NAME: Final = re.compile(r'\s*([{,])\s*("(?:[^"\\]|\\.){0,1000}")\s*:\s*')
_LONGEST: Final = {"__metadata__": 1 << 20}
"""Name → most characters of its value; other names are tensors."""
_LONGEST_TENSOR: Final = 1000
_TYPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,15}")
_BITS: Final = {"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32,
        "F32": 32, "U64": 64, "I64": 64, "F64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4}  # fmt: skip
"""Bits per element of the known types."""


class Tensors(NamedTuple):
    """The tensors of a file."""

    elements: dict[str, int]
    """Element type → number of stored elements. Packed formats store several weights in one: NVFP4 two in a U8."""
    size_bytes: int
    """Size of all tensors."""


class HeaderError(ValueError):
    """The header is invalid, or belongs to a file of another size."""


def header_end(start: bytes) -> int:
    """Return the offset of the tensors, from the first 8 bytes of the file. Raises HeaderError."""
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if len(start) < LENGTH_BYTES or not 2 <= length <= _MAX_HEADER_BYTES:  # noqa: PLR2004  the shortest JSON object
        raise HeaderError(f"a header of {length} bytes")
    return LENGTH_BYTES + length


def read(start: bytes, *, size_bytes: int) -> Tensors:
    """Read the tensors from the start of a file of this size, which includes the whole header. Raises HeaderError."""
    end = header_end(start)
    try:
        header = start[LENGTH_BYTES:end].decode("ascii")
        spans = sorted(_tensor(value) for name, value in _entries(header) if name not in _LONGEST)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise HeaderError("its header does not list tensors with type, shape and offsets") from None
    _refuse_gaps(spans, size_bytes - end)
    elements: dict[str, int] = {}
    for _, _, dtype, count in spans:
        elements[dtype] = elements.get(dtype, 0) + count
    return Tensors(elements, size_bytes - end)


def _entries(header: str) -> Iterator[tuple[str, Any]]:
    """Yield names and values one after the other; all of them at once would take twelve times their size."""
    decoder, at, separator = json.JSONDecoder(), 0, "{"
    while (found := _NAME.match(header, at)) and found[1] == separator:
        name = json.loads(found[2])
        value, length = decoder.raw_decode(header[found.end() : found.end() + _LONGEST.get(name, _LONGEST_TENSOR)])
        yield name, value
        at, separator = found.end() + length, ","
    if header[at:].strip() != ("}" if at else "{}"):
        raise ValueError("not an object of tensors")


def _tensor(tensor: dict[str, Any]) -> tuple[int, int, str, int]:
    begin, end = tensor["data_offsets"]
    dtype, count = tensor["dtype"], math.prod(tensor["shape"])
    bits = _BITS.get(dtype, 0)
    negative = min(tensor["shape"], default=0) < 0
    if not _TYPE.fullmatch(dtype) or negative or (bits and bits * count != 8 * (end - begin)):
        raise ValueError("the shape of a tensor does not match its offsets")
    return begin, end, dtype, count


def _refuse_gaps(spans: list[tuple[int, int, str, int]], size_bytes: int) -> None:
    offset = 0
    for begin, end, *_ in spans:
        if begin != offset or end < begin:
            raise HeaderError(f"a gap or an overlap of tensors at byte {offset}")
        offset = end
    if offset != size_bytes:
        raise HeaderError(f"the header lists {offset} bytes of tensors, and {size_bytes} bytes follow it")
