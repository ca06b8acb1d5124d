"""The fixes of real rules: on their own pages, in every layer, and on texts of any layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac import pipeline, rules
from sparkiac.fix import repair
from sparkiac.plan import build
from sparkiac.report import Report
from sparkiac.rules.pages import pages
from sparkiac.rules.rule import every_severity
from tests.plan.fleets import ONES, PAIR, checked, deployment, resolved, service, webui
from tests.rules.pages import named

if TYPE_CHECKING:
    from sparkiac.fix import Repaired
    from sparkiac.report import Finding
    from sparkiac.rules.rule import Hidden

MECHANICAL = {
    *(
        *("API003", "ATT002", "ENT001", "FLG007", "FLG012", "FLG019", "FLG027", "MN004", "MOE006", "MOE007", "MOE008"),
        *("NET005", "NET101", "QNT002", "SPD002"),
    ),
    *("SPD012", "SPD014", "WVR001"),
}
"""Rules that mend their own bad example, at least."""
OPTION = "speculative_disable_by_batch_size"
EVERYTHING: Hidden = frozenset()


def fixed(text: str, lock: str = "", *, hidden: Hidden | None = EVERYTHING) -> pipeline.FixResult:
    pins = pipeline.InputFile("lab.lock.yaml", lock.encode()) if lock else None
    return pipeline.fix(pipeline.InputFile("lab.yaml", text.encode()), pins, hidden=hidden)


def guard_removed(text: str) -> Repaired:
    """Mend a text with the one rule SPD014."""

    def check(raw: bytes) -> Report:
        found = resolved(raw.decode())
        return Report.of(rules.check(build(found), found, rules=[named("SPD014")]))

    return repair(text.encode(), check, EVERYTHING)


def offering(text: str) -> dict[str, Finding]:
    """Return the findings that have a fix, by code."""
    return {each.code: each for each in checked(text, hidden=EVERYTHING).report.findings if each.fix}


def mended(text: str, code: str, lock: str = "") -> pipeline.FixResult:
    """Mend a text: the code is gone, the text loads, and no fix was a bad one."""
    done = fixed(text, lock)
    assert done.outcome.plan is not None
    assert code not in {finding.code for finding in done.outcome.report.findings}
    assert "was undone" not in " ".join(finding.message for finding in done.outcome.report.findings)
    assert {each.code for each in done.findings} >= {code}
    again = fixed(done.raw.decode(), lock)
    assert (again.raw, again.findings) == (done.raw, ())
    return done


@pytest.mark.parametrize("code", pages())
def test_a_rule_with_a_fix_mends_its_bad_examples(code: str) -> None:
    page = pages()[code]
    offered = 0
    for text in page.bad:
        pins = pipeline.InputFile("lab.lock.yaml", page.lock.encode()) if page.lock else None
        first = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), pins, hidden=EVERYTHING)
        own = [finding for finding in first.report.findings if finding.code == code]
        offered += any(finding.fix for finding in own)
        if own and all(finding.fix for finding in own):
            mended(text, code, page.lock)
    assert offered or code not in MECHANICAL


@pytest.mark.parametrize("code", ["ENT001", "NET005", "SPD012", "WVR001"])
def test_some_bad_examples_become_the_good_ones(code: str) -> None:
    page = pages()[code]
    assert mended(page.bad[0], code).raw.decode() == page.good[0]


def test_an_option_of_a_group_is_fixed_once() -> None:
    text = PAIR + f"    set:\n      {OPTION}: 8\n      max_num_seqs: 2\n"
    done = mended(text, "SPD014")
    assert done.raw.decode() == text.replace(f"      {OPTION}: 8\n", "")


DEFAULTS = f"{{model_store: /srv/models, set: {{{OPTION}: 8}}}}"


@pytest.mark.parametrize(
    "text",
    [
        deployment(defaults=DEFAULTS),
        deployment(f"set: {{{OPTION}: 8}}", defaults=DEFAULTS),
        PAIR + f"    per_host: {{spark-01: {{set: {{{OPTION}: 9}}}}, spark-02: {{set: {{{OPTION}: 9}}}}}}\n",
    ],
)
def test_what_another_layer_has_is_not_mended(text: str) -> None:
    assert "SPD014" in {each.code for each in checked(text, hidden=EVERYTHING).report.findings}
    assert "SPD014" not in offering(text)
    assert fixed(text).raw == text.encode()


def test_what_one_machine_of_a_group_has_for_itself_stays() -> None:
    single = f"    per_host: {{spark-01: {{set: {{{OPTION}: 9}}}}}}\n"
    done = fixed(f"{PAIR}    set: {{{OPTION}: 8}}\n{single}")
    assert done.raw.decode() == PAIR + single
    assert [each.code for each in done.findings] == ["SPD014"]
    assert "was undone" not in " ".join(each.message for each in done.outcome.report.findings)


def test_a_method_of_the_defaults_is_not_the_deployments_to_change() -> None:
    drafter = "{method: draft_model, model: google/gemma-4-26B-A4B-it-assistant}"
    image = f"image: vllm/vllm-openai:v0.21.0@{ONES}"
    text = deployment(image, defaults=f"{{model_store: /srv/models, speculative: {drafter}}}")
    found = [each for each in checked(text, hidden=EVERYTHING).report.findings if each.code == "SPD012"]
    assert len(found) == 1
    assert found[0].fix == ()


@pytest.mark.parametrize(
    ("url", "becomes"),
    [
        ("http://192.168.1.10:8009", "http://192.168.1.10:8009/v1"),
        ("http://192.168.1.10:8009/", "http://192.168.1.10:8009/v1"),
        ("http://192.168.1.10/v12", None),
        ("http://192.168.1.10/v1/models", None),
    ],
)
def test_an_address_gets_its_v1_only_where_nothing_else_is_wrong(url: str, becomes: str | None) -> None:
    text = webui(f"urls: ['http://192.168.1.9/v1', '{url}']  # ours")
    if becomes is None:
        assert "NET005" not in offering(text)
    else:
        assert mended(text, "NET005").raw.decode() == text.replace(url, becomes)


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        ("[vllm, serve, a/b]", "[a/b]"),
        ("[ 'vllm', 'serve', \"a/b\", --x ]", '[ "a/b", --x ]'),
        ("[--x, vllm, serve]", None),
    ],
)
def test_the_two_words_go_where_the_command_starts_with_them(command: str, becomes: str | None) -> None:
    text = service(f"command: {command}").replace("example.org/asr", "vllm/vllm-openai")
    if becomes is None:
        assert "ENT001" not in offering(text)
    else:
        assert mended(text, "ENT001").raw.decode() == text.replace(command, becomes)


def test_only_a_waiver_that_waives_nothing_goes() -> None:
    unused = "      - {code: NET005, reason: one}\n"
    used = "      # two\n      - code: SPD014\n        reason: two\n"
    text = deployment(f"set: {{{OPTION}: 8}}") + "    allow:\n"
    assert mended(text + unused + used, "WVR001").raw.decode() == text + used


def test_a_waiver_of_an_unknown_code_may_be_a_slip_and_stays() -> None:
    text = deployment() + "    allow: [{code: ZZZ001, reason: one}]\n"
    assert "WVR001" not in offering(text)
    assert fixed(text).raw == text.encode()


def test_only_shown_findings_are_fixed() -> None:
    text = deployment(f"set: {{{OPTION}: 8}}") + "    allow: [{code: NET005, reason: one}]\n"
    done = fixed(text, hidden=every_severity(["WVR001"]))
    assert [each.code for each in done.findings] == ["SPD014"]
    assert "WVR001" not in {each.code for each in done.outcome.report.findings}


LINES = st.sampled_from(
    [
        "# a comment",
        "",
        "max_num_seqs: 2",
        "max_model_len:   4096   # tokens",
        "dtype: 'auto'",
        'allowed_origins:  ["é", "😀"]',
        "enforce_eager: true",
    ]
)
OPTION_LINE = f"{OPTION}: 32  # off under load"


@given(
    lines=st.lists(LINES, unique=True, max_size=7),
    place=st.integers(0, 7),
    newline=st.sampled_from(["\n", "\r\n"]),
    final=st.booleans(),
    step=st.sampled_from(["  ", "   ", "        "]),
)
def test_a_mended_text_differs_in_the_lines_of_the_fix_only(
    lines: list[str], place: int, newline: str, *, final: bool, step: str
) -> None:
    """Whatever stands around the option, in whichever layout."""
    place = min(place, len(lines))
    above, shown = lines[:place], [*lines[:place], OPTION_LINE, *lines[place:]]
    block = "".join(f"    {step}{line}\n" if line else "\n" for line in shown)
    text = f"{deployment()}    set:\n{block}    # below\n    description:  'é'".replace("\n", newline)
    text += newline if final else ""
    done = guard_removed(text)
    kept = [line for line in text.split("\n") if OPTION not in line]
    if not any(": " in line for line in lines):  # `set` would be empty and goes as well
        if "# a comment" in above:
            assert done.raw == text.encode()
            [finding] = done.report.findings
            assert "a comment is among the lines" in finding.hint
            return
        first = kept.index(f"    set:{newline[:-1]}")
        del kept[first : first + 1 + len(above)]
    assert done.raw.decode() == "\n".join(kept)


FLOW = st.lists(
    st.sampled_from(["max_num_seqs: 2", "dtype: 'a, b'", 'allowed_origins: ["é, {", x]', "enforce_eager: true"]),
    unique=True,
    min_size=1,
)


@given(pairs=FLOW, place=st.integers(0, 4), gap=st.sampled_from(["", " ", "  "]))
def test_between_brackets_everything_else_stays(pairs: list[str], place: int, gap: str) -> None:
    place = min(place, len(pairs))
    option = f"{OPTION}: 32"
    shown = [*pairs[:place], option, *pairs[place:]]
    text = deployment(f"set: {{{gap}{', '.join(shown)}{gap}}}  # {option}")
    wanted = deployment(f"set: {{{gap}{', '.join(pairs)}{gap}}}  # {option}")
    assert guard_removed(text).raw.decode() == wanted


def test_the_finding_of_an_ended_waiver_is_fixed_and_the_waiver_goes_with_it() -> None:
    waiver = 'allow: [{code: SPD014, reason: it stays, until: {release: "RELEASE"}}]'
    text = deployment(f"set: {{{OPTION}: 8}}", waiver)
    assert fixed(text.replace("RELEASE", "0.34")).raw.decode() == text.replace("RELEASE", "0.34")
    assert mended(text.replace("RELEASE", "0.19"), "SPD014").raw.decode() == deployment()
