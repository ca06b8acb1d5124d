"""What no parser, code, format or arithmetic proves is no error, and nothing is changed in the user's file for it.

The deployments here are of kinds that their authors publish for DGX Spark, and that run.
"""

from __future__ import annotations

import pytest

from sparkiac.catalog import interfaces
from sparkiac.catalog.evidence import cited, documents
from sparkiac.engines.tables import table
from sparkiac.report import Severity
from sparkiac.rules.pages import pages
from sparkiac.words import rules as words
from tests.plan.fleets import ONES, PAIR, checked, deployment, said

VLLM = "https://github.com/vllm-project/vllm"
READ_LATE = "undated, read in 2026-11"
NGC = "nvcr.io/nvidia/vllm:26.04-py3 (vLLM 0.19.0)"
UNPROVEN = (*("ATT004", "FLG004", "FLG009", "IMG001", "MOE001", "QNT001", "SPD004", "SPD005", "SPD006", "SPD010"),)
ADVICE = {"FLG004", "FLG009", "SPD004", "SPD006", "SPD010"}


def on(image: str, model: str, *lines: str) -> str:
    """Write a deployment of a model on an image."""
    return deployment(f"image: {image}@{ONES}", *lines).replace("example/model", model)


@pytest.mark.parametrize("code", UNPROVEN)
def test_what_is_not_proven_is_not_an_error_and_has_no_fix(code: str) -> None:
    page = pages()[code]
    assert page.rule.severity < Severity.ERROR
    assert code not in ADVICE or page.rule.severity is Severity.INFO
    found = [
        finding
        for text in page.bad
        for finding in checked(text, allow_unlocked=True, hidden=frozenset()).report.findings
        if finding.code == code
    ]
    assert found
    assert not [finding for finding in found if finding.fix or finding.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "text",
    [
        on("vllm/vllm-openai:latest", "nvidia/Qwen3.6-35B-A3B-NVFP4"),
        on("vllm/vllm-openai:v0.20.0", "example/model"),
        on("example.org/vllm:1", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "set: {moe_backend: cutlass}"),
        on(
            "example.org/vllm:1",
            "Qwen/Qwen3.6-27B-FP8",
            "speculative: {method: dflash, model: z-lab/Qwen3.6-27B-DFlash, num_speculative_tokens: 15}",
            "set: {attention_backend: flash_attn}",
        ),
        on(
            "example.org/vllm:1",
            "nvidia/Gemma-4-26B-A4B-NVFP4",
            "speculative: {method: mtp, model: google/gemma-4-26B-A4B-it-assistant, num_speculative_tokens: 4}",
        ),
        PAIR.replace("example/big", "google/gemma-4-26B-A4B-it") + f"    image: example.org/vllm:1@{ONES}\n",
        PAIR.replace("example/big", "deepseek-ai/DeepSeek-V4-Flash")
        + f"    image: example.org/vllm:1@{ONES}\n    set: {{kv_cache_dtype: fp8, tokenizer_mode: deepseek_v4}}\n",
    ],
)
def test_a_deployment_that_runs_elsewhere_has_no_error(text: str) -> None:
    report = checked(text, allow_unlocked=True, hidden=frozenset()).report
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert not [finding for finding in errors if finding.code in UNPROVEN], said(tuple(errors))


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("google/gemma-4-26B-A4B-it", False),
        ("nvidia/Gemma-4-26B-A4B-NVFP4", False),
        ("google/gemma-4-31B-it", True),
    ],
)
def test_a_copy_of_a_drafters_model_may_leave_out_that_it_was_tuned(model: str, *, found: bool) -> None:
    drafter = "speculative: {method: mtp, model: google/gemma-4-26B-A4B-it-assistant, num_speculative_tokens: 4}"
    report = checked(on("example.org/vllm:1", model, drafter), allow_unlocked=True, hidden=frozenset()).report
    assert ("SPD005" in {finding.code for finding in report.findings}) is found


