"""Recorded starts of a deployment, from its startup log or its page of metrics, and the names of their files."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from sparkiac.catalog import metrics
from sparkiac.memory.values import not_negative
from sparkiac.model.records import Cached, RecordSource, StartRecord, Terms

if TYPE_CHECKING:
    from sparkiac.memory.startup import Startup
    from sparkiac.model.records import Speed, StartSubject

_ID: Final = 8
_LABEL: Final = re.compile(r'\b(\w++)="([^"]*)"')
_VLLM: Final = metrics.METRICS["vllm"]
_RESIDENT: Final = "process_resident_memory_bytes"


def from_log(subject: StartSubject, found: Startup, *, requested_bytes: int | None, link: str) -> StartRecord:
    """Return the record of a startup log. `requested_bytes` is the requested memory, if it is known exactly."""
    return StartRecord(
        subject=subject,
        terms=Terms(
            visible_bytes=found.visible_bytes,
            requested_bytes=requested_bytes,
            weights_bytes=found.weights_bytes,
            activations_bytes=found.activations_bytes,
            non_torch_bytes=not_negative(found.runtime_bytes),
            graphs_estimate_bytes=not_negative(found.graphs_estimate_bytes),
            graphs_bytes=not_negative(found.graphs_bytes),
            pool_bytes=not_negative(found.pool_bytes),
        ),
        cached=Cached(
            tokens=found.tokens,
            blocks=found.blocks,
            block_tokens=found.block_tokens,
            context=found.context,
            concurrency=found.concurrency,
        ),
        source=RecordSource(grade="log", link=link),
    )


def from_metrics(subject: StartSubject, page: str, *, link: str) -> StartRecord | None:
    """Return the record of a vLLM metrics page; None for any other text."""
    sums, caches = dict[str, float](), list[str]()
    for name, labels, value in metrics.samples(page):
        sums[name] = sums.get(name, 0.0) + value
        if name == _VLLM["cache_config"].name:
            caches.append(labels)
    if not caches:
        return None
    cache = dict(_LABEL.findall(caches[0]))
    drafted, accepted = (sums.get(_VLLM[each].name) for each in ("draft_tokens", "accepted_tokens"))
    resident = sums.get(_RESIDENT)
    return StartRecord(
        subject=subject,
        terms=Terms(host_bytes=None if resident is None else round(resident)),
        cached=Cached(blocks=_count(cache.get("num_gpu_blocks")), block_tokens=_count(cache.get("block_size"))),
        acceptance=accepted / drafted if drafted and accepted is not None else None,
        source=RecordSource(grade="metrics", link=link),
        notes=("host_bytes is the API server alone",) if resident is not None else (),
    )


def merged(before: StartRecord | None, now: StartRecord) -> StartRecord:
    """Merge two records of the same server: the new values override the former ones."""
    return now if before is None or before.subject != now.subject else joined(before, now)


def joined(before: StartRecord, now: StartRecord) -> StartRecord:
    """Merge two records that apply to the same server. The source is that of the memory figures."""
    states_memory = (now.terms, now.cached) != (Terms(), Cached())
    speeds = {_measured(each): each for each in (*before.speeds, *now.speeds)}
    return now.model_copy(
        update={
            "runner": now.runner or before.runner,
            "terms": before.terms.model_copy(update=now.terms.model_dump(exclude_none=True)),
            "cached": before.cached.model_copy(update=now.cached.model_dump(exclude_none=True)),
            "speeds": tuple(speeds.values()),
            "acceptance": before.acceptance if now.acceptance is None else now.acceptance,
            "source": now.source if states_memory else before.source,
            "notes": tuple(dict.fromkeys((*before.notes, *now.notes))),
        }
    )


def text(record: StartRecord) -> str:
    """Return the file of a record: JSON, sorted, with one value on a line."""
    return record.model_dump_json(indent=1, exclude_none=True) + "\n"


def file_name(deployment: str, subject: StartSubject) -> str:
    """Return the name of the file for a server: another image, commit or option gives another file."""
    return f"{deployment}-{hashlib.sha256(subject.model_dump_json().encode()).hexdigest()[:_ID]}.json"


def _measured(speed: Speed) -> tuple[object, ...]:
    """Return the key of a speed: of several speeds with the same key, only the newest counts."""
    return speed.kind, speed.context, speed.concurrency, speed.note


def _count(value: str | None) -> int | None:
    return int(value) if value and value.isdigit() else None
