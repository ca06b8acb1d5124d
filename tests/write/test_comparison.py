"""The pure comparison, for any wanted, present and owned files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkiac.write import MANIFEST, WouldOverwrite
from sparkiac.write.comparison import ExistingTree, TreeComparison, compare
from sparkiac.write.manifest import Owned, Stamp
from sparkiac.write.tree import ancestors

NAMES = ["a", "b", "d/a", "d/e/a", "d/e/b", "d-e", ".ansible/x"]
STAMPS = st.builds(Stamp, st.sampled_from("12"), st.booleans())


def one_tree(files: dict[str, Stamp]) -> bool:
    """Whether no file is in another."""
    return not any(parent in files for path in files for parent in ancestors(path))


def trees(names: list[str]) -> st.SearchStrategy[dict[str, Stamp]]:
    return st.dictionaries(st.sampled_from(names), STAMPS).filter(one_tree)


WANTED = trees([*NAMES[:-1], "d", "a/x"]).map(lambda files: {**files, MANIFEST: Stamp("m", executable=False)})
PRESENT = trees([*NAMES, "d", "d/e", "a/x", MANIFEST])
OWNED = st.one_of(st.builds(Owned, trees(NAMES[:-1])), st.just(Owned({}, "missing")))


def found(files: dict[str, Stamp]) -> ExistingTree:
    return ExistingTree(files, {parent for path in files for parent in ancestors(path)})


def parts(result: TreeComparison) -> list[str]:
    changes = result.changes
    return [*result.kept, *result.carried, *changes.created, *changes.changed, *changes.removed]


@given(WANTED, PRESENT, OWNED)
def test_without_force_nothing_of_a_person_is_touched(
    wanted: dict[str, Stamp], present: dict[str, Stamp], owned: Owned
) -> None:
    try:
        result = compare(wanted, found(present), owned, force=False)
    except WouldOverwrite as refused:
        assert refused.paths  # noqa: PT017 - either outcome is fine
        return
    for path in {*result.changes.changed, *result.changes.removed} - {MANIFEST}:
        assert owned.files[path] == present[path]
    assert set(result.carried) <= {".ansible/x"}


@given(WANTED, PRESENT, OWNED, st.booleans())
def test_every_file_has_one_fate_and_the_result_is_one_tree(
    wanted: dict[str, Stamp],
    present: dict[str, Stamp],
    owned: Owned,
    force: bool,  # noqa: FBT001 - drawn
) -> None:
    try:
        result = compare(wanted, found(present), owned, force=force)
    except WouldOverwrite:
        assert not force
        return
    all_parts = parts(result)
    assert len(all_parts) == len(set(all_parts))
    assert set(all_parts) == wanted.keys() | present.keys()
    assert all(wanted[path] == present[path] for path in result.kept)
    assert not wanted.keys() & set(result.carried)
    assert one_tree({**wanted, **dict.fromkeys(result.carried, Stamp("x", executable=False))})
    assert result.changes.unchanged == len(result.kept)


@given(WANTED, PRESENT, OWNED)
def test_force_takes_only_what_is_in_the_way_or_its_own(
    wanted: dict[str, Stamp], present: dict[str, Stamp], owned: Owned
) -> None:
    result = compare(wanted, found(present), owned, force=True)
    for path in set(result.changes.removed) - owned.files.keys():
        around = {*ancestors(path), *(name for name in wanted if name.startswith(f"{path}/"))}
        assert around & wanted.keys()


@given(WANTED)
def test_a_second_comparison_finds_nothing(wanted: dict[str, Stamp]) -> None:
    owned = Owned({path: stamp for path, stamp in wanted.items() if path != MANIFEST})
    result = compare(wanted, found(wanted), owned, force=False)
    assert not result.changes.any
    assert result.changes == result.changes._replace(unchanged=len(wanted))
