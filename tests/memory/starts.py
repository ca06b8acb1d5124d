"""Starts of real servers on a GPU, as their logs state them: the figures to which predictions are held.

Twelve of vLLM 0.23.0 and six of 0.26.0 on an H100 (79.18 GiB) with real shapes and `--load-format dummy`, and one of
vLLM 0.22.0 on a DGX Spark, from a log that its owner published.
"""

from __future__ import annotations

from functools import cache as cached
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.catalog import measurements
from sparkiac.memory import shape
from sparkiac.memory.blocks import cache
from sparkiac.memory.budget import server
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.overhead import UNIFIED, Device
from sparkiac.memory.values import GIB, Term, Unknown
from tests.memory.known import QWEN, configs, network, told

if TYPE_CHECKING:
    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import ServerMemory
    from sparkiac.model.inventory import Measured
    from sparkiac.model.records import StartRecord

CODER: Final = "Qwen/Qwen3-Coder-Next"
DENSE: Final = "Qwen/Qwen3-8B"
GEMMA: Final = "google/gemma-3-12b-it"
GLM: Final = "zai-org/GLM-4.7-Flash"
V26: Final = (0, 26, 0)
DISCRETE: Final = Device(round(0.24 * GIB), "starts on an H100", round(0.08 * GIB), round(0.24 * GIB))


class Start(NamedTuple):
    """One start. Sizes are GiB, as the log rounds them."""

    name: str
    shape: Shape
    utilization: float
    given: dict[str, Any]
    weights: float
    overhead: float
    """Activations, what is not PyTorch's, and the graphs as far as the request holds them."""
    graphs: float | None
    """CUDA graphs on top of the request; None where the request holds them."""
    pool: float
    tokens: int | None = None
    """None where the layers of the drafter are not known."""
    visible: float = 79.18
    release: tuple[int, ...] = (0, 23, 0)
    drafter: float | None = None
    speculation: Speculation | None = None

    @property
    def options(self) -> ServerOptions:
        """What the server was told."""
        drafts = self.speculation.tokens if self.speculation else 0
        return told({"gpu_memory_utilization": self.utilization, **self.given}, release=self.release, drafts=drafts)

    @property
    def record(self) -> StartRecord:
        """Its record in the catalog."""
        return _records()[self.pool]

    @property
    def predicted(self) -> ServerMemory:
        """The server as it is predicted from its weights and options alone."""
        return self.repeated(None)

    def repeated(self, measured: Measured | None, *, device: Device | None = None) -> ServerMemory:
        """Predict the server with what an earlier start has measured."""
        return server(
            self.name,
            total_bytes=round(self.visible * GIB),
            options=self.options,
            weights=Term("weights", round(self.weights * GIB), "the log"),
            shape=self.shape,
            drafter=None if self.drafter is None else Term("drafter", round(self.drafter * GIB), "the log"),
            speculation=self.speculation,
            calibration=measured,
            device=device or (UNIFIED if "Spark" in self.name else DISCRETE),
        )

    @property
    def layout(self) -> Cache:
        """Its KV cache."""
        found = cache(self.shape, self.options, speculation=self.speculation)
        assert not isinstance(found, Unknown), found
        return found

    @property
    def error(self) -> float:
        """The relative error of the predicted pool: above nothing is too optimistic."""
        return (self.predicted.pool.size_bytes or 0) / GIB / self.pool - 1


@cached
def _records() -> dict[float, StartRecord]:
    """Return the records of the H100 by their pool, which differs between all of them."""
    records = (each for each in measurements.records() if each.subject.platform == "h100-80gb")
    return {round((each.terms.pool_bytes or 0) / GIB, 2): each for each in records}


def _batch(tokens: int, requests: int, context: int, **given: Any) -> dict[str, Any]:  # noqa: ANN401  options
    return {"max_num_batched_tokens": tokens, "max_num_seqs": requests, "max_model_len": context, **given}


def _cut(handle: str, **changes: object) -> Shape:
    found = shape.read({**configs()[handle], **changes})
    assert isinstance(found, Shape), found
    return found


