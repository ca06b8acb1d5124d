"""Where the sources are wrong, or contradict each other, and what sparkiac makes of it: one entry for each.

`Found`: the printed text, typed as an inventory, has this finding. `Says`: the recipe has one of the two values, and
`noted` is in its notes where the difference is told. `Held`: a test shows it. `Untold`: no program can tell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.plan.fleets import ONES, deployment, service
from tests.rules.cases_flags import NIGHTLY, QWEN, V020, of

POST: Final = "redhatai/qwen3.6-35b-a3b-nvfp4"
CODER: Final = "sakamakismile/gemma-4-12b-coder-nvfp4"
NANO: Final = "nvidia/nemotron-3-nano-30b-a3b-nvfp4"
GEMMA: Final = "google/gemma-4-26b-a4b-it-fp8"
HERETIC: Final = "aeon-7/qwen3.6-35b-a3b-heretic-nvfp4"
DASHES: Final = (
    r'command: ["\u2013speculative-config", '
    r'"\u2018{\u201cmethod\u201d:\u201cdeepseek_mtp\u201d,\u201cnum_speculative_tokens\u201d:2}\u2019"]'
)
DFLASH: Final = "speculative: {method: dflash, model: z-lab/Qwen3.6-35B-A3B-DFlash, num_speculative_tokens: 15}"


class Found(NamedTuple):
    """An inventory with what a source prints, and the code that it gets."""

    code: str
    text: str


class Says(NamedTuple):
    """An entry of the catalog, a key of it, the value that it has, and words of the note beside it."""

    entry: str
    key: tuple[str, ...]
    value: object
    noted: str = ""


class Held(NamedTuple):
    """A test, as file::name."""

    test: str


class Untold(NamedTuple):
    """Why no program can find it."""

    why: str


def upstream(*words: str) -> str:
    """Write a service on vLLM's own image with this command."""
    image = f"image: vllm/vllm-openai:cu130-nightly@{ONES}"
    return service(f"command: [{', '.join(words)}]").replace(f"image: example.org/asr@{ONES}", image)


