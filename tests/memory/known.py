"""Networks and options that several tests use. Configurations carry the keys that decide on memory, and no others."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from sparkiac.memory import blocks, options, shape
from sparkiac.memory.blocks import Cache
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import GIB

HERE: Final = Path(__file__).parent
TOTAL_BYTES: Final = round(119.21 * GIB)
"""128 GB, as the guide's machine has them."""
QWEN: Final = "nvidia/Qwen3.6-35B-A3B-NVFP4"
GUIDE: Final[dict[str, Any]] = {
    "gpu_memory_utilization": 0.85,
    "kv_cache_dtype": "fp8",
    "max_model_len": 65536,
    "max_num_seqs": 4,
    "max_num_batched_tokens": 8192,
    "enable_prefix_caching": True,
}
"""What the Spark guide tells its server (L137-160)."""
MTP_3: Final = Speculation("mtp", 3)
LATEST: Final = (0, 32, 0)


@cache
def configs() -> dict[str, Any]:
    """Return the configurations of real models, by handle."""
    found: dict[str, Any] = json.loads((HERE / "models.json").read_text())
    return found


def network(handle: str) -> Shape:
    """Return the shape of a model that is understood."""
    found = shape.read(configs()[handle])
    assert isinstance(found, Shape), found
    return found


def told(given: dict[str, Any] | None = None, *, release: tuple[int, ...] = LATEST, drafts: int = 0) -> ServerOptions:
    """Return options that make sense."""
    found = options.read(given or {}, release=release, drafts=drafts)
    assert isinstance(found, ServerOptions), found
    return found


def laid(
    handle: str, given: dict[str, Any], *, release: tuple[int, ...] = LATEST, speculation: Speculation | None = None
) -> Cache:
    """Return the layout of a cache that can be worked out."""
    found = blocks.cache(network(handle), told(given, release=release), speculation=speculation)
    assert isinstance(found, Cache), found
    return found
