"""Images: all that the sources name are known, with release and style, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from tests.catalog.entries import USABLE, entry
from tests.every import every

if TYPE_CHECKING:
    from sparkiac.model.images import ImageFamily, ImageTag


class Named(NamedTuple):
    """An image as a source names it, and what is known of it."""

    file: str
    """File of its family."""
    style: str
    vllm: str | None = None
    """Release inside; None where no source tells."""


NGC: Final = ("ngc-vllm", "pass-through")
OPENAI: Final = ("vllm-openai", "vllm-serve")
IMAGES: Final = {
    "nvcr.io/nvidia/vllm:26.06-py3": Named(*NGC, "0.22.1"),
    "nvcr.io/nvidia/vllm:26.04-py3": Named(*NGC, "0.19.0"),  # Spark guide L108
    "nvcr.io/nvidia/vllm:26.03-py3": Named(*NGC, "0.17.1"),  # L109
    "nvcr.io/nvidia/vllm:26.02-py3": Named(*NGC, "0.15.1"),  # L110
    "nvcr.io/nvidia/vllm:25.12.post1-py3": Named(*NGC),  # L111: of December 2025
    "vllm/vllm-openai:nightly": Named(*OPENAI),  # L112 saw 0.23.x, and the tag moves
    "vllm/vllm-openai:cu130-nightly": Named(*OPENAI, "0.19.2rc1.dev134"),  # L112 saw 0.23; vllm#42738
    "vllm/vllm-openai:gemma4-cu130": Named(*OPENAI, "0.19"),  # L113, L252
    "vllm/vllm-openai:gemma4": Named(*OPENAI, "0.18.2"),  # L113: v0.18.2-dev
    "vllm/vllm-openai:gemma4-0505-arm64-cu130": Named(*OPENAI),  # dual-Spark post L85
    "vllm/vllm-openai:gemma": Named(*OPENAI),  # Spark guide L114
    "vllm/vllm-openai:v0.20.0": Named(*OPENAI, "0.20.0"),  # L312
    "vllm/vllm-openai:qwen38": Named(*OPENAI),
    "sparkarena/spark-vllm-docker:mxfp4": Named("spark-arena-vllm-docker", "unknown"),
    "lmsysorg/sglang:latest": Named("sglang", "unknown"),
    "lmsysorg/sglang:dev-nemotron3-5-lightning": Named("sglang", "unknown"),
    "ghcr.io/aeon-7/vllm-dflash:latest": Named("aeon-vllm-dflash", "environment"),  # L735
    "ghcr.io/aeon-7/aeon-vllm-ultimate:latest": Named("aeon-vllm-ultimate", "unknown"),  # L744
    "ghcr.io/aeon-7/…": Named("aeon-heretic", "unknown"),  # L164
    "ghcr.io/z-lab/vllm-openai:gemma4-dflash-cu130": Named("z-lab-vllm-openai", "unknown"),  # L768
    "nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04": Named("cuda-base", "pass-through"),  # L69
    "vllm-node-dsv4": Named("vllm-node-dsv4", "unknown"),  # DeepSeek-V4 thread L245
    "Package vllm-spark · GitHub": Named("vllm-spark-package", "unknown"),  # L365
    "eugr/spark-vllm-docker": Named("eugr-spark-vllm-docker", "unknown"),  # Spark guide L120
    "christopher_owen/spark-vllm-mxfp4-docker": Named("christopher-owen-mxfp4", "unknown"),  # L120
    "jasl/vllm @ codex/ds4-sm120-min-enable": Named("jasl-vllm", "unknown"),  # DeepSeek-V4 thread L37
    "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest": Named("spark-arena-nightly", "unknown"),
    "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:latest": Named("spark-arena-nightly-tf5", "unknown"),
    "eugr/spark-vllm:latest": Named("eugr-spark-vllm", "unknown"),
    "eugr/spark-vllm-b12x:latest": Named("eugr-spark-vllm-b12x", "unknown"),
    "avarok/dgx-vllm-nvfp4-kernel:v22": Named("avarok-nvfp4-kernel", "unknown", "0.16.0rc2"),
    "avarok/dgx-vllm-nvfp4-kernel:v23": Named("avarok-nvfp4-kernel", "unknown", "0.16.0rc2.dev236"),
}
OWN_BUILDS: Final = {"vllm-ds4-pinned", "vllm-node-dsv4-pr-43447"}
"""Builds that a source describes and gives no name."""
INCOMPLETE: Final = {"aeon-heretic", "vllm-spark-package"}
REPOSITORIES: Final = {"eugr-spark-vllm-docker", "christopher-owen-mxfp4", "jasl-vllm"}
FAMILIES: Final = {
    found.document.name.rpartition("/")[2].removesuffix(".yaml"): found.value
    for found in catalog.image_families()
    if found.value is not None
}


def tags() -> dict[str, ImageTag]:
    """Return every known tag by its whole reference."""
    return {f"{each.repository}:{tag}": known for each in FAMILIES.values() for tag, known in each.tags.items()}


def family_of(reference: str) -> ImageFamily:
    found = catalog.image_family(reference.partition("@")[0].partition(":")[0])
    assert found is not None, f"{reference} is of no known family"
    assert found.value is not None
    return found.value


def test_the_table_is_whole() -> None:
    assert len(IMAGES) == 32
    assert {named.file for named in IMAGES.values()} | OWN_BUILDS == set(FAMILIES)


@every(IMAGES)
def test_an_image_of_the_sources_is_known(reference: str) -> None:
    """Release and style of each image are those of its source."""
    named = IMAGES[reference]
    family = FAMILIES[named.file]
    assert family.style == named.style
    assert family.sources
    if family.repository is None:
        assert family.incomplete or family.kind == "repository"
        assert family.tags == {}
        return
    repository, _, tag = reference.partition(":")
    assert family.repository == repository
    assert family.tags[tag or "latest"].vllm == named.vllm


def test_no_tag_is_known_that_no_source_names() -> None:
    assert set(tags()) == {
        reference if ":" in reference else f"{reference}:latest"
        for reference, named in IMAGES.items()
        if FAMILIES[named.file].repository
    } | {f"{build}:latest" for build in OWN_BUILDS}


@every(sorted(tags()))
def test_a_tag_names_its_sources(reference: str) -> None:
    assert tags()[reference].sources


def test_an_incomplete_reference_says_what_is_missing() -> None:
    """Two references lost their name in the source: the user must give it."""
    assert {file for file, family in FAMILIES.items() if family.incomplete} == INCOMPLETE
    for file in INCOMPLETE:
        family = FAMILIES[file]
        assert family.repository is None
        assert "name the image in the inventory" in (family.incomplete or "")


def test_the_source_repositories_are_not_images() -> None:
    assert {file for file, family in FAMILIES.items() if family.kind == "repository"} == REPOSITORIES
    assert all(FAMILIES[file].repository is None and not FAMILIES[file].incomplete for file in REPOSITORIES)


def test_each_repository_belongs_to_one_family() -> None:
    repositories = [family.repository for family in FAMILIES.values() if family.repository]
    assert len(set(repositories)) == len(repositories)


def test_the_tag_that_failed_is_marked() -> None:
    """The bare gemma4 tag crashes on this machine."""
    failed = {(tag, platform) for tag, known in tags().items() for platform in known.failed_on}
    assert failed == {("vllm/vllm-openai:gemma4", "dgx-spark")}
    assert all(platform in catalog.platform_names() for _, platform in failed)


def test_moving_tags_are_marked() -> None:
    assert {tag for tag, known in tags().items() if known.moving} == {
        "vllm/vllm-openai:nightly",
        "ghcr.io/aeon-7/vllm-dflash:latest",
        "ghcr.io/aeon-7/aeon-vllm-ultimate:latest",
        "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest",
        "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:latest",
        "eugr/spark-vllm:latest",
        "eugr/spark-vllm-b12x:latest",
        "sparkarena/spark-vllm-docker:mxfp4",
        "lmsysorg/sglang:latest",
        "lmsysorg/sglang:dev-nemotron3-5-lightning",
    }


def test_what_an_image_lacks_is_marked() -> None:
    assert {tag: set(known.lacks) for tag, known in tags().items() if known.lacks} == {
        "nvcr.io/nvidia/vllm:26.04-py3": {"ray", "fastsafetensors", "dflash", "mxfp4"},
        "nvcr.io/nvidia/vllm:26.03-py3": {"fastsafetensors", "dflash"},
        "nvcr.io/nvidia/vllm:26.02-py3": {"dflash", "mixed-precision"},
        "vllm/vllm-openai:gemma4-0505-arm64-cu130": {"gemma4-nvfp4"},
        "vllm/vllm-openai:gemma4-cu130": {"dflash"},
        "vllm/vllm-openai:v0.20.0": {"audio"},
    }


def test_the_driver_that_an_image_wants_is_known() -> None:
    known = tags()["nvcr.io/nvidia/vllm:25.12.post1-py3"]
    assert (known.min_driver, known.forward_compat, known.cuda) == ("590.44", "580", "13.1")


@every(USABLE)
def test_the_image_of_a_usable_entry_is_known(name: str) -> None:
    """It is in the table, pinned or built locally, and may run on the machine that the entry is for."""
    image = entry(name).image or entry(name.partition("#")[0]).image
    if image is None:
        built = "no image is named" in {each.what for each in entry(name).corrections}
        assert built or name.startswith("base/"), f"{name} names no image"
        return
    family = family_of(image)
    assert image in IMAGES or "@sha256:" in image or family.kind == "local-build"
    tag = family.tags.get(image.partition(":")[2])
    assert tag is None or "dgx-spark" not in tag.failed_on
