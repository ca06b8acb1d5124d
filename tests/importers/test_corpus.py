"""Recipes that people use: each is read as its own tool reads it, and nothing that it says goes without a word.

The files are not part of the project; without them these tests are skipped. What the tools make of a file is written
here a second time, from their documents and apart from the importers.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac import pipeline
from sparkiac.commands.import_ import read_files
from sparkiac.engines.engine import REPLACED
from sparkiac.foreign import eugr, sparkrun
from sparkiac.foreign.assemble import inventory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from sparkiac.foreign.launch import Launch

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
EUGR = sorted((CORPUS / "eugr-v1").rglob("*.yaml"))
SPARKRUN = sorted((CORPUS / "sparkrun-v2").rglob("*.yaml"))
FILES = [*((eugr, path) for path in EUGR), *((sparkrun, path) for path in SPARKRUN)]
needs_corpus = pytest.mark.skipif(not FILES, reason="the recipes of other people are not here")
_BACKEND = re.compile(r"--distributed-executor-backend\s+\S+")


def launch(importer: ModuleType, path: Path) -> Launch:
    (found,) = importer.read(path.read_text(), name=path.name)
    return found


def data(path: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(path.read_text())
    assert isinstance(loaded, dict)
    return loaded


def split(text: str) -> list[str]:
    return shlex.split(re.sub(r"\\[ \t]*\n", " ", text))


def eugr_words(recipe: dict[str, Any]) -> list[str]:
    """Do what run-recipe.py does: str.format, one machine for solo_only, no Ray."""
    values = {**(recipe.get("defaults") or {}), **({"tensor_parallel": 1} if recipe.get("solo_only") else {})}
    text = _BACKEND.sub("", recipe["command"].format(**values))
    lines = [line for line in text.split("\n") if line.strip() not in {"", "\\"}]
    return split("\n".join(lines).rstrip().rstrip("\\"))


def sparkrun_words(recipe: dict[str, Any]) -> list[str]:
    """Do what RECIPES.md says: known placeholders again and again, the served name where the command lacks it."""
    values = {"model": recipe["model"], **(recipe.get("defaults") or {})}
    text, before = recipe["command"], ""
    while text != before:
        before = text
        text = re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), text)
    words = split(text)
    name = values.get("served_model_name")
    return words if name is None or "--served-model-name" in words else [*words, "--served-model-name", str(name)]


def flags(words: tuple[str, ...] | list[str]) -> Counter[tuple[str, ...]]:
    """Return each flag with its values; those in front of the first flag belong together."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-"):
            groups.append([])
        groups[-1].append(word)
    return Counter(map(tuple, groups))


IN_ANOTHER_FORM = {"--host", "--port", "--served-model-name", "--tensor-parallel-size", "-tp", "--tp", "-pp"}
"""Options that follow from keys of the inventory, and are judged by other tests."""
ONE_WITHOUT = {"--pipeline-parallel-size", "--data-parallel-size"}


def values(words: tuple[str, ...] | list[str]) -> dict[str, object]:
    """Return option → value as vLLM reads it, each key of a mapping by itself: --speculative-config.method."""
    found: dict[str, object] = {}
    for name, *given in flags(words):
        head, equals, value = name.partition("=")
        head = {"-cc": "--compilation-config"}.get(head.partition(".")[0], head) + head[3:] * head.startswith("-cc.")
        if head.startswith("-") and head not in IN_ANOTHER_FORM:
            found |= flat(head, yaml.safe_load(" ".join((value, *given) if equals else given)))
    return {name: value for name, value in found.items() if name not in ONE_WITHOUT or value != 1}


