"""Recipes that people share: YAML with the template of a command, in two dialects.

A small reader for the tests. One dialect is Python's `str.format`, in which `{{` is a brace. The other one replaces
`{name}` and leaves every other brace alone. The files do not say which one they are in.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CORPUS: Final = ROOT.parent / "shared" / "corpus"
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_DEPTH: Final = 5


class Shared(NamedTuple):
    """A recipe with a command for vLLM."""

    name: str
    """Path of its file in the corpus."""
    words: tuple[str, ...]
    """What stands behind `vllm serve`, with the file's defaults."""
    env: tuple[str, ...]
    """Names of its environment variables."""
    mods: tuple[str, ...]
    """Patches that it names, and arguments for the build of its image."""
    container: str


def files() -> tuple[Path, ...]:
    """Return all files, sorted."""
    return tuple(sorted(CORPUS.rglob("*.yaml")))


def recipes() -> tuple[Shared, ...]:
    """Return every recipe with a command for vLLM."""
    return tuple(found for path in files() if (found := _read(path)) is not None)


def _read(path: Path) -> Shared | None:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    template = data.get("command") or ""
    if "vllm serve" not in template:
        return None
    values = {"model": data.get("model", "")} | (data.get("defaults") or {})
    words = tuple(shlex.split(_filled(template.replace("\\\n", " "), values)))
    start = next(place for place, pair in enumerate(itertools.pairwise(words)) if pair == ("vllm", "serve"))
    patches = (*(data.get("mods") or ()), *(data.get("build_args") or ()))
    return Shared(
        str(path.relative_to(CORPUS)), words[start + 2 :], tuple(data.get("env") or ()), patches, data["container"]
    )


def _filled(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template in the dialect that leaves no broken JSON."""
    return next(text for text in _readings(template, values) if _sound(text))


def _readings(template: str, values: Mapping[str, Any]) -> Iterator[str]:
    with contextlib.suppress(KeyError, ValueError, IndexError):
        yield template.format(**values)
    text = template
    for _ in range(_DEPTH):  # a default may name another one
        text = _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), text)
    yield text


def _sound(text: str) -> bool:
    objects = [word for word in shlex.split(text) if word.startswith("{")]
    return all(map(_is_json, objects))


def _is_json(word: str) -> bool:
    try:
        return isinstance(json.loads(word), dict)
    except ValueError:
        return False
