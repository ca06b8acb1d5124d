"""Steps for images, embeddings and speech, with the picture and the sound that they send."""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import wave
import zlib
from typing import Any

from . import answers
from .http import JSON, NotServingError, RefusedError, WrongError, as_object
from .session import GENERATES, Session, SkippedError, skip_unless, wrong_if

EMBEDDINGS, TRANSCRIPTIONS, SPEECH = "/v1/embeddings", "/v1/audio/transcriptions", "/v1/audio/speech"
RERANK = "/v1/rerank"
SPOKEN = {"input": "One, two, three.", "voice": "default", "response_format": "wav"}
MIN_AUDIO_BYTES = 100
SIDE = 64
"""Width and height in pixels; smaller pictures are rejected by some image processors."""
RATE = 16_000
BOUNDARY = "sparkiac-probe"
RED = (255, 0, 0)


def vision(session: Session) -> str:
    """Check that the model sees the colour of a picture."""
    skip_unless(session.promise["vision"], "no images")
    session.only(*GENERATES)
    choice = session.ask(question())
    skip_unless(not answers.is_cut(choice), "still reasoning")
    text = answers.text_of(choice)
    wrong_if(answers.fault_of_text(text))
    wrong_if(None if "red" in str(text).lower() else f"wrong colour of a red picture: {str(text)[:60]!r}")
    return repr(str(text)[:40])


def embeddings(session: Session) -> str:
    """Check the vectors of two texts."""
    session.only("embedding")
    body = {"model": session.model, "input": answers.TEXTS_TO_EMBED}
    try:
        found = as_object(EMBEDDINGS, session.server.post(EMBEDDINGS, body, within=session.within()))
    except RefusedError as refusal:
        if session.promise["kind"] == "embedding":
            raise
        raise SkippedError(f"the server has no embeddings either: HTTP {refusal.status}") from None
    vectors: list[Any] = [each.get("embedding") for each in found.get("data") or [] if isinstance(each, dict)]
    wrong_if(answers.fault_of_vectors(vectors, session.promise["dimensions"]), EMBEDDINGS)
    return f"{len(vectors)} vectors with {len(vectors[0])} dimensions"


def scores(session: Session) -> str:
    """Check the scores of two texts for a question. A model for classification or reward may give none."""
    session.only("pooling")
    body = {"model": session.model, "query": "When does the ship leave?", "documents": answers.TEXTS_TO_EMBED}
    try:
        found = as_object(RERANK, session.server.post(RERANK, body, within=session.within()))
    except RefusedError as refusal:
        raise SkippedError(f"the server ranks no texts: HTTP {refusal.status}") from None
    listed: list[Any] = [each.get("relevance_score") for each in found.get("results") or [] if isinstance(each, dict)]
    numbers = {each for each in listed if type(each) in (int, float) and math.isfinite(each)}
    right = len(numbers) == len(listed) == len(answers.TEXTS_TO_EMBED)
    wrong_if(None if right else f"scores of two texts: {listed}", RERANK)
    return f"scores {listed}"


def transcription(session: Session) -> str:
    """Check that a sound is transcribed. The text is not known: the sound is a tone."""
    session.only("transcription")
    content = upload(session, TRANSCRIPTIONS, *form({"model": model_of(session)}, sound()))
    text = as_object(TRANSCRIPTIONS, content).get("text")
    if not isinstance(text, str):
        raise WrongError(f"{TRANSCRIPTIONS}: response has no text")
    return f"a tone of one second gives {text[:40]!r}"


def speech(session: Session) -> str:
    """Check that a text is spoken."""
    session.only("speech")
    content = upload(session, SPEECH, json.dumps({"model": model_of(session), **SPOKEN}).encode(), JSON)
    if len(content) < MIN_AUDIO_BYTES:
        raise WrongError(f"{SPEECH}: only {len(content)} bytes")
    return f"{len(content)} bytes of audio"


def model_of(session: Session) -> str:
    """Return the name of the model; a service may have none."""
    return session.model if session.promise["models"] else "default"


def upload(session: Session, path: str, body: bytes, content_type: str) -> bytes:
    """Send a sound or a text; skip the step if a service, which has no served names, has another API."""
    try:
        return session.server.upload(path, body, content_type, within=session.within())
    except RefusedError as refusal:
        skip_unless(session.promise["models"], f"the API of this service is not known: {refusal}")
        raise NotServingError(str(refusal)) from None


def picture() -> str:
    """Return a red PNG as a data URL."""
    row = b"\0" + bytes(RED) * SIDE
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(row * SIDE)), (b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(map(chunk, parts))).decode()


def chunk(part: tuple[bytes, bytes]) -> bytes:
    """Return a chunk of a PNG."""
    name, data = part
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def sound() -> bytes:
    """Return a tone of 440 Hz and one second as a WAV file."""
    samples = (round(8000 * math.sin(2 * math.pi * 440 * each / RATE)) for each in range(RATE))
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"".join(struct.pack("<h", each) for each in samples))
    return buffer.getvalue()


def form(fields: dict[str, str], file: bytes) -> tuple[bytes, str]:
    """Return a form with a WAV file, and its content type."""
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    lines = "".join(f'{head}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
    opening = f'{lines}{head}"file"; filename="probe.wav"\r\nContent-Type: audio/wav\r\n\r\n'
    return opening.encode() + file + f"\r\n--{BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={BOUNDARY}"


def question() -> dict[str, object]:
    """Return a request for the colour of the picture."""
    content = [
        {"type": "image_url", "image_url": {"url": picture()}},
        {"type": "text", "text": "Which colour is this picture? Answer with one word, in English."},
    ]
    return answers.request(content, 512)
