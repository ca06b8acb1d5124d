"""Whether a startup log or a page of metrics is that of a planned server, so that its figures may be recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from sparkiac.catalog import interfaces
from sparkiac.memory import options, startup
from sparkiac.memory.startup import UNKNOWN, Startup
from sparkiac.memory.values import GIB
from sparkiac.model.base import MOST_BYTES
from sparkiac.model.catalog import is_discrete
from sparkiac.model.records import MEMORY_OPTIONS
from sparkiac.plan import start_records
from sparkiac.plan.container import Container
from sparkiac.plan.numbers import gib
from sparkiac.plan.values import HostPlan

Fact: TypeAlias = "tuple[str, Any, Any]"
"""Name of a fact about a server, its value in what was read, and its value in the inventory."""
ROUNDED: Final = GIB // 50
"""Tolerance when comparing two figures of a log, because each is rounded to 0.01 GiB."""
_SAME_MACHINE: Final = 0.05
"""Relative difference of the memory of machines of one kind: DGX Sparks report 119.2 to 121.7 GiB."""
_LABELS: Final = ("gpu_memory_utilization", "kv_cache_memory_bytes", "num_gpu_blocks_override")
"""Options that the labels of a metric have as they were set; vLLM resolves the others first."""
_MODEL: Final = re.compile(r'\bmodel_name="([^"]*)"')
_NOT_READY: Final = "the start failed, or the log ends too early: it has no line with Application startup complete"
_NEGATIVE: Final = (
    "vLLM estimates the CUDA graphs at {} and adds that to the KV cache (vllm#44740), so the sizes are wrong; set env: "
    "{{VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: 0}} and start the server again"
)
Match: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"
"""Why nothing can be recorded, empty if it is the planned server; and facts that were not stated and not compared."""


def of_log(container: Container, host: HostPlan, log: str, found: Startup, planned: int | None) -> Match:
    """Compare the server of a startup log with a container of the plan, which requests `planned` bytes, if known."""
    server, requested = startup.server(log), found.requested_bytes
    facts = [*_facts(container, host, server.facts, found), *_options(container, server.options, MEMORY_OPTIONS)]
    if server.options is None and planned is not None and requested != planned:
        facts.append(("requested memory", gib(requested), gib(planned)))
    refused, unknown = _match(facts, "in the log")
    shared = None if is_discrete(host.gpu) else host.memory_bytes
    limit = (None if refused else requested) or found.visible_bytes or shared or MOST_BYTES
    return (*([] if server.ready else [_NOT_READY]), *_impossible(found, limit), *refused), unknown


def of_metrics(container: Container, page: str) -> Match:
    """Compare the server of a page of metrics with a container of the plan."""
    given = start_records.cache_labels(page)
    if given is None:
        return ("it is not a metrics page of vLLM: it has no vllm:cache_config_info",), ()
    names = sorted(set(_MODEL.findall(page)))
    served = [name for name in names if name in container.server.served]
    model = "model", ", ".join(served or names) or UNKNOWN, ", ".join(served or container.server.served)
    return _match((model, *_options(container, given, _LABELS)), "on the page")


def _impossible(found: Startup, limit: int) -> Iterator[str]:
    """Yield why a server with this memory cannot have the sizes of a log."""
    if (found.graphs_estimate_bytes or 0) < 0:
        yield _NEGATIVE.format(gib(found.graphs_estimate_bytes))
    weights, pool, graphs = found.weights_bytes, found.pool_bytes, found.graphs_bytes
    if (pool is not None and pool <= 0) or max((weights or 0) + (pool or 0), graphs or 0) > limit + ROUNDED:
        sizes = f"weights {gib(weights)}, KV cache {gib(pool)} and CUDA graphs {gib(graphs)}"
        yield f"{sizes} are impossible for a server that can use {gib(limit)}"


def _facts(container: Container, host: HostPlan, stated: Mapping[str, Any], found: Startup) -> Iterator[Fact]:
    """Yield the facts of a log except for the options."""
    server, proof, release = container.server, host.proofs[container.name], container.image.vllm
    words = {word.rpartition("=")[2] for word in container.argv}
    yield "engine", "vllm", (server.engine or "").removeprefix("aeon-")
    yield "model", stated["model"], stated["model"] if stated["model"] in words else server.model
    yield "commit", stated["commit"], (proof.subject and proof.subject.commit) or UNKNOWN
    logged = interfaces.named(str(stated["release"])) or UNKNOWN
    yield "vLLM release", logged, logged if release and str(logged).startswith(release) else release or UNKNOWN
    yield "device", stated["device"], "cuda"
    drafts = server.speculative or {}
    wanted = startup.drafting(drafts.get("method"), drafts.get("num_speculative_tokens") or 0)
    yield "speculative decoding", stated["speculative decoding"], wanted
    yield "max_model_len", found.context or UNKNOWN, getattr(proof.cache, "context", UNKNOWN)
    known, seen = None if is_discrete(host.gpu) else host.memory_bytes, found.visible_bytes or 0
    alike = known is None or abs(seen - known) <= _SAME_MACHINE * known
    yield "memory of the GPU", gib(seen) if seen else UNKNOWN, gib(seen if alike else known)


def _options(container: Container, given: Mapping[str, Any] | None, names: Iterable[str]) -> Iterator[Fact]:
    """Yield the options of a server; vLLM logs those that differ from the defaults of its release."""
    release = container.image.vllm or interfaces.versions()[-1]
    interface = container.image.interface or interfaces.interface(interfaces.nearest(release))
    if given is None:
        yield "options", UNKNOWN, ""
        return
    for name in names:
        spec = interface and interface.options.get(f"--{name.replace('_', '-')}")
        default = json.loads(spec.default) if spec and spec.default else None
        logged = given.get(name, default)
        # A log has lists where the inventory has tuples.
        wanted = json.loads(json.dumps(container.server.options.get(name, default)))
        # vLLM prints an object with the defaults of all its keys.
        comparable = logged == wanted or not (logged and wanted and spec and spec.object)
        yield name, logged if comparable else UNKNOWN, wanted


def _match(facts: Iterable[Fact], where: str) -> Match:
    reasons, unknown = {}, []
    for name, read, wanted in facts:
        if wanted is not UNKNOWN and read is UNKNOWN:
            unknown.append(name)
        elif wanted is not UNKNOWN and read != wanted and _plain(read) != _plain(wanted):
            texts = ("not set" if value is None else value for value in (read, wanted))
            reasons[name] = "{} is {} {where} and {} in the inventory".format(name, *texts, where=where)
    if "model" in unknown:
        reasons["model"] = f"there is no model name {where}"
    return tuple(reasons.values()), tuple(unknown)


def _plain(value: object) -> str:
    """Return an option as a text that is the same for all spellings that vLLM accepts."""
    return str(options.whole(value) or ("auto" if value == -1 else value)).lower().replace("-", "_")