def flat(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        return {name.replace("_", "-"): value}
    return {each: inner for key, part in value.items() for each, inner in flat(f"{name}.{key}", part).items()}


def verdict(importer: ModuleType, path: Path) -> str:
    """Say whether a draft renders the options of its recipe: equal, told (a note names each other one), or silent."""
    [(_, entry)] = read_files((path,)).entries
    planned = pipeline.planned(pipeline.InputFile("draft.yaml", inventory(((path.name, entry),), "draft", ()).encode()))
    assert planned is not None
    leader = next(each for host in planned[1].hosts for each in host.containers)
    wanted = values((eugr_words if importer is eugr else sparkrun_words)(data(path)))
    rendered = values(leader.argv)
    wanted = {name: value for name, value in wanted.items() if name.lstrip("-").replace("-", "_") not in REPLACED}
    other = [name for name, value in wanted.items() if rendered.get(name) != value]
    told = [name for name in other if any(name in note.what or str(wanted[name]) in note.what for note in entry.notes)]
    return "equal" if not other else "told" if told == other else "silent"


@needs_corpus
def test_what_a_draft_renders_is_the_recipes_command_or_a_note_tells_the_difference() -> None:
    found = {path: verdict(importer, path) for importer, path in FILES}
    assert [path.stem for path, each in found.items() if each == "silent"] == []
    assert [*found.values()].count("told") <= 0.15 * len(found)


@needs_corpus
def test_the_corpus_is_whole() -> None:
    assert (len(EUGR), len(SPARKRUN)) == (35, 37)


@needs_corpus
@pytest.mark.parametrize(("importer", "path"), FILES, ids=lambda value: getattr(value, "stem", ""))
def test_one_importer_knows_each_file(importer: ModuleType, path: Path) -> None:
    text = path.read_text()
    assert [each for each in (eugr, sparkrun) if each.recognise(text, path.name)] == [importer]


@needs_corpus
@pytest.mark.parametrize("path", EUGR, ids=lambda path: path.stem)
def test_a_recipe_of_eugr_starts_what_its_launcher_starts(path: Path) -> None:
    assert flags(launch(eugr, path).argv) == flags(eugr_words(data(path)))


@needs_corpus
@pytest.mark.parametrize("path", SPARKRUN, ids=lambda path: path.stem)
def test_a_recipe_of_sparkrun_starts_what_sparkrun_starts(path: Path) -> None:
    assert flags(launch(sparkrun, path).argv) == flags(sparkrun_words(data(path)))


@needs_corpus
@pytest.mark.parametrize("path", EUGR, ids=lambda path: path.stem)
def test_a_backend_that_is_taken_out_is_noted(path: Path) -> None:
    noted = [note for note in launch(eugr, path).notes if note.what.startswith("--distributed-executor-backend")]
    assert len(noted) == len(_BACKEND.findall(data(path)["command"]))


@needs_corpus
@pytest.mark.parametrize(("importer", "path"), FILES, ids=lambda value: getattr(value, "stem", ""))
def test_the_machines_are_those_of_the_parallel_sizes(importer: ModuleType, path: Path) -> None:
    recipe = data(path)
    sizes = {"-tp": 1, "-pp": 1, "--tensor-parallel-size": 1, "--pipeline-parallel-size": 1, "--tp": 1}
    words = launch(importer, path).argv
    sizes |= {flag: int(value) for flag, value in pairwise(words) if flag in sizes}
    product = 1
    for size in sizes.values():
        product *= size
    found = launch(importer, path).nodes
    assert found == (1 if recipe.get("solo_only") or recipe.get("max_nodes") == 1 else product)
    assert found >= recipe.get("min_nodes", 1)


def leaves(node: yaml.Node, path: tuple[str, ...] = (), lines: tuple[int, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield path, text and the lines of the key and those above it, for each value of a composed document."""
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, value in node.value:
            yield from leaves(value, (*path, key.value), (*lines, key.start_mark.line + 1))
    elif isinstance(node, yaml.SequenceNode) and node.value:
        for value in node.value:
            yield from leaves(value, (*path, "-"), (*lines, value.start_mark.line + 1))
    else:
        value = yaml.SafeLoader("").construct_object(node) if isinstance(node, yaml.ScalarNode) else ""  # type: ignore[no-untyped-call]
        yield path, str(value).strip(), lines


def says_nothing(path: tuple[str, ...], text: str) -> bool:
    return text in {"", "None", "False"} or path[0] in {"recipe_version", "command"}


def is_understood(path: tuple[str, ...], text: str, found: Launch, command: str) -> bool:
    """Whether the launch says what a value says, in the field that is for it."""
    key, name = path[0], path[-1]
    if key == "env":
        return any(each.name == name and each.value == text for each in found.env)
    if key == "defaults" and f"{{{name}}}" in command:
        return any(part in word for part in text.split() for word in found.argv)
    if key == "defaults":
        return name in {"tensor_parallel", "pipeline_parallel", "data_parallel"} and found.nodes % int(text) == 0
    return text in {
        "name": {found.name},
        "description": {found.description},
        "metadata": {found.description} if name == "description" else set(),
        "model": {found.model},
        "container": {found.image},
        "solo_only": {str(found.nodes == 1)},
        "cluster_only": {str(found.nodes > 1)},
        "min_nodes": {str(found.nodes), "1"},
        "max_nodes": {str(found.nodes)},
        "runtime": {found.argv[0]},
    }.get(key, set())


@needs_corpus
@pytest.mark.parametrize(("importer", "path"), FILES, ids=lambda value: getattr(value, "stem", ""))
def test_all_that_a_file_says_is_in_the_launch_or_in_a_note(importer: ModuleType, path: Path) -> None:
    found, command = launch(importer, path), data(path)["command"]
    noted = {note.line for note in found.notes}
    root = yaml.compose(path.read_text(), Loader=yaml.SafeLoader)
    assert found.argv
    for where, text, lines in leaves(root):
        assert says_nothing(where, text) or is_understood(where, text, found, command) or noted & set(lines), (
            f"{path.name}: {'.'.join(where)}"
        )


@needs_corpus
@pytest.mark.parametrize(("importer", "path"), FILES, ids=lambda value: getattr(value, "stem", ""))
def test_a_note_is_at_its_line(importer: ModuleType, path: Path) -> None:
    lines = path.read_text().split("\n")
    for note in launch(importer, path).notes:
        word = re.split(r"[:\s]", note.what.removeprefix("mods: ").removeprefix("build_args: "))[0]
        assert word in lines[note.line - 1] or note.what.startswith(("for ", "executor_config")), note


@needs_corpus
@pytest.mark.parametrize(("importer", "path"), FILES, ids=lambda value: getattr(value, "stem", ""))
def test_each_word_of_the_command_has_its_line(importer: ModuleType, path: Path) -> None:
    found, lines = launch(importer, path), path.read_text().split("\n")
    assert len(found.lines) == len(found.argv)
    for word, line in zip(found.argv, found.lines, strict=True):
        assert word in lines[line - 1] or "{" in lines[line - 1], (word, line)
