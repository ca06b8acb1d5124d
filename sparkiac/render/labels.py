"""Labels, verdicts and texts for memory and speed, shared by the terminal, PLAN.md and the HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from sparkiac.memory.budget import TIGHT_BYTES
from sparkiac.memory.fit import Advice, Fit
from sparkiac.memory.recorded import MEASURED
from sparkiac.memory.values import Unknown
from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse, MemorySegment, Stall
from sparkiac.plan.numbers import CAPTURE, count, gib, over_budget, span, unknown

STEP_HEADS: Final = ("utilization", "KV cache", "tokens", "requests", "free on host")
"""Table heads of `steps`; requests are concurrent requests of the longest length."""
_NOT_COMPARED: Final = "no real server of this model family on a GPU; run sparkiac memory --from-log after the start"
CURRENT: Final = "current"
"""Marks the row of the configured utilization."""
_SET_SERVICE: Final = "set memory_gib of the service"


class LabelledValue(NamedTuple):
    """One label with its text."""

    label: str
    value: str


class Verdict(NamedTuple):
    """The result for one host, or for one of its turns."""

    word: Literal["fits", "tight", "does not fit", "unknown"]
    reason: str

    def __str__(self) -> str:
        """Return both."""
        return f"{self.word}: {self.reason}"


class MemoryRow(NamedTuple):
    """One row of the memory table of a host."""

    label: str
    kind: str
    size: str
    source: str
    assumed: bool = False

    @property
    def source_text(self) -> str:
        """Return the source of the size, marked if the size is assumed and not measured."""
        return f"assumed: {self.source}" if self.assumed else self.source


def lines(host: HostMemoryUse) -> tuple[MemoryRow, ...]:
    """Return the rows of a host's memory table; the last one is the free memory."""
    left = MemoryRow("left free", free(host), _left(host), _why_left(host))
    return (*(_line(part) for part in host.parts), left)


def free(host: HostMemoryUse) -> str:
    """Return the kind of the free memory: `free`, or `unsure` if the size of a segment is unknown."""
    return "unsure" if isinstance(host.headroom_bytes, Unknown) else "free"


def label(part: MemorySegment) -> str:
    """Return the name of a segment after the name of its deployment."""
    return f"{part.owner} {part.name}" if part.owner and part.owner != part.name else part.name


def verdict(use: HostMemoryUse) -> Verdict:
    """Return the verdict. A proven failure counts before an unknown value, and an unknown value is no pass."""
    if failed := next(_failures(use), None):
        return Verdict("does not fit", failed)
    if missing := next(_unknowns(use), None):
        return Verdict("unknown", missing)
    left = use.headroom_bytes
    assert not isinstance(left, Unknown)  # noqa: S101  it would be among the unknown values
    estimate = ", an estimate" if any(each.assumes for each in use.accounts) else ""
    return Verdict("tight" if left < TIGHT_BYTES else "fits", f"{gib(left)} left free{estimate}")


def _failures(use: HostMemoryUse) -> Iterator[str]:
    left = use.most_bytes if isinstance(use.headroom_bytes, Unknown) else use.headroom_bytes
    if left is not None and left < 0:
        yield over_budget(-left)
    for each in use.accounts:
        if each.shortage_bytes:
            yield f"weights and overhead of {each.name} exceed its memory by {gib(each.shortage_bytes)}"
        elif not isinstance(each.fit, Unknown) and not each.fit.one and not isinstance(each.context, Unknown):
            yield f"the KV cache of {each.name} does not hold one request of {count(each.context)} tokens"


def _unknowns(use: HostMemoryUse) -> Iterator[str]:
    if isinstance(use.headroom_bytes, Unknown):
        yield _missing(use.headroom_bytes)
    for each in use.accounts:
        if isinstance(each.fit, Unknown):
            yield f"KV cache of {each.name}; {_missing(each.fit)}"


def _missing(found: Unknown) -> str:
    return f"missing {', '.join(dict.fromkeys(found.missing)) or 'figures'}"


