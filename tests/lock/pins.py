"""What inventories want, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import pipeline
from sparkiac.lock.required import RequiredPin
from sparkiac.model.lock import Lock, LockedImage, LockedModel
from sparkiac.report import Loc, Mark
from tests.plan.fleets import ONES, TWOS

if TYPE_CHECKING:
    from sparkiac.model.lock import LoadedFormat
    from sparkiac.pipeline import LockState

THREES: Final = "sha256:" + "3" * 64
LOC: Final = Loc("lab.yaml", Mark(1, 1, 1, 2), "name: lab")
IMAGE: Final = LockedImage(
    digest=ONES, manifest=TWOS, config=THREES, size_bytes=7, created="2026", versions={"vllm": "1"}
)
MODEL: Final = LockedModel.model_validate(
    {"commit": "1" * 40, "files": {"config.json": {"size_bytes": 2, "sha256": "4" * 64}}}
)


def state(text: str, locked: str | None = None) -> LockState:
    """Take an inventory whose input is good through the pipeline."""
    lock = None if locked is None else pipeline.InputFile("lab.lock.yaml", locked.encode())
    found = pipeline.lock_state(pipeline.InputFile("lab.yaml", text.encode()), lock)
    assert found.plan is not None, found.report.findings
    return found


def image(
    name: str = "example.org/a:1", source: str = "", *, architectures: tuple[str, ...] = ("arm64",)
) -> RequiredPin:
    """Require an image."""
    return RequiredPin("image", name, ("chat",), (LOC,), source=source or name, architectures=architectures)


def model(
    name: str = "acme/tiny",
    *,
    revision: str = "main",
    files: tuple[str | None, ...] = (None,),
    forms: tuple[LoadedFormat, ...] = ("shards",),
) -> RequiredPin:
    """Require a model."""
    return RequiredPin("model", name, ("chat",), (LOC,), revision=revision, files=files, forms=forms)


def file(name: str = "https://example.org/a.py", *, revision: str = "main") -> RequiredPin:
    """Require a file."""
    return RequiredPin("file", name, ("chat",), (LOC,), revision=revision)


def lock(**sections: object) -> Lock:
    """Make a lock."""
    return Lock.model_validate({"version": 1, "images": {}} | sections)
