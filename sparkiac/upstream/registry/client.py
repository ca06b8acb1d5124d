"""The client of the OCI distribution API: manifests and blobs whose bytes are what their digests say."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from sparkiac.hints import closest
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import addresses, codes
from sparkiac.upstream.registry.authorization import Authorization, denied
from sparkiac.upstream.registry.documents import Tags, read
from sparkiac.upstream.registry.transport import Patience, PlainHttpError, Question, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.upstream.registry.credentials import Credentials
    from sparkiac.upstream.registry.reference import Reference
    from sparkiac.upstream.registry.transport import Answer

INDEXES: Final = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)
MANIFESTS: Final = frozenset(
    {"application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"}
)
_ACCEPTED: Final = ", ".join(sorted(INDEXES | MANIFESTS))
MANIFEST_MOST_BYTES: Final = 4 * 1024 * 1024
"""What registries should take at least (OCI distribution specification, "Pushing Manifests")."""
BLOB_MOST_BYTES: Final = 8 * 1024 * 1024
_MISSING: Final = 404
_OK: Final = 200
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,100}")


class Content(NamedTuple):
    """Bytes that were hashed."""

    body: bytes
    digest: str
    media_type: str


class Client:
    """Asks registries for what they hold. Threads may share it; it has eight connections in all.

    `HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured, and else the system's own
    certificates. Only on this machine is a registry asked without TLS, if it speaks none. `sleep` waits between two
    tries; a test passes its own and does not wait.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        patience: Patience = Patience(),  # noqa: B008  a constant
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Ask nobody yet. Raises `Refusal` LCK004 for a proxy or a file of certificates that cannot be used."""
        self._credentials = credentials
        self._transport = Transport(patience=patience, sleep=sleep)
        self._authorization = Authorization(credentials, self._transport)
        self._plain: set[str] = set()

    def __enter__(self) -> Self:
        """Give the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections; whoever still waits is refused."""
        self._transport.close()

    def manifest(self, reference: Reference, asked: str) -> Content:
        """Fetch an index or a manifest by tag or digest.

        Raises `Refusal`: LCK001 for what is not there, LCK003 to LCK005 as their pages say.
        """
        content = self.tagged(reference, asked)
        if content is None:
            raise self._missing(reference, asked)
        return content

    def tagged(self, reference: Reference, asked: str) -> Content | None:
        """Fetch an index or a manifest, or nothing where there is none of this tag or digest."""
        answer = self.found(reference, f"manifests/{asked}", most_bytes=MANIFEST_MOST_BYTES)
        if answer is None:
            return None
        media_type = _media_type(answer)
        if media_type not in INDEXES | MANIFESTS:
            raise Refusal(codes.FALSE, f"{reference}: {answer.host}: {_strange(media_type)}")
        return Content(answer.body, _hashed(reference, answer, asked), media_type)

    def blob(self, reference: Reference, digest: str) -> bytes:
        """Fetch a blob of a few megabytes at most, such as an image's configuration."""
        answer = self.found(reference, f"blobs/{digest}", most_bytes=BLOB_MOST_BYTES)
        if answer is None:
            raise Refusal(
                codes.ABSENT, f"{reference}: {reference.registry} has the manifest, but not its blob {digest}"
            )
        _hashed(reference, answer, digest)
        return answer.body

    def found(self, reference: Reference, path: str, *, most_bytes: int) -> Answer | None:
        """Ask for something below a repository: the answer 200, or nothing for 404.

        Raises `Refusal` LCK003 for 401 and 403, and LCK004 for everything else that is no answer.
        """
        answer = self._answer(reference, path, most_bytes=most_bytes)
        if answer.status in {_UNAUTHORIZED, _FORBIDDEN} and answer.host == addresses.host_of(self._base(reference)):
            raise denied(reference, self._credentials, answer.host, answer)
        if answer.status == _MISSING:
            return None
        if answer.status != _OK:
            raise Refusal(codes.SILENT, f"{reference}: {answer.host}: answers {answer.status} {answer.code}".rstrip())
        return answer

    def _answer(self, reference: Reference, path: str, *, most_bytes: int) -> Answer:
        for _ in ("https", "http"):
            try:
                return self._authorized(reference, path, most_bytes=most_bytes)
            except PlainHttpError as error:
                host = error.host
            if host != reference.host:
                break
            self._plain.add(host)
        raise Refusal(codes.SILENT, f"{reference}: {host}: speaks no TLS, and is not asked without it")

    def _base(self, reference: Reference) -> str:
        return f"{'http' if reference.host in self._plain else 'https'}://{reference.host}"

    def _authorized(self, reference: Reference, path: str, *, most_bytes: int) -> Answer:
        base = self._base(reference)
        question = Question(f"{base}/v2/{reference.repository}/{path}", str(reference), most_bytes)
        header = self._authorization.header(reference, base=base)
        answer = self._transport.ask(_with(question, header))
        if answer.status != _UNAUTHORIZED or answer.host != addresses.host_of(base):
            return answer
        header = self._authorization.renewed(reference, answer, base=base, refused=header)
        return self._transport.ask(_with(question, header))

    def _missing(self, reference: Reference, asked: str) -> Refusal:
        """Say whether it is the repository or the tag that is not there."""
        try:
            answer = self.found(reference, "tags/list?n=1000", most_bytes=MANIFEST_MOST_BYTES)
        except Refusal:
            return Refusal(codes.ABSENT, f"{reference}: {reference.registry} has no such repository or tag")
        if answer is None:
            message = f"{reference}: {reference.registry} has no repository {reference.repository}"
            return Refusal(codes.ABSENT, message, "look at its name, and whether the image is published there")
        what = "manifest" if ":" in asked else "tag"
        tags = read(Tags, answer.body, about=reference).tags or ()
        message = f"{reference}: {reference.name} has no {what} {asked}"
        return Refusal(codes.ABSENT, message, closest(asked, tags) or "look at the tags of the repository")


def _with(question: Question, header: str) -> Question:
    said = {"Accept": _ACCEPTED, **({"Authorization": header} if header else {})}
    return question._replace(headers=said)


def _media_type(answer: Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _strange(media_type: str) -> str:
    if "manifest.v1+" in media_type:
        return f"gives Docker's old schema 1 ({media_type}), which names no architecture; the image must be pushed anew"
    if media_type == "text/html":
        return "gives a web page (text/html) where a manifest should be: a login page, or a proxy's"
    kind = media_type if _TYPE.fullmatch(media_type) else "content of no type"
    return f"gives {kind} where a manifest or an index should be"


def _hashed(reference: Reference, answer: Answer, asked: str) -> str:
    """Hash a body, and compare with the digest that was asked for and the one that the registry says."""
    digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    said = answer.headers.get("docker-content-digest", "")
    for wanted, whose in ((asked, "asked for"), (said, "in its header")):
        if wanted.startswith("sha256:") and wanted != digest:
            fault = f"the {len(answer.body)} bytes it gives have {digest}, and not {wanted[:71]}, {whose}"
            hint = "something between here and the registry changes the content, or the registry is damaged"
            raise Refusal(codes.FALSE, f"{reference}: {answer.host}: {fault}", hint)
    return digest
