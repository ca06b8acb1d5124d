"""Send the requests that complete a lock or are compared with it. Commands reach the network only here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import click

from sparkiac.commands.inputs import Exit
from sparkiac.fleet.query import SshEndpoint
from sparkiac.lock import findings
from sparkiac.lock.comparison import PinComparison, PinFailure, RequestResults, by_name, by_pin, compared
from sparkiac.lock.merge import Key, LockEntry, PinRequest
from sparkiac.lock.required import RequiredPin
from sparkiac.model.lock import Lock, LockedFile, LockedImage, LockedModel
from sparkiac.pipeline import LockState
from sparkiac.report import Finding
from sparkiac.upstream import errors, parallel
from sparkiac.upstream.errors import UpstreamError, caught
from sparkiac.upstream.hub.client import HubClient
from sparkiac.upstream.transport import Transport
from sparkiac.words import lock as words

Count: TypeAlias = Callable[[object], object]
Results: TypeAlias = dict[Key, LockEntry | UpstreamError]
Hosts: TypeAlias = Mapping[str, SshEndpoint]
"""The hosts that are read, by name; empty without --hosts."""

_NO_HOSTS: Final[Hosts] = {}
_DELAY_S: Final = 1.0
"""Progress is shown only if the requests take longer than this."""
_TICK_S: Final = 0.2
_CLEAR: Final = "\r\x1b[K"


class _Work(NamedTuple):
    """What the threads share."""

    done: Count
    hosts: Hosts
    reading: dict[str, str]
    """Model that is being read on a host → how far."""


class Responses(NamedTuple):
    """Results of the upstream requests."""

    found: dict[Key, LockEntry]
    errors: dict[Key, UpstreamError]


class Signatures(NamedTuple):
    """Images whose signatures are verified."""

    pins: tuple[RequiredPin, ...]
    lock: Lock | None
    """Contains the digests of images that are not requested again."""
    key: str | None
    """Path of a public key file."""


class Checked(NamedTuple):
    """The comparison and its findings."""

    comparison: PinComparison
    differences: tuple[Finding, ...]
    failures: tuple[Finding, ...]
    """Pins that were not compared."""

    def exit_code(self) -> Exit:
        """Return the exit code; a difference takes precedence over a missing response."""
        if self.differences:
            return Exit.STALE
        if not self.failures:
            return Exit.OK
        return Exit.IO if findings.only_missing_responses(self.failures) else Exit.FINDINGS


def checked(state: LockState, hosts: Hosts = _NO_HOSTS) -> Checked:
    """Request every pin of the lock, and compare the responses with it."""
    named = _answers(by_name(state.lock, state.pins), hosts)
    pinned = _answers(by_pin(state.lock, state.pins, named), hosts)
    comparison = compared(state.lock, state.pins, named, pinned)
    inventory, lock = state.documents or (None, None)
    if inventory is None or lock is None:
        return Checked(comparison, (), ())
    different = findings.different(comparison.differences, inventory=inventory.name, lock=lock)
    failures = (
        findings.refused(pin, why.code, f"{pin.kind} {pin.name} was not compared: {why.message}", why.hint)
        for pin, why in comparison.failed
    )
    return Checked(comparison, tuple(different), tuple(failures))


def _answers(requests: tuple[PinRequest, ...], hosts: Hosts) -> RequestResults:
    if not requests:
        return RequestResults({}, {})
    responses = send(requests, hosts=hosts)
    failed = {key: PinFailure(each.code, str(each), each.hint) for key, each in responses.errors.items()}
    return RequestResults(responses.found, failed)


def send(requests: tuple[PinRequest, ...], signatures: Signatures | None = None, hosts: Hosts = _NO_HOSTS) -> Responses:
    """Send requests to registries, the model hub, file servers and hosts, and show progress on a terminal.

    The requests run in another thread, so that an interrupt does not wait for a server that hangs.
    """
    done: list[object] = []  # append is atomic, so threads can share the list
    reading: dict[str, str] = {}
    future = parallel.start(lambda: _responses(requests, signatures, _Work(done.append, hosts, reading)))
    wait((future,), _DELAY_S)
    shown = not future.done() and sys.stderr.isatty()
    while not future.done():
        if shown:
            parts = [f"upstream requests: {len(done)} of {len(requests)}", *reading.copy().values()]
            click.echo(f"{_CLEAR}{', '.join(parts)}", err=True, nl=False)
        wait((future,), _TICK_S)
    if shown:
        click.echo(_CLEAR, err=True, nl=False)
    return future.result()


def _responses(requests: tuple[PinRequest, ...], signatures: Signatures | None, work: _Work) -> Responses:
    results = _own_models([each for each in requests if each.pin.own], work)
    for kind, resolve in (("image", _images), ("model", _models), ("file", _files)):
        some = [_at_commit(each, results) for each in requests if each.pin.kind == kind and not each.pin.own]
        try:
            results |= resolve(some, work.done) if some else {}
        except UpstreamError as error:  # an invalid setting, such as a proxy or a token, fails all of one kind
            results |= {each.pin.key: error for each in some}
    if signatures is not None:
        results |= _signed(signatures, results)
    failed = {key: result for key, result in results.items() if isinstance(result, UpstreamError)}
    return Responses({key: each for key, each in results.items() if not isinstance(each, UpstreamError)}, failed)


def _at_commit(request: PinRequest, results: Results) -> PinRequest:
    """Request a file at the commit that its repository was just resolved to, because a branch can move in between."""
    model = results.get(("model", request.pin.repository or ""))
    return request._replace(commit=model.commit) if isinstance(model, LockedModel) else request


def _each(requests: list[PinRequest], resolve: Callable[[PinRequest], LockEntry], count: Count) -> Results:
    results: Results = {}
    for request, result in parallel.each(requests, caught(resolve)):
        results[request.pin.key] = result
        count(request)
    return results


def _images(requests: list[PinRequest], count: Count) -> Results:
    from sparkiac.upstream.registry import images
    from sparkiac.upstream.registry.client import RegistryClient
    from sparkiac.upstream.registry.credentials import Credentials

    def resolve(request: PinRequest) -> LockedImage:
        pin = request.pin
        return images.resolve(pin.name, client=client, source=request.source, architecture=pin.architectures[0])

    with RegistryClient(Credentials(os.environ)) as client:
        return _each(requests, resolve, count)


def _hub() -> HubClient:
    """Import the client only for requests to the model hub: its library takes 0.6 s."""
    from sparkiac.upstream.hub.client import HubClient

    return HubClient.from_environ(os.environ)


def _models(requests: list[PinRequest], count: Count) -> Results:
    from sparkiac.upstream.hub import model

    hub = _hub()

    def resolve(request: PinRequest) -> LockedModel:
        pin, revision = request.pin, request.pinned or request.commit or request.pin.revision
        files = [file for file in pin.files if file is not None]
        return model.resolve(pin.name, hub=hub, revision=revision, files=files, forms=pin.forms)

    return _each(requests, resolve, count)


def _own_models(requests: list[PinRequest], work: _Work) -> Results:
    """Read the user's own models on their hosts."""

    def resolve(request: PinRequest) -> LockedModel:
        pin, own = request.pin, request.pin.own
        assert own is not None  # noqa: S101  they were selected so
        if own.host not in work.hosts:
            message = f"{pin.name} is on a host ({own}), and no host is read without --hosts"
            raise UpstreamError(errors.OWN_MODEL, message, "run `sparkiac lock INVENTORY --hosts`")
        from sparkiac.fleet.model_files import OwnModelReader

        def progress(done: int, whole: int) -> None:
            work.reading[pin.name] = f"{pin.name}: {words.size(done)} of {words.size(whole)}"

        return OwnModelReader(pin, own, work.hosts[own.host], progress).read()

    return _each(requests, resolve, work.done) if requests else {}