STARTS: Final = (
    Start("Qwen3-8B, batch 8,192", network(DENSE), 0.85, _batch(8192, 256, 40_960), 15.27, 1.51, 0.60, 50.52, 367_888),
    Start(
        "Qwen3-8B, 1,024 requests", network(DENSE), 0.60, _batch(2048, 1024, 40_960), 15.27, 1.41, 1.00, 30.82, 224_432
    ),
    Start(
        "Qwen3-8B, batch 32,768", network(DENSE), 0.60, _batch(32_768, 16, 40_960), 15.27, 3.30, 0.15, 28.93, 210_688
    ),
    Start(
        "Qwen3-8B, each of two ranks",
        network(DENSE),
        0.22,
        _batch(8192, 4, 40_960, tensor_parallel_size=2),
        7.64,
        0.77,
        0.18,
        9.01,
        131_152,
    ),
    Start(
        "Llama-3.1-8B, FP8",
        network("meta-llama/Meta-Llama-3.1-8B"),
        0.50,
        _batch(16_384, 256, 131_072, kv_cache_dtype="fp8"),
        8.51,
        2.00,
        0.52,
        29.07,
        476_288,
    ),
    Start(
        "Qwen3-30B-A3B",
        network("Qwen/Qwen3-30B-A3B"),
        0.92,
        _batch(8192, 64, 32_768),
        56.88,
        1.30,
        None,
        14.67,
        160_192,
    ),
    Start(
        "Qwen3-Next, 12 layers",
        _cut(CODER, num_hidden_layers=12),
        0.85,
        _batch(8192, 64, 131_072, kv_cache_dtype="fp8", enable_prefix_caching=True),
        38.02,
        1.80,
        None,
        27.48,
        9_101_883,
    ),
    Start(
        "Nemotron-3-Nano",
        network("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"),
        0.92,
        _batch(8192, 64, 131_072),
        58.92,
        1.59,
        None,
        12.34,
        2_011_074,
    ),
    Start(
        "DeepSeek-V2-Lite",
        network("deepseek-ai/DeepSeek-V2-Lite"),
        0.70,
        _batch(4096, 64, 131_072),
        29.32,
        1.32,
        None,
        24.78,
        855_568,
    ),
    Start(
        "gpt-oss-20b",
        network("openai/gpt-oss-20b"),
        0.60,
        _batch(8192, 128, 131_072),
        13.58,
        1.89,
        None,
        32.04,
        1_316_015,
    ),
    Start(
        "Gemma-3-12B, text",
        _cut(GEMMA, vision_config=None),
        0.80,
        _batch(8192, 64, 65_536),
        22.62,
        1.34,
        None,
        39.38,
        378_580,
    ),
    Start("Gemma-3-12B, images", network(GEMMA), 0.80, _batch(8192, 64, 65_536), 23.41, 3.83, None, 36.10, 347_009),
    Start(
        "Qwen3-8B, defaults, 0.26",
        network(DENSE),
        0.92,
        _batch(8192, 1024, 40_960),
        15.27,
        1.51,
        1.01,
        56.07,
        408_256,
        release=V26,
    ),
    Start(
        "Qwen3-8B, EAGLE-3, 0.26",
        network(DENSE),
        0.50,
        _batch(8192, 64, 32_768, kv_cache_dtype="fp8", enable_prefix_caching=False),
        15.80,
        2.09,
        0.89,
        21.70,
        307_472,
        release=V26,
        speculation=Speculation("eagle3", 3, network("an EAGLE-3 drafter of Qwen/Qwen3-8B")),
    ),
    Start(
        "GLM-4.7-Flash, 24 layers, 0.26",
        _cut(GLM, num_hidden_layers=24),
        0.60,
        _batch(4096, 64, 65_536, enable_prefix_caching=True),
        28.65,
        1.84,
        None,
        17.02,
        660_928,
        release=V26,
    ),
    Start(
        "GLM-4.7-Flash, 24 layers, MTP, 0.26",
        _cut(GLM, num_hidden_layers=24),
        0.60,
        _batch(4096, 64, 65_536, kv_cache_dtype="fp8"),
        29.85,
        3.23,
        None,
        14.42,
        1_075_392,
        release=V26,
        speculation=Speculation("mtp", 1),
    ),
    Start(
        "Nemotron-3-Nano, eager, 0.26",
        network("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"),
        0.90,
        _batch(2048, 16, 65_536, kv_cache_dtype="fp8", enable_prefix_caching=False, enforce_eager=True),
        58.95,
        0.60,
        None,
        11.72,
        3_211_264,
        release=V26,
    ),
    Start(
        "Qwen3-VL-8B, images, 0.26",
        network("Qwen/Qwen3-VL-8B-Instruct"),
        0.60,
        _batch(2048, 32, 32_768),
        16.65,
        0.54,
        0.17,
        30.31,
        220_736,
        release=V26,
    ),
    Start(
        "Qwen3.6-35B with DFlash on a Spark",
        network(QWEN),
        0.85,
        _batch(32_768, 8, 200_000, enable_prefix_caching=True),
        21.03,
        8.20,
        None,
        71.59,
        visible=119.65,
        release=(0, 22, 0),
        drafter=0.88,
        speculation=Speculation("dflash", 6),
    ),
)
