"""AEON-7's vLLM images with DFlash, which are configured by environment variables alone.

Sources: Spark guide L716-741; README of AEON-7/vllm-dflash; a fork's copy of the image's start script. The script
ignores arguments and writes vLLM's command line itself, always on 0.0.0.0:8000. Image, script and README have
different defaults, so a deployment sets every value that it depends on.

The script reads a key from VLLM_API_KEY, passes it to the server as an argument and prints the arguments into its log.
Therefore sparkiac passes no key. To require one, publish the port on loopback and put a gateway in front of it. A model
or drafter given as a handle is downloaded at the start, which an offline container cannot do: both must be paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.engines.engine import Engine, Request, Start
from sparkiac.engines.records import vllm
from sparkiac.engines.tables import Option, known, variables

DEFAULTS: Final[Mapping[str, Any]] = vllm.DEFAULTS
"""The lowest layer of every such deployment: the server inside is vLLM, with its caches and its port."""

_FIXED: Final = {
    "host": Option("text", ("0.0.0.0",)),  # noqa: S104  inside the container
    "port": Option("integer", ("8000",)),
}
"""Options that the image's start script sets."""
_NAMED: Final = known(
    integer="max_model_len max_num_seqs max_num_batched_tokens",
    number="gpu_memory_utilization",
    text="kv_cache_dtype attention_backend quantization extra_args torch_matmul_precision",
)
OPTIONS: Final[Mapping[str, Option]] = _FIXED | {
    name: option._replace(spelling=name.upper()) for name, option in _NAMED.items()
}


def start(request: Request) -> Start:
    """Return the environment variables; an empty DFLASH_DRAFTER turns speculative decoding off."""
    env = {"MODEL_PATH": request.model, "DFLASH_DRAFTER": ""}
    if request.served:
        env["SERVED_MODEL_NAME"] = request.served[0]
    env |= variables({name: value for name, value in request.options.items() if name not in _FIXED}, OPTIONS)
    chosen = request.speculative or {}
    if chosen.get("method") == "dflash":
        env["DFLASH_DRAFTER"] = str(chosen["model"])
        if chosen.get("num_speculative_tokens") is not None:
            env["DFLASH_NUM_SPEC_TOKENS"] = str(chosen["num_speculative_tokens"])
    return Start((), env)


ENGINE: Final = Engine(
    name="aeon-vllm",
    title="AEON-7's vLLM",
    suits="DFlash on sm_121 with everything built in; no key, and one image for one purpose (Spark guide L716-741)",
    sources=("Spark guide L716-741", "github.com/AEON-7/vllm-dflash: README.md"),
    defaults=DEFAULTS,
    tested=True,
    vllm=True,
    words=(),
    start=start,
    local=True,
    needs={"model_path": "the image downloads a model that is named by its handle at the start"},
    listed=OPTIONS,
    context="max_model_len",
    memory_share="gpu_memory_utilization",
    variables={
        "MODEL_PATH": "model_path",
        "SERVED_MODEL_NAME": "served_model_name",
        **{name.upper(): name for name in _NAMED},
    },
    speculation={"DFLASH_DRAFTER": "model", "DFLASH_NUM_SPEC_TOKENS": "num_speculative_tokens"},
    elsewhere={"model_path": "model_path", "served_model_name": "served_names", "dflash_drafter": "speculative"},
    tools=vllm.TOOLS,
    backends=vllm.BACKENDS,
    batches=vllm.BATCHES,
    health="/health",
    key_variable=None,
    one_name=True,
    metrics="/metrics",
    apis=vllm.APIS,
    quantities=vllm.QUANTITIES,
    speculative=frozenset({"dflash"}),
    style="environment",
)
