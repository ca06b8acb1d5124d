"""What an image reference becomes: repository, mirror, digest, entrypoint."""

from __future__ import annotations

import pytest

from sparkiac.plan.images import image
from tests.plan.fleets import ONES, TWOS, lock

NGC = "nvcr.io/nvidia/vllm:26.04-py3"


def pull(reference: str, **mirrors: str) -> str:
    """Give what hosts pull when `__` in a mirrored prefix is a slash and `_` a dot."""
    renamed = {prefix.replace("__", "/").replace("_", "."): mirror for prefix, mirror in mirrors.items()}
    return image(f"{reference}@{ONES}", lock=None, mirrors=renamed).repository


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("nginx", "nginx"),
        ("nginx:1.27", "nginx"),
        ("vllm/vllm-openai:nightly", "vllm/vllm-openai"),
        ("nvcr.io/nvidia/vllm:26.04-py3", "nvcr.io/nvidia/vllm"),
        ("localhost:5000/engine", "localhost:5000/engine"),
        ("registry.example.org:5000/a/b:1.2", "registry.example.org:5000/a/b"),
    ],
)
def test_a_tag_is_not_part_of_the_repository(reference: str, repository: str) -> None:
    assert pull(reference) == repository


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("nvcr.io/nvidia/vllm:26.04-py3", "mirror.lan/ngc/nvidia/vllm"),
        ("nvcr.io/nvidia/cuda:13", "mirror.lan/cuda"),
        ("nvcr.io/nvidia/cuda-samples:13", "mirror.lan/ngc/nvidia/cuda-samples"),
        ("nvcr.io.evil.example/nvidia/vllm", "nvcr.io.evil.example/nvidia/vllm"),
        ("ghcr.io/nvcr.io/vllm", "ghcr.io/nvcr.io/vllm"),
    ],
)
def test_the_longest_mirrored_prefix_wins_at_a_slash(reference: str, repository: str) -> None:
    assert pull(reference, nvcr_io="mirror.lan/ngc", nvcr_io__nvidia__cuda="mirror.lan/cuda") == repository


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("vllm/vllm-openai:nightly", "mirror.lan/hub/vllm/vllm-openai"),
        ("docker.io/vllm/vllm-openai:nightly", "mirror.lan/hub/vllm/vllm-openai"),
        ("nginx:1.27", "mirror.lan/hub/library/nginx"),
        ("ghcr.io/example/asr", "ghcr.io/example/asr"),
        ("localhost/asr", "localhost/asr"),
        ("registry:5000/asr", "registry:5000/asr"),
    ],
)
def test_an_image_without_a_registry_is_of_docker_hub(reference: str, repository: str) -> None:
    assert pull(reference, docker_io="mirror.lan/hub") == repository


def test_a_registry_with_a_port_is_mirrored_too() -> None:
    mirrors = {"registry.example.org:5000": "mirror.lan:5001/all"}
    found = image(f"registry.example.org:5000/a/b:1@{ONES}", lock=None, mirrors=mirrors)
    assert found.pull == f"mirror.lan:5001/all/a/b@{ONES}"


def test_the_lock_pins_a_reference_and_knows_its_entrypoint() -> None:
    found = image(NGC, lock=lock(), mirrors={})
    assert (found.reference, found.pull) == (NGC, f"nvcr.io/nvidia/vllm@{ONES}")
    assert found.entrypoint == ("/opt/nvidia/nvidia_entrypoint.sh",)


def test_a_mirror_changes_where_to_pull_and_nothing_else() -> None:
    plain, mirrored = (image(NGC, lock=lock(), mirrors=mirrors) for mirrors in ({}, {"nvcr.io": "mirror.lan"}))
    assert mirrored.pull == f"mirror.lan/nvidia/vllm@{ONES}"
    assert (mirrored.reference, mirrored.digest, mirrored.entrypoint) == (NGC, plain.digest, plain.entrypoint)


def test_an_inline_digest_holds_without_a_lock_and_before_it() -> None:
    reference = f"{NGC}@{TWOS}"
    assert image(reference, lock=None, mirrors={}).digest == TWOS
    locked = lock(f"version: 1\nimages: {{'{reference}': {{digest: '{ONES}'}}}}\n")
    assert image(reference, lock=locked, mirrors={}).digest == TWOS


def test_an_image_that_nothing_pins_is_shown_as_unlocked() -> None:
    found = image("example.org/engine:1", lock=lock(), mirrors={})
    assert (found.digest, found.pull, found.entrypoint) == (None, "example.org/engine@UNLOCKED", None)


def test_a_lock_is_for_the_very_reference() -> None:
    assert image("nvcr.io/nvidia/vllm:26.03-py3", lock=lock(), mirrors={}).digest is None


def test_the_catalog_knows_the_entrypoint_where_the_lock_does_not() -> None:
    found = image("vllm/vllm-openai:gemma4-0505-arm64-cu130", lock=lock(), mirrors={"docker.io": "mirror.lan"})
    assert found.entrypoint == ("vllm", "serve")
    assert image("vllm/vllm-openai:nightly", lock=None, mirrors={}).entrypoint == ("vllm", "serve")


def test_the_locks_entrypoint_goes_before_the_catalogs() -> None:
    locked = lock(f"version: 1\nimages: {{'{NGC}': {{digest: '{ONES}', entrypoint: [/bin/run]}}}}\n")
    assert image(NGC, lock=locked, mirrors={}).entrypoint == ("/bin/run",)


@pytest.mark.parametrize("tag", ["v0.20.0", "v0.99.1", "latest"])
def test_releases_of_the_upstream_image_are_forbidden_on_a_spark(tag: str) -> None:
    found = image(f"vllm/vllm-openai:{tag}", lock=None, mirrors={}).tag
    assert found is not None
    assert found.forbidden_on == {"dgx-spark": "upstream's releases have no support for sm_121"}
    omni = "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4"
    assert found.validated_for == ((omni,) if tag == "v0.20.0" else ())


@pytest.mark.parametrize(
    "reference",
    [
        "vllm/vllm-openai:nightly",
        "vllm/vllm-openai:cu130-nightly",
        "vllm/vllm-openai:gemma4-cu130",
        f"vllm/vllm-openai@{ONES}",
        "nvcr.io/nvidia/vllm:26.04-py3",
        "ghcr.io/aeon-7/vllm-dflash:latest",
    ],
)
def test_other_images_are_not(reference: str) -> None:
    found = image(reference, lock=None, mirrors={}).tag
    assert found is not None
    assert found.forbidden_on == {}
