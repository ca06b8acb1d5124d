"""What became of the codes about options, speculation, parsers and caches.

`rule`: a rule of its own; `merged into X`: found there; `by construction: test`: cannot happen, and shown there;
`dropped: why`: what the sources say is wrong, or says nothing about a deployment.
"""

from __future__ import annotations

from typing import Final

COVERED: Final = {
    "FLG001": "dropped: a recipe with another model or image is no fault by itself",
    "FLG002": "merged into ENV101",
    "FLG003": "merged into ENV101",
    "FLG004": "rule",
    "FLG005": "rule",
    "FLG006": "dropped: vLLM has chunked prefill on by default, so saying so changes nothing",
    "FLG007": "rule",
    "FLG008": "rule",
    "FLG009": "rule",
    "FLG010": "rule",
    "FLG011": "dropped: no code of vLLM refuses the split, and recipes for two Sparks have it",
    "FLG012": "rule",
    "FLG013": "rule",
    "FLG014": "rule",
    "FLG016": "dropped: on one GPU the variable has no effect, good or bad",
    "FLG017": "rule",
    "FLG018": (
        "by construction: tests/catalog/test_nested_quoting.py::test_every_option_reaches_vllm_as_its_source_means_it"
    ),
    "FLG019": "rule",
    "FLG020": "dropped: the limit costs nothing while few requests run",
    "FLG021": "rule",
    "FLG022": "dropped: a pinned backend is a choice, and each that fails has a rule of its own",
    "FLG023": "dropped: which image has the module is not known; FLG105 finds releases without the loader",
    "FLG024": "merged into HST007",
    "FLG026": "by construction: tests/plan/test_openclaw.py::test_each_alias_is_a_provider_with_one_model",
    "FLG027": "rule",
    "FLG028": "dropped: a value that no source ran is no fault",
    "FLG029": "dropped: a model without a recipe is no fault",
    "SPD001": "dropped: vLLM has the method since 0.20.0, and FLG105 finds older releases",
    "SPD002": "rule",
    "SPD003": "merged into SPD002",
    "SPD004": "rule",
    "SPD005": "rule",
    "SPD006": "rule",
    "SPD008": "rule",
    "SPD009": "dropped: DFlash for Gemma 4 runs in releases of vLLM too; SPD008 has what older ones lack",
    "SPD010": "rule",
    "SPD011": "dropped: measured optima lie between 5 and 15 tokens",
    "SPD012": "rule",
    "SPD014": "rule",
    "SPD016": "dropped: a value that no source ran is no fault",
    "SPD018": "merged into FLG105",
    "SPD019": "rule",
    "SPD021": "by construction: tests/memory/test_sharing.py::test_a_pair_by_hand",
    "API001": "rule",
    "API002": "rule",
    "API003": "rule",
    "API004": "merged into FLG105",
    "API006": "rule",
    "API009": "rule",
    "API010": "dropped: both options are optional, and SEC004 is about the first",
    "CCH001": "by construction: tests/engines/test_engines.py::test_caches_are_kept_between_restarts",
    "CCH005": "by construction: tests/engines/test_aeon_vllm.py::test_a_drafter_that_would_be_downloaded_is_refused",
}
