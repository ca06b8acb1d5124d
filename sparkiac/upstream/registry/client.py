"""Requests for manifests and blobs; their bytes are checked against their digests."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, NamedTuple, Self

import httpx2

from sparkiac.report.hints import closest
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import ImageReference
from sparkiac.upstream.registry.authorization import Authorization, denied
from sparkiac.upstream.registry.credentials import Credentials
from sparkiac.upstream.registry.documents import TagList, read
from sparkiac.upstream.transport import HttpRequest, HttpResponse, HttpTimeouts, NoTlsError, Transport

INDEXES: Final = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)
MANIFESTS: Final = frozenset(
    {"application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"}
)
_ACCEPTED: Final = ", ".join(sorted(INDEXES | MANIFESTS))
MANIFEST_MAX_BYTES: Final = 4 * 1024 * 1024
"""Size that registries should accept at least (OCI distribution specification, "Pushing Manifests")."""
BLOB_MAX_BYTES: Final = 8 * 1024 * 1024
_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,100}")
_ERROR_CODE: Final = re.compile(rb'"code"\s*:\s*"([A-Z_]{1,40})"')


class ManifestContent(NamedTuple):
    """An index or a manifest with its digest."""

    body: bytes
    digest: str
    media_type: str


class RegistryClient:
    """A client of all registries, which threads can share.

    Only a registry on this machine is used without TLS, and only if it does not support TLS.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        timeouts: HttpTimeouts = HttpTimeouts(),  # noqa: B008  a constant
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Connect to no server yet; `sleep` waits between two tries.

        Raises `UpstreamError` for an invalid proxy or certificate setting.
        """
        self._credentials = credentials
        self._transport = Transport(errors.REGISTRY, timeouts=timeouts, sleep=sleep)
        self._authorization = Authorization(credentials, self._transport)
        self._without_tls: set[str] = set()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections; waiting requests fail."""
        self._transport.__exit__()

    def manifest(self, reference: ImageReference, selector: str) -> ManifestContent:
        """Return the index or manifest of a tag or digest. Raises `UpstreamError`."""
        content = self.find_manifest(reference, selector)
        if content is None:
            raise self._missing(reference, selector)
        return content

    def find_manifest(self, reference: ImageReference, selector: str) -> ManifestContent | None:
        """Return the index or manifest of a tag or digest, or None if there is none."""
        response = self.find(reference, f"manifests/{selector}", max_bytes=MANIFEST_MAX_BYTES)
        if response is None:
            return None
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media_type not in INDEXES | MANIFESTS:
            raise UpstreamError(errors.REGISTRY_INVALID, f"{reference}: {response.host}: {_wrong_type(media_type)}")
        return ManifestContent(response.body, _digest(reference, response, selector), media_type)

    def blob(self, reference: ImageReference, digest: str) -> bytes:
        """Return a small blob, such as an image's configuration."""
        response = self.find(reference, f"blobs/{digest}", max_bytes=BLOB_MAX_BYTES)
        if response is None:
            message = f"{reference}: {reference.registry} has the manifest, but not its blob {digest}"
            raise UpstreamError(errors.NO_IMAGE, message)
        _digest(reference, response, digest)
        return response.body

    def find(self, reference: ImageReference, path: str, *, max_bytes: int) -> HttpResponse | None:
        """Return the response for a path of the repository if the status is 200, and None for 404.

        Raises `UpstreamError` for every other status.
        """
        response = self._send(reference, path, max_bytes)
        code = f" {found[1].decode()}" if (found := _ERROR_CODE.search(response.body)) else ""
        if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} and self._is_from(response, reference):
            raise denied(reference, self._credentials, response.host, f" (HTTP {response.status}{code})")
        if response.status == HTTPStatus.NOT_FOUND:
            return None
        if response.status != HTTPStatus.OK:
            message = f"{reference}: {response.host}: HTTP {response.status}{code}"
            raise UpstreamError(errors.REGISTRY_NO_RESPONSE, message)
        return response

    def _send(self, reference: ImageReference, path: str, max_bytes: int) -> HttpResponse:
        try:
            return self._authorized(reference, path, max_bytes)
        except NoTlsError as error:
            if error.host != reference.host:  # a redirect leads to another server
                raise
            self._without_tls.add(error.host)
        return self._authorized(reference, path, max_bytes)

    def _authorized(self, reference: ImageReference, path: str, max_bytes: int) -> HttpResponse:
        base = self._base(reference)
        url = f"{base}/v2/{reference.repository}/{path}"

        def send(authorization: str) -> HttpResponse:
            login = {"Authorization": authorization} if authorization else {}
            return self._transport.send(HttpRequest(url, str(reference), max_bytes, {"Accept": _ACCEPTED, **login}))

        header = self._authorization.header(reference, base=base)
        response = send(header)
        if response.status != HTTPStatus.UNAUTHORIZED or not self._is_from(response, reference):
            return response
        challenge = response.headers.get("WWW-Authenticate", "")
        return send(self._authorization.renewed(reference, challenge, base=base, refused=header))

    def _base(self, reference: ImageReference) -> str:
        return f"{'http' if reference.host in self._without_tls else 'https'}://{reference.host}"

    def _is_from(self, response: HttpResponse, reference: ImageReference) -> bool:
        """Return whether the registry itself responded, and not the target of a redirect."""
        return response.host == httpx2.URL(self._base(reference)).netloc.decode()

    def _missing(self, reference: ImageReference, selector: str) -> UpstreamError:
        """Return an error that says whether the repository or the tag is missing."""
        try:
            response = self.find(reference, "tags/list?n=1000", max_bytes=MANIFEST_MAX_BYTES)
            tags = (read(TagList, response.body, subject=reference).tags if response else None) or ()
        except UpstreamError:
            return UpstreamError(errors.NO_IMAGE, f"{reference}: {reference.registry} has no such repository or tag")
        if response is None:
            message = f"{reference}: {reference.registry} has no repository {reference.repository}"
            return UpstreamError(errors.NO_IMAGE, message, "check its name, and whether the image is published there")
        kind = "manifest" if ":" in selector else "tag"
        message = f"{reference}: {reference.name} has no {kind} {selector}"
        return UpstreamError(errors.NO_IMAGE, message, closest(selector, tags) or "see the tags of the repository")


def _wrong_type(media_type: str) -> str:
    if "manifest.v1+" in media_type:
        return f"Docker's schema 1 ({media_type}), which has no architecture; the image must be pushed again"
    if media_type == "text/html":
        return "a web page (text/html) instead of a manifest: a login page, or a page of a proxy"
    kind = media_type if _TYPE.fullmatch(media_type) else "content without a media type"
    return f"{kind} instead of a manifest or an index"


def _digest(reference: ImageReference, response: HttpResponse, requested: str) -> str:
    """Return the digest of a body; refuse it if the request or the response's header has another one."""
    digest = f"sha256:{response.sha256}"
    header = response.headers.get("Docker-Content-Digest", "")
    for expected, source in ((requested, "the requested digest"), (header, "the digest in its header")):
        if expected.startswith("sha256:") and expected != digest:
            fault = f"{response.size_bytes} bytes with {digest} do not match {source} {expected[:71]}"
            hint = "a proxy changes the content, or the registry is damaged"
            raise UpstreamError(errors.REGISTRY_INVALID, f"{reference}: {response.host}: {fault}", hint)
    return digest
