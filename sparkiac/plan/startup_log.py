"""Compare the plan with a startup log or metrics of vLLM: whether it is the planned server, and what was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from sparkiac.catalog import interfaces
from sparkiac.memory import budget, options, overhead, startup
from sparkiac.memory.startup import UNKNOWN, Startup
from sparkiac.memory.values import GIB, Unknown, known_bytes, less, quantity, total_bytes
from sparkiac.model.base import MOST_BYTES
from sparkiac.model.catalog import is_discrete
from sparkiac.model.records import MEMORY_OPTIONS
from sparkiac.plan import numbers, start_records
from sparkiac.plan.container import Container
from sparkiac.plan.numbers import gib
from sparkiac.plan.parts import Proof
from sparkiac.plan.values import HostPlan, Plan

SIZES: Final = ("total memory", "weights", "overhead", "CUDA graphs", "KV cache")
"""Names of the figures that are sizes in bytes; the others are counts."""
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


class Compared(NamedTuple):
    """One figure: predicted and measured."""

    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Relative error of the prediction: 0.02 is 2 % too high."""
        return self.predicted / self.measured - 1


class StartupComparison(NamedTuple):
    """Planned and measured figures of one deployment."""

    name: str
    host: str
    compared: tuple[Compared, ...]
    found: Startup
    """Figures of the log; the requested memory exactly, if the plan agrees with the log."""
    total_bytes: int | None
    """Memory of the host that CUDA reports, if the inventory has another value."""
    notes: tuple[str, ...]
    """Reasons why the comparison is not exact."""
    refused: tuple[str, ...]
    """Why the log is not one of a successful start of this deployment; empty if it is."""


def servers(plan: Plan) -> dict[str, HostPlan]:
    """Return deployment → host; for a group, the host of the leader."""
    return {each.name: host for host, each in plan.containers if each.kind == "deployment" and each.server.leads}


def compare_log(name: str, host: HostPlan, log: str) -> StartupComparison | None:
    """Compare the startup log of a deployment with its memory calculation; None if no line is recognised."""
    found, proof = startup.read(log), host.proofs[name]
    if found == Startup():
        return None
    known, seen = host.memory_bytes, None if is_discrete(host.gpu) else found.visible_bytes
    total = None if known and seen and abs(seen - known) < ROUNDED // 2 else seen
    planned = _planned(proof, found.visible_bytes if is_discrete(host.gpu) else total or known)
    found = found._replace(requested_bytes=_requested(found.requested_bytes, planned))
    container = next(each for each in host.containers if each.name == name)
    refused, unknown = of_log(container, host, log, found, planned)
    rest = overhead.measured_bytes(found.requested_bytes, found.weights_bytes, found.pool_bytes)
    rows, notes = tuple(_compared(found, host, proof, rest)), tuple(_notes(unknown, proof, rest))
    return StartupComparison(name, host.name, rows, found, total, notes, refused)


def _planned(proof: Proof, total: int | None) -> int | None:
    """Return the memory that the plan's server requests of this total; None if its KV cache has a fixed size."""
    options = proof.options
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None or total is None:
        return None
    return budget.requested_bytes(total, options.gpu_memory_utilization)


def _requested(logged: int | None, planned: int | None) -> int | None:
    """Return the requested memory: the plan's exact value if the log's rounded value agrees, else the log's value."""
    if logged is None or planned is None:
        return planned if logged is None else logged
    return planned if abs(logged - planned) <= ROUNDED else logged


def _compared(found: Startup, host: HostPlan, proof: Proof, rest: int | None) -> Iterator[Compared]:
    """Yield every figure that is predicted and measured. `rest` is the measured overhead."""
    server, pool = proof.server, known_bytes(proof.server.pool.size_bytes)
    if not server.inside:
        return
    cache = None if isinstance(proof.cache, Unknown) else proof.cache
    beside = [term for term in server.inside if term.name not in {"weights", "drafter"}]
    drafter = total_bytes(term for term in server.inside if term.name == "drafter")
    graphs = next((known_bytes(term.size_bytes) for term in server.outside if term.name == "CUDA graphs"), None)
    for name, computed, logged in (
        ("total memory", host.memory_bytes, found.visible_bytes),
        # The log has one figure for model and drafter.
        (
            "weights",
            known_bytes(server.inside[0].size_bytes),
            known_bytes(less(quantity(found.weights_bytes, "weights"), drafter)),
        ),
        ("overhead", known_bytes(total_bytes(beside)), rest),
        ("CUDA graphs", graphs, found.graphs_bytes),
        ("KV cache", pool, found.pool_bytes),
        ("tokens", cache.tokens(pool) if cache and pool is not None else None, found.tokens),
        ("concurrency", cache.concurrency(pool) if cache and pool is not None else None, found.concurrency),
        ("block size", cache.block_tokens if cache else None, found.block_tokens),
    ):
        if computed is not None and logged is not None and logged > 0:
            yield Compared(name, computed, logged)


def _notes(unknown: tuple[str, ...], proof: Proof, rest: int | None) -> Iterator[str]:
    if unknown:
        yield f"Not in the log, and not compared with the inventory: {', '.join(unknown)}."
    if isinstance(proof.options, Unknown):
        yield f"Nothing can be compared: options are {numbers.unknown(proof.options)}."
        return
    if isinstance(proof.fit, Unknown) and not proof.server.inside:
        yield f"Nothing can be compared: the memory of the server is {numbers.unknown(proof.fit)}."
        return
    if rest is None:
        yield "The log does not contain the memory used in addition to weights and KV cache."


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
