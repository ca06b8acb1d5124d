"""Bad files that no repository wants to hold: huge, binary, or with characters that editors hide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.console import run
from tests.bad.running import check, read

if TYPE_CHECKING:
    from pathlib import Path

FLEET = "name: lab\nhosts:\n  spark-01: {address: 192.168.1.11}\n"
SERVICE = (
    f"{FLEET}services:\n  asr:\n    kind: container\n    image: example.org/asr@sha256:{'1' * 64}\n"
    "    hosts: spark-01\n"
)
LONG = "x" * (128 << 10)
SMALL: Final = 1 << 10
"""A file of so few bytes takes neither memory nor time: a process with limits would show nothing more."""
DEPLOYMENT = f"{FLEET}deployments:\n  chat:\n    recipe: base/single-spark\n    hosts: spark-01\n    port: 8000\n"

CASES: dict[str, tuple[bytes | str, list[tuple[int, int, str]]]] = {
    "a08-brackets": ("[" * 100_000, [(1, 22, "YML002")]),
    "a08-braces": ("{" * 100_000, [(1, 2, "YML008")]),
    "a08-dashes": ("- " * 100_000, [(1, 43, "YML002")]),
    "a09-deep-mapping": ("\n".join(f"{' ' * depth}k:" for depth in range(1_000)), [(22, 22, "YML002")]),
    "a10-5-mib": ("#" * (5 << 20), [(1, 1, "YML002")]),
    "a11-a-million-values": (f"name: lab\nhosts: [{'a,' * 1_000_000}]\n", [(2, 399_999, "YML002")]),
    "a12-byte-order-mark": (b"\xef\xbb\xbf" + FLEET.encode(), [(1, 1, "YML001")]),
    "a13-utf-16": (FLEET.encode("utf-16"), [(1, 1, "YML001")]),
    "a13-utf-16-without-mark": ("name".encode("utf-16-le"), [(1, column, "YML003") for column in (2, 4, 6, 8)]),
    "a14-latin-1": (f"{FLEET}# für später".encode("latin-1"), [(4, 4, "YML001")]),
    "a14-cut-in-a-character": (f"{FLEET}# für".encode()[:-2], [(4, 4, "YML001")]),
    "a15-nul": (f"{FLEET}# a\0b\n", [(4, 4, "YML003")]),
    "a15-nul-everywhere": (b"\0" * (4 << 20), [*((1, n, "YML003") for n in range(1, 101)), (1, 100, "YML009")]),
    "a16-next-line": (f"{FLEET}# a\x85name: other\n", [(4, 4, "YML003")]),
    "a17-line-separators": (f"{FLEET}# a\u2028b\u2029c\n", [(4, 4, "YML003"), (4, 6, "YML003")]),
    "a18-bidi-in-a-name": ("name: la\u202eb\nhosts: {}\n", [(1, 9, "YML003")]),
    "a19-escape-in-a-description": (f"{SERVICE}    description: a\x1b[31mb\n", [(9, 19, "YML003")]),
    "a19-lone-carriage-return": ("name: lab\rhosts: {}\n", [(1, 10, "YML003")]),
    "a30-empty": ("", [(1, 1, "YML004")]),
    "a30-only-comments": ("# nothing\n\n# here\n", [(1, 1, "YML004")]),
    "a30-only-line-ends": ("\n" * (4 << 20), [(1, 1, "YML004")]),
    "a30-only-a-document-mark": ("---\n...\n", [(1, 1, "YML004")]),
    "a32-four-million-digits": (f"name: {'9' * 4_000_000}\n", [(1, 1, "INV003"), (1, 7, "YML007")]),
    "a42-faults-without-end": (
        f"{FLEET}allow: [{'1,' * 5_000}]\n",
        [*((4, 9 + 2 * n, "INV002") for n in range(100)), (4, 207, "YML009")],
    ),
    "a43-a-name-of-a-megabyte": (f"{FLEET}? {'k' * 1_000_000}\n: x\n", [(4, 3, "INV001")]),
    "a44-windows-line-ends": (FLEET.replace("spark", "Spark").replace("\n", "\r\n").encode(), [(3, 3, "INV002")]),
    "c20-argument-of-128-kib": (f"{SERVICE}    command: [a, {LONG}]\n", [(9, 18, "INV002")]),
    "c20-variable-of-128-kib": (f"{SERVICE}    env: {{A: {'é' * (64 << 10)}}}\n", [(9, 14, "INV002")]),
    "c20-option-of-128-kib": (
        f"{DEPLOYMENT}    set: {{a: {LONG}, b: [x, {LONG}], c: {{d: {LONG}}}}}\n",
        [(5, 3, "REF003"), (9, 14, "INV002"), (9, 131_091, "INV002"), (9, 262_173, "INV002")],
    ),
    "c21-line-of-a-mebibyte": (
        f'{SERVICE}    env: {{A: "{"x" * (1 << 20)}", B: [], C: "{"$" * (1 << 20)}"}}\n',
        [(9, 14, "INV002"), (9, 14 + (1 << 20) + 7, "INV002"), (9, 14 + (1 << 20) + 14, "INV002")],
    ),
    "c22-emoji-before-a-fault": (
        "name: lab # 😀\nhosts: {a: {address: 😀, x: 1}}\n",
        [(2, 22, "INV002"), (2, 25, "INV001")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, wanted = CASES[name]
    inventory = tmp_path / f"{name}.yaml"
    size = inventory.write_bytes(content if isinstance(content, bytes) else content.encode())
    if size < SMALL:
        checked = read(inventory, run(["check", str(inventory)]), *capsys.readouterr())
    else:
        checked = check(inventory)
    assert checked.code == 2
    assert checked.findings == wanted
    assert len(checked.text) < 150_000
    assert max(map(len, checked.text.splitlines())) < 700
    assert not set(checked.text) & {"\0", "\x1b", "\x85", "\u2028", "\u202e"}
