"""Files of strangers that are bombs for their readers: a sentence, little memory, no traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from tests.hostile import measured
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from pathlib import Path

RUN: Final = "docker run --gpus all vllm/vllm-openai:v0.28.0 --model a/b "
SPARKRUN: Final = "recipe_version: 2\nmodel: a/b\nruntime: vllm\ncontainer: x\ncommand: vllm serve a/b\n"


class FileCase(NamedTuple):
    """What a file is, its name and content, the command that reads it, and what it says."""

    is_: str
    name: str
    content: str
    words: tuple[str, ...]
    code: int
    said: str


IMPORT: Final = ("import", "FILE")
CHECK: Final = ("check", "FILE")
CASES: Final = (
    FileCase("too large", "a.sh", "#" * (1 << 20) + "\n", IMPORT, 2, "the file has more than 1048576 bytes"),
    FileCase(
        "deep JSON",
        "a.json",
        '[{"HostConfig":{},"Config":' + "[" * 900 + "]" * 900 + "}]",
        IMPORT,
        2,
        "JSON with more than 64 levels",
    ),
    FileCase(
        "JSON of many values",
        "a.json",
        '[{"HostConfig":{},"Config":{}},' + "[]," * 300_000 + "[]]",
        IMPORT,
        2,
        "JSON with more than 200000 values",
    ),
    FileCase(
        "JSON without a finite number",
        "a.json",
        '[{"HostConfig":{},"Config":{"x":NaN}}]',
        IMPORT,
        2,
        "NaN is not a finite number",
    ),
    FileCase(
        "an option of brackets", "a.sh", f"{RUN}--hf-overrides '{'[' * 20_000}'\n", IMPORT, 0, "Imported from a.sh"
    ),
    FileCase(
        "a long path of an option", "a.sh", f"{RUN}--hf-overrides.{'a.' * 1_500}b 1\n", IMPORT, 1, "Imported from a.sh"
    ),
    FileCase(
        "a page of quotes",
        "a.md",
        "> " * 20_000 + "x\n" + "- " * 20_000 + "\n```\n" * 5_000,
        IMPORT,
        2,
        "no block of this page starts a server",
    ),
    FileCase("nested substitutions", "a.sh", "$(" * 20_000 + "\n", IMPORT, 2, "error IMP001"),
    FileCase(
        "a bomb of aliases",
        "a.yaml",
        SPARKRUN
        + "defaults:\n  a: &a [x, x]\n"
        + "".join(f"  {chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24)),
        IMPORT,
        2,
        "more than 50000 keys and values",
    ),
    FileCase("deep YAML", "a.yaml", SPARKRUN + "defaults: " + "[" * 5_000, IMPORT, 2, "levels deep"),
    FileCase(
        "an inventory of aliases",
        "lab.yaml",
        "name: lab\nhosts: &a {}\ndeployments: *a\n",
        CHECK,
        2,
        "anchors are not supported",
    ),
    FileCase("an inventory of brackets", "lab.yaml", "[" * 3_000_000, CHECK, 2, "nested more than 20 levels deep"),
    FileCase(
        "an inventory of many items",
        "lab.yaml",
        deployment(f"set: {{a: [{'1, ' * 250_000}1]}}"),
        CHECK,
        2,
        "more than 200000 keys and values",
    ),
    FileCase("an inventory that is too large", "lab.yaml", "#" * (5 << 20), CHECK, 2, "the limit is 4194304"),
    FileCase(
        "a record of empty points",
        "a.json",
        '{"version":1,"points":[' + "{}," * 600_000 + "{}]}",
        ("bench", "show", "FILE"),
        2,
        "JSON with more than 200000 values",
    ),
    FileCase(
        "a result of another benchmark that is deep",
        "a.json",
        '{"total_output_tokens":1,"model_id":' + "[" * 900 + "]" * 900 + "}",
        ("bench", "show", "FILE"),
        2,
        "JSON with more than 64 levels",
    ),
    FileCase(
        "a lock of many faults",
        "lab.lock.yaml",
        "version: 1\nimages:\n" + "".join(f"  a/b:{n}: {{}}\n" for n in range(60_000)),
        ("check", "lab.yaml"),
        2,
        "only the first 100 errors of this file are shown",
    ),
)
OFTEN: Final = frozenset({"deep JSON", "an inventory of many items", "a bomb of aliases"})
"""What `make test` tries; `make test-deep` tries all."""


@pytest.mark.parametrize(
    "case", [pytest.param(each, id=each.is_, marks=() if each.is_ in OFTEN else pytest.mark.deep) for each in CASES]
)
def test_a_hostile_file_costs_little(case: FileCase, tmp_path: Path) -> None:
    for name, text in (("lab.yaml", deployment()), ("lab.lock.yaml", LOCK), (case.name, case.content)):
        (tmp_path / name).write_text(text)
    words = tuple(word.replace("FILE", case.name) for word in case.words)
    found = measured.run(*words, cwd=tmp_path, env={"HOME": str(tmp_path), "COLUMNS": "500"})
    assert case.said in found.text, found
    assert (found.code, found.left) == (case.code, []), found
    assert "Traceback" not in found.text
    assert found.peak_bytes < measured.MOST_BYTES, found
