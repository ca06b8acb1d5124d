"""What must be asked for, and what the new lock holds: pins move only where they are told to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac.lock.merge import UnusedPin, entry, merged, requests, unused
from sparkiac.model.lock import Lock, LockedFile, LockedModel
from tests.lock.pins import IMAGE, MODEL, THREES, file, image, lock, model
from tests.plan.fleets import ONES, TWOS

if TYPE_CHECKING:
    from sparkiac.lock.required import RequiredPin
    from sparkiac.model.lock import LoadedFormat

FULL = {"digest": ONES, "manifest": TWOS, "config": THREES, "size_bytes": 7}
A, B = "example.org/a:1", "example.org/b:1"
PARSER = "hf://acme/tiny/parser.py"


def reasons(locked: Lock | None, *pins: RequiredPin, upgraded: set[Any] | None = None) -> list[tuple[str, str | None]]:
    return [(each.reason, each.pinned) for each in requests(locked, pins, upgraded=upgraded or set())]


def test_without_a_lock_everything_is_missing() -> None:
    assert reasons(None, image(), model(), file()) == [("missing", None)] * 3
    assert reasons(lock(), image(), model(), file()) == [("missing", None)] * 3


@pytest.mark.parametrize("lacking", ["manifest", "config", "size_bytes"])
def test_an_image_without_all_its_facts_is_completed_by_its_digest(lacking: str) -> None:
    known = {key: value for key, value in FULL.items() if key != lacking}
    [request] = requests(lock(images={A: known}), [image(A, "m.example:5000/x/a:1")])
    assert (request.reason, request.pinned, request.source) == ("incomplete", ONES, f"m.example:5000/x/a@{ONES}")


def test_what_is_complete_is_not_asked_for() -> None:
    whole = lock(
        images={A: FULL},
        models={"acme/tiny": MODEL.model_dump()},
        files={"https://example.org/a.py": {"sha256": "5" * 64}},
    )
    assert reasons(whole, image(A), model(), file()) == []


def test_upgraded_images_are_requested_by_tag() -> None:
    locked = lock(images={A: FULL, B: {"digest": ONES}})
    assert reasons(locked, image(A), image(B), upgraded={("image", A), ("image", B)}) == [("upgrade", None)] * 2
    assert requests(locked, [image(A)], upgraded={("image", A)})[0].source == A


@pytest.mark.parametrize(
    ("source", "pinned"),
    [
        ("a", f"a@{ONES}"),
        ("localhost:5000/a", f"localhost:5000/a@{ONES}"),
        ("localhost:5000/a:1", f"localhost:5000/a@{ONES}"),
        (f"x.org/a:1@{TWOS}", f"x.org/a@{ONES}"),
    ],
)
def test_a_pin_stands_in_the_place_of_tag_and_digest(source: str, pinned: str) -> None:
    [request] = requests(lock(images={A: {"digest": ONES}}), [image(A, source)])
    assert request.source == pinned


def test_a_digest_of_the_inventory_that_the_lock_has_otherwise() -> None:
    assert reasons(lock(images={f"{A}@{TWOS}": FULL}), image(f"{A}@{TWOS}")) == [("digest", None)]
    assert reasons(lock(images={f"{A}@{ONES}": FULL}), image(f"{A}@{ONES}")) == []


@pytest.mark.parametrize(
    ("known", "pin", "asked"),
    [
        ({}, model(), [("incomplete", "1" * 40)]),
        ({"files": MODEL.files}, model(), []),
        ({"files": MODEL.files}, model(revision="v1"), [("revision", None)]),
        ({"files": MODEL.files, "revision": "v1"}, model(revision="v1"), []),
        ({"files": MODEL.files, "revision": "v1"}, model(), [("revision", None)]),
        ({"files": MODEL.files}, model(files=(None, "config.json")), []),
        ({"files": MODEL.files}, model(files=("a.gguf",)), [("incomplete", "1" * 40)]),
    ],
)
def test_a_model_at_its_revision_with_the_files_that_are_wanted(
    known: dict[str, Any], pin: RequiredPin, asked: list[tuple[str, str | None]]
) -> None:
    models = {"acme/tiny": LockedModel.model_validate({"commit": "1" * 40} | known)}
    assert reasons(lock(models=models), pin) == asked


@pytest.mark.parametrize(
    ("left_out", "forms", "asked"),
    [
        ((), ("consolidated",), []),
        (("shards",), ("consolidated",), []),
        (("shards",), ("consolidated", "shards"), [("incomplete", "1" * 40)]),
        (("consolidated",), ("consolidated",), [("incomplete", "1" * 40)]),
        (("consolidated", "shards"), ("bare",), []),
        (("consolidated", "shards"), ("shards",), [("incomplete", "1" * 40)]),
        ((), (), []),
    ],
)
def test_weights_in_the_forms_that_are_wanted(
    left_out: tuple[str, ...], forms: tuple[LoadedFormat, ...], asked: list[tuple[str, str | None]]
) -> None:
    known = LockedModel.model_validate({"commit": "1" * 40, "files": MODEL.files, "left_out": left_out})
    assert reasons(lock(models={"acme/tiny": known}), model(forms=forms)) == asked


@pytest.mark.parametrize(
    ("known", "pin", "asked"),
    [
        ({}, file(PARSER), ("incomplete", "5" * 64, "1" * 40)),
        ({"commit": "1" * 40}, file(PARSER), None),
        ({"commit": "2" * 40}, file(PARSER), ("commit", None, "1" * 40)),
        ({"commit": "1" * 40}, file(PARSER, revision="v1"), ("revision", None, None)),
        (None, file(PARSER), ("missing", None, "1" * 40)),
    ],
)
def test_a_file_has_the_revision_and_the_commit_of_its_repository(
    known: dict[str, Any] | None, pin: RequiredPin, asked: tuple[str, str | None, str | None] | None
) -> None:
    files = {} if known is None else {PARSER: known | {"sha256": "5" * 64}}
    locked = lock(files=files, models={"acme/tiny": MODEL.model_copy(update={"revision": pin.revision})})
    if pin.revision != "main":
        locked = lock(files=files)
    found = [(each.reason, each.pinned, each.commit) for each in requests(locked, [pin, model(revision=pin.revision)])]
    assert [each for each in found if each[0] != "missing" or known is None] == ([] if asked is None else [asked])


def test_a_model_that_is_new_beside_a_file_of_its_repository_gets_its_commit() -> None:
    locked = lock(files={PARSER: {"sha256": "5" * 64, "commit": "2" * 40}})
    [request] = requests(locked, [file(PARSER), model()])
    assert (request.pin.key, request.reason, request.commit) == (("model", "acme/tiny"), "missing", "2" * 40)


def test_what_is_in_a_repository_moves_with_it() -> None:
    locked = lock(files={PARSER: {"sha256": "5" * 64, "commit": "1" * 40}}, models={"acme/tiny": MODEL})
    for named in (("file", PARSER), ("model", "acme/tiny")):
        found = requests(locked, [file(PARSER), model()], upgraded={named})
        assert [(each.pin.kind, each.reason, each.commit) for each in found] == [
            ("file", "upgrade", None),
            ("model", "upgrade", None),
        ]


def test_an_example_pins_nothing() -> None:
    locked = lock(images={A: FULL}, example=True)
    assert reasons(locked, image(A), model()) == [("example", None), ("missing", None)]
    data = {"version": 1, "example": True, "images": {A: FULL}, "builds": {"x": {"id": ONES, "spec": ONES}}}
    assert merged(data, [image(A)], {("image", A): IMAGE}) == {"version": 1, "images": {A: entry(IMAGE)}}


def test_unused_pins_are_reported() -> None:
    locked = lock(images={A: FULL, B: FULL}, files={"https://example.org/a.py": {"sha256": "5" * 64}})
    assert unused(locked, [image(B)]) == (UnusedPin("file", "https://example.org/a.py"), UnusedPin("image", A))
    assert unused(None, [image(B)]) == ()


def test_an_entry_says_no_more_than_it_must() -> None:
    assert entry(IMAGE) == FULL | {"created": "2026", "versions": {"vllm": "1"}}
    assert entry(IMAGE.model_copy(update={"entrypoint": ()}))["entrypoint"] == ()
    files = {"b": {"size_bytes": 1, "sha256": "5" * 64}, "a": {"size_bytes": 2, "sha256": "6" * 64}}
    found = LockedModel.model_validate(
        {"commit": "1" * 40, "config": {"z": (1, {"y": (2,)}), "a": None}, "files": files}
    )
    assert entry(found) == {"commit": "1" * 40, "config": {"a": None, "z": (1, {"y": (2,)})}, "files": files}
    assert list(entry(found)["files"]) == ["a", "b"]
    assert list(entry(found)["files"]["a"]) == ["size_bytes", "sha256"]
    assert entry(LockedFile(sha256="5" * 64)) == {"sha256": "5" * 64}


def test_what_is_kept_stays_as_it_was_written() -> None:
    odd = {"entrypoint": ("a",), "digest": ONES, "versions": {}}
    data = {"images": {B: odd}, "builds": {"b": {"id": ONES}, "a": {"id": TWOS}}, "version": 1}
    new = merged(data, [image(B), image(A)], {("image", A): IMAGE})
    assert new["images"] == {A: entry(IMAGE), B: odd}
    assert list(new) == ["version", "images", "builds"]
    assert list(new["builds"]) == ["a", "b"]


def test_a_model_is_locked_with_the_revision_that_was_requested() -> None:
    answer = MODEL.model_copy(update={"revision": "1" * 40})
    key = ("model", "acme/tiny")
    assert merged(None, [model()], {key: answer})["models"]["acme/tiny"] == entry(MODEL)
    named = merged(None, [model(revision="v1")], {key: answer})["models"]["acme/tiny"]
    assert named["revision"] == "v1"


@pytest.mark.parametrize(("digest", "kept"), [(ONES, True), (TWOS, False)])
def test_a_signature_is_of_one_digest(digest: str, *, kept: bool) -> None:
    data = {"images": {A: {"digest": ONES, "signature": "none"}}}
    new = merged(data, [image(A)], {("image", A): IMAGE.model_copy(update={"digest": digest})})
    assert ("signature" in new["images"][A]) == kept
    checked = IMAGE.model_copy(update={"signature": "verified"})
    assert merged(data, [image(A)], {("image", A): checked})["images"][A]["signature"] == "verified"


names = st.sets(st.sampled_from([f"example.org/{letter}:1" for letter in "abcdef"]))


@given(old=names, wanted=names, upgraded=names)
def test_after_a_merge_all_that_is_wanted_is_there_and_nothing_else_moved(
    old: set[str], wanted: set[str], upgraded: set[str]
) -> None:
    data = {"version": 1, "images": dict.fromkeys(sorted(old), FULL)}
    pins = [image(name) for name in wanted]
    asked = requests(Lock.model_validate(data), pins, upgraded={("image", name) for name in upgraded})
    moved = IMAGE.model_copy(update={"digest": TWOS})
    new = merged(data, pins, {request.pin.key: moved for request in asked})
    assert list(new["images"]) == sorted(wanted)
    for name in wanted:
        stays = name in old and name not in upgraded
        assert new["images"][name] == (FULL if stays else entry(moved))
    assert requests(Lock.model_validate(new), pins) == ()
    assert unused(Lock.model_validate(new), pins) == ()
