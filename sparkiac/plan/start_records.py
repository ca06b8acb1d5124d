"""Recorded starts: from a startup log or a page of metrics, their files, and those that apply to a server."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import engines
from sparkiac.catalog import measurements
from sparkiac.engines.records import vllm
from sparkiac.memory import recorded
from sparkiac.memory.values import not_negative
from sparkiac.model.base import MOST_BYTES
from sparkiac.model.records import MEMORY_OPTIONS, Cached, Drafts, RecordSource, StartRecord, StartSubject, Terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.memory.startup import Startup
    from sparkiac.model.lock import LockedModel
    from sparkiac.model.records import Speed
    from sparkiac.plan.container import Container

_ID: Final = 8
LABEL: Final = re.compile(r'\b(\w++)="([^"]*)"')
_RESIDENT: Final = "process_resident_memory_bytes"


def from_log(subject: StartSubject, found: Startup, *, link: str) -> StartRecord:
    """Return the record of a startup log."""
    return StartRecord(
        subject=subject,
        terms=Terms(
            visible_bytes=found.visible_bytes,
            requested_bytes=found.requested_bytes,
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


def from_metrics(subject: StartSubject, page: str, *, link: str) -> StartRecord:
    """Return the record of a vLLM metrics page."""
    sums = dict[str, float]()
    for name, _, value in engines.samples(page):
        sums[name] = sums.get(name, 0.0) + value
    cache = cache_labels(page) or {}
    drafted, accepted = (sums.get(vllm.QUANTITIES[each].name) for each in ("draft_tokens", "accepted_tokens"))
    resident = _within(sums.get(_RESIDENT), MOST_BYTES)
    return StartRecord(
        subject=subject,
        terms=Terms(host_bytes=None if resident is None else round(resident)),
        cached=Cached(blocks=_count(cache.get("num_gpu_blocks")), block_tokens=_count(cache.get("block_size"))),
        acceptance=_within(accepted / drafted, 1.0) if drafted and accepted is not None else None,
        source=RecordSource(grade="metrics", link=link),
        notes=("host_bytes counts the API server only",) if resident is not None else (),
    )


def cache_labels(page: str) -> dict[str, str] | None:
    """Return the facts about the KV cache of a vLLM metrics page; None for any other text."""
    found = (labels for name, labels, _ in engines.samples(page) if name == vllm.QUANTITIES["cache_config"].name)
    return next((dict(LABEL.findall(labels)) for labels in found), None)


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


def _within(value: float | None, most: float) -> float | None:
    """Return a value from 0 to `most`; None for any other one, such as NaN."""
    return value if value is not None and 0 <= value <= most else None


def _count(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"[0-9]{1,18}", value) else None


class Starts(NamedTuple):
    """The recorded starts that apply to a deployment."""

    subject: StartSubject
    """The planned server."""
    exact: StartRecord | None = None
    """Start of the same server, from the user's records."""
    near: StartRecord | None = None
    """Start of the same model on the same platform, from the catalog."""
    unused: tuple[str, ...] = ()
    """Why records of the user for this model do not count."""


def subject(container: Container, platform: str, known: Mapping[str, LockedModel]) -> StartSubject:
    """Return the values that a record must have to be used for a deployment."""
    server = container.server
    locked = known.get(server.model or "")
    drafts = dict(server.speculative or {})
    drafter = drafts.get("model")
    found = StartSubject(
        engine=server.engine or "unknown",
        release=None,
        image=container.image.reference,
        digest=container.image.digest,
        model=server.model or "unknown",
        commit=locked.commit if locked else None,
        options={name: server.options[name] for name in MEMORY_OPTIONS if server.options.get(name) is not None},
        drafts=None
        if not drafts
        else Drafts(
            method=str(drafts.get("method")),
            tokens=drafts.get("num_speculative_tokens") or 0,
            model=drafter,
            commit=known[drafter].commit if drafter and drafter in known else None,
        ),
        platform=platform,
        hosts=server.node[1] if server.node else 1,
    )
    return StartSubject.model_validate_json(found.model_dump_json())  # lists and numbers as in a file


def starts(wanted: StartSubject, records: Iterable[StartRecord]) -> Starts:
    """Return the recorded starts for a server. Of several equal ones, the last that states a figure counts."""
    exact: StartRecord | None = None
    unused = []
    for record in records:
        if record.subject.model != wanted.model:
            continue
        differing = recorded.differences(record, wanted)
        if differing:
            unused.append(f"{record.source.link}: {'; '.join(differing)}")
        else:
            exact = joined(exact, record) if exact else record
    near = [each for each in measurements.of_model(wanted.model, wanted.platform) if _counts(each, wanted)]
    near.sort(key=lambda each: _method(each.subject) != _method(wanted))
    return Starts(wanted, exact, near[0] if near else None, () if exact else tuple(unused))


def _method(of: StartSubject) -> str | None:
    return of.drafts.method if of.drafts else None


def _counts(record: StartRecord, wanted: StartSubject) -> bool:
    return record.subject.hosts == wanted.hosts and recorded.overhead_bytes(record) is not None
