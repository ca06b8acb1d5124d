"""Texts that users read: a code of a document stands beside its name, and names of exceptions exist."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from typing import TYPE_CHECKING, Final

import click
import pytest
import yaml

from sparkiac.cli import cli
from sparkiac.words.findings import TITLES
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE: Final = ROOT / "sparkiac"
MODULES: Final = sorted(PACKAGE.rglob("*.py"))
PAGES: Final = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
NUMBERED_LIST: Final = re.compile(r"\((?:[^()\n]*[;,] )?[A-KM-TV-Z]\d{1,2}\)")
"""A code of a list that is not published: `(D6)`, `(Spark guide L61; D5)`."""
LINES: Final = re.compile(r"(?<![#\w])L(?:\d{2,4}\b|\d-\d)")
DOCUMENTS: Final = re.compile("|".join(TITLES), re.IGNORECASE)
EXCEPTIONS: Final = re.compile(r"\bRaises? ([^.]*)")
CAMEL_CASE: Final = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b|(?<=^`)[A-Z]\w+|^[A-Z][a-z]\w+")


def paragraphs(text: str) -> Iterator[str]:
    """Return the paragraphs and the items of lists."""
    return (" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) )", text))


@cache
def strings(path: Path) -> tuple[str, ...]:
    """Return the texts of a module; `{}` is the place of a value."""
    return tuple(_strings(path))


def _strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def scalars(path: Path) -> Iterator[str]:
    """Return the values of a YAML file."""
    return (token.value for token in yaml.scan(path.read_text()) if isinstance(token, yaml.ScalarToken))


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Return (path, paragraph) of the package's modules, its catalog, the documentation and the example inventories."""
    read = [(path, iter(strings(path))) for path in MODULES]
    read += [(path, scalars(path)) for path in (*PACKAGE.rglob("*.yaml"), *ROOT.glob("inventories/*.yaml"))]
    read += [(path, iter((path.read_text(),))) for path in (*PAGES, *PACKAGE.rglob("*.md"))]
    found = ((path, each) for path, parts in read for text in parts for each in paragraphs(text))
    return tuple((str(path.relative_to(ROOT)), each) for path, each in found)


def unresolvable(text: str) -> list[str]:
    """Return the codes of a text whose document it does not name."""
    lines = [] if DOCUMENTS.search(text) else LINES.findall(text)
    return [*NUMBERED_LIST.findall(text), *lines]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("the unit is what ran (D6)", ["(D6)"]),
        ("CUDA saw 62 GB (dual-Spark post L61; D5)", ["(dual-Spark post L61; D5)"]),
        ("the rows do not fit (D4, D3)", ["(D4, D3)"]),
        ("the cache was lost (L406)", ["L406"]),
        ("see L12-17 of it", ["L12"]),
        ("the cache was lost (DeepSeek-V4 thread L406)", []),
        ("see MEM001 and https://a.example/b.py#L12", []),
    ],
)
def test_codes_are_recognised(text: str, codes: list[str]) -> None:
    assert unresolvable(text) == codes


def test_a_code_of_a_document_is_beside_the_name_of_the_document() -> None:
    assert len(texts()) > 10_000
    assert [(path, text) for path, text in texts() if unresolvable(text)] == []


def raised(text: str) -> list[str]:
    """Return the names of the exceptions that a docstring names."""
    return [name for sentence in EXCEPTIONS.findall(text) for name in CAMEL_CASE.findall(sentence)]


def identifiers() -> set[str]:
    """Return the classes of the package and every attribute that it uses, such as `subprocess.TimeoutExpired`."""
    nodes = [node for path in MODULES for node in ast.walk(ast.parse(path.read_text()))]
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return classes | {node.attr for node in nodes if isinstance(node, ast.Attribute)} | set(dir(builtins))


def test_exceptions_that_docstrings_name_exist() -> None:
    assert raised("Write it. Raises Unsupported and `ToolError` for a bad one.") == ["Unsupported", "ToolError"]
    named = [(str(path.relative_to(ROOT)), name) for path in MODULES for each in strings(path) for name in raised(each)]
    known = identifiers()
    assert len(named) > 50
    assert [(path, name) for path, name in named if name not in known] == []


@cache
def signatures() -> dict[str, frozenset[str]]:
    """Return the command lines without arguments, with their options; a group has those of its parts."""
    found: dict[str, frozenset[str]] = {}

    def add(name: str, command: click.Command) -> frozenset[str]:
        own = frozenset(each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts))
        if isinstance(command, click.Group):
            parts = {
                part: command.get_command(click.Context(command), part)
                for part in command.list_commands(click.Context(command))
            }
            own |= frozenset[str]().union(
                *(add(f"{name} {part}".strip(), each) for part, each in parts.items() if each)
            )
        found[name] = own | {"--help", "--"}
        return own

    add("", cli)
    return found


def unknown(command: str) -> list[str]:
    """Return the words of a command line that sparkiac does not accept; options of Ansible come after `--`."""
    words = command.partition(" -- ")[0].split()
    name = " ".join(words[:2]) if " ".join(words[:2]) in signatures() else words[0]
    options = [word.partition("=")[0].rstrip("].,") for word in words if word.startswith("--")]
    return [each for each in options if each not in signatures().get(name, frozenset())] + (
        [name] * (name not in signatures())
    )


def test_commands_that_texts_name_exist() -> None:
    assert [unknown(each) for each in ("chek a.yaml", "check --fixx", "recipes show NAME --json")] != [[], [], []]
    found = [(path, each) for path, text in texts() for each in re.findall(r"`sparkiac ([a-z][^`]*)`", text)]
    assert len(found) > 300
    assert [(path, each, unknown(each)) for path, each in found if unknown(each)] == []


def test_files_of_the_repository_that_texts_name_exist() -> None:
    folders = r"(?:sparkiac|docs|tests|tools|templates|playbooks)"
    found = [(path, each) for path, text in texts() for each in re.findall(rf"`({folders}/[\w./-]+)`", text)]
    assert len(found) > 100
    assert [(path, each) for path, each in found if not (ROOT / each).exists()] == []