def loading(use: HostMemoryUse) -> str:
    """Return the memory of the servers at rest and at most while they load; empty if a size is unknown."""
    if use.loading is None:
        return ""
    name, low, high, resting = use.loading
    return f"{gib(resting)} at rest, {gib(low)} to {gib(high)} while {name} loads, with its files in the page cache"


def facts(account: DeploymentMemory) -> tuple[LabelledValue, ...]:
    """Return how many tokens the KV cache of a deployment stores, and how many its workload needs."""
    estimate = () if account.assumes is None else (LabelledValue("estimated", f"{account.assumes}; {CAPTURE}"),)
    recorded = () if account.record is None else (LabelledValue("predicted from", account.record),)
    unused = tuple(LabelledValue("record not used", each) for each in account.unused_records)
    alone = () if account.compared else (LabelledValue("not compared", _NOT_COMPARED),)
    return (*estimate, *recorded, *unused, *alone, *_fit(account), *(_workload(account) if account.leads else ()))


def steps(account: DeploymentMemory) -> tuple[tuple[str, ...], ...]:
    """Return the KV cache at the current and at other utilizations, as table rows for STEP_HEADS."""
    fit, now = account.fit, account.utilization
    if not account.steps or not account.leads or isinstance(fit, Unknown) or now is None:
        return ()
    rows = [
        (step.utilization, gib(step.pool_bytes), count(step.tokens), f"{step.concurrency:.1f}", _freed(step.host_bytes))
        for step in account.steps
    ]
    rows.append((now, gib(fit.pool_bytes), count(fit.tokens), f"{fit.concurrency:.1f}", CURRENT))
    return tuple((f"{share:.2f}", *row) for share, *row in sorted(rows))


def speeds(account: DeploymentMemory) -> tuple[LabelledValue, ...]:
    """Return the estimated speed of one request; empty for the workers of a group, because only the leader answers."""
    if not account.leads:
        return ()
    if isinstance(account.decode, Unknown) and account.decode == account.first_token:
        return (LabelledValue("speed", unknown(account.decode)),)
    return (*_decode(account), *_first_token(account))


def speed_sources(account: DeploymentMemory) -> tuple[str, ...]:
    """Return the sources of the estimated speeds, each once."""
    both = (account.decode, account.first_token) if account.leads else ()
    sources = [each.source for found in both if not isinstance(found, Unknown) for each in found]
    return tuple(dict.fromkeys(sources))


def basis(account: DeploymentMemory) -> str:
    """Return the label for the sources of the speeds: whether this server or another one was measured."""
    measured = any(each.startswith(MEASURED) for each in speed_sources(account))
    return "sources of the speeds:" if measured else "speeds are estimates:"


def _line(part: MemorySegment) -> MemoryRow:
    unset = part.size_bytes is None and part.kind == "service"
    source = f"unknown: {_SET_SERVICE}" if unset else part.source
    if part.low_bytes is not None and part.high_bytes is not None:
        source = f"{source}; {gib(part.low_bytes)} to {gib(part.high_bytes)} in the range of recorded starts"
    return MemoryRow(label(part), part.kind, gib(part.size_bytes), source, part.assumed)


def _left(host: HostMemoryUse) -> str:
    left, most = host.headroom_bytes, host.most_bytes
    if not isinstance(left, Unknown):
        return gib(left) if left >= 0 else over_budget(-left)
    if most is None:
        return "unknown"
    return f"at most {gib(most)}" if most >= 0 else over_budget(-most)


def _why_left(host: HostMemoryUse) -> str:
    if isinstance(host.headroom_bytes, Unknown):
        return unknown(host.headroom_bytes)
    return "the host has less memory than requested" if host.headroom_bytes < 0 else "not used"


