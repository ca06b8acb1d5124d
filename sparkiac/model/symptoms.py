"""Symptoms: what shows when something is wrong at run time, why, and what to do about it."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sparkiac.model.base import Code, Model, Name, ShortText, Version

SymptomSource = Literal["log", "kernel", "container", "answer", "metrics", "memory", "time", "bench"]
"""The server's log, the kernel's, Docker's own words, what the server answers, its metrics, the host's memory, how long
a thing takes, or the output of a measurement."""
Comparison = Literal["below", "at-most", "not", "at-least", "above"]


def _compiles(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        message = f"not a regular expression: {error}"
        raise ValueError(message) from None
    return value


Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_compiles)]
"""A regular expression that is searched for in one line. Every repetition in it has an end, so that no line is slow."""


class Threshold(Model):
    """A figure of a source, and on which side of it the symptom shows."""

    measure: ShortText
    """What is compared: a metric of the server, or what else is measured."""
    comparison: Comparison
    """How the measured value lies to the number when the symptom shows."""
    number: int | float
    """The source's figure."""
    unit: ShortText
    """What the number counts; `fraction` of one, `times`, GiB, s."""
    when: ShortText | None = None
    """Circumstances that the figure is for."""
    source: ShortText
    """Where it stands."""


class Observation(Model):
    """Something to look at that no single line of a log tells."""

    look: ShortText
    """What to look at, and how."""
    metrics: tuple[ShortText, ...] = ()
    """Metrics of the server that it needs."""
    thresholds: tuple[Threshold, ...] = ()
    """The figures that sources give; none where they give none."""


class Conditions(Model):
    """Under which circumstances the symptom means what is said here. An empty one holds everywhere."""

    models: tuple[ShortText, ...] = ()
    """Models, with * for any part of a name."""
    images: tuple[ShortText, ...] = ()
    """Images, with * for any part of a reference."""
    vllm_at_least: Version | None = None
    """Oldest vLLM release."""
    vllm_below: Version | None = None
    """First vLLM release without it."""
    others: tuple[ShortText, ...] = ()
    """What else must be so, in words."""


class Conflict(Model):
    """Two sources that disagree."""

    source: ShortText
    """The one that says otherwise."""
    says: ShortText
    """What it says."""
    decided_by: ShortText
    """The condition that tells which of them to follow."""


class Symptom(Model):
    """One thing that shows, either as a line or as something to look at."""

    code: Code
    """Its code, which is the file's name too."""
    slug: Name
    """Its name in words."""
    title: ShortText
    """One line."""
    severity: Literal["error", "warning", "info"]
    """`error`: it does not serve, or serves wrong answers; `warning`: it serves less well; `info`: a thing to know, and
    often as it should be."""
    sees: SymptomSource
    """Where it shows."""
    pattern: Pattern | None = None
    """What a line there holds."""
    probe: Observation | None = None
    """What to look at there, where no line tells."""
    cause: ShortText
    """Why it shows."""
    remedy: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """What to do, in this order."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Where this comes from."""
    rule: Code | None = None
    """The rule that keeps it from happening, at generation or before the start."""
    also: tuple[Code, ...] = ()
    """Other symptoms whose lines this pattern finds too."""
    conditions: Conditions = Field(default_factory=Conditions)
    """When it means this."""
    conflicts: tuple[Conflict, ...] = ()
    """Where sources disagree."""
    notes: tuple[ShortText, ...] = ()
    """What to know beside."""

    @model_validator(mode="after")
    def _shows_in_one_way(self) -> Self:
        if (self.pattern is None) == (self.probe is None):
            message = "a symptom has either a pattern or a probe"
            raise ValueError(message)
        return self
