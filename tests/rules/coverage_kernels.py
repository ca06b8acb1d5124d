"""What became of the codes about images, formats of weights, kernels and attention.

`rule`: a module of its own; `merged into X`: one rule by data; `by construction: test`: cannot happen, and shown there.
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
    "IMG007": "rule",
    "IMG008": "merged into IMG011",
    "IMG009": "rule",
    "IMG010": "merged into IMG011",
    "IMG011": "rule",
    "IMG012": (
        "by construction: tests/builds/test_plan.py::test_a_build_that_lacks_something_is_told_at_whoever_runs_it"
    ),
    "QNT001": "rule",
    "QNT002": "rule",
    "QNT003": "rule",
    "QNT004": "rule",
    "QNT005": "rule",
    "QNT006": "rule",
    "QNT007": "rule",
    "QNT008": "rule",
    "QNT009": "rule",
    "QNT010": "rule",
    "QNT012": "rule",
    "MOE001": "rule",
    "MOE002": "rule",
    "MOE003": "rule",
    "MOE006": "rule",
    "MOE007": "rule",
    "MOE008": "rule",
    "ATT001": "rule",
    "ATT002": "rule",
    "ATT003": "rule",
    "ATT004": "rule",
    "ATT005": "rule",
}
