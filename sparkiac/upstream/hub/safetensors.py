"""The header of a safetensors file: what tensors it holds, without reading them.

8 bytes give the header's length, little-endian; then comes JSON; then the tensors, without a gap (the format's own
description). So the header says how long the file has to be.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NamedTuple

LENGTH_BYTES: Final = 8
"""What stands before the header."""
FIRST_READ_BYTES: Final = 100_000
"""What is read first. 97 % of the headers of the hub's most loaded files fit in, says huggingface_hub's source."""
_LONGEST_BYTES: Final = 100_000_000
"""The format's own limit to a header."""
_TYPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,15}")
_BITS: Final = {"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32,
        "F32": 32, "U64": 64, "I64": 64, "F64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4}  # fmt: skip
"""Bits of one element, of the types whose size is known."""


class Tensors(NamedTuple):
    """What a file holds."""

    elements: dict[str, int]
    """Element type → stored elements. A packed format stores several weights in one: NVFP4 two in a U8."""
    size_bytes: int
    """Bytes of all tensors."""


class NonsenseError(ValueError):
    """It is no header, or not of a file of this size."""


def header_end(start: bytes) -> int:
    """Give the offset at which the tensors begin, from the file's first 8 bytes. Raises NonsenseError."""
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if len(start) < LENGTH_BYTES or not 2 <= length <= _LONGEST_BYTES:  # noqa: PLR2004  the shortest JSON object
        message = f"a header of {length} bytes"
        raise NonsenseError(message)
    return LENGTH_BYTES + length


def read(start: bytes, *, size_bytes: int) -> Tensors:
    """Read the tensors from the start of a file of this size, which holds the whole header. Raises NonsenseError."""
    end = header_end(start)
    try:
        header = json.loads(start[LENGTH_BYTES:end])
        spans = sorted(_tensor(tensor) for name, tensor in header.items() if name != "__metadata__")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"a header that is none: {type(error).__name__}"
        raise NonsenseError(message) from None
    _refuse_gaps(spans, size_bytes - end)
    elements: dict[str, int] = {}
    for _, _, dtype, count in spans:
        elements[dtype] = elements.get(dtype, 0) + count
    return Tensors(elements, size_bytes - end)


def _tensor(tensor: dict[str, Any]) -> tuple[int, int, str, int]:
    begin, end = tensor["data_offsets"]
    dtype, count = tensor["dtype"], math.prod(tensor["shape"])
    bits = _BITS.get(dtype, 0)
    if (
        not _TYPE.fullmatch(dtype)
        or min(tensor["shape"], default=0) < 0
        or (bits and bits * count != 8 * (end - begin))
    ):
        message = "a tensor whose shape and place differ"
        raise ValueError(message)
    return begin, end, dtype, count


def _refuse_gaps(spans: list[tuple[int, int, str, int]], size_bytes: int) -> None:
    reached = 0
    for begin, end, *_ in spans:
        if begin != reached or end < begin:
            message = f"tensors with a gap or an overlap at byte {reached}"
            raise NonsenseError(message)
        reached = end
    if reached != size_bytes:
        message = f"{reached} bytes of tensors in a file that has room for {size_bytes}"
        raise NonsenseError(message)
