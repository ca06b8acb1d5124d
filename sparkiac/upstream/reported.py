"""JSON that a program or a server of a host reports, read with its types and limits.

A host may have another version of the program: unknown keys are ignored. Texts come from the host, so control
characters are escaped and long texts cut before anything is shown.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sparkiac.model.base import MOST_BYTES
from sparkiac.report.characters import escaped_line

_LONGEST: Final = 300


def shown(text: str) -> str:
    """Return a text of a host in one line of printable characters, with a limited length."""
    line = escaped_line(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


Text = Annotated[str, AfterValidator(shown)]
Number = Annotated[int, Field(ge=0, le=MOST_BYTES)]
"""A count, a size or a speed."""


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
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            message = f"unexpected output, at {place}: {shown(str(first['input']))[:60]!r}" if text else "no output"
            raise ValueError(message) from None
