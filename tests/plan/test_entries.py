"""What the plan keeps of the catalog entries of a deployment."""

from __future__ import annotations

from tests.plan.fleets import container, deployment, service


def test_the_options_of_a_variant_are_kept_without_those_of_the_inventory() -> None:
    entry = "recipe: nvidia/nemotron-3-nano-30b-a3b-nvfp4\n    variant: low-utilization"
    text = deployment("set: {max_num_seqs: 3}").replace("recipe: base/single-spark", entry)
    server = container(text.replace("    model: example/model\n", "")).server
    assert server.recipe == "nvidia/nemotron-3-nano-30b-a3b-nvfp4#low-utilization"
    assert (server.recipe_options["gpu_memory_utilization"], server.recipe_options["max_num_seqs"]) == (0.5, 8)
    assert server.options["max_num_seqs"] == 3
    assert server.published


def test_a_service_has_no_recipe() -> None:
    server = container(service()).server
    assert (server.recipe, server.recipe_options, server.published) == (None, {}, ())
