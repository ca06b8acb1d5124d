"""Accounts in words: labels and values that the terminal, PLAN.md and the HTML page lay out, each in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.values import Unknown
from sparkiac.plan.numbers import count, gib, over_budget, span
from sparkiac.plan.parts import NO_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.memory.fit import Advice, Fit
    from sparkiac.model.inventory import Workload
    from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse, MemorySegment

STEP_HEADS: Final = ("utilization", "KV cache", "tokens", "requests", "the host")
"""Requests are whole ones, of the longest length."""
CAPTURE: Final = "run sparkiac images capture to read it"
_NO_RATE: Final = "unknown (no published prefill rate)"
_ASKS_HUB: Final = "sparkiac lock reads it from the model hub"
_ASKS_HOST: Final = "memory.total_gib of the host says it"
_ASKS_LOG: Final = "sparkiac memory --from-log reads it from the log of a start"
_ASKS_SERVICE: Final = "memory_gib of a service says it"
_REMEDIES: Final = (
    ("config.json", _ASKS_HUB),
    ("weights", _ASKS_HUB),
    ("drafter", _ASKS_HUB),
    ("total memory", _ASKS_HOST),
    ("requested", _ASKS_HOST),
    ("CUDA graphs", _ASKS_LOG),
    ("model type", _ASKS_LOG),
    ("KV dtype", _ASKS_LOG),
    ("mamba_cache_mode", _ASKS_LOG),
)


class LabelledValue(NamedTuple):
    """What is said of one thing."""

    label: str
    value: str


class MemoryRow(NamedTuple):
    """A part of a host's memory in words."""

    label: str
    kind: str
    size: str
    source: str
    assumed: bool = False

    @property
    def source_text(self) -> str:
        """Its source, with a word before it where no measurement stands behind the size."""
        return f"assumed: {self.source}" if self.assumed else self.source


def lines(host: HostMemoryUse) -> tuple[MemoryRow, ...]:
    """Give the parts of a host's memory, and what is left."""
    left = MemoryRow("left free", free(host), _left(host), _why_left(host))
    return (*(_line(part) for part in host.segments), left)


def free(host: HostMemoryUse) -> str:
    """Name the kind of what no known part takes: `free`, or `unsure` where the size of some part is not known."""
    return "unsure" if isinstance(host.headroom_bytes, Unknown) else "free"


def label(part: MemorySegment) -> str:
    """Name a part with the deployment that takes it."""
    return f"{part.owner} {part.name}" if part.owner and part.owner != part.name else part.name


def facts(account: DeploymentMemory) -> tuple[LabelledValue, ...]:
    """Say what the KV cache of a deployment holds, and what its workload needs."""
    estimate = () if account.assumption is None else (LabelledValue("estimated", f"{account.assumption}; {CAPTURE}"),)
    return (*estimate, *_fit(account), *(_workload(account) if account.leads else ()))


def steps(account: DeploymentMemory) -> tuple[tuple[str, ...], ...]:
    """Give what other utilizations buy, below STEP_HEADS, with the one that is set among them."""
    fit, now = account.fit, account.utilization
    if not account.steps or not account.leads or isinstance(fit, Unknown) or now is None:
        return ()
    rows = [
        (step.utilization, gib(step.pool_bytes), count(step.tokens), f"{step.concurrency:.1f}", _gains(step.host_bytes))
        for step in account.steps
    ]
    rows.append((now, gib(fit.pool_bytes), count(fit.tokens), f"{fit.concurrency:.1f}", "as set"))
    return tuple((f"{share:.2f}", *row) for share, *row in sorted(rows))


def speeds(account: DeploymentMemory) -> tuple[LabelledValue, ...]:
    """Say what speed is expected of one request. Of a group one node answers; of the others nothing is said."""
    if not account.leads:
        return ()
    if isinstance(account.decode, Unknown) and account.decode == account.first_token:
        return (LabelledValue("speed", unknown(account.decode)),)
    return (*_decode(account), *_first_token(account))


def speed_sources(account: DeploymentMemory) -> tuple[str, ...]:
    """Name the sources of what is expected, each once."""
    both = (account.decode, account.first_token) if account.leads else ()
    said = [each.source for found in both if not isinstance(found, Unknown) for each in found]
    return tuple(dict.fromkeys(said))


def unknown(found: Unknown) -> str:
    """Say that something is unknown, what lacks, and who could tell."""
    if not found.missing:
        return "unknown"
    names = tuple(dict.fromkeys(found.missing))
    return "; ".join((f"unknown without {', '.join(names)}", *remedies(found)))


