"""The text of a lock: what did not change keeps its lines, and what is written reads back as what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac import pipeline
from sparkiac.lock.text import HEADER, patched, whole
from sparkiac.model.lock import LockedImage, LockedModel
from tests.plan.fleets import ONES, TWOS

if TYPE_CHECKING:
    from sparkiac.model.base import Model
    from sparkiac.source.document import Document

A, B, C = (f"example.org/{letter}:1" for letter in "abc")
COMMIT = "1234567e89" + "0" * 30
SHORT = "{digest: '" + ONES + "'}"


def document(text: str) -> Document:
    """Read a lock that is valid."""
    found = pipeline.read_lock(pipeline.InputFile("lab.lock.yaml", text.encode()))
    assert found.findings == ()
    return found.document


def images(**changes: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "images": {f"example.org/{name}:1": image for name, image in sorted(changes.items())}}


def written(text: str, data: dict[str, Any]) -> str:
    """Patch a text, which then must say just this."""
    found = patched(text, document(text), data)
    assert document(found).data == data
    return found


def test_a_whole_lock() -> None:
    file = {"size_bytes": 2, "sha256": "4" * 64}
    model = {
        "commit": COMMIT,
        "gated": True,
        "tensor_bytes": 16,
        "config": {"dtype": None, "layer_types": ("a", "b"), "rope": {"theta": 1e-6, "kind": "x"}},
        "files": {"a/config.json": file, "no": file},
    }
    image = {"digest": ONES, "versions": {"vllm": "0.19"}, "entrypoint": ("vllm", "serve"), "command": ()}
    assert whole({"version": 1, "images": {A: image}, "models": {"acme/tiny": model}}) == HEADER + (
        "version: 1\n"
        "images:\n"
        f'  "{A}":\n'
        f'    digest: "{ONES}"\n'
        "    versions:\n"
        '      vllm: "0.19"\n'
        '    entrypoint: ["vllm", "serve"]\n'
        "    command: []\n"
        "models:\n"
        '  "acme/tiny":\n'
        f'    commit: "{COMMIT}"\n'
        "    gated: true\n"
        "    tensor_bytes: 16\n"
        "    config:\n"
        "      dtype: null\n"
        '      layer_types: ["a", "b"]\n'
        '      rope: {theta: 1.0e-06, kind: "x"}\n'
        "    files:\n"
        f'      "a/config.json": {{size_bytes: 2, sha256: "{"4" * 64}"}}\n'
        f'      "no": {{size_bytes: 2, sha256: "{"4" * 64}"}}\n'
    )


def test_an_empty_lock() -> None:
    assert whole({"version": 1, "images": {}}) == f"{HEADER}version: 1\nimages: {{}}\n"


LAID_OUT = f"""\
# A person's head.
version: 1   # the format
images:      # all of them
  # of a
  {A}: {SHORT}   # by hand

  # of c
  {C}:
    digest: "{TWOS}"   # kept
    # in c

# about builds
builds:
  # in builds
  x: {{id: '{ONES}', spec: '{ONES}'}}