HERE: Final = "tests/catalog/test_defects.py::"
DEFECTS: Final[dict[str, tuple[Found | Says | Held | Untold, ...]]] = {
    # vLLM blog L67-68: `vllm serve` as the command of an image whose entrypoint it is (Spark guide L99-100)
    "D1": (Found("ENT001", upstream("vllm", "serve", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4")),),
    # Spark guide L757: `vllm --version` of such an image
    "D2": (Found("ENT001", upstream("vllm", "--version")),),
    # Spark guide L356: the row for utilization 0.5 does not fit the other two
    "D3": (Held(f"{HERE}test_one_row_of_the_table_does_not_fit_the_other_two"),),
    # Spark guide L351: the KB are KiB
    "D4": (Held(f"{HERE}test_the_kb_are_kib"),),
    # dual-Spark post L61: 62 GB visible, and 0.55 takes 65.8 GB
    "D5": (Held(f"{HERE}test_the_share_of_the_post_is_one_of_all_memory"), Says(POST, (), {}, "modeset=0")),
    # dual-Spark post L49, L61: 131072 in the unit, 65,536 in the text
    "D6": (Says(POST, ("set", "max_model_len"), 131072, "the unit is what ran"),),
    # dual-Spark post L101, L12-17: +40 % in the text, -3 to +2 % in the table
    "D7": (
        Says(GEMMA, (), {}, "L101"),
        Held(f"{HERE}test_the_gain_that_the_posts_table_does_not_show_is_not_a_figure"),
    ),
    # dual-Spark post L117: dropping the page cache without root
    "D8": (Held("tests/render/test_hosts.py::test_the_unit_of_a_deployment"),),
    # dual-Spark post L23-27: Type=simple waits for no load
    "D9": (Held("tests/render/test_hosts.py::test_the_unit_of_a_deployment"),),
    # DeepSeek-V4 thread L358, L381-383: dashes and curly quotes
    "D10": (
        Found("FLG017", service(DASHES)),
        Found("FLG017", deployment(r'env: {EXTRA_ARGS: "\u2013kv-cache-dtype fp8 --block-size 256"}')),
        Says("deepseek-ai/deepseek-v4-flash-pinned", (), {}, "dashes and curly quotes"),
    ),
    # DeepSeek-V4 thread L241: a key without its first letter
    "D11": (Found("INV001", f"ecipe_version: '1'\n{deployment()}"),),
    # Spark guide L164, L182, DeepSeek-V4 thread L37-39, L364: names and lists that are left out
    "D12": (Found("REF004", of(HERETIC)), Found("REF004", of("deepseek-ai/deepseek-v4-flash-jasl"))),
    # Spark guide L680, L715, L775, L785: an option that is gone
    "D13": (Found("SPD014", deployment(NIGHTLY, "set: {speculative_disable_by_batch_size: 32}")),),
    # Spark guide L653, L152: chunked prefill is nine times slower, and is in the measured command
    "D14": (Says(QWEN, ("set", "enable_chunked_prefill"), value=True, noted="9 times slower"),),
    # Spark guide L156, L361-363: 262144 reserves far too much, and is enough of a change
    "D15": (
        Says(f"{QWEN}#card-original", ("set", "max_model_len"), 262144, "far too much KV cache"),
        Says(QWEN, ("set", "max_model_len"), 65536),
    ),
    # Spark guide L163, L781, L156: the line of DFlash in a recipe with an FP8 KV cache and a hybrid model
    "D16": (
        Found("SPD002", of(QWEN, V020, "set: {kv_cache_dtype: fp8}", DFLASH)),
        Found("SPD006", of(QWEN, DFLASH)),
        Says(f"{QWEN}#dflash", ("set", "kv_cache_dtype"), None, "stays in BF16"),
    ),
    # Spark guide L268, SM121 reference L17: 0.92 is printed, 0.90 is the limit
    "D17": (Found("MEM001", of(CODER)), Says(CODER, ("set", "gpu_memory_utilization"), 0.92)),
    # Spark guide L30, L110: 26.02 and newer, and 26.02 takes no mixed precision
    "D18": (Found("IMG004", of(QWEN, f"image: nvcr.io/nvidia/vllm:26.02-py3@{ONES}")),),
    # Spark guide L336, L689, L32, dual-Spark post L94: who has MTP
    "D19": (
        Found("SPD019", of(NANO, "speculative: {method: mtp, num_speculative_tokens: 1}")),
        Says(GEMMA, ("speculative", "method"), "mtp"),
    ),
    "D20": (Untold("SM121 reference L1 names the GPUs of other machines wrongly; none of them is described here"),),
    "D21": (Untold("dual-Spark post L3 and Spark guide L120 call the same kernels native and not native: words"),),
    # SM121 reference L21, Spark guide L303, dual-Spark post L3, DeepSeek-V4 thread L346: which driver
    "D22": (
        Held(
            "tests/host/test_preflight_machine.py::test_a_driver_that_sources_disagree_on_warns_and_one_that_drifted_fails"
        ),
        Held("tests/host/test_preflight_machine.py::test_a_doubt_says_why"),
    ),
    # SM121 reference L4, Spark guide L191, L156, L768, vLLM blog L48, dual-Spark post L102: which attention backend
    "D23": (
        Says("qwen/qwen3-coder-next-fp8", ("set", "attention_backend"), "flashinfer", "Qwen3.6-35B-A3B does not"),
        Says(QWEN, ("set", "attention_backend"), None),
        Says("poolside/laguna-xs.2-dflash", ("set", "attention_backend"), "triton_attn"),
        Found("ATT002", of(QWEN, f"image: vllm/vllm-openai:v0.23.0@{ONES}", "set: {attention_backend: flashinfer}")),
    ),
    # Spark guide L103, vLLM blog L50, dual-Spark post L46: how a format is named
    "D24": (
        Found("QNT001", of(QWEN, "set: {quantization: compressed-tensors}")),
        Found("QNT002", of(POST, "set: {quantization: modelopt}")),
        Says(POST, ("set", "quantization"), "compressed-tensors"),
    ),
    # DeepSeek-V4 thread L323-329, L335-337, L376-377: tuned kernel, or clean boot and a skipped check
    "D25": (
        Found("ENV101", of(POST, "env: {VLLM_SKIP_INIT_MEMORY_CHECK: 1}")),
        Held("tests/host/test_preflight_machine.py::test_load_tuning_is_shown_with_what_is_against_it"),
    ),
    # Spark guide L153, L715, dual-Spark post L61: 3, 1 and 2 tokens
    "D26": (
        Says(QWEN, ("speculative", "num_speculative_tokens"), 3, "its author runs 2"),
        Says(POST, ("speculative", "num_speculative_tokens"), 2),
        Found("SPD010", deployment("speculative: {method: mtp, num_speculative_tokens: 5}")),
    ),
    # Spark guide L159, L175, L251, dual-Spark post L52, L93: which parser of tool calls
    "D27": (
        Says(QWEN, ("set", "tool_call_parser"), "qwen3_xml"),
        Says(POST, ("set", "tool_call_parser"), "qwen3_coder", "says qwen3_xml"),
        Says("bg-digitalservices/gemma-4-26b-a4b-it-nvfp4", ("set", "tool_call_parser"), "pythonic"),
        Says(GEMMA, ("set", "tool_call_parser"), "hermes"),
        Found("API002", of(QWEN, "set: {tool_call_parser: hermes}")),
    ),
    # Spark guide L657, vLLM blog L11: 100 GB of weights, or 200 billion parameters: bytes decide
    "D28": (Found("MEM003", deployment().replace("example/model", "deepseek-ai/DeepSeek-V4-Flash")),),
    # Spark guide L65, DeepSeek-V4 thread L372, dual-Spark post L83: mount, wipe or switch off the compile cache
    "D29": (
        Held("tests/plan/test_deployments.py::test_the_cache_name_changes_with_everything_compiled_code_depends_on"),
        Held("tests/plan/test_deployments.py::test_the_caches_name_stays_when_only_the_host_side_changes"),
    ),
    # SM121 reference L37, DeepSeek-V4 thread L295: Ray is required, and a group runs without it
    "D30": (
        Held("tests/plan/test_groups.py::test_the_commands_differ_in_rank_address_and_headless_alone"),
        Says("deepseek-ai/deepseek-v4-flash-pinned", (), {}, "not with Ray"),
    ),
}