def _files(requests: list[PinRequest], count: Count) -> Results:
    from sparkiac.upstream.transport import Transport

    groups: dict[str, list[PinRequest]] = {}
    for each in requests:
        groups.setdefault(each.pin.repository or each.pin.name, []).append(each)
    results: Results = {}
    hub = cache(_hub)  # one client for all files of the model hub, and none without such files
    with Transport(errors.FILE) as transport:
        for _, group in parallel.each(groups.values(), lambda group: _file_group(group, transport, hub, count)):
            results |= group
    return results


def _file_group(
    requests: list[PinRequest], transport: Transport, hub: Callable[[], HubClient], count: Count
) -> Results:
    """Request the files of one repository, all at the commit of the first one."""
    results: Results = {}
    commit = None
    for request in requests:
        try:
            found = _file(request, request.commit or commit or request.pin.revision, transport, hub)
        except UpstreamError as error:
            results[request.pin.key] = error
        else:
            results[request.pin.key], commit = found, found.commit or commit
        count(request)
    return results


def _file(request: PinRequest, revision: str, transport: Transport, hub: Callable[[], HubClient]) -> LockedFile:
    from sparkiac.upstream import files

    url = request.pin.name
    client = hub() if request.pin.repository else None
    found = files.resolve(url, transport=transport, hub=client, revision=revision)
    if request.pinned is not None and found.sha256 != request.pinned:
        message = f"{url} no longer has the content that the lock pins, and the pinned commit is unknown"
        raise UpstreamError(errors.NO_FILE, message, f"to pin the current content, run with --upgrade {url}")
    return found


def _signed(signatures: Signatures, results: Results) -> Results:
    """Add the result of the signature check to each image."""
    from sparkiac.upstream.registry.client import RegistryClient
    from sparkiac.upstream.registry.credentials import Credentials
    from sparkiac.upstream.registry.images import verify

    locked = signatures.lock.images if signatures.lock else {}
    known: Results = {("image", name): image for name, image in locked.items()}

    def signed(pin: RequiredPin) -> LockEntry:
        image = (known | results)[pin.key]
        if isinstance(image, UpstreamError):
            raise image
        assert isinstance(image, LockedImage)  # noqa: S101  the key is that of an image
        line = verify(pin.source, image.digest, client=client, key=signatures.key, environ=os.environ)
        return image.model_copy(update={"signature": line})

    images = [pin for pin in signatures.pins if pin.kind == "image"]
    with RegistryClient(Credentials(os.environ)) as client:
        return {pin.key: result for pin, result in parallel.each(images, caught(signed))}
