"""TensorRT-LLM's `trtllm-serve`: defaults and command line.

Sources in NVIDIA/TensorRT-LLM: tensorrt_llm/commands/serve.py (about 1.2), docs/source/commands/trtllm-serve.rst
(autumn 2026, after the TensorRT backend was removed), openai_server.py, docker/Dockerfile.multi. Releases differ: the
table, `catalog/options/tensorrt-llm.json`, has what those sources name together, as one release without a name. No
source ran it on a Spark.

Its options are spelled with underscores. Speculative decoding, attention backend and Prometheus metrics are chosen in
a YAML file, `set.config`; what the file sets must not be an option too, because releases differ in which one counts.
The server takes no API key. `free_gpu_memory_fraction` is of the memory that is free once weights are loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Request, Start
from sparkiac.engines.tables import written

DEFAULTS: Final[Mapping[str, Any]] = {
    # Its own host is localhost.
    "set": {"host": "0.0.0.0", "port": 8000},  # noqa: S104  inside the container; `bind` decides what is published
    "env": {
        "HF_HUB_OFFLINE": 1,
        "TRANSFORMERS_OFFLINE": 1,
        "HF_MODULES_CACHE": f"{CACHE}/modules",
        "TRTLLM_NO_USAGE_STATS": 1,
        "TRITON_CACHE_DIR": f"{CACHE}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/inductor",
    },
    **CONTAINER,
}
"""The lowest layer of every TensorRT-LLM deployment."""


def start(request: Request) -> Start:
    """Write the model, then the options with underscores."""
    options = dict(request.options)
    if request.served:
        options["served_model_name"] = request.served[0]
    return Start((request.model, *written(options, ENGINE.options, separator="_")))


ENGINE: Final = Engine(
    name="tensorrt-llm",
    title="TensorRT-LLM",
    suits="the last token per second of one stream; a heavier build, and engines to compile (Spark guide L22)",
    sources=("Spark guide L22", "github.com/NVIDIA/TensorRT-LLM: commands/serve.py, trtllm-serve.rst"),
    defaults=DEFAULTS,
    words=("trtllm-serve",),
    start=start,
    loopback=True,
    released=True,
    parallel={
        **dict.fromkeys(("tp_size", "tensor_parallel_size"), "tensor_parallel"),
        **dict.fromkeys(("pp_size", "pipeline_parallel_size"), "pipeline_parallel"),
    },
    elsewhere={"model": "model", "served_model_name": "served_names", "api_key": "api_key"},
    spellings="--extra_llm_api_options=extra_llm_api_options",
    health="/health",
    key_variable=None,
    one_name=True,
    default_name="last part",
    # /metrics is JSON and empties with each read; the Prometheus one is there only where the YAML file asks for it.
    metrics=None,
    apis={"responses": "1.3.0"},  # trtllm-serve.html of 1.3.0rc27 names it, that of 1.3.0rc20 does not
    commands=(
        ("trtllm-serve", "serve"),
        ("trtllm-serve",),
        ("python3", "-m", "tensorrt_llm.commands.serve", "serve"),
        ("python3", "-m", "tensorrt_llm.commands.serve"),
    ),
    base="base/tensorrt-llm",
    sparkrun=("trtllm",),
)
