"""`sparkiac diagnose --bisect`: write the configurations that find the option with which a deployment fails.

The first steps are those of the Spark guide (L160): start with few options, then add KV cache type, prefix caching,
chunked prefill, async scheduling and MTP, one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from sparkiac import engines
from sparkiac.commands.diagnose.proposal import Context, added_errors, deployments, tried, written
from sparkiac.commands.inputs import Exit, reject
from sparkiac.fix.nodes import CannotEdit
from sparkiac.pipeline import Outcome
from sparkiac.plan import Plan
from sparkiac.plan.container import Container
from sparkiac.report import REMOVE, Edit

_FIRST: Final = "minimal"
_SPECULATION: Final = "speculation"
_SIZES: Final = "sizes"
_LARGEST_SEQUENCES: Final = 4
"""max_num_seqs of the first step."""
_CONTEXTS: Final = (65_536, 32_768, 16_384, 8_192)
"""max_model_len of the first step: the largest that fits."""
_GROUPS: Final = {
    "kv-cache-type": ("kv_cache_dtype", "calculate_kv_scales", "kv_cache_dtype_skip_layers", "block_size"),
    "prefix-caching": ("enable_prefix_caching", "prefix_caching_hash_algo", "mamba_cache_mode", "mamba_block_size"),
    "chunked-prefill": ("enable_chunked_prefill", "max_num_batched_tokens", "max_num_partial_prefills"),
    "async-scheduling": ("async_scheduling",),
    _SPECULATION: (),
    "attention": ("attention_backend", "attention_config", "gdn_prefill_backend", "mm_encoder_attn_backend"),
    "loading": ("load_format", "model_loader_extra_config", "safetensors_load_strategy"),
    "cuda-graphs": (
        *("compilation_config", "max_cudagraph_capture_size", "cudagraph_capture_sizes", "optimization_level"),
    ),
    _SIZES: ("max_model_len", "max_num_seqs"),
}
"""Name of a step → the engine options that it adds."""
_KEPT: Final = frozenset(
    """
    host port tokenizer tokenizer_mode trust_remote_code dtype quantization moe_backend linear_backend hf_overrides
    config_format runner convert language_model_only enforce_eager tensor_parallel_size pipeline_parallel_size
    data_parallel_size enable_expert_parallel distributed_executor_backend nnodes node_rank master_addr master_port
    headless gpu_memory_utilization kv_cache_memory_bytes reasoning_parser api_key
    """.split()  # noqa: SIM905  a list of 29 lines is no clearer
)
"""Options of every step: without them the server is another one, or does not fit the host."""
_REST: Final = "other-options"


class BisectStep(NamedTuple):
    """What a configuration adds to the one before."""

    name: str
    added: tuple[str, ...]
    """Engine options; empty for speculation and the first step."""


def _steps(container: Container) -> tuple[BisectStep, ...]:
    """Divide the options of a server into steps that add some each; the first step adds none."""
    options = container.server.options
    named = {name for group in _GROUPS.values() for name in group}
    rest = tuple(sorted(name for name in options if name not in named | _KEPT))
    found = [BisectStep(_FIRST, ())]
    for name, group in _GROUPS.items():
        present = tuple(each for each in group if each in options)
        if present or (name == _SPECULATION and container.server.speculative):
            found.append(BisectStep(name, present))
    return (*found, BisectStep(_REST, rest)) if rest else tuple(found)


class Configuration(NamedTuple):
    """A valid configuration with only some of the options."""

    step: BisectStep
    with_former: tuple[BisectStep, ...]
    """Earlier steps that are not valid alone and are added together with this one."""
    raw: bytes
    plan: Plan

    @property
    def added(self) -> str:
        """What it adds to the configuration before, in words."""
        return ", ".join(_words(each) for each in (*self.with_former, self.step))


def write(context: Context, directory: Path) -> int:
    """Write the configurations of a deployment into a new directory."""
    if not engines.named(context.container.server.engine).vllm:
        reject(f"{context.container.name} does not run vLLM; --bisect works for vLLM only")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        reject(f"{click.format_filename(directory)} exists and is not an empty directory; name a new one")
    wanted = removable(_steps(context.container), context)
    found = configurations(wanted, context)
    if not found:
        click.echo(f"{context.container.name} has no options that can be left out", err=True)
        return Exit.FINDINGS
    for name, content in _files(found, wanted, context).items():
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    click.echo(f"{click.format_filename(directory)}: {len(found)} configurations; start with README.md", err=True)
    return Exit.OK


def removable(wanted: Sequence[BisectStep], context: Context) -> Sequence[BisectStep]:
    """Return the steps without the options whose absence is an error, such as the tool parser that clients require."""
    if _valid(wanted[1:], context):
        return wanted
    omitted: list[BisectStep] = []
    for step in reversed(wanted[1:]):
        if _valid([*omitted, step], context):
            omitted.append(step)
            continue
        for part in (step._replace(added=(name,)) for name in step.added):
            omitted += [part] if _valid([*omitted, part], context) else []
    names, left = {step.name for step in omitted}, {name for step in omitted for name in step.added}
    found = (step._replace(added=tuple(filter(left.__contains__, step.added))) for step in wanted)
    return [step for step in found if step.name in {_FIRST, *names}]


def configurations(wanted: Sequence[BisectStep], context: Context) -> list[Configuration]:
    """Return the valid configurations in order, without the complete deployment, which is known to fail.

    A step that is not valid alone, or changes nothing, belongs to the next configuration.
    """
    found: list[Configuration] = []
    waiting: list[BisectStep] = []
    seen = {context.files[0].raw}
    for index, step in enumerate(wanted[:-1]):
        valid = _valid(wanted[index + 1 :], context)
        if valid is None or valid[0] in seen:
            waiting.append(step)
        else:
            found.append(Configuration(step, tuple(waiting), *valid))
            seen.add(valid[0])
            waiting.clear()
    return found


def _valid(omitted: Sequence[BisectStep], context: Context) -> tuple[bytes, Plan] | None:
    """Return the inventory and its plan without the options of some steps; None if it is not valid."""
    smaller = any(step.name == _SIZES for step in omitted)
    for length in _CONTEXTS if smaller else (None,):
        try:
            raw, outcome = _without(omitted, length, context)
        except CannotEdit:
            continue
        if outcome.plan is not None and not added_errors(context.report, outcome.report):
            return raw, outcome.plan
    return None


def _without(omitted: Sequence[BisectStep], length: int | None, context: Context) -> tuple[bytes, Outcome]:
    """Cut the lines of omitted options, then write null over what other layers set, then the smaller sizes."""
    path, raw = context.container.path, context.files[0].raw
    names = [name for step in omitted if step.name != _SIZES for name in step.added]
    speculation = any(step.name == _SPECULATION for step in omitted)
    own = written(raw, path)
    settings = own.get("set")
    cut = [(*path, "set", name) for name in names if isinstance(settings, dict) and name in settings]
    cut += [(*path, "speculative")] if speculation and "speculative" in own else []
    raw, outcome = tried(raw, [Edit(each, REMOVE) for each in cut], context)
    server = deployments(outcome.plan)[context.container.name][0][1].server if outcome.plan else None
    if server is not None:
        left = [Edit((*path, "set", name), None) for name in names if name in server.options]
        left += [Edit((*path, "speculative"), None)] if speculation and server.speculative else []
        sizes = _sizes(context.container, length) if length is not None else {}
        left += [Edit((*path, "set", name), value) for name, value in sizes.items()]
        raw, outcome = tried(raw, left, context)
    return raw, outcome


def _sizes(container: Container, length: int) -> dict[str, int]:
    """Return the reduced sizes for the first configurations, of those options that the deployment sets higher."""
    options = container.server.options
    limits = {"max_model_len": length, "max_num_seqs": _LARGEST_SEQUENCES}
    return {
        name: limit
        for name, limit in limits.items()
        if name in options and isinstance(options[name], int) and options[name] > limit
    }


def _files(found: Sequence[Configuration], wanted: Sequence[BisectStep], context: Context) -> Mapping[str, bytes]:
    """Return the files: for each configuration a diff and the compose file of each host."""
    from sparkiac import pipeline
    from sparkiac import write as writing

    name, files = context.container.name, dict[str, bytes]()
    for number, each in enumerate(found, 1):
        start = f"{number}-{each.step.name}"
        files[f"{start}.diff"] = writing.diff_of(context.files[0].name, context.files[0].raw, each.raw).encode()
        artifacts = {artifact.path: artifact.content for artifact in pipeline.render(each.plan)}
        for host, _ in context.containers:
            path = f"hosts/{host.name}/etc/sparkiac/{name}/compose.yaml"
            files[f"{start}.{host.name}.compose.yaml"] = artifacts[path]
    return files | {"README.md": _readme(found, wanted, context).encode()}


def _readme(found: Sequence[Configuration], wanted: Sequence[BisectStep], context: Context) -> str:
    name, inventory = context.container.name, context.files[0].name
    rows = "".join(
        f"| {number} | `{number}-{each.step.name}.diff` | {each.added} | {_verdict(each, number)} |\n"
        for number, each in enumerate(found, 1)
    )
    every = _steps(context.container)
    after = map(_words, wanted[wanted.index(found[-1].step) + 1 :])
    kept = [f"`{name}`" for step in every for name in step.added if all(name not in each.added for each in wanted)]
    keep = f"All of them keep {', '.join(kept)}: without these, `sparkiac check` reports errors.\n" if kept else ""
    return f"""\
