"""Symptoms of problems at run time, with causes and remedies."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sparkiac.model.base import Code, Model, Name, OptionName, ShortText, Version

SymptomSource = Literal[
    "log", "kernel", "container", "ansible", "answer", "metrics", "memory", "machine", "time", "bench"
]  # fmt: skip
"""Where a symptom appears: the log of the server, the kernel log, the output of Docker, a failure that Ansible reports,
an API response, the metrics of the server, the memory of the host, its power, heat or journal, a duration, or the
output of a benchmark."""
Comparison = Literal["below", "at-most", "not", "at-least", "above"]


def _compiles(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return value


Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_compiles)]
"""A regular expression that is searched in one line. Every repetition in it is bounded, so that no line takes long."""

Finder = Annotated[str, StringConstraints(pattern=r"^(verify|alert|status|bench) [A-Za-z][A-Za-z ]*$", max_length=60)]
"""A check of sparkiac: a step of `verify`, an alert, a column of `status`, or a mode or command of `bench`."""


class Threshold(Model):
    """A limit that a source states, and on which side of it the symptom is present."""

    measure: ShortText
    """Metric of the server or other quantity that is compared."""
    comparison: Comparison
    """How the measured value compares with `number` when the symptom is present, such as above it."""
    number: int | float
    """Limit that the source states."""
    unit: ShortText
    """Unit of the number, such as `fraction`, `times`, GiB or s."""
    when: ShortText | None = None
    """Circumstances in which the limit applies."""
    source: ShortText
    """Source of the limit."""


class Observation(Model):
    """A symptom that no single log line shows: it is visible in metrics or on the host."""

    look: ShortText
    """What to examine, and how."""
    metrics: tuple[ShortText, ...] = ()
    """Server metrics to look at."""
    thresholds: tuple[Threshold, ...] = ()
    """Limits that sources state."""


class Conditions(Model):
    """Circumstances in which cause and remedy apply. An empty field does not restrict them."""

    models: tuple[ShortText, ...] = ()
    """Model handles; * matches any part of a name."""
    images: tuple[ShortText, ...] = ()
    """Image references; * matches any part of a reference."""
    vllm_at_least: Version | None = None
    """Oldest vLLM release."""
    vllm_below: Version | None = None
    """First vLLM release without the symptom."""
    others: tuple[ShortText, ...] = ()
    """Further conditions, as text."""


class Conflict(Model):
    """A source that contradicts the others."""

    source: ShortText
    """Source that disagrees."""
    says: ShortText
    """What the source says."""
    decided_by: ShortText
    """How to decide which source to follow."""


class FromLine(Model):
    """A value that the line of the symptom contains."""

    group: ShortText
    """Named group of the pattern. A group that is not in the line gives no change."""


ChangedOption = str | int | float | bool | FromLine | None
"""New value of an option; null removes it."""


class Remedy(Model):
    """Change of a deployment in the inventory that certainly removes the cause."""

    set: Mapping[OptionName, ChangedOption] = Field(default_factory=dict)
    """Engine options."""
    remove_env: FromLine | None = None
    """Environment variable to remove, whose name is in the line."""
    speculative: Mapping[OptionName, str | int] = Field(default_factory=dict)
    """Settings of speculative decoding."""
    requires: tuple[OptionName, ...] = ()
    """Engine options that must be set; without them the change is not enough."""


class Symptom(Model):
    """One symptom, which appears as a log line, as an observation, or as both."""

    code: Code
    """Code, the same as the name of the file."""
    slug: Name
    """Short name."""
    title: ShortText
    """Title, in one line."""
    severity: Literal["error", "warning", "info"]
    """`error`: the server does not serve or gives wrong answers; `warning`: it serves with limitations; `info`: often
    normal."""
    sees: SymptomSource
    """Where the symptom appears."""
    pattern: Pattern | None = None
    """Pattern that a line there matches."""
    probe: Observation | None = None
    """What to look at there, if no log line shows the symptom, or not every time."""
    found_by: tuple[Finder, ...] = ()
    """Checks of sparkiac that find the symptom or exclude it. A symptom without a pattern has one."""
    cause: ShortText
    """Cause of the symptom."""
    remedy: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Steps to take, in this order."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Sources of this information."""
    rule: Code | None = None
    """Rule that detects the cause before the start."""
    also: tuple[Code, ...] = ()
    """Other symptoms whose lines this pattern also matches. If one of them is found, it is the cause of this one."""
    consequence: bool = False
    """Whether another error causes it: an error that is found in the same logs is then the cause."""
    at_end: bool = False
    """Whether the line counts only if no other line of the engine follows."""
    change: Remedy | None = None
    """Change of the inventory that removes the cause."""
    conditions: Conditions = Field(default_factory=Conditions)
    """Circumstances in which cause and remedy apply."""
    conflicts: tuple[Conflict, ...] = ()
    """Sources that contradict the others."""
    notes: tuple[ShortText, ...] = ()
    """Further information."""

    @model_validator(mode="after")
    def _shows(self) -> Self:
        if self.pattern is None and (self.probe is None or not self.found_by):
            raise ValueError("a symptom has a pattern, or a probe and a check that finds it")
        groups = re.compile(self.pattern or "").groupindex
        unknown = [each for each in _groups(self.change) if each not in groups]
        if unknown:
            raise ValueError(f"the pattern has no group {unknown[0]}")
        return self


def _groups(change: Remedy | None) -> Iterator[str]:
    values = (*change.set.values(), change.remove_env) if change else ()
    return (each.group for each in values if isinstance(each, FromLine))
