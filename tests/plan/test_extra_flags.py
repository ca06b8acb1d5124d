"""What an image, or an inventory, says that its vLLM takes beside what the release does."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac import source
from sparkiac.model.inventory import Inventory
from sparkiac.plan.image import AddedNames, TagFacts, image
from tests.plan.fleets import container, deployment, resolved

FLAGS: Final = "extra_flags: {why: a patch, options: [mine], variables: [VLLM_MINE]}"


def tag(reference: str) -> TagFacts:
    found = image(reference, lock=None, mirrors={}).tag
    assert found is not None
    return found


def test_an_image_may_add_variables_to_its_release() -> None:
    """Builds for DeepSeek-V4 (DeepSeek-V4 thread L271, L384-385)."""
    assert tag("vllm-node-dsv4").added.variables == ("VLLM_TRITON_MLA_SPARSE",)
    assert tag("vllm-node-dsv4-pr-43447").added.variables == ("VLLM_TRITON_MLA_SPARSE",)
    assert tag("vllm-ds4-pinned").added.variables == ("VLLM_SKIP_INIT_MEMORY_CHECK", "VLLM_TRITON_MLA_SPARSE")


@pytest.mark.parametrize(
    ("reference", "provenance"),
    [("nvcr.io/nvidia/vllm:26.04-py3", "vendor"), ("vllm/vllm-openai:v0.20.0", "upstream")],
)
def test_a_tag_shows_who_stands_behind_it_and_adds_nothing_by_itself(reference: str, provenance: str) -> None:
    assert tag(reference).provenance == provenance
    assert tag(reference).added == AddedNames()


def test_a_deployment_names_what_a_patch_takes() -> None:
    assert container(deployment(FLAGS)).server.extra == AddedNames(("mine",), ("VLLM_MINE",))
    assert container(deployment()).server.extra == AddedNames()


def test_the_reason_and_what_it_is_for_are_one_value() -> None:
    leaves = resolved(deployment(FLAGS)).leaves
    assert [path[3:] for path in leaves if "extra_flags" in path] == [("extra_flags",)]


@pytest.mark.parametrize(
    "flags", ["{options: [mine]}", "{why: a patch, options: [--mine]}", "{why: a patch, options: []}"]
)
def test_flags_without_a_reason_or_a_name_are_refused(flags: str) -> None:
    text = deployment(f"extra_flags: {flags}")
    assert source.load(text.encode(), name="lab.yaml", model=Inventory).value is None
