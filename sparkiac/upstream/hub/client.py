"""The model hub, asked patiently and by few at once."""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Final, TypeVar

from sparkiac.upstream.hub import codes, credentials
from sparkiac.upstream.hub.patience import WAITS, Unanswered, patiently
from sparkiac.upstream.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sparkiac.upstream.hub import wire

T = TypeVar("T")

AT_ONCE: Final = 8
"""Requests under way at the same time."""
_TIMEOUT_SECONDS: Final = 10.0
"""How long an answer may keep still, as huggingface_hub has it."""


class Hub:
    """The hub at one endpoint, asked with one token. The token goes to that endpoint and nowhere else."""

    def __init__(
        self,
        endpoint: str = credentials.ENDPOINT,
        token: str | None = None,
        *,
        waits: Sequence[float] = WAITS,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        """Take the address, the token if there is one, and the waits in seconds before asking again."""
        self.endpoint = endpoint.rstrip("/")
        self.waits = waits
        self._token = token
        self._timeout_seconds = timeout_seconds
        self._turn = BoundedSemaphore(AT_ONCE)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Hub:
        """Take endpoint and token from the variables that huggingface_hub documents, and from `hf auth login`.

        Raises `Refusal` if HF_ENDPOINT or the token cannot be, or if HF_HUB_OFFLINE is set.
        """
        if forbidden := credentials.offline(environ):
            raise Refusal(codes.UNANSWERED, f"the model hub was not asked: {forbidden} is set", f"unset {forbidden}")
        return cls(credentials.endpoint(environ), credentials.token(environ))

    def __repr__(self) -> str:
        """Leave the token out."""
        return f"Hub({self.endpoint!r})"

    def repository(self, handle: str, *, revision: str) -> wire.Repository:
        """Ask what a repository holds. Raises `Refusal`."""
        from sparkiac.upstream.hub import wire  # noqa: PLC0415  huggingface_hub takes 0.6 s

        place = self._place(handle, revision)
        return self._asked(lambda: wire.repository(place), handle)

    def content(self, handle: str, path: str, *, commit: str, limit_bytes: int) -> bytes:
        """Read a file of a commit from its start, this far at most. Raises `Refusal`."""
        from sparkiac.upstream.hub import wire  # noqa: PLC0415  huggingface_hub takes 0.6 s

        place = self._place(handle, commit)
        return self._asked(lambda: wire.content(place, path, limit_bytes=limit_bytes), handle)

    def _place(self, handle: str, revision: str) -> wire.Place:
        from sparkiac.upstream.hub import wire  # noqa: PLC0415  huggingface_hub takes 0.6 s

        return wire.Place(self.endpoint, self._token, self._timeout_seconds, handle, revision)

    def _asked(self, ask: Callable[[], T], handle: str) -> T:
        def in_turn() -> T:
            with self._turn:
                return ask()

        try:
            return patiently(in_turn, waits=self.waits)
        except Unanswered as error:
            message = f"{self.endpoint} did not answer for {handle}: {error}"
            raise Refusal(codes.UNANSWERED, message, f"{error.hint}; HF_ENDPOINT names another hub") from None
