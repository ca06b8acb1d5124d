"""What became of the codes about images, formats of weights, kernels and attention.

`rule`: a rule of its own; `merged into X`: found there; `by construction: test`: cannot happen, and shown there;
`dropped: why`: what the sources say is wrong, or says nothing about a deployment.
"""

from __future__ import annotations

from typing import Final

COVERED: Final = {
    "ENT001": "rule",
    "ENT002": "rule",
    "ENT003": (
        "by construction: "
        "tests/render/test_extras.py::test_commands_before_the_server_are_one_script_and_the_image_starts_as_ever"
    ),
    "ENT004": "rule",
    "ENT006": "rule",
    "IMG001": "rule",
    "IMG002": "merged into IMG001",
    "IMG003": "rule",
    "IMG004": "rule",
    "IMG005": "rule",
    "IMG007": "merged into LCK002",
    "IMG008": "merged into IMG011",
    "IMG009": "rule",
    "IMG010": "merged into IMG011",
    "IMG011": "rule",
    "IMG012": ("by construction: tests/builds/test_plan.py::test_an_incomplete_build_is_reported_at_its_users"),
    "QNT001": "rule",
    "QNT002": "rule",
    "QNT003": "rule",
    "QNT004": "merged into ATT001",
    "QNT005": "rule",
    "QNT006": "rule",
    "QNT007": "merged into QNT006",
    "QNT008": "dropped: which models suffer from an FP8 KV cache is not known",
    "QNT009": "rule",
    "QNT010": "rule",
    "QNT012": "dropped: vLLM has quantized each layer as it is loaded since 0.19.0",
    "MOE001": "rule",
    "MOE002": "dropped: vLLM's Marlin kernel for experts does not read the variable",
    "MOE003": "merged into MOE001",
    "MOE006": "rule",
    "MOE007": "rule",
    "MOE008": "rule",
    "ATT001": "rule",
    "ATT002": "rule",
    "ATT003": "merged into MEM101",
    "ATT004": "rule",
    "ATT005": "merged into ATT004",
}
