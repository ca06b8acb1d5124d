"""Catalog entries: recipes, their variants, and fragments that fit any recipe."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import Code, EntryName, Model, Name, ShortText
from sparkiac.model.facts import ModelFacts
from sparkiac.model.settings import Serving, Settings

EngineName = Literal["vllm", "sglang", "llama-cpp", "tensorrt-llm", "aeon-vllm"]
"""One module of sparkiac/engines each."""
UseCase = Literal[
    "agents",
    "any",
    "audio",
    "chat",
    "coding",
    "fast",
    "judge",
    "long-context",
    "multimodal",
    "quality",
    "reasoning",
    "vision",
]
Status = Literal["recipe", "mention", "superseded", "retired"]


class Measurement(Model):
    """A figure that a source printed. It is that source's measurement, never ours."""

    what: ShortText
    """What was measured."""
    value: ShortText
    """The figure with its unit."""
    source: ShortText
    """Where it stands."""


class Correction(Model):
    """A difference between this entry and the command that its source printed."""

    what: ShortText
    """What differs."""
    why: ShortText
    """Why it must."""


class GeneralNotes(Model):
    """What differs in every recipe from the commands that sources print. Entries do not repeat it."""

    corrections: tuple[Correction, ...]
    """The differences."""
    not_verified: tuple[ShortText, ...]
    """What only a real machine can show, whatever the recipe."""


class ExpectedFinding(Model):
    """A finding that this entry gives on a reference host, and why it stays."""

    code: Code
    """The rule's code."""
    why: ShortText
    """Why."""
    refused: bool = False
    """Whether it is an error: `check` refuses the entry until the inventory adds or changes something."""


class CatalogEntry(Model):
    """What every entry tells about itself."""

    title: ShortText
    """One line."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Documents that the entry is taken from."""
    status: Status = "recipe"
    """`recipe` can be deployed; a `mention` is named by its source and no more; `superseded` and `retired` say why."""
    why: ShortText | None = None
    """Why the entry is not a recipe, or no longer."""
    instead: EntryName | None = None
    """What to take instead: vendor/name, or vendor/name#variant."""
    notes: tuple[ShortText, ...] = ()
    """What to know before using it."""
    measured: tuple[Measurement, ...] = ()
    """Figures of the sources."""
    corrections: tuple[Correction, ...] = ()
    """Differences from the sources."""
    not_verified: tuple[ShortText, ...] = ()
    """What only a real machine can show."""
    findings: tuple[ExpectedFinding, ...] = ()
    """What `check` says about it on a reference host."""


class Recipe(CatalogEntry, Serving):
    """A model served by an engine in an image with known-good options, with its sources."""

    engine: EngineName
    """The serving engine."""
    nodes: Annotated[int, Field(ge=1, le=64)] = 1
    """Machines that it needs."""
    use_cases: tuple[UseCase, ...] = ()
    """What it is good for, as its sources say."""
    facts: ModelFacts = Field(default_factory=ModelFacts)
    """What is known about the model."""


class Variant(CatalogEntry, Serving):
    """A named edit of a whole recipe: model, image, options, environment. `null` takes a value away."""

    nodes: Annotated[int, Field(ge=1, le=64)] | None = None
    """Machines that it needs, if not as many as the recipe."""
    use_cases: tuple[UseCase, ...] = ()
    """What it is good for beside."""
    facts: ModelFacts | None = None
    """What is known about the model, where the variant serves another one."""
    solves: tuple[Code, ...] = ()
    """Findings of the recipe that the variant does not have."""


class Fragment(CatalogEntry, Settings):
    """Settings that fit any recipe of an engine."""

    engine: EngineName | None = None
    """The engine that it is for; any unless said."""
    nodes: Annotated[int, Field(ge=1, le=64)] | None = None
    """Machines that it is for."""
    needs: tuple[Name, ...] = ()
    """Fragments that belong with it."""
