"""Send the requests that complete a lock. Commands reach the network only through this module."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import click

from sparkiac.model.lock import LockedFile, LockedImage, LockedModel
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.together import together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkiac.lock import Ask, Entry, Key, Want
    from sparkiac.model.lock import Lock
    from sparkiac.upstream.hub import Wanted as HubWanted

    Outcomes: TypeAlias = dict[Key, Entry | Refusal]

_SOON_SECONDS: Final = 1.0
"""Progress is shown only for work that takes longer than this."""
_TICK_SECONDS: Final = 0.2
_CLEAR: Final = "\r\x1b[K"
_AT_ONCE: Final = 8


class Answers(NamedTuple):
    """Results of the upstream requests."""

    found: dict[Key, Entry]
    refusals: dict[Key, Refusal]


class Signatures(NamedTuple):
    """Images whose signatures are verified."""

    wants: tuple[Want, ...]
    lock: Lock | None
    """Contains the digests of images that are not requested again."""
    key: str | None
    """Path of a public key file."""


def ask(asks: tuple[Ask, ...], signatures: Signatures | None = None) -> Answers:
    """Send requests to registries, the model hub and file servers, and show progress on a terminal.

    The requests run in another thread, so that an interrupt does not wait for a server that hangs.
    """
    done: list[object] = []  # one call of append is whole, whatever thread it comes from
    future: Future[Answers] = Future()
    work = lambda: _answers(asks, signatures, lambda *_: done.append(None))  # noqa: E731  it is passed on once
    thread = Thread(target=_fulfil, args=(future, work), daemon=True)
    thread.start()
    thread.join(_SOON_SECONDS)
    shown = thread.is_alive() and sys.stderr.isatty()
    while thread.is_alive():
        if shown:
            click.echo(f"{_CLEAR}upstream requests: {len(done)} of {len(asks)}", err=True, nl=False)
        thread.join(_TICK_SECONDS)
    if shown:
        click.echo(_CLEAR, err=True, nl=False)
    return future.result()


def _fulfil(future: Future[Answers], work: Callable[[], Answers]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  raised again where the result is taken
        future.set_exception(error)


def _answers(asks: tuple[Ask, ...], signatures: Signatures | None, count: Callable[..., object]) -> Answers:
    outcomes: Outcomes = {}
    for kind, act in (("image", _images), ("model", _models), ("file", _files)):
        some = tuple(_beside(each, outcomes) for each in asks if each.want.kind == kind)
        try:
            outcomes |= act(some, count) if some else {}
        except Refusal as refusal:  # what holds for all: no proxy, no token, no network wanted
            outcomes |= {each.want.key: refusal for each in some}
    if signatures is not None:
        outcomes |= _signed(signatures, outcomes)
    found = {key: outcome for key, outcome in outcomes.items() if not isinstance(outcome, Refusal)}
    return Answers(found, {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Refusal)})


def _images(asks: tuple[Ask, ...], count: Callable[..., object]) -> Outcomes:
    from sparkiac.upstream import registry

    wanted = {each.want.key: registry.Wanted(each.want.name, each.source, each.want.architectures[0]) for each in asks}
    with registry.Client(registry.Credentials(os.environ)) as client:
        answers = registry.several(wanted.values(), client=client, progress=count)
    return {key: answers[one] for key, one in wanted.items()}


def _beside(ask: Ask, outcomes: Outcomes) -> Ask:
    """Request a file at the commit that its repository was just resolved to: a branch can move in between."""
    model = outcomes.get(("model", ask.want.repository or ""))
    return ask._replace(commit=model.commit) if isinstance(model, LockedModel) else ask


def _models(asks: tuple[Ask, ...], count: Callable[..., object]) -> Outcomes:
    from sparkiac.upstream import hub

    wanted = [wanted for each in asks for wanted in _wanted(each)]
    answers = hub.several(wanted, hub=hub.Hub.from_environ(os.environ), progress=count)
    return {("model", handle): answer for handle, answer in answers.items()}


def _wanted(ask: Ask) -> Iterator[HubWanted]:
    from sparkiac.upstream import hub

    want, revision = ask.want, ask.pin or ask.commit or ask.want.revision
    yield from (hub.Wanted(want.name, revision, file) for file in want.files if file is not None)
    yield from (hub.Wanted(want.name, revision, form=form) for form in want.forms)


def _files(asks: tuple[Ask, ...], count: Callable[..., object]) -> Outcomes:
    groups: dict[str, list[Ask]] = {}
    for each in asks:
        groups.setdefault(each.want.repository or each.want.name, []).append(each)
    done = together(groups.values(), lambda group: _group(group, count), at_once=_AT_ONCE)
    return {key: outcome for _, outcomes in done for key, outcome in outcomes.items()}


def _group(asks: list[Ask], count: Callable[..., object]) -> Outcomes:
    """Request the files of one repository, all at the commit of the first one."""
    found: Outcomes = {}
    commit = None
    for each in asks:
        answer = found[each.want.key] = _file(each, each.commit or commit or each.want.revision)
        commit = answer.commit if isinstance(answer, LockedFile) else commit
        count()
    return found


def _file(ask: Ask, revision: str) -> Entry | Refusal:
    from sparkiac.upstream import files, hub

    url = ask.want.name
    try:
        asked = hub.Hub.from_environ(os.environ) if ask.want.repository else hub.Hub()
        found = files.resolve(url, hub=asked, revision=revision)
    except Refusal as refusal:
        return refusal
    if ask.pin is not None and found.sha256 != ask.pin:
        message = f"{url} no longer has the content that the lock pins, and the pinned commit is unknown"
        return Refusal("LCK020", message, f"to pin the current content, run with --upgrade {url}")
    return found


def _signed(signatures: Signatures, outcomes: Outcomes) -> Outcomes:
    """Add the result of the signature check to each image."""
    from sparkiac.upstream import registry

    trust = registry.Key(signatures.key) if signatures.key else None
    known: Outcomes = {
        ("image", name): image for name, image in (signatures.lock.images if signatures.lock else {}).items()
    }

    def signed(want: Want) -> Entry | Refusal:
        image = (known | outcomes)[want.key]
        if not isinstance(image, LockedImage):
            return image
        try:
            line = registry.verify(want.source, image.digest, client=client, trust=trust, environ=os.environ)
        except Refusal as refusal:
            return refusal
        return image.model_copy(update={"signature": line})

    images = [want for want in signatures.wants if want.kind == "image"]
    with registry.Client(registry.Credentials(os.environ)) as client:
        return {want.key: outcome for want, outcome in together(images, signed, at_once=_AT_ONCE)}