# Which option of {name} fails

Written by `sparkiac diagnose --bisect` for {inventory}. Each diff changes {inventory} as it was then; the compose
files are what the changed inventory generates for each host. Every configuration passes `sparkiac check` as well as the
inventory itself does.

Try them in this order until one fails:

1. `git apply FILE.diff`, `sparkiac generate {inventory}`, `sparkiac apply {inventory}`. A host whose server does
   not become ready goes back by itself.
2. `sparkiac diagnose --inventory {inventory} --deployment {name}` shows the error.
3. `git apply --reverse FILE.diff` before the next one.

| | file | adds | if it fails and the one before does not |
|---|---|---|---|
{rows}
{keep}If all of them start, the cause is in what only the complete deployment has: {", ".join(after)}.
Options that a step leaves out have the default of vLLM, which can be on. Environment variables are the same in all
steps.
"""


def _verdict(each: Configuration, number: int) -> str:
    if number == 1:
        return "no option that is added later is the cause: look at image, driver, checkpoint and environment"
    return f"the cause is {each.added}"


def _words(step: BisectStep) -> str:
    if step.name == _FIRST:
        return "what the model needs, with short requests"
    if step.name == _SPECULATION:
        return "speculative decoding"
    return ", ".join(f"`{name}`" for name in step.added)
