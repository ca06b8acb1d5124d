"""Which files are staged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream.hub import selection

if TYPE_CHECKING:
    from sparkiac.model.lock import LoadedFormat, WeightFormat


def test_what_an_engine_reads_is_kept() -> None:
    needed = (
        "LICENSE", "NOTICE", "adapter/adapter_config.json", "adapter/adapter_model.safetensors", "chat_template.jinja",
        "chat_template.json", "config.json", "configuration_tiny.py", "encoding/encoding.py", "generation_config.json",
        "hf_quant_config.json", "merges.txt", "model-00001-of-00001.safetensors", "model.safetensors.index.json",
        "modeling_tiny.py", "params.json", "preprocessor_config.json", "processor_config.json",
        "special_tokens_map.json",
        "tekken.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "video_preprocessor_config.json",
        "vocab.json", "voices/anna.wav",
    )  # fmt: skip

    assert selection.staged(needed, {"shards"}) == needed


@pytest.mark.parametrize(
    "path",
    [
        ".gitattributes", "README.md", "encoding/README.md", "assets/figure.PNG", "paper.pdf", "demo/film.mp4",
        "optimizer.pt", "checkpoint-10/rng_state_0.pth", "trainer_state.json", "pytorch_model-00001-of-00002.bin",
        "tf_model.h5", "flax_model.msgpack", "model-Q4_K_M.gguf", "onnx/model.onnx", "onnx/config.json",
        "openvino/openvino_model.xml", "original/consolidated.00.pth", "original/model-00001-of-00007.safetensors",
        "metal/model.bin", "consolidated.safetensors", "consolidated-00001-of-00002.safetensors",
        "consolidated.safetensors.index.json", "pytorch_model.bin.index.json", "consolidated.00.pth",
    ],
)  # fmt: skip
def test_what_no_engine_reads_beside_safetensors_stays_on_the_hub(path: str) -> None:
    found = selection.staged(["config.json", "model.safetensors", path], {"shards"})
    assert found == ("config.json", "model.safetensors")


@pytest.mark.parametrize(
    "path",
    [
        "pytorch_model.bin", "model.gguf", "onnx/model.onnx", "consolidated.safetensors", "consolidated.00.pth",
        "original/model-00001-of-00007.safetensors",
    ],
)  # fmt: skip
def test_weights_that_are_there_once_are_kept_in_whatever_form(path: str) -> None:
    for form in ("shards", "consolidated"):
        assert selection.staged(["params.json", path], {form}) == tuple(sorted(["params.json", path]))


@pytest.mark.parametrize(
    "path",
    [
        "mask_embedding.pt", "sparse_linear.pt", "spk_dict.pt", "2_Dense/pytorch_model.bin", "voices/anna.bin",
        "audio_tokenizer/pytorch_model.bin",
    ],
)  # fmt: skip
def test_what_an_engine_reads_beside_safetensors_is_kept_whatever_its_ending(path: str) -> None:
    """So vLLM 0.32.0 does in qwen3_dflash.py, roberta.py, adapters.py and mimo_audio.py."""
    assert path in selection.staged(["config.json", "model.safetensors", path], {"shards"})


MISTRAL = (
    "config.json", "consolidated-00001-of-00002.safetensors", "consolidated-00002-of-00002.safetensors",
    "consolidated.safetensors.index.json", "model-00001-of-00001.safetensors", "model.safetensors.index.json",
    "params.json", "tekken.json",
)  # fmt: skip
OWN = ("config.json", *MISTRAL[1:4], "params.json", "tekken.json")
OTHERS = ("config.json", *MISTRAL[4:])


@pytest.mark.parametrize(
    ("forms", "staged", "left_out"),
    [
        ({"consolidated"}, OWN, ("shards",)),
        ({"shards"}, OTHERS, ("consolidated",)),
        ({"consolidated", "shards"}, MISTRAL, ()),
        ({"bare"}, OWN, ("shards",)),
        ({"bare", "shards"}, MISTRAL, ()),
    ],
)
def test_of_weights_in_two_forms_those_that_are_loaded(
    forms: set[LoadedFormat], staged: tuple[str, ...], left_out: tuple[WeightFormat, ...]
) -> None:
    assert selection.staged(MISTRAL, forms) == staged
    assert selection.left_out(MISTRAL, forms) == left_out


@pytest.mark.parametrize("form", ["consolidated", "shards"])
def test_weights_in_only_one_form_are_selected_for_any_engine(form: LoadedFormat) -> None:
    for paths in (OWN, OTHERS):
        assert selection.staged(paths, {form}) == paths
        assert selection.left_out(paths, {form}) == ()


def test_of_a_repository_with_a_tokenizer_no_weights_are_staged() -> None:
    paths = ("config.json", "model.safetensors", "model.safetensors.index.json", "tokenizer.json", "tokenizer.model")
    assert selection.staged(paths, {"bare"}) == ("config.json", "tokenizer.json", "tokenizer.model")
    assert selection.left_out(paths, {"bare"}) == ("consolidated", "shards")
    assert selection.staged(paths, {"bare", "shards"}) == paths


def test_gguf_files_of_which_one_is_loaded() -> None:
    split = ("Q8/a-00001-of-00002.gguf", "Q8/a-00002-of-00002.gguf")
    assert selection.alternatives(["a-Q4.gguf", *split, "mmproj-F16.gguf"]) == ("Q8/a-00001-of-00002.gguf", "a-Q4.gguf")
    assert selection.alternatives(["a.json"]) == ()


def test_every_exclusion_has_a_reason_and_leaves_something_out() -> None:
    for exclusion in selection.EXCLUDED:
        assert exclusion.reason
    assert len({exclusion.pattern for exclusion in selection.EXCLUDED}) == len(selection.EXCLUDED)


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        ("tiny-Q4_K_M.gguf", ("tiny-Q4_K_M.gguf",)),
        ("Q8/tiny-00002-of-00002.gguf", ("Q8/tiny-00001-of-00002.gguf", "Q8/tiny-00002-of-00002.gguf")),
        ("tiny-00001-of-00000.gguf", ("tiny-00001-of-00000.gguf",)),
        ("tiny-00001-of-99999.gguf", ("tiny-00001-of-99999.gguf",)),
        ("model-00001-of-00002.safetensors", ("model-00001-of-00002.safetensors",)),
    ],
)
def test_one_file_is_itself_or_all_parts_of_a_split_gguf(file: str, parts: tuple[str, ...]) -> None:
    assert selection.split_parts(file) == parts
