"""SGLang: words, table, and the container that comes of them."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.engines.records.sglang import ENGINE
from tests.engines.serving import flags, locked, on, words
from tests.plan.fleets import container, faults

HEAD = ("python3", "-m", "sglang.launch_server")
DOCUMENTED = """
--host --port --tokenizer-path --context-length --mem-fraction-static --max-running-requests --chunked-prefill-size
--schedule-policy --tp-size --pp-size --dp-size --ep-size --attention-backend --sampling-backend --grammar-backend
--moe-runner-backend --kv-cache-dtype --quantization --trust-remote-code --tool-call-parser --reasoning-parser
--chat-template --disable-radix-cache --enable-metrics --log-requests --page-size --load-format --lora-paths
--cuda-graph-max-bs-decode --cuda-graph-bs-decode --fp4-gemm-backend --enable-hierarchical-cache --config
--json-model-override-args --speculative-num-steps --speculative-eagle-topk --speculative-num-draft-tokens
"""


def test_the_words_in_order() -> None:
    """Sorted, the model among them; the one name that it serves under."""
    options = {"host": "0.0.0.0", "port": 30000, "enable_metrics": True, "log_requests": False}  # noqa: S104
    assert words(ENGINE, "chat", **options, cuda_graph_bs_decode=(1, 2), json_model_override_args={"a": 1}) == (
        "--cuda-graph-bs-decode",
        "1",
        "2",
        "--enable-metrics",
        "--host=0.0.0.0",
        '--json-model-override-args={"a":1}',
        "--model-path=example/model",
        "--port=30000",
        "--served-model-name=chat",
    )


def test_a_configuration_file_is_a_word_of_its_own() -> None:
    """`--config=FILE` is not seen by the server, which then starts without it."""
    assert words(ENGINE, config="/etc/sglang.yaml")[:2] == ("--config", "/etc/sglang.yaml")


@pytest.mark.parametrize(
    ("speculative", "expected"),
    [
        ({"method": "ngram", "num_speculative_tokens": 8}, ["algorithm=NGRAM", "num-draft-tokens=8"]),
        (
            {"method": "mtp", "num_speculative_tokens": 3},
            ["algorithm=NEXTN", "eagle-topk=1", "num-draft-tokens=4", "num-steps=3"],
        ),
        ({"method": "deepseek_mtp"}, ["algorithm=NEXTN"]),
        (
            {"method": "dflash", "model": "z-lab/D", "num_speculative_tokens": 15},
            ["algorithm=DFLASH", "draft-model-path=z-lab/D", "num-draft-tokens=16"],
        ),
        (
            {"method": "dspark", "num_speculative_tokens": 5},
            ["algorithm=DSPARK", "dspark-block-size=5", "num-draft-tokens=6"],
        ),
        (
            {"method": "eagle", "model": "e/h", "num_speculative_tokens": 3},
            ["algorithm=EAGLE", "draft-model-path=e/h", "eagle-topk=1", "num-draft-tokens=4", "num-steps=3"],
        ),
        ({"method": "eagle3", "model": "e/h"}, ["algorithm=EAGLE3", "draft-model-path=e/h"]),
        ({"method": "draft_model", "model": "e/s"}, ["algorithm=STANDALONE", "draft-model-path=e/s"]),
    ],
)
def test_speculative_decoding(speculative: dict[str, Any], expected: list[str]) -> None:
    """A chain of guesses has one step each; the width counts the token that it starts from."""
    found = words(ENGINE, speculative=speculative)
    assert [word.removeprefix("--speculative-") for word in found if "speculative" in word] == expected


def test_an_option_goes_before_what_the_method_would_choose() -> None:
    found = words(ENGINE, speculative={"method": "mtp", "num_speculative_tokens": 3}, speculative_eagle_topk=2)
    assert "--speculative-eagle-topk=2" in found
    assert "--speculative-eagle-topk=1" not in found


def test_the_table_has_what_the_documentation_names() -> None:
    assert set(DOCUMENTED.split()) <= flags("sglang")
    assert not {"--api-key", "--served-model-name", "--speculative-algorithm"} & set(ENGINE.options or ())


def test_the_container() -> None:
    """An image that runs its command as it is written."""
    chat = container(on("base/sglang", "set: {mem_fraction_static: 0.5}"), locked=locked("/opt/nvidia/entrypoint.sh"))
    assert chat.argv[:4] == ("/opt/nvidia/entrypoint.sh", *HEAD)
    assert chat.command.words[:3] == HEAD
    assert (chat.network.published, chat.checks.path) == (("192.168.1.11", 8001, 30000), "/health")
    assert chat.checks.health is not None
    assert chat.checks.health.command[-2:] == ("--at", "http://127.0.0.1:30000")
    assert chat.memory_bytes == 119 * (1 << 29)
    assert chat.command.env["SGLANG_CACHE_DIR"] == "/cache/sglang"
    assert chat.weights.models == ("example/model",)


def test_its_own_words_are_not_said_twice() -> None:
    chat = container(on("base/sglang"), locked=locked(*HEAD))
    assert chat.command.words[0] == "--enable-metrics"


def test_a_share_of_the_memory_is_a_number() -> None:
    [fault] = faults(on("base/sglang", "set: {mem_fraction_static: half}"))
    assert fault == "INV002 11:32 set.mem_fraction_static of chat must be a number above 0 and at most 1, not 'half'"
