"""Files that people have, each with some faults in it: a draft or a finding, and nothing that a terminal would run.

With SPARKIAC_FUZZ, a thousand of them are tried.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import yaml

from sparkiac.report.characters import REFUSED
from tests.conftest import ROOT
from tests.engines import corpus
from tests.importers.test_launches import LAUNCHES, form

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

TRIES: Final = 1000 if os.environ.get("SPARKIAC_FUZZ") else 60
NAMES: Final = {
    "markdown": "page.md",
    "inspect": "inspect.json",
    "systemd": "a.service",
    "sparkrun": "a.yaml",
    "eugr": "b.yaml",
    "compose": "docker-compose.yaml",
    "shell": "run.sh",
}
"""Format → a name that files of it have."""
OWN: Final = ("docs/import.md", "docs/export.md", "docs/own-models.md", "README.md")
WRITTEN_OUT: Final = tuple((NAMES[form(each)], str(each[form(each)])) for each in LAUNCHES.values())
REAL: Final = (
    *WRITTEN_OUT,
    *((Path(name).name, (ROOT / name).read_text(encoding="utf-8")) for name in OWN),
    *((path.name, path.read_text(encoding="utf-8")) for path in corpus.files()),
)
"""Names and texts of files."""
ODD: Final = (
    *("\x00", "\x07", "\x1b[2J", "\x1b]0;x\x07", "\x7f", "\x85", "\x9b31m", "\u2028", "\u202e", "\u2066", "\ufeff"),
    *("\ufffe", "\r", "\r\n", "\t", "\xa0", "\U0001f600", "e\u0301", "'", '"', "`", "$(", "${", "$", "\\", "\\\n"),
    *("{", "}", "{{", "}}", "[", "]", "(", ")", "<<EOF\n", ";", "&&", "|", "#", "=", ":", ": ", "- ", "&a ", "*a"),
    *("<<: *a\n", "```\n", "~~~\n", "%s", "%%", "%i", "-", "--", "--no-", "9" * 400, "1e999", "NaN", "-0", "\n\n"),
    *("\nservices:\n", "\n[Service]\n", "\ndocker run ", "\n---\n", "\ncommand: |\n", '"HostConfig": {', "\nEOF\n"),
)


def mutated(chance: random.Random) -> tuple[str, bytes]:
    """Return a file with one to eight faults."""
    name, text = chance.choice(REAL)
    for _ in range(chance.randint(1, 8)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 1, 4, 30, 300]))
        added = chance.choice([*ODD, "", text[start:end] * chance.choice([2, 2, 40]), chance.choice(REAL)[1][:400]])
        text = text[:start] + added + text[end:]
    raw = text.encode("utf-8", "surrogatepass")
    at = chance.randrange(len(raw) + 1)
    return name, raw if chance.random() < 0.9 else raw[:at] + b"\xff\xc3" + raw[at + 1 :]


def took(cli: Cli, folder: Path, seed: int) -> None:
    """Import a mutated file: a draft, or a finding at a place, in printable characters."""
    name, raw = mutated(random.Random(seed))
    (folder / name).write_bytes(raw)
    outcome = cli("import", name)
    assert outcome.code in {0, 1, 2}, outcome.text
    assert re.search(f"[{REFUSED}\r]", outcome.text) is None, outcome.text
    if outcome.code == 2:
        assert outcome.out == ""
        assert re.search(rf"^{re.escape(name)}:\d+:\d+: error IMP001", outcome.err, re.MULTILINE), outcome.err
    else:
        assert isinstance(yaml.safe_load(outcome.out), dict)


@pytest.mark.parametrize("part", range(6))
def test_a_mutated_file_is_a_draft_or_a_finding(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = {}
    for seed in range(part, TRIES, 6):
        try:
            took(cli, tmp_path, seed)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  all failures are shown together
            failed[seed] = repr(error)[:300]
    assert failed == {}
