"""Entries from public sources run the options that their sources print, but for what they name as corrections."""

from __future__ import annotations

import json
import re
import shlex
from typing import Final

import pytest

from sparkiac.resolve import catalogued
from sparkiac.words import entries
from tests.catalog.printed.public import DIFFERS, PRINTED

OWN: Final = {"host", "port", "served-model-name", "model-path", "enable-metrics"}
"""Options that each deployment has, whatever its recipe; the last two are SGLang's."""
PARALLEL: Final = {"tensor-parallel-size"}
"""1 in a source is the default of vLLM, and a group sets it from its hosts."""


def options(words: list[str]) -> dict[str, object]:
    """Read options of either form, `--name=value` and `--name value`; a bare one is true, `--no-name` is false."""
    found: dict[str, object] = {}
    for index, word in enumerate(words):
        if word.startswith("--"):
            name, equal, value = word[2:].partition("=")
            following = words[index + 1] if index + 1 < len(words) else "--"
            text = value if equal else "true" if following.startswith("--") else following
            negative = name.startswith("no-") and text == "true"
            found[name.removeprefix("no-") if negative else name] = False if negative else typed(text)
    return found


def typed(text: str) -> object:
    """Return the value of an argument; vLLM reads 8G as 8 x 1,024^3."""
    if re.fullmatch(r"\d+G", text):
        return int(text[:-1]) << 30
    try:
        return json.loads(text)
    except ValueError:
        return text


def rendered(name: str) -> dict[str, object]:
    """Return the options of an entry; an image that its source builds is left to the inventory."""
    each = catalogued.named(name)
    each = each._replace(values={"image": "example.org/engine:1", **each.values})
    found = options(entries.entry(each)["start"]["words"])
    return {key: value for key, value in found.items() if key not in OWN | PARALLEL}


@pytest.mark.parametrize("name", PRINTED)
def test_the_options_are_those_of_the_source_but_for_a_correction(name: str) -> None:
    printed, found = options(shlex.split(PRINTED[name])), rendered(name)
    expected, correction = DIFFERS.get(name, (set(), None))
    different = {key for key in printed.keys() | found.keys() if printed.get(key) != found.get(key)}
    assert different == expected
    told = [each.what for entry in catalogued.named(name).entries for each in entry.corrections]
    assert correction is None or correction in told


def test_each_entry_with_evidence_is_compared_with_its_source() -> None:
    missing = {each.name for each in catalogued.everything() if each.entry.evidence} - set(PRINTED)
    assert missing == set(), "PRINTED of tests/catalog/printed/public.py has the options of each entry with evidence"
    assert len(PRINTED) >= 50
