"""The code blocks of README and of the documentation, with the marks of those that are not run."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GENERATED: Final = {"alerts", "catalog", "facts", "reference", "rules"}
"""Pages that a program writes: their own tests run their examples."""
TASKS: Final = sorted((ROOT / "docs/tasks").glob("*.md"))
"""Pages of one task each, in the repository of the tutorial."""
PAGES: Final = (
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in GENERATED),
)
_BLOCK: Final = re.compile(
    r"^(?:<!-- (?P<mark>not run[^>]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_ENDS: Final = frozenset({"|", "&&", "||", ";", "(", ")", "<", ">", ">>"})


class Block(NamedTuple):
    """A code block."""

    page: Path
    line: int
    language: str
    text: str
    mark: str | None
    """Why it is not run."""
    heading: str
    """Heading of the section that it is in."""

    def __str__(self) -> str:
        """Name its place."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, language: str) -> Iterator[Block]:
    """Return the blocks of a page in one language."""
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        if found["language"] == language:
            above = text[: found.start("text")]
            *_, heading = ["", *re.findall(r"^##+ (.+)$", above, re.MULTILINE)]
            yield Block(page, above.count("\n") + 1, language, found["text"], found["mark"], heading)


def commands(block: Block) -> list[str]:
    """Return the command lines of a console block; a backslash continues a line."""
    joined = block.text.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


def calls(line: str) -> Iterator[list[str]]:
    """Return the words of each call of sparkiac in a command line of a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _ENDS:
            words.append(word)
            continue
        if words[:1] == ["sparkiac"]:
            yield words[1:]
        words = []


class Step(NamedTuple):
    """A command of a console block, and what the page prints below it."""

    command: str
    printed: str


def steps(block: Block) -> list[Step]:
    """Return the commands of a console block with what is printed below each; a backslash continues a command."""
    parts = re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)
    return [Step(command, printed) for command, _, printed in (part.partition("\n") for part in parts if part)]


def shows(printed: str, output: str) -> bool:
    """Tell whether an output is as printed; `…` stands for any text in a line, or alone for any lines."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") + "\n" for line in printed.splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == ".*\n" else line for line in lines)
    given = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
    return not printed or re.fullmatch(pattern, given) is not None


def edited(inventory: str, part: str) -> str:
    """Return an inventory with a part written into it, as the reader of a page does; null removes."""
    return yaml.safe_dump(_merged(yaml.safe_load(inventory), yaml.safe_load(part)), sort_keys=False)


def _merged(whole: Any, part: Any) -> Any:  # noqa: ANN401  YAML
    if not (isinstance(whole, dict) and isinstance(part, dict)):
        return part
    both = whole | {key: _merged(whole.get(key), value) for key, value in part.items()}
    return {key: value for key, value in both.items() if value is not None}
