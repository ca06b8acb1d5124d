"""llama.cpp: words, table, and the container that comes of them."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.engines.records.llama_cpp import ENGINE
from sparkiac.plan import BindMount, Export, Health
from tests.engines.serving import flags, locked, on, words
from tests.plan.fleets import container, faults

FILE = "model_file: model-Q4_K_M.gguf"
DOCUMENTED = """
--host --port --ctx-size --parallel --batch-size --ubatch-size --n-gpu-layers --flash-attn --cache-type-k
--cache-type-v --load-mode --fit --fit-target --threads --jinja --chat-template-file --reasoning-format
--reasoning-budget --metrics --slots --embedding --mmproj --rpc --split-mode --tensor-split --override-tensor
--n-cpu-moe --cache-ram --spec-type --spec-draft-n-max --spec-draft-n-min --offline --cont-batching --kv-unified
"""


def test_the_words_in_order() -> None:
    """A value is a word of its own: the server reads no `--option=value`."""
    options: dict[str, Any] = {"port": 8080, "metrics": True, "slots": False, "swa_full": False, "seed": -1}
    assert words(ENGINE, "fast", "chat", model="/model/m.gguf", **options, chat_template_kwargs={"a": True}) == (
        "--alias",
        "fast,chat",
        "--chat-template-kwargs",
        '{"a":true}',
        "--metrics",
        "--model",
        "/model/m.gguf",
        "--port",
        "8080",
        "--seed",
        "-1",
        "--no-slots",
    )


@pytest.mark.parametrize(
    ("speculative", "expected"),
    [
        ({"method": "mtp", "num_speculative_tokens": 3}, ["--spec-draft-n-max", "3", "--spec-type", "draft-mtp"]),
        ({"method": "eagle3", "model": "/d.gguf"}, ["--spec-draft-model", "/d.gguf", "--spec-type", "draft-eagle3"]),
        (
            {"method": "draft_model", "model": "/d.gguf"},
            ["--spec-draft-model", "/d.gguf", "--spec-type", "draft-simple"],
        ),
        ({"method": "dflash", "model": "/d.gguf"}, ["--spec-draft-model", "/d.gguf", "--spec-type", "draft-dflash"]),
    ],
)
def test_speculative_decoding(speculative: dict[str, Any], expected: list[str]) -> None:
    found = words(ENGINE, speculative=speculative)
    assert [word for word in found if word not in {"--model", "example/model"}] == expected


def test_the_table_has_what_the_documentation_names() -> None:
    assert set(DOCUMENTED.split()) <= flags("llama-cpp")


def test_the_container() -> None:
    """Without Python in the image, curl asks for health; the file is in the store."""
    text = on("base/llama-cpp", FILE, "served_names: [chat]")
    chat = container(text, locked=locked("/app/llama-server"))
    assert chat.argv[:3] == ("/app/llama-server", "--alias", "chat")
    assert chat.command.words[-4:] == ("--model", "/model/model-Q4_K_M.gguf", "--port", "8080")
    words = ("CMD", "curl", "-fsS", "-m", "4", "-o", "/dev/null", "http://127.0.0.1:8080/health")
    assert chat.checks.health == Health(words, interval_s=15, timeout_s=150)
    assert chat.storage.mounts == (BindMount("/srv/models/example/model", "/model", read_only=True),)
    assert (chat.weights.directories, chat.weights.models, chat.memory_bytes) == (("example/model",), (), None)
    assert (chat.server.served, chat.command.env["LLAMA_ARG_OFFLINE"]) == (("chat",), "1")


def test_the_program_is_named_where_the_image_does_not() -> None:
    chat = container(on("base/llama-cpp", FILE), locked=locked("/bin/run"))
    assert chat.command.words[:3] == ("/app/llama-server", "--alias", "example/model")


def test_the_key_is_a_variable() -> None:
    chat = container(on("base/llama-cpp", FILE, "api_key: {secret: team_key}"), locked=locked("/app/llama-server"))
    assert chat.command.exports == (Export("LLAMA_API_KEY", ("team_key",)),)


def test_a_handle_alone_is_refused() -> None:
    """It would be downloaded at the start, which is offline."""
    assert faults(on("base/llama-cpp")) == [
        (
            "REF003 5:3 deployment chat has no model_file: neither the catalog nor the inventory sets it; "
            "llama.cpp loads one GGUF file of that directory"
        )
    ]


def test_a_drafter_is_a_path_too() -> None:
    text = on("base/llama-cpp", FILE, "speculative: {method: draft_model, model: example/draft}")
    assert faults(text) == [
        "REF003 12:18 llama.cpp would download the drafter example/draft of chat when it starts",
    ]
    assert faults(text.replace("example/draft", "/draft.gguf")) == []
