"""Steps for images, embeddings and speech."""

from __future__ import annotations

from typing import Any

from . import answers, media
from .http import NotServingError, RefusedError, WrongError, as_object
from .session import Session, SkippedError

EMBEDDINGS, TRANSCRIPTIONS, SPEECH = "/v1/embeddings", "/v1/audio/transcriptions", "/v1/audio/speech"
SPOKEN = {"input": "One, two, three.", "voice": "default", "response_format": "wav"}
MIN_AUDIO_BYTES = 100


def vision(session: Session) -> str:
    """Check that the model sees the colour of a picture."""
    if not session.promise["vision"]:
        raise SkippedError("no images")
    session.skip_unless_it_generates()
    choice = session.ask(media.question("red"))
    if answers.is_cut(choice):
        raise SkippedError("still reasoning")
    text = answers.text_of(choice)
    fault = answers.fault_of_text(text)
    if fault or "red" not in str(text).lower():
        raise WrongError(fault or f"wrong colour of a red picture: {str(text)[:60]!r}")
    return repr(str(text)[:40])


def embeddings(session: Session) -> str:
    """Check the vectors of two texts."""
    only(session, "embedding")
    body = {"model": session.model, "input": answers.TEXTS_TO_EMBED}
    try:
        found = as_object(EMBEDDINGS, session.server.post(EMBEDDINGS, body, within=session.within()))
    except RefusedError as refusal:
        if session.promise["kind"] == "embedding":
            raise
        raise SkippedError(f"the server has no embeddings either: HTTP {refusal.status}") from None
    vectors = vectors_of(found)
    fault = answers.fault_of_vectors(vectors, session.promise["dimensions"])
    if fault:
        raise WrongError(f"{EMBEDDINGS}: {fault}")
    return f"{len(vectors)} vectors with {len(vectors[0])} dimensions"


def vectors_of(found: dict[str, Any]) -> list[Any]:
    """Return the vectors of a response."""
    data = found.get("data") or []
    return [each.get("embedding") for each in data if isinstance(each, dict)]


def transcription(session: Session) -> str:
    """Check that a sound is transcribed. The text is not known: the sound is a tone."""
    only(session, "transcription")
    model = session.model if session.promise["models"] else "default"
    body, content_type = media.form({"model": model}, media.sound())
    content = upload(session, TRANSCRIPTIONS, body, content_type)
    text = as_object(TRANSCRIPTIONS, content).get("text")
    if not isinstance(text, str):
        raise WrongError(f"{TRANSCRIPTIONS}: response has no text")
    return f"a tone of one second gives {text[:40]!r}"


def speech(session: Session) -> str:
    """Check that a text is spoken."""
    only(session, "speech")
    model = session.model if session.promise["models"] else "default"
    try:
        content = session.server.post(SPEECH, {"model": model, **SPOKEN}, within=session.within())
    except RefusedError as refusal:
        raise unknown_api(session, refusal) from None
    if len(content) < MIN_AUDIO_BYTES:
        raise WrongError(f"{SPEECH}: only {len(content)} bytes")
    return f"{len(content)} bytes of audio"


def upload(session: Session, path: str, body: bytes, content_type: str) -> bytes:
    """Send a sound."""
    try:
        return session.server.upload(path, body, content_type, within=session.within())
    except RefusedError as refusal:
        raise unknown_api(session, refusal) from None


def unknown_api(session: Session, refusal: RefusedError) -> Exception:
    """Return the error for a rejected request: the API of a service, which has no served names, is not known."""
    if session.promise["models"]:
        return NotServingError(str(refusal))
    return SkippedError(f"the API of this service is not known: {refusal}")


def only(session: Session, kind: str) -> None:
    """Skip a step for other kinds of servers."""
    if session.kind != kind:
        raise SkippedError(f"not for this kind of server ({session.kind})")
    session.may_ask()
