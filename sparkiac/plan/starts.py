"""Recorded starts of a deployment.

Those of the user count only for a server with the same image, model, commit and options; those of the catalog correct
the formulas for the same model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.catalog import measurements
from sparkiac.memory import recorded
from sparkiac.model.records import MEMORY_OPTIONS, Drafts, StartSubject
from sparkiac.plan import start_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.model.lock import LockedModel
    from sparkiac.model.records import StartRecord
    from sparkiac.plan.container import Container


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
            exact = start_records.joined(exact, record) if exact else record
    near = [each for each in measurements.of_model(wanted.model, wanted.platform) if _counts(each, wanted)]
    near.sort(key=lambda each: _method(each.subject) != _method(wanted))
    return Starts(wanted, exact, near[0] if near else None, () if exact else tuple(unused))


def _method(of: StartSubject) -> str | None:
    return of.drafts.method if of.drafts else None


def _counts(record: StartRecord, wanted: StartSubject) -> bool:
    return record.subject.hosts == wanted.hosts and recorded.overhead_bytes(record) is not None