def remedies(found: Unknown) -> tuple[str, ...]:
    """Say what would tell the facts that lack, as far as something would."""
    told = (remedy for word, remedy in _REMEDIES if any(word in name for name in found.missing))
    return tuple(dict.fromkeys(told))


def _line(part: MemorySegment) -> MemoryRow:
    unsaid = part.size_bytes is None and part.kind == "service"
    source = f"unknown: {_ASKS_SERVICE}" if unsaid else part.source
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
    return "more is asked for than there is" if host.headroom_bytes < 0 else "what nothing takes"


def _fit(account: DeploymentMemory) -> Iterator[LabelledValue]:
    fit = account.fit
    if account.shortage_bytes:
        yield LabelledValue(
            "start", f"refused: weights and overhead need {gib(account.shortage_bytes)} more than the request"
        )
    if isinstance(fit, Unknown):
        yield LabelledValue("KV cache", unknown(fit))
        return
    yield LabelledValue("KV cache", f"{gib(fit.pool_bytes)}: {count(fit.tokens)} tokens, as the log counts them")
    if isinstance(account.context, Unknown) or isinstance(account.request_bytes, Unknown):
        return
    needs = f"it needs {gib(account.request_bytes)}"
    one = f"fits: {needs}" if fit.one else f"does not fit: {needs}, and vLLM does not start"
    yield LabelledValue(f"one request of {count(account.context)} tokens", one)
    if account.workload is None:
        yield from _equivalent(account, "one request")
    if fit.one and not isinstance(account.max_num_seqs, Unknown):
        yield LabelledValue("concurrent full-length requests", _at_once(fit, account.max_num_seqs))


def _at_once(fit: Fit, most: int) -> str:
    rest = "" if fit.all else "; the rest queue or are preempted"
    return f"about {count(int(fit.concurrency))} (max_num_seqs allows {count(most)}{rest})"


def _equivalent(account: DeploymentMemory, requests: str) -> Iterator[LabelledValue]:
    """Give the size of the pool for some requests, in the words of the option that asks for it."""
    advice = account.advice
    if not isinstance(advice, Unknown) and advice.told:
        yield LabelledValue(f"equivalent kv_cache_memory_bytes for {requests}", str(advice.pool_bytes))


def _workload(account: DeploymentMemory) -> Iterator[LabelledValue]:
    workload, advice = account.workload, account.advice
    if workload is not None:
        what = f"{count(workload.users)} requests of {count(workload.context)} tokens"
        yield LabelledValue(
            what, unknown(advice) if isinstance(advice, Unknown) else _served(account, advice, workload)
        )
        yield from _equivalent(account, "these requests")
    if not isinstance(advice, Unknown):
        yield LabelledValue(
            f"least utilization for {'one request' if workload is None else 'these requests'}", _share(advice)
        )


def _served(account: DeploymentMemory, advice: Advice, workload: Workload) -> str:
    needs = f"they need {gib(advice.pool_bytes)}"
    if not isinstance(account.context, Unknown) and workload.context > account.context:
        return f"too long: max_model_len is {count(account.context)}; {needs}"
    if isinstance(account.fit, Unknown):
        return needs
    return f"fit: {needs}" if advice.pool_bytes <= account.fit.pool_bytes else f"do not fit: {needs}"


def _share(advice: Advice) -> str:
    if advice.utilization is None:
        return "none: all memory of the host is not enough"
    freed = "" if advice.freed_bytes is None else f"; the host {_gains(advice.freed_bytes)}"
    return f"{advice.utilization:.2f}{freed}"


def _gains(size_bytes: int) -> str:
    return f"gains {gib(size_bytes)}" if size_bytes >= 0 else f"loses {gib(-size_bytes)}"


def _decode(account: DeploymentMemory) -> Iterator[LabelledValue]:
    if isinstance(account.decode, Unknown):
        yield LabelledValue("decode", unknown(account.decode))
        return
    for each in account.decode:
        yield LabelledValue(f"decode at {count(each.context)} tokens", span(each.low, each.high, "tokens/s"))


def _first_token(account: DeploymentMemory) -> Iterator[LabelledValue]:
    if isinstance(account.first_token, Unknown):
        missing = account.first_token
        yield LabelledValue("time to first token", _NO_RATE if missing == NO_RATE else unknown(missing))
        return
    for each in account.first_token:
        label = f"time to first token, prompt of {count(each.prompt_tokens)} tokens"
        yield LabelledValue(label, span(each.low_s, each.high_s, "s"))
