"""Read JSON that another machine, a program or a server sent. Size, depth and number of values are limited.

The values are counted in the text, before anything is built: pydantic keeps a fault of every item of a list, which for
4 MB takes 2.5 GiB. Keys that a model does not have are ignored, because a host may have another version. Texts come
from elsewhere, so control characters are escaped and long texts cut before anything is shown.
"""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sparkiac.model.base import MOST_BYTES
from sparkiac.report.characters import escaped_line

M = TypeVar("M", bound=BaseModel)

MOST_DEPTH: Final = 64
MOST_VALUES: Final = 20_000
"""Most lists, mappings and commas of a document that a model reads. A host's status has about a thousand."""
MOST_PLAIN_VALUES: Final = 200_000
"""The same for a document that is read as plain data, which takes less memory."""
_LONGEST: Final = 300
_STRING: Final = re.compile('"[^"]*"?')
_NO_BRACKETS: Final = re.compile(r"[^\[\]{}]+")
Number = Annotated[int, Field(ge=0, le=MOST_BYTES)]
"""A count, a size or a speed."""


def counted(raw: str | bytes, *, most: int = MOST_PLAIN_VALUES) -> str:
    """Return a JSON text that is neither too deep nor has too many values. Raises ValueError with a sentence."""
    try:
        text = raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        raise ValueError("not a text in UTF-8") from None
    outside = _STRING.sub("", text.replace("\\\\", "").replace('\\"', ""))
    if sum(map(outside.count, ",[{")) > most:
        raise ValueError(f"JSON with more than {most} values")
    depth = 0
    for bracket in _NO_BRACKETS.sub("", outside):
        depth += 1 if bracket in "[{" else -1
        if depth > MOST_DEPTH:
            raise ValueError(f"JSON with more than {MOST_DEPTH} levels")
    return text


def plain(raw: str | bytes, *, most: int = MOST_PLAIN_VALUES) -> Any:  # noqa: ANN401  JSON
    """Return the value of a JSON text. Raises ValueError with a sentence."""
    return json.loads(counted(raw, most=most), parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


def read(kind: type[M], raw: str | bytes) -> M:
    """Read a JSON text into a model. Raises ValueError with the first fault, without its value."""
    try:
        return kind.model_validate_json(counted(raw, most=MOST_VALUES))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        fault = f"{shown(place)}: {first['type'].replace('_', ' ')}" if place else "not a JSON object"
    raise ValueError(fault)  # not of `error`, which has the document


def shown(text: str) -> str:
    """Return a text of a host in one line of printable characters, with a limited length."""
    line = escaped_line(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


Text = Annotated[str, AfterValidator(shown)]


class ReportedFacts(BaseModel):
    """What a program or a server of a host reports; a newer one may report more."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)

    @classmethod
    def of_output(cls, output: str) -> Self:
        """Read the last line of a program's output. Raises ValueError with what is wrong."""
        return cls.of_json(output.strip().rpartition("\n")[2])

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Read a JSON text. Raises ValueError with what is wrong."""
        try:
            return cls.model_validate_json(counted(text, most=MOST_VALUES))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            message = f"unexpected output, at {place}: {shown(str(first['input']))[:60]!r}" if text else "no output"
            raise ValueError(message) from None
