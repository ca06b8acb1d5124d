"""Which files are staged."""

from __future__ import annotations

import pytest

from sparkiac.upstream.hub import selection


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

    assert selection.staged(needed) == needed


@pytest.mark.parametrize(
    "path",
    [
        ".gitattributes", "README.md", "encoding/README.md", "assets/figure.PNG", "paper.pdf", "demo/film.mp4",
        "optimizer.pt", "checkpoint-10/rng_state_0.pth", "trainer_state.json", "pytorch_model-00001-of-00002.bin",
        "tf_model.h5", "flax_model.msgpack", "model-Q4_K_M.gguf", "onnx/model.onnx", "onnx/config.json",
        "openvino/openvino_model.xml", "original/consolidated.00.pth", "original/model-00001-of-00007.safetensors",
        "metal/model.bin", "consolidated.safetensors", "consolidated-00001-of-00002.safetensors",
        "consolidated.safetensors.index.json",
    ],
)  # fmt: skip
def test_what_no_engine_reads_beside_safetensors_stays_on_the_hub(path: str) -> None:
    assert selection.staged(["config.json", "model.safetensors", path]) == ("config.json", "model.safetensors")


@pytest.mark.parametrize(
    "path",
    [
        "pytorch_model.bin", "model.gguf", "onnx/model.onnx", "consolidated.safetensors", "consolidated.00.pth",
        "original/model-00001-of-00007.safetensors",
    ],
)  # fmt: skip
def test_weights_that_are_there_once_are_kept_in_whatever_form(path: str) -> None:
    assert selection.staged(["params.json", path]) == tuple(sorted(["params.json", path]))


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
    assert selection.parts(file) == parts
