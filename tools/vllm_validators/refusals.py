"""Find every refusal in the configuration code of vLLM's releases, and keep what was decided about each.

`refusals.py` reads the releases from 0.20.0 on of ../vllm_interface/sources.lock and writes refusals.found, which keeps
the decisions that it has, and the table of docs/verified.md. `--archives FOLDER` keeps the archives, about 600 MB.

A refusal is a `raise` of an exception, or an assertion. Two of them are the same if their function and the conditions
around them are.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HERE: Final = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "vllm_interface")]
import fetch  # noqa: E402  programs beside this one
import validators  # noqa: E402

FOUND: Final = HERE / "refusals.found"
REASONS: Final = HERE / "refusals.reasons"
PAGE: Final = HERE.parent.parent / "docs" / "verified.md"
FIRST: Final = (0, 20)
"""Older releases are not read."""
READ: Final = re.compile(r"vllm/(config/\w+|engine/arg_utils|model_executor/models/config)\.py")
HEAD: Final = "# decision, hash, first and last release, place in the last one, function, what is said or asserted"
OPEN: Final = "?"
"""Decision about a refusal that nobody has read."""
LENGTH: Final = 90
"""Characters of what is said that are kept."""
BETWEEN: Final = re.compile(r"(?<=<!-- refusals -->\n).*?(?=<!-- end of refusals -->)", re.DOTALL)


class Refusal(NamedTuple):
    """A place in the source that refuses a configuration."""

    hash: str
    """Of the function and the conditions."""
    place: str
    """path#Lline"""
    function: str
    says: str


class Row(NamedTuple):
    """A line of refusals.found."""

    decision: str
    """Rule that finds it, as CODE or CODE-NUMBER OF THE FACT; a reason of refusals.reasons; or OPEN."""
    hash: str
    first: str
    last: str
    place: str
    function: str
    says: str


def refusals(path: str, source: str) -> Iterator[Refusal]:
    """Return the refusals of a file."""
    yield from _within(ast.parse(source), path, (), ())


def _within(node: ast.AST, path: str, function: tuple[str, ...], around: tuple[str, ...]) -> Iterator[Refusal]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            function, around = (*function, name), ()
        case ast.Raise(exc=ast.expr() as exception):
            yield _refusal(path, function, around, node.lineno, _text(exception))
        case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if name.startswith("_raise"):
            yield _refusal(path, function, around, node.lineno, _text(call))
        case ast.Assert(test=test):
            yield _refusal(path, function, (*around, f"not {ast.unparse(test)}"), node.lineno, ast.unparse(test))
    for child in ast.iter_child_nodes(node):
        yield from _within(child, path, function, (*around, *_condition(node, child)))


def _condition(node: ast.AST, child: ast.AST) -> Iterator[str]:
    """Return what must be true for a statement to be reached from the one that it is in."""
    match node:
        case ast.If(test=test, body=body, orelse=other) if child in body or child in other:
            yield ast.unparse(test) if child in body else f"not {ast.unparse(test)}"
        case ast.ExceptHandler(type=ast.expr() as caught):
            yield f"except {ast.unparse(caught)}"
        case ast.match_case(pattern=pattern):
            yield f"case {ast.unparse(pattern)}"


def _refusal(path: str, function: tuple[str, ...], around: tuple[str, ...], line: int, says: str) -> Refusal:
    """Create a refusal. One without conditions is told by what it says."""
    name = ".".join(function)
    key = "\n".join((path, name, *(around or (says,))))
    return Refusal(hashlib.sha256(key.encode()).hexdigest()[:8], f"{path}#L{line}", name, says)


def _text(exception: ast.expr) -> str:
    """Return the texts in an exception, or its code if it has none."""
    texts = [
        each.value for each in ast.walk(exception) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    return " ".join("".join(texts).split()) or ast.unparse(exception)


def read(files: Iterable[tuple[str, IO[bytes]]]) -> dict[str, Refusal]:
    """Return the refusals of a release by hash."""
    found = (each for path, file in files if READ.fullmatch(path) for each in refusals(path, file.read().decode()))
    return {each.hash: each for each in found}


def rows(found: Mapping[str, Mapping[str, Refusal]], decided: Mapping[str, str]) -> list[Row]:
    """Return each refusal of the releases with its decision, in the order of files and functions."""
    last = {each.hash: each for there in found.values() for each in there.values()}
    places = {release: {key: each.place for key, each in there.items()} for release, there in found.items()}
    listed = [
        Row(decided.get(key, OPEN), key, *span, each.function, each.says[:LENGTH].strip())
        for key, each in last.items()
        for span in validators.ranges(places, key)
    ]
    return sorted(listed, key=lambda row: (row.place.partition("#")[0], row.function, row.says, row.hash))


def known() -> list[Row]:
    """Read refusals.found."""
    lines = FOUND.read_text("utf-8").splitlines()[1:] if FOUND.exists() else []
    return [Row(*line.split(" ", len(Row._fields) - 1)) for line in lines]


def reasons() -> dict[str, str]:
    """Read the reasons for which nothing finds a refusal, by name."""
    return dict(line.split(": ", 1) for line in REASONS.read_text("utf-8").splitlines())


def table(found: Iterable[Row], releases: Iterable[str]) -> str:
    """Return the table of the page: releases, and what becomes of their refusals."""
    columns = ["release", "refusals", "found", *reasons()]
    lines = [columns, ["---"] * len(columns)]
    for release in releases:
        there = [row.decision for row in found if numbers(row.first) <= numbers(release) <= numbers(row.last)]
        why = [sum(each == reason for each in there) for reason in reasons()]
        lines.append([release, *map(str, (len(there), len(there) - sum(why), *why))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n" + legend()


def legend() -> str:
    """Return what the columns of the table mean."""
    return "".join(f"- *{name}*: {text}\n" for name, text in reasons().items())


def numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release."""
    return tuple(map(int, release.split(".")))


def written(page: str, found: Iterable[Row]) -> str:
    """Return the page with its table."""
    releases = [each for each in fetch.locked() if numbers(each) >= FIRST]
    return BETWEEN.sub(lambda _: table(found, releases), page)


def main() -> None:
    """Read the archives, and write the list and the table."""
    parser = argparse.ArgumentParser(description="Find the refusals of vLLM's configuration code.")
    parser.add_argument("--archives", type=Path, help="keep the archives in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archives = arguments.archives or Path(folder)
        archives.mkdir(parents=True, exist_ok=True)
        pinned = {release: each for release, each in fetch.locked().items() if numbers(release) >= FIRST}
        found = {release: read(fetch.sources(fetch.download(each, archives))) for release, each in pinned.items()}
    listed = rows(found, {row.hash: row.decision for row in known()})
    FOUND.write_text("\n".join((HEAD, *map(" ".join, listed), "")), encoding="utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), listed), encoding="utf-8")
    print(*(" ".join(row) for row in listed if row.decision == OPEN), sep="\n")


if __name__ == "__main__":
    main()
