"""Select the files of a repository that a host needs.

All files are staged unless a row of `EXCLUDED` leaves them out: tokenizers, templates, processors, adapters, Python
code, and the licence, which must accompany the weights. A file with weights is left out only if its name shows that
they are a second copy: vLLM reads `mask_embedding.pt` and `sparse_linear.pt` beside safetensors.

Mistral publishes weights in two formats, often both in one repository. vLLM prefers Mistral's own format unless an
option selects the other one (vLLM 0.32.0, model_loader/default_loader.py). Hosts get the format that their deployments
load.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from sparkiac.model import forms
from sparkiac.model.lock import LoadedFormat, WeightFormat

_SPLIT: Final = re.compile(r"(?P<stem>.+)-[0-9]{5}-of-(?P<parts>[0-9]{5})\.gguf")
_MOST_PARTS: Final = 1000
_SAFETENSORS: Final = r"\.safetensors$"
_CONSOLIDATED: Final = r"^consolidated[^/]*\.safetensors(\.index\.json)?$"
_SHARDS: Final = r"^model[^/]*\.safetensors(\.index\.json)?$"
_OF: Final[dict[WeightFormat, str]] = {"consolidated": _CONSOLIDATED, "shards": _SHARDS}
_WEIGHTS: Final = r"\.(safetensors|bin|pth?|ckpt|h5|msgpack|ot|gguf|onnx|onnx_data|tflite|nemo)(\.index\.json)?$"
_BESIDE_A_MODEL: Final = ("mmproj", "imatrix")
"""Prefixes of GGUF files that are not the model itself: engines load them in addition, or not at all."""


class Exclusion(NamedTuple):
    """Files that hosts do not need."""

    pattern: str
    """Regular expression that matches a part of the path."""
    reason: str
    beside: str | None = None
    """Regular expression: the files are left out only if hosts download another file whose path matches it."""
    same_folder: bool = False
    """The other file must be in the same folder, because the parts of a pipeline may have different formats."""


EXCLUDED: Final = (
    Exclusion(r"(^|/)\.[^./]", "settings of Git and editors"),
    Exclusion(r"(^|/)README[^/]*$", "the model page on the hub"),
    Exclusion(r"(?i)\.(png|jpe?g|gif|svg|webp|bmp|pdf|mp4|mov|webm)$", "images and videos of the model page"),
    Exclusion(
        r"(^|/)((optimizer|scheduler|scaler|training_args|rng_state[^/]*)\.(pt|pth|bin)|trainer_state\.json)$",
        "the state of a training run",
    ),
    Exclusion(r"(^|/)original/", "a copy of the weights for the vendor's code", _SAFETENSORS),
    Exclusion(r"(^|/)(metal|coreml|mlx)/", "a copy of the weights for Apple GPUs", _SAFETENSORS),
    Exclusion(r"(^|/)(onnx|openvino|tflite)/", "a copy of the weights for another runtime", _SAFETENSORS),
    Exclusion(r"\.(gguf|onnx|onnx_data|tflite|nemo)$", "a copy of the weights for another runtime", _SAFETENSORS),
    Exclusion(
        r"(^|/)(pytorch_model|adapter_model|diffusion_pytorch_model|model|consolidated|tf_model|flax_model|rust_model)"
        r"[^/]*\.(bin|pth?|ckpt|h5|msgpack|ot)(\.index\.json)?$",
        "a copy of the weights in the format of a framework",
        _SAFETENSORS,
        same_folder=True,
    ),
)
"""Files that are left out, row by row. vLLM, SGLang and TensorRT-LLM prefer safetensors."""


def staged(paths: Iterable[str], forms: Collection[LoadedFormat]) -> tuple[str, ...]:
    """Return the paths that a host needs if its engines load these formats, sorted."""
    kept = sorted(paths)
    for exclusion in EXCLUDED:
        kept = _without(exclusion, kept)
    gone = left_out(kept, forms)
    patterns = [_WEIGHTS] if len(gone) > 1 else [_OF[form] for form in gone]
    return tuple(path for path in kept if not any(re.search(pattern, path) for pattern in patterns))


def left_out(paths: Collection[str], forms: Collection[LoadedFormat]) -> tuple[WeightFormat, ...]:
    """Return the weight formats that no host needs.

    A tokenizer-only ("bare") repository needs no weights. Otherwise one of two formats can be left out. Mistral's own
    weights count as needed by a bare use, because vLLM reads Mistral's tokenizer only beside them.
    """
    native = any(re.search(_CONSOLIDATED, path) for path in paths)
    if not native:
        return ("consolidated", "shards") if set(forms) == {"bare"} else ()
    if not any(re.search(_SHARDS, path) for path in paths):
        return ()
    needed = {"consolidated" if form == "bare" else form for form in forms}
    return tuple(sorted(_OF.keys() - needed))


def alternatives(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the GGUF files among which an engine loads one; none if there are safetensors."""
    files = {split_parts(path)[0] for path in paths if path.endswith(".gguf")}
    return tuple(sorted(each for each in files if not each.rpartition("/")[2].startswith(_BESIDE_A_MODEL)))


def is_placeable(path: str) -> bool:
    """Return whether a host can store a file under this path."""
    return bool(re.fullmatch(forms.INSIDE, path)) and not {".", ".."} & set(path.split("/"))


def split_parts(file: str) -> tuple[str, ...]:
    """Return all parts of a split GGUF file, or the file itself.

    An engine that loads a GGUF file needs no other file: it includes tokenizer and template.
    """
    split = _SPLIT.fullmatch(file)
    if split is None or not 0 < int(split["parts"]) <= _MOST_PARTS:
        return (file,)
    return tuple(f"{split['stem']}-{part:05}-of-{split['parts']}.gguf" for part in range(1, int(split["parts"]) + 1))


def _without(exclusion: Exclusion, paths: Sequence[str]) -> list[str]:
    others = [path for path in paths if not re.search(exclusion.pattern, path)]
    kept = frozenset(others)
    return [path for path in paths if path in kept or not _is_spare(path, exclusion, others)]


def _is_spare(path: str, exclusion: Exclusion, others: Sequence[str]) -> bool:
    """Return whether the other file that makes a file unnecessary is there."""
    beside, folder = exclusion.beside, path.rpartition("/")[0]
    return beside is None or any(
        re.search(beside, other) and (not exclusion.same_folder or other.rpartition("/")[0] == folder)
        for other in others
    )
