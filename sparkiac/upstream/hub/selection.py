"""Which files of a repository a host needs.

Everything is kept that no row of `EXCLUDED` leaves out: tokenizers, templates, processors, adapters, Python code, and
the licence, which goes wherever the weights go. A file whose name does not say that it holds the weights again is kept
as well: vLLM reads `mask_embedding.pt` and `sparse_linear.pt` beside safetensors.

Mistral publishes weights in two forms, often both in one repository. vLLM takes Mistral's own wherever it is there,
unless it is told otherwise (vLLM 0.32.0, model_loader/default_loader.py), and the other form where that alone is there:
so hosts get the one that their deployments load.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sparkiac.model.lock import LoadedFormat, WeightFormat

_SPLIT: Final = re.compile(r"(?P<stem>.+)-[0-9]{5}-of-(?P<parts>[0-9]{5})\.gguf")
_MOST_PARTS: Final = 1000
_SAFETENSORS: Final = r"\.safetensors$"
_CONSOLIDATED: Final = r"^consolidated[^/]*\.safetensors(\.index\.json)?$"
_SHARDS: Final = r"^model[^/]*\.safetensors(\.index\.json)?$"
_OF: Final[dict[WeightFormat, str]] = {"consolidated": _CONSOLIDATED, "shards": _SHARDS}
_WEIGHTS: Final = r"\.(safetensors|bin|pth?|ckpt|h5|msgpack|ot|gguf|onnx|onnx_data|tflite|nemo)(\.index\.json)?$"
_BESIDE_A_MODEL: Final = ("mmproj", "imatrix")
"""Of a GGUF that is loaded beside the model's own, or not at all."""


class Exclusion(NamedTuple):
    """Files that stay on the hub."""

    pattern: str
    """Regular expression, searched for in the path."""
    reason: str
    """Why no host needs them."""
    beside: str | None = None
    """They are left out only where this is found in the path of another file that is kept."""
    same_folder: bool = False
    """That file has to lie in the same folder: parts of a pipeline may be saved in different ways."""


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
    Exclusion(
        r"(^|/)(pytorch_model|adapter_model|diffusion_pytorch_model|model|consolidated|tf_model|flax_model|rust_model)"
        r"[^/]*\.(bin|pth?|ckpt|h5|msgpack|ot)(\.index\.json)?$",
        "the weights again, as a framework saves them",
        _SAFETENSORS,
        same_folder=True,
    ),
)
"""What is left out, row after row. vLLM, SGLang and TensorRT-LLM read safetensors wherever a repository has them."""


def staged(paths: Iterable[str], forms: Collection[LoadedFormat]) -> tuple[str, ...]:
    """Give the paths that a host needs whose engines load these forms, sorted."""
    kept = sorted(paths)
    for exclusion in EXCLUDED:
        kept = _without(exclusion, kept)
    gone = left_out(kept, forms)
    patterns = [_WEIGHTS] if len(gone) > 1 else [_OF[form] for form in gone]
    return tuple(path for path in kept if not any(re.search(pattern, path) for pattern in patterns))


def left_out(paths: Collection[str], forms: Collection[LoadedFormat]) -> tuple[WeightFormat, ...]:
    """Give the forms of weights that no host needs: all of a bare repository, or one of which there is another.

    Beside Mistral's own form vLLM takes Mistral's own tokenizer, and without it another one: it stays there.
    """
    native = any(re.search(_CONSOLIDATED, path) for path in paths)
    if not native:
        return ("consolidated", "shards") if set(forms) == {"bare"} else ()
    if not any(re.search(_SHARDS, path) for path in paths):
        return ()
    wanted = {"consolidated" if form == "bare" else form for form in forms}
    return tuple(sorted(_OF.keys() - wanted))


def alternatives(paths: Iterable[str]) -> tuple[str, ...]:
    """Give the GGUF files of which an engine loads one; none where there are safetensors."""
    several = {parts(path)[0] for path in paths if path.endswith(".gguf")}
    return tuple(sorted(each for each in several if not each.rpartition("/")[2].startswith(_BESIDE_A_MODEL)))


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
    kept = frozenset(others)
    return [path for path in paths if path in kept or not _is_spare(path, exclusion, others)]


def _is_spare(path: str, exclusion: Exclusion, others: Sequence[str]) -> bool:
    """Whether what makes a file spare is there."""
    beside, folder = exclusion.beside, path.rpartition("/")[0]
    return beside is None or any(
        re.search(beside, other) and (not exclusion.same_folder or other.rpartition("/")[0] == folder)
        for other in others
    )
