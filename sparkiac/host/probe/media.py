"""A picture and a sound for models that accept them."""

from __future__ import annotations

import base64
import io
import math
import struct
import wave
import zlib

SIDE = 64
"""Width and height in pixels; smaller pictures are rejected by some image processors."""
RATE = 16_000
BOUNDARY = "sparkiac-probe"
COLOURS = {"red": (255, 0, 0)}


def picture(colour: str = "red") -> str:
    """Return a PNG of one colour as a data URL."""
    row = b"\0" + bytes(COLOURS[colour]) * SIDE
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(row * SIDE)), (b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(map(chunk, parts))).decode()


def chunk(part: tuple[bytes, bytes]) -> bytes:
    """Return a chunk of a PNG."""
    name, data = part
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def sound(seconds: float = 1.0) -> bytes:
    """Return a tone of 440 Hz as a WAV file."""
    samples = (round(8000 * math.sin(2 * math.pi * 440 * each / RATE)) for each in range(int(RATE * seconds)))
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


def question(colour: str = "red") -> dict[str, object]:
    """Return a request for the colour of a picture."""
    content = [
        {"type": "image_url", "image_url": {"url": picture(colour)}},
        {"type": "text", "text": "Which colour is this picture? Answer with one word, in English."},
    ]
    return {"messages": [{"role": "user", "content": content}], "max_tokens": 512, "temperature": 0}
