"""Rendered trees to look at, parsed by readers that are not the project's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import pipeline
from tests.plan.fleets import planned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.report.artifact import Artifact


@pytest.fixture
def rendered() -> Callable[[str], Mapping[str, Artifact]]:
    """Return a function that renders an inventory: path → artifact."""

    def render(text: str) -> Mapping[str, Artifact]:
        return {artifact.path: artifact for artifact in pipeline.render(planned(text))}

    return render
