"""A literal where must be a reference to a secret is refused, and appears in no output of any kind."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, get_args

import pytest
import yaml

from sparkiac.model import catalog, inventory, lock, monitoring, services, settings
from sparkiac.model.base import SECRET_KEYS, Model, SecretRef
from sparkiac.report import Report
from sparkiac.source import reader
from sparkiac.words.findings import as_data as as_json
from sparkiac.words.findings import as_text
from tests.source.reading import FLEET, PIECES, ROOT, findings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CANARY = "hunter2canary"
D = f"{FLEET}defaults:\n"

REFUSED = {
    "text": f"{D}  api_key: {CANARY}\n",
    "quoted": f"{D}  api_key: '{CANARY}'\n",
    "flow style, before other keys": f"{FLEET}defaults: {{api_key: {CANARY}, bind: lan, user: x}}\n",
    "flow style, with faults around it": f"{FLEET}defaults: {{bind: wan, api_key: {CANARY}, usr: x, user: 1}}\n",
    "ambiguous word beside it": f"{FLEET}defaults: {{user: no, api_key: {CANARY}}}\n",
    "list": f"{D}  api_key: [{CANARY}, b]\n",
    "block list": f"{D}  api_key:\n    - {CANARY}\n    - b\n",
    "wrong keys": f"{D}  api_key: {{secret: vllm, value: {CANARY}}}\n",
    "wrong keys in a block": f"{D}  api_key:\n    secret: vllm\n    value: {CANARY}\n",
    "key without a value": f"{D}  api_key: {{{CANARY}}}\n",
    "under the right key": f"{D}  api_key: {{secret: '{CANARY} !'}}\n",
    "list under the right key": f"{D}  api_key: {{secret: [{CANARY}]}}\n",
    "nested": f"{D}  api_key: {{a: {{b: [{CANARY}]}}}}\n",
    "literal block": f"{D}  api_key: |\n    {CANARY}\n    second\n",
    "folded block": f"{D}  api_key: >-\n    {CANARY}\n",
    "plain over two lines": f"{D}  api_key: first\n    {CANARY}\n  bind: wan\n",
    "quoted over two lines": f"{D}  api_key: 'first\n    {CANARY}'\n",
    "value on the next line": f"{D}  api_key:\n    {CANARY}\n",
    "number": f"{D}  api_key: 424242\n",
    "octal number": f"{D}  api_key: 0424242\n",
    "number with underscores": f"{D}  api_key: 424_242\n",
    "list of ambiguous words": f"{D}  api_key: [0424242, {CANARY}]\n",
    "tag": f"{D}  api_key: !{CANARY} {CANARY}\n",
    "anchor": f"{D}  api_key: &{CANARY} x\n",
    "alias": f"{D}  api_key: *{CANARY}\n",
    "twice the key": f"{D}  api_key: {CANARY}\n  api_key: {CANARY}\n",
    "twice the key, the first one right": f"{D}  api_key: {{secret: a}}\n  api_key: [{CANARY}, {CANARY}]\n",
    "twice a key inside": f"{D}  api_key: {{{CANARY}: 1, {CANARY}: 2}}\n",
    "key that is no word": f"{D}  api_key: {{1: {CANARY}, [{CANARY}]: b}}\n",
    "key that is a number": f"{D}  api_key: {{424242: x}}\n",
    "escape": f'{D}  api_key: "{CANARY}\\e"\n',
    "another spelling": f"{D}  api-key: {CANARY}\n",
    "capitals": f"{D}  APIKEY: {CANARY}\n",
    "misspelt": f"{D}  api_kye: {CANARY}\n  bind: wan\n",
    "misspelt, with a fault on its line": f"{FLEET}defaults: {{bind: no, api_kye: {CANARY}, user: 1}}\n",
    "another name": f"{D}  token: {CANARY}\n",
    "in the wrong place": f"{FLEET}api_key: {CANARY}\n",
    "tab": f"{D}  api_key: {CANARY}\n\tbind: lan\n",
    "syntax, on its line": f"{D}  api_key: {CANARY}: x\n",
    "syntax, before it": f"{FLEET}defaults: {{bind: 'lan'x, api_key: {CANARY}}}\n",
    "syntax, inside it": f"{D}  api_key: |\n    {CANARY}\n  \t{CANARY}\n",
    "unclosed quote": f"{D}  api_key: '{CANARY}\n",
    "unclosed bracket": f"{D}  api_key: {{secret: a, value: {CANARY}\n",
    "no colon": f"{D}  api_key {CANARY}\n  bind: lan\n",
    "undefined tag handle": f"{D}  api_key: !{CANARY}!x y\n",
    "control character on its line": f"{D}  api_key: {CANARY}\x07\n",
    "control character below it": f"{D}  api_key:\n    {CANARY}\x07\n",
    "byte that is no UTF-8": f"{D}  api_key: {CANARY}".encode() + b"\xff\n",
    "second document": f"{D}  api_key: {{secret: a}}\n--- {{api_key: {CANARY}}}\n",
    "too deep": f"{D}  api_key: {'[' * 30}{CANARY}{']' * 30}\n",
    "wide characters": f"{FLEET}defaults: {{user: 中文, api_key: 中{CANARY}文, bind: wan}}\n",
}
NEVER = (CANARY, "424242", "424_242")


@pytest.fixture(params=["libyaml", "pure Python"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure Python":
        monkeypatch.setattr(reader, "LOADER", yaml.SafeLoader)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("name", REFUSED)
def test_a_literal_is_never_printed(name: str) -> None:
    report = Report.of(findings(REFUSED[name]))
    assert report.failed
    printed = as_text(report, colour=False) + repr(as_json(report)) + repr(report)
    assert not [secret for secret in NEVER if secret in printed], printed


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_the_command_line_does_not_print_it(cli: Callable[..., Any], tmp_path: Path, output_format: str) -> None:
    for number, text in enumerate((REFUSED["flow style, with faults around it"], REFUSED["literal block"])):
        inventory_file = tmp_path / f"{number}.yaml"
        inventory_file.write_text(str(text))
        for command in ("check", "plan", "generate"):
            done = cli(command, str(inventory_file), "--format", output_format)
            assert done.code == 2
            assert "must be a reference to a secret" in done.text
            assert CANARY not in done.text


def test_no_damage_around_a_literal_brings_it_out() -> None:
    chance = random.Random(0)
    lab = (ROOT / "inventories/lab.yaml").read_text(encoding="utf-8")
    before, after = lab.split("api_key: {secret: vllm_api_key}")
    for _ in range(1_500):
        form = chance.choice((f"{CANARY}", f"{{secret: a, value: {CANARY}}}", f"[a, {CANARY}]", f"|\n    {CANARY}\n"))
        start, end = (chance.randrange(100) for _ in range(2))
        piece, other = chance.choices(PIECES, k=2)
        text = f"{before[:-start]}{piece}{before[-start:]} api_key: {form}{after[:end]}{other}{after[end:]}"
        assert CANARY not in repr(findings(text)), text


def test_columns_stay_right_beside_a_literal() -> None:
    text = f"{FLEET}defaults: {{api_key: {CANARY}, bind: wan}}\n"
    literal, bind = findings(text)
    assert literal.loc is not None
    assert bind.loc is not None
    assert (literal.message, literal.loc.mark[:2]) == (
        "defaults.api_key: must be a reference to a secret (value hidden)",
        (4, 21),
    )
    assert "{secret: NAME}" in literal.hint
    assert bind.loc.text == f"defaults: {{api_key: {'*' * len(CANARY)}, bind: wan}}"
    assert bind.loc.text[bind.loc.mark.column - 1 :] == "wan}"


def test_references_are_shown() -> None:
    for reference in ("{secret: vllm_api_key}", "{ 'secret' : \"vllm_api_key\" }"):
        (finding,) = findings(f"{FLEET}defaults: {{api_key: {reference}, bind: wan}}\n")
        assert finding.loc is not None
        assert "vllm_api_key" in finding.loc.text
    (broken,) = findings(f"{FLEET}defaults: {{api_key: {{secret: vllm_api_key}}, bind: 'lan'x}}\n")
    assert broken.loc is not None
    assert "vllm_api_key" in broken.loc.text


def test_a_literal_says_what_to_write_even_where_the_word_is_ambiguous() -> None:
    (finding,) = findings(f"{D}  api_key: 0424242\n")
    assert (finding.code, finding.message) == ("YML007", "*** is octal to some YAML parsers and decimal to others")
    assert "{secret: NAME}" in finding.hint


def test_every_field_that_contains_a_reference_is_known() -> None:
    modules = (catalog, inventory, lock, monitoring, services, settings)
    models = {
        found
        for module in modules
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, Model)
    }
    fields = {
        name
        for model in models
        for name, field in model.model_fields.items()
        if SecretRef in (field.annotation, *get_args(field.annotation))
    }
    assert fields == {*SECRET_KEYS, "tls"}, "that of a certificate may also be a path, and is a word of its own"