@pytest.mark.parametrize(("release", "severity"), [("0.22.1", Severity.ERROR), ("0.23.0", Severity.WARNING)])
def test_a_release_in_which_one_build_refused_a_pair_has_a_warning(release: str, severity: Severity) -> None:
    """In 0.23.0 the drafter's own configuration, which is not read, can allow an FP8 cache."""
    pair = ("speculative: {method: dflash}", "set: {kv_cache_dtype: fp8}")
    text = on(f"vllm/vllm-openai:v{release}", "Qwen/Qwen3.6-35B-A3B", *pair)
    report = checked(text, allow_unlocked=True, hidden=frozenset()).report
    assert {finding.severity for finding in report.findings if finding.code == "SPD002"} == {severity}


@pytest.mark.parametrize(
    ("source", "known"),
    [
        (
            "Spark guide L113",
            ("2026-06", "DGX Spark (GB10)", "vllm/vllm-openai:gemma4 (a build of 0.18.2) and gemma4-cu130", ""),
        ),
        ("Spark guide L3, L767", ("2026-06", "DGX Spark (GB10)", "vLLM 0.21.0 or newer", f"{VLLM}/pull/41880")),
        ("Spark guide L640", ("2026-06", "DGX Spark (GB10)", "", "")),
        ("SM121 reference L4-8", (READ_LATE, "two DGX Sparks (GB10), driver 580.142", NGC, f"{VLLM}/issues/35138")),
        (
            f"{VLLM}/blob/v0.19.0/vllm/envs.py",
            ("2026-04", "not measured", "vLLM 0.19.0", f"{VLLM}/blob/v0.19.0/vllm/envs.py"),
        ),
        (f"{VLLM}/blob/v9.9.9/vllm/envs.py", ("", "not measured", "vLLM 9.9.9", f"{VLLM}/blob/v9.9.9/vllm/envs.py")),
        (f"{VLLM}/issues/1", ("", "", "", f"{VLLM}/issues/1")),
        (
            "SGLang's released wheels: x.py",
            ("", "not measured", "SGLang 0.4.7 to 0.5.23", "https://pypi.org/project/sglang/"),
        ),
        ("RFC 5737", ("2010-01", "not measured", "", "https://www.rfc-editor.org/rfc/rfc5737")),
        ("IP routing", ("", "", "", "")),
    ],
)
def test_what_is_known_of_a_source(source: str, known: tuple[str, str, str, str]) -> None:
    found = cited(source)
    assert (found["date"], found["hardware"], found["releases"], found["links"]) == known


def test_each_page_shows_date_hardware_and_releases_of_its_sources_or_that_they_are_not_stated() -> None:
    dated = 0
    for page in pages().values():
        data = words.explained(page)
        assert {each["source"] for each in data["evidence"]} == set(data["sources"])
        lines = [line for line in words.markdown(page).splitlines() if line.startswith("- ")]
        for each in data["evidence"]:
            said = words.source_line(each)
            assert f"- {said}" in lines
            assert all((each[key] or f"no {key} stated") in said for key in ("date", "hardware", "releases"))
            assert (each["links"] or "no public copy is known") in said
            dated += bool(each["date"])
    assert dated > 300


def test_a_page_without_a_source_says_so() -> None:
    assert words.markdown(pages()["INV001"]).endswith("**Sources:**\n\n- none: it follows from the files themselves\n")


def test_the_evidence_of_a_fact_comes_before_that_of_its_document() -> None:
    [guide, issue, _] = words.explained(pages()["IMG001"])["evidence"]
    assert (guide["date"], guide["hardware"], guide["says"]) == (
        "2026-06",
        "GB10",
        "a build of 0.18.2; the tag may have moved",
    )
    assert (issue["date"], issue["hardware"]) == ("2025-12", "GB10")


def test_the_releases_of_the_documents_are_those_that_were_read() -> None:
    known = interfaces.versions()
    assert cited("vLLM's released sources")["releases"] == f"vLLM {known[0]} to {known[-1]}"
    for name, document in (("sglang", "SGLang's released wheels"), ("llama-cpp", "llama.cpp")):
        releases = table(name).releases
        assert cited(document)["releases"].endswith(f" {releases[0]} to {releases[-1]}")


def test_what_a_document_is_about_has_lines_and_its_links_are_public() -> None:
    for each in documents().values():
        assert set(each) <= {"title", "date", "hardware", "releases", "links"}
        assert all(first <= last and what for key in ("releases", "links") for first, last, what in each.get(key, ()))
        assert all(link.startswith("https://") for _, _, link in each.get("links", ()))
