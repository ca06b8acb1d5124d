"""Which files of a repository a host needs.

Everything is kept that no row of `EXCLUDED` leaves out: tokenizers, templates, processors, adapters, Python code, and
the licence, which goes wherever the weights go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPLIT: Final = re.compile(r"(?P<stem>.+)-[0-9]{5}-of-(?P<parts>[0-9]{5})\.gguf")
_MOST_PARTS: Final = 1000
_SAFETENSORS: Final = r"\.safetensors$"


class Exclusion(NamedTuple):
    """Files that stay on the hub."""

    pattern: str
    """Regular expression, searched for in the path."""
    reason: str
    """Why no host needs them."""
    beside: str | None = None
    """They are left out only where this is found in the path of another file that is kept."""


EXCLUDED: Final = (
    Exclusion(r"(^|/)\.[^./]", "settings of Git and of editors"),
    Exclusion(r"(^|/)README[^/]*$", "a page to read on the hub"),
    Exclusion(r"(?i)\.(png|jpe?g|gif|svg|webp|bmp|pdf|mp4|mov|webm)$", "figures and films for that page"),
    Exclusion(
        r"(^|/)((optimizer|scheduler|scaler|training_args|rng_state[^/]*)\.(pt|pth|bin)|trainer_state\.json)$",
        "the state of a training run",
    ),
    Exclusion(r"(^|/)original/", "the weights again, for their vendor's own code", _SAFETENSORS),
    Exclusion(r"(^|/)(metal|coreml|mlx)/", "the weights again, for Apple's GPUs", _SAFETENSORS),
    Exclusion(r"(^|/)(onnx|openvino|tflite)/", "the weights again, for another runtime", _SAFETENSORS),
    Exclusion(r"\.(gguf|onnx|onnx_data|tflite|nemo)$", "the weights again, for another runtime", _SAFETENSORS),
    Exclusion(r"\.(bin|pth?|ckpt|h5|msgpack|ot)$", "the weights again, as a framework saves them", _SAFETENSORS),
    Exclusion(
        r"(^|/)consolidated[^/]*\.safetensors(\.index\.json)?$",
        "the weights again, for their vendor's own code",
        r"(^|/)model[^/]*\.safetensors$",
    ),
)
"""What is left out, row after row. vLLM, SGLang and TensorRT-LLM read safetensors wherever a repository has them."""


def staged(paths: Iterable[str]) -> tuple[str, ...]:
    """Give the paths that a host needs, sorted."""
    kept = sorted(paths)
    for exclusion in EXCLUDED:
        kept = _without(exclusion, kept)
    return tuple(kept)


def parts(file: str) -> tuple[str, ...]:
    """Give the files of which one file consists: itself, or all parts of a split GGUF.

    An engine that loads one file needs nothing else: tokenizer and template lie in the GGUF.
    """
    split = _SPLIT.fullmatch(file)
    if split is None or not 0 < int(split["parts"]) <= _MOST_PARTS:
        return (file,)
    return tuple(f"{split['stem']}-{part:05}-of-{split['parts']}.gguf" for part in range(1, int(split["parts"]) + 1))


def _without(exclusion: Exclusion, paths: Sequence[str]) -> list[str]:
    others = [path for path in paths if not re.search(exclusion.pattern, path)]
    beside = exclusion.beside
    return others if beside is None or any(re.search(beside, path) for path in others) else list(paths)
