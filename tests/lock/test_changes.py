"""What changes between two locks, as values, as text and as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.lock.comparison import FileChanges, LockChange, PinChange, changes
from sparkiac.lock.merge import entry
from sparkiac.words import lock as words
from tests.lock.pins import IMAGE, MODEL
from tests.plan.fleets import ONES, TWOS

A = "example.org/a:1"
IMAGES = {"images": {A: entry(IMAGE)}}
MODELS = {"models": {"acme/tiny": entry(MODEL)}}


def model(**changes: object) -> dict[str, Any]:
    return {"models": {"acme/tiny": entry(MODEL) | changes}}


def image(**changes: object) -> dict[str, Any]:
    return {"images": {A: entry(IMAGE) | changes}}


def file(text: str, size_bytes: int) -> dict[str, Any]:
    return {"size_bytes": size_bytes, "sha256": text * 64}


def told(old: dict[str, Any] | None, new: dict[str, Any]) -> str:
    return words.text(changes(old, new))


def test_nothing_moves_where_nothing_differs() -> None:
    assert changes(IMAGES | MODELS, MODELS | IMAGES) == ()
    assert changes(None, {"version": 1, "images": {}}) == ()
    assert told(IMAGES, IMAGES) == ""


def test_kinds_and_names_have_an_order() -> None:
    new = {"files": {"file:///b": {"sha256": "5" * 64}}, **MODELS, "images": {"b": entry(IMAGE), "a": entry(IMAGE)}}
    assert [(move.kind, move.name) for move in changes(None, new)] == [
        ("image", "a"),
        ("image", "b"),
        ("model", "acme/tiny"),
        ("file", "file:///b"),
    ]


def test_builds_are_not_moves() -> None:
    assert changes({"builds": {"a": {"id": ONES}}}, {"builds": {}}) == ()


def test_an_example_has_no_pins_that_could_move() -> None:
    [move] = changes({"example": True, **image(digest=TWOS)}, IMAGES)
    assert move.state == "new"


def test_a_new_image() -> None:
    assert told(None, image(entrypoint=("vllm", "serve"))) == (
        f"+ image {A}\n"
        "    digest      sha256:111111111111\n"
        "    vllm        1\n"
        "    created     2026\n"
        "    size        7 B\n"
        "    entrypoint  vllm serve\n"
    )


def test_an_image_that_moves() -> None:
    new = image(digest=TWOS, manifest=ONES, size_bytes=9 << 30, versions={"torch": "2"}, created=None, command=())
    assert told(image(command=("a b",)), new) == (
        f"~ image {A}\n"
        "    digest   sha256:111111111111 → sha256:222222222222\n"
        "    torch    - → 2\n"
        "    vllm     1 → -\n"
        "    created  2026 → -\n"
        "    size     7 B → 9.0 GiB\n"
        "    command  'a b' → -\n"
    )


def test_an_image_of_which_more_is_known() -> None:
    assert told({"images": {A: {"digest": ONES}}}, image(versions={})) == (
        f"~ image {A} (completed)\n    created  - → 2026\n    size     - → 7 B\n"
    )


def test_a_pin_that_nothing_wants() -> None:
    assert changes(IMAGES, {}) == (PinChange("image", A, "gone", ()),)
    assert told(IMAGES, {}) == f"- image {A}\n"


def test_a_model_that_moves() -> None:
    old = model(
        config={"a": 1, "b": 1}, files={"a": file("1", 5), "b": file("2", 6), "c": file("3", 7), "gone": file("4", 1)}
    )
    new = model(
        commit="2" * 40,
        gated=True,
        licence="mit",
        config={"a": 2, "c": 1, "b": 1},
        files={
            "a": file("1", 5),
            "b": file("5", 2048),
            "renamed": file("3", 7),
            "new": file("6", 1024),
            "same": file("6", 1024),
        },
    )
    [move] = changes(old, new)
    assert move.files == FileChanges(added=3, changed=1, removed=2, fetched_bytes=3072)
    assert move.changes == (
        LockChange("commit", "1" * 40, "2" * 40),
        LockChange("config.a", 1, 2),
        LockChange("config.c", None, 1),
        LockChange("licence", None, "mit"),
        LockChange("gated", None, after=True),
        LockChange("size_bytes", 19, 4108),
    )
    assert words.text([move]) == (
        "~ model acme/tiny\n"
        "    commit   111111111111 → 222222222222\n"
        "    licence  - → mit\n"
        "    gated    - → yes\n"
        "    size     19 B → 4.0 KiB\n"
        "    config   a, c\n"
        "    files    3 new, 1 changed, 2 removed; 3.0 KiB to download\n"
    )


def test_a_commit_that_changes_no_file_that_hosts_need() -> None:
    assert told(MODELS, model(commit="2" * 40)) == "~ model acme/tiny\n    commit  111111111111 → 222222222222\n"


def test_a_new_model() -> None:
    assert told(None, model(tensor_bytes=3 << 20, remote_code=True, revision="v1", config={"a": 1})) == (
        "+ model acme/tiny\n"
        "    commit       111111111111\n"
        "    revision     v1\n"
        "    remote code  yes\n"
        "    tensors      3.0 MiB\n"
        "    size         2 B\n"
    )


def test_a_file() -> None:
    old, new = ({"files": {"file:///a": file(text, size)}} for text, size in (("1", 5), ("2", 5)))
    assert told(old, new) == "~ file file:///a\n    sha256  111111111111 → 222222222222\n"


def test_json_has_every_difference_in_full() -> None:
    [image_move, model_move] = words.data(changes(IMAGES | MODELS, image(digest=TWOS) | model(commit="2" * 40)))
    assert image_move == {
        "kind": "image",
        "name": A,
        "state": "moved",
        "changes": {"digest": {"before": ONES, "after": TWOS}},
    }
    assert model_move["files"] == {"added": 0, "changed": 0, "removed": 0, "fetched_bytes": 0}


@pytest.mark.parametrize(
    ("size_bytes", "says"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 << 19, "2.5 MiB"),
        (3 << 40, "3.0 TiB"),
        (3 << 52, "12288.0 TiB"),
    ],
)
def test_sizes_for_people(size_bytes: int, says: str) -> None:
    assert words.size(size_bytes) == says
