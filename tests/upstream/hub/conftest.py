"""huggingface_hub keeps one client for all who ask: it is closed when these tests are through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import huggingface_hub
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    """Close what a module opened."""
    yield
    huggingface_hub.close_session()