# the end
"""
BUILDS = {"builds": {"x": {"id": ONES, "spec": ONES}}}


def test_nothing_changes_where_nothing_does() -> None:
    data = images(a={"digest": ONES}, c={"digest": TWOS}) | BUILDS
    assert written(LAID_OUT, data) == LAID_OUT


def test_a_new_entry_comes_after_the_one_before_it() -> None:
    data = images(a={"digest": ONES}, b={"digest": TWOS}, c={"digest": TWOS}) | BUILDS
    entry = f'  "{B}":\n    digest: "{TWOS}"\n'
    assert written(LAID_OUT, data) == LAID_OUT.replace("# by hand\n", f"# by hand\n{entry}")


def test_a_first_entry_comes_first() -> None:
    data = images(a={"digest": ONES}, c={"digest": TWOS}) | BUILDS
    text = LAID_OUT.replace(f"  # of a\n  {A}: {SHORT}   # by hand\n", "")
    assert written(text, data) == text.replace("# all of them\n", f'# all of them\n  "{A}":\n    digest: "{ONES}"\n')


def test_an_entry_that_changes_is_written_anew_and_no_other() -> None:
    data = images(a={"digest": TWOS}, c={"digest": TWOS}) | BUILDS
    entry = f'  "{A}":\n    digest: "{TWOS}"\n'
    assert written(LAID_OUT, data) == LAID_OUT.replace(f"  {A}: {SHORT}   # by hand\n", entry)


def test_an_entry_that_goes_leaves_what_is_beside_it() -> None:
    assert written(LAID_OUT, images(c={"digest": TWOS}) | BUILDS) == LAID_OUT.replace(
        f"  {A}: {SHORT}   # by hand\n", ""
    )


def test_a_section_that_goes_and_one_that_comes() -> None:
    data = images(a={"digest": ONES}, c={"digest": TWOS})
    without = LAID_OUT.replace(f"builds:\n  # in builds\n  x: {{id: '{ONES}', spec: '{ONES}'}}\n", "")
    assert written(LAID_OUT, data) == without
    files = {"files": {"https://example.org/a": {"sha256": "5" * 64}}}
    section = f'files:\n  "https://example.org/a":\n    sha256: "{"5" * 64}"\n'
    assert written(LAID_OUT, {**data, **files, **BUILDS}) == LAID_OUT.replace("# kept\n", f"# kept\n{section}")


def test_the_last_entry_goes() -> None:
    data = {"version": 1, "images": {}}
    assert written(f"version: 1\nimages:\n  {A}: {SHORT}\n", data) == "version: 1\nimages: {}\n"
    assert written("version: 1\nimages: {}\n", images(a={"digest": ONES})) == (
        f'version: 1\nimages:\n  "{A}":\n    digest: "{ONES}"\n'
    )


def test_the_users_indentation_is_taken() -> None:
    text = f"version: 1\nimages:\n    {A}: {SHORT}\n"
    found = written(text, images(a={"digest": ONES}, b={"digest": ONES}))
    assert found == f'{text}    "{B}":\n      digest: "{ONES}"\n'


@pytest.mark.parametrize(
    "text",
    [
        f"version: 1\nimages: {{{A}: {SHORT}}}\n",
        f"version: 1\nimages: {{{A}: {SHORT},\n  {B}: {SHORT}}}\n",
        f"version: 1\nimages:\n  {{{A}: {SHORT},\n   {B}: {SHORT}}}",
        f"version: 1\nimages:\n  ? {A}\n  : {SHORT}\n",
    ],
)
def test_a_section_of_another_layout_is_written_anew(text: str) -> None:
    head = "# head\n"
    found = pipeline.lock_text(pipeline.InputFile("lab.lock.yaml", (head + text).encode()), images(c={"digest": ONES}))
    assert found.decode() == f'{head}version: 1\nimages:\n  "{C}":\n    digest: "{ONES}"\n'


@pytest.mark.parametrize("text", ["{version: 1, images: {}}\n", "{version: 1,\n images: {}}\n"])
def test_a_lock_of_another_layout_is_written_anew_as_a_whole(text: str) -> None:
    data = images(c={"digest": ONES})
    assert pipeline.lock_text(pipeline.InputFile("lab.lock.yaml", text.encode()), data).decode() == whole(data)


def test_a_lock_that_says_it_already_is_not_touched() -> None:
    raw = f"version: 1\nimages: {{{A}: {SHORT}}}".encode()
    assert pipeline.lock_text(pipeline.InputFile("lab.lock.yaml", raw), images(a={"digest": ONES})) == raw


TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**9), 10**12) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
KEYS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
FACTS = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_size=4,
)
FILES = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9._@+=-]{1,8}(/[A-Za-z0-9_@+=-]{1,8})?", fullmatch=True).filter(
        lambda path: path not in {".", ".."} and not path.startswith(("./", "../"))
    ),
    st.fixed_dictionaries(
        {"size_bytes": st.integers(0, 10**12), "sha256": st.from_regex(r"[0-9a-f]{64}", fullmatch=True)}
    ),
    max_size=3,
)
DIGESTS = st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)
IMAGES = st.dictionaries(
    st.sampled_from([f"example.org/{letter}:1" for letter in "abcdef"]),
    st.fixed_dictionaries(
        {"digest": DIGESTS},
        optional={"size_bytes": st.integers(0, 9), "versions": st.dictionaries(KEYS, TEXTS, min_size=1)},
    ),
)
MODELS = st.dictionaries(
    st.sampled_from(["acme/a", "acme/b", "acme/1e3"]),
    st.fixed_dictionaries(
        {"commit": st.from_regex(r"[0-9]{7}e[0-9]{32}", fullmatch=True)}, optional={"config": FACTS, "files": FILES}
    ),
)


def entries(found: dict[str, Any], kind: type[Model]) -> dict[str, Any]:
    """Put entries in order, and what each says in the order of its kind, as the lock writes both."""
    return {
        name: {key: in_order(found[name][key]) for key in kind.model_fields if key in found[name]}
        for name in sorted(found)
    }


def in_order(value: Any) -> Any:  # noqa: ANN401  plain data of a lock
    """Sort what mappings say: two that differ in their order alone are one to a lock, which keeps its lines."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return tuple(map(in_order, value)) if isinstance(value, tuple) else value


def ordered(images: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    data = {"version": 1, "images": entries(images, LockedImage), "models": entries(models, LockedModel)}
    return {key: value for key, value in data.items() if value or key != "models"}


LOCKS = st.builds(ordered, IMAGES, MODELS)
"""A machine that is busy draws slowly."""


@given(data=LOCKS)
def test_what_is_written_reads_back(data: dict[str, Any]) -> None:
    assert document(whole(data)).data == data


@given(old=LOCKS, new=LOCKS)
def test_what_is_patched_reads_back_and_is_what_would_be_written(old: dict[str, Any], new: dict[str, Any]) -> None:
    text = whole(old)
    found = patched(text, document(text), new)
    assert document(found).data == new
    assert found == whole(new), "of a lock that was written so, no other layout is left over"
