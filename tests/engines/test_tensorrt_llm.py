"""TensorRT-LLM: words, table, and the container that comes of them."""

from __future__ import annotations

from sparkiac.engines.records.tensorrt_llm import ENGINE
from tests.engines.serving import flags, locked, on, words
from tests.plan.fleets import container

DOCUMENTED = """
--host --port --backend --tokenizer --max_batch_size --max_num_tokens --max_seq_len --max_beam_width --tp_size
--pp_size --ep_size --gpus_per_node --free_gpu_memory_fraction --kv_cache_dtype --trust_remote_code --config
--reasoning_parser --tool_parser --chat_template --enable_chunked_prefill --log_level --media_io_kwargs --telemetry
"""


def test_the_words_in_order() -> None:
    """Underscores stay."""
    options = {"host": "0.0.0.0", "port": 8000, "trust_remote_code": True, "telemetry": False}  # noqa: S104
    assert words(ENGINE, "chat", **options, max_seq_len=4096, grpc=False, media_io_kwargs={"a": 1}) == (
        "example/model",
        "--host=0.0.0.0",
        "--max_seq_len=4096",
        '--media_io_kwargs={"a":1}',
        "--port=8000",
        "--served_model_name=chat",
        "--no-telemetry",
        "--trust_remote_code",
    )


def test_the_table_has_what_the_documentation_names() -> None:
    assert set(DOCUMENTED.split()) <= flags("tensorrt-llm")


def test_the_container() -> None:
    """An image that runs its command as it is written."""
    text = on("base/tensorrt-llm", "set: {free_gpu_memory_fraction: 0.5}")
    chat = container(text, locked=locked("/opt/nvidia/nvidia_entrypoint.sh"))
    assert chat.argv[:3] == ("/opt/nvidia/nvidia_entrypoint.sh", "trtllm-serve", "example/model")
    assert "--free_gpu_memory_fraction=0.5" in chat.command.words
    assert chat.memory_bytes is None
    assert (chat.network.published, chat.checks.path) == (("192.168.1.11", 8001, 8000), "/health")
    assert (chat.confinement.ulimits["memlock"], chat.confinement.ipc) == (-1, "private")
    assert chat.command.env["TRTLLM_NO_USAGE_STATS"] == "1"
