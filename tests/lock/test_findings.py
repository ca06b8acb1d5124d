"""What is told of a lock and of upstream: each code has a page, and each finding a place."""

from __future__ import annotations

import ast
import re

import pytest

from sparkiac.lock.findings import only_missing_responses, refused
from sparkiac.report import Mark, Severity
from sparkiac.rules.pages import others
from sparkiac.upstream import errors
from tests.conftest import ROOT
from tests.lock.pins import LOC, image, model

PAGES = {page.rule.code: page for page in others() if page.rule.phase == "lock"}
NO_RESPONSE = {errors.REGISTRY_NO_RESPONSE, errors.HUB_NO_RESPONSE, errors.HOST_NO_RESPONSE, errors.FILE_NO_RESPONSE}


def test_every_code_of_the_lock_has_a_page_and_no_page_is_of_another() -> None:
    package = ROOT / "sparkiac"
    sources = [*(package / "upstream").rglob("*.py"), *(package / "lock").rglob("*.py"), package / "resolve/sources.py"]
    texts = [
        node.value
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    ]
    found = {text for text in texts if isinstance(text, str) and re.fullmatch("LCK[0-9]{3}", text)}
    assert found == PAGES.keys()
    assert list(PAGES) == sorted(PAGES)


@pytest.mark.parametrize("code", PAGES)
def test_a_page_says_in_a_sentence_what_is_wrong_and_then_why(code: str) -> None:
    page = PAGES[code]
    assert re.fullmatch(r"[A-Z`][^\n]*\.", page.title)
    assert len(page.why) > len(page.title) / 2
    assert (page.rule.severity, page.rule.waivable, page.rule.phase) == (Severity.ERROR, False, "lock")


@pytest.mark.parametrize("code", PAGES)
def test_only_silence_comes_by_itself(code: str) -> None:
    finding = refused(image(), code, "it is gone", "look again")
    assert (finding.code, finding.slug, finding.loc) == (code, PAGES[code].rule.slug, LOC)
    assert (finding.message, finding.hint) == ("it is gone (used by chat)", "look again")
    assert only_missing_responses([finding]) == (code in NO_RESPONSE)
    assert not only_missing_responses([finding, refused(image(), "LCK001", "", "")])


def test_a_revision_that_is_not_there_is_reported_where_it_is_named() -> None:
    place = LOC._replace(mark=Mark(9, 1, 9, 2))
    named = model(revision="v1")._replace(revision_loc=place)
    assert refused(named, errors.NO_REVISION, "none", "").loc == place
    assert refused(named, errors.GATED, "gated", "").loc == LOC
    assert refused(model(), errors.NO_REVISION, "none", "").loc == LOC