def _fit(account: DeploymentMemory) -> Iterator[LabelledValue]:
    fit = account.fit
    if account.shortage_bytes:
        yield LabelledValue(
            "start", f"fails: weights and overhead exceed the requested memory by {gib(account.shortage_bytes)}"
        )
    if isinstance(fit, Unknown):
        yield LabelledValue("KV cache", unknown(fit))
        return
    yield LabelledValue("KV cache", f"{gib(fit.pool_bytes)}: {count(fit.tokens)} tokens, as counted in vLLM's log")
    if isinstance(account.context, Unknown) or isinstance(account.request_bytes, Unknown):
        return
    needs = f"needs {gib(account.request_bytes)}"
    one = f"fits: {needs}" if fit.one else f"does not fit: {needs}; vLLM does not start"
    yield LabelledValue(f"one request of {count(account.context)} tokens", one)
    if account.workload is None:
        yield from _equivalent(account, "one request")
    if fit.one and not isinstance(account.max_num_seqs, Unknown):
        yield LabelledValue("concurrent full-length requests", _concurrency(fit, account.max_num_seqs))


def _concurrency(fit: Fit, most: int) -> str:
    rest = "" if fit.all else "; the rest queue or are preempted"
    return f"about {count(int(fit.concurrency))} (max_num_seqs allows {count(most)}{rest})"


def _equivalent(account: DeploymentMemory, requests: str) -> Iterator[LabelledValue]:
    """Return the value of kv_cache_memory_bytes that gives the smallest sufficient KV cache."""
    advice = account.advice
    if not isinstance(advice, Unknown) and advice.told:
        yield LabelledValue(f"equivalent kv_cache_memory_bytes for {requests}", str(advice.pool_bytes))


def _workload(account: DeploymentMemory) -> Iterator[LabelledValue]:
    workload, advice = account.workload, account.advice
    if workload is not None:
        what = f"{count(workload.users)} requests of {count(workload.context)} tokens"
        yield LabelledValue(
            what, unknown(advice) if isinstance(advice, Unknown) else _served(account, advice, workload.context)
        )
        yield from _equivalent(account, "these requests")
    if not isinstance(advice, Unknown):
        yield LabelledValue(
            f"minimum utilization for {'one request' if workload is None else 'these requests'}", _share(advice)
        )


def _served(account: DeploymentMemory, advice: Advice, context: int) -> str:
    needs = f"needs {gib(advice.pool_bytes)}"
    if not isinstance(account.context, Unknown) and context > account.context:
        return f"too long: max_model_len is {count(account.context)}; {needs}"
    if isinstance(account.fit, Unknown):
        return needs
    return f"fits: {needs}" if advice.pool_bytes <= account.fit.pool_bytes else f"does not fit: {needs}"


def _share(advice: Advice) -> str:
    if advice.utilization is None:
        return "none: the memory of the host is not enough"
    freed = "" if advice.freed_bytes is None else f"; {_freed(advice.freed_bytes)} free on the host"
    return f"{advice.utilization:.2f}{freed}"


def _freed(size_bytes: int) -> str:
    """Return the change of the host's free memory: 6.0 GiB more."""
    return f"{gib(size_bytes)} more" if size_bytes >= 0 else f"{gib(-size_bytes)} less"


def _decode(account: DeploymentMemory) -> Iterator[LabelledValue]:
    if isinstance(account.decode, Unknown):
        yield LabelledValue("decode", unknown(account.decode))
        return
    for each in account.decode:
        yield LabelledValue(f"decode at {count(each.context)} tokens", span(each.low, each.high, "tokens/s"))
    if account.busy is not None:
        yield LabelledValue("while all servers of the host decode", f"at least {account.busy:.0f} tokens/s")


def _first_token(account: DeploymentMemory) -> Iterator[LabelledValue]:
    if isinstance(account.first_token, Unknown):
        yield LabelledValue("time to first token, stall by a long prompt", unknown(account.first_token))
        return
    for each in account.first_token:
        label = f"time to first token, prompt of {count(each.prompt_tokens)} tokens"
        yield LabelledValue(label, span(each.low_s, each.high_s, "s"))
    if account.stall is not None:
        yield LabelledValue("stall by a long prompt", _stall(account.stall))


def _stall(found: Stall | Unknown) -> str:
    if isinstance(found, Unknown):
        return unknown(found)
    chunks = f"chunks of {count(found.chunk_tokens)} tokens"
    return f"other requests wait {span(found.low_s, found.high_s, 's')} for their next token ({chunks})"
