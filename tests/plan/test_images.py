"""What an image reference becomes: repository, mirror, digest, entrypoint."""

from __future__ import annotations

import pytest

from sparkiac.catalog import interfaces
from sparkiac.plan.image import image
from tests.plan.fleets import ONES, TWOS, lock

NGC = "nvcr.io/nvidia/vllm:26.04-py3"


def pull(reference: str, **mirrors: str) -> str:
    """Return what hosts pull when `__` in a mirrored prefix is a slash and `_` a dot."""
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


def test_an_image_that_failed_on_a_spark_says_so() -> None:
    found = image("vllm/vllm-openai:gemma4", lock=None, mirrors={}).tag
    assert found is not None
    assert found.failed_on == {
        "dgx-spark": "in the Spark guide it failed with [FP4 gemm Runner] Failed to run cutlass FP4 gemm"
    }


@pytest.mark.parametrize(
    "reference",
    [
        "vllm/vllm-openai:latest",
        "vllm/vllm-openai:v0.20.0",
        "vllm/vllm-openai:v0.24.0",
        "vllm/vllm-openai:nightly",
        "vllm/vllm-openai:cu130-nightly",
        "vllm/vllm-openai:gemma4-cu130",
        f"vllm/vllm-openai@{ONES}",
        "nvcr.io/nvidia/vllm:26.04-py3",
        "ghcr.io/aeon-7/vllm-dflash:latest",
    ],
)
def test_other_images_did_not_fail(reference: str) -> None:
    found = image(reference, lock=None, mirrors={}).tag
    assert found is not None
    assert found.failed_on == {}


RELEASES = {
    "vllm/vllm-openai:v0.24.0": "0.24.0",
    f"vllm/vllm-openai:v0.24.0@{ONES}": "0.24.0",
    "docker.io/vllm/vllm-openai:v0.20.0-aarch64-cu130": "0.20.0",
    "vllm/vllm-openai:v0.25.1-aarch64": "0.25.1",
    "vllm/vllm-openai:v0.22.0rc1": "0.22.0rc1",
    "vllm/vllm-openai:v0.10.1.1": "0.10.1.1",
    "vllm/vllm-openai:gemma4-cu130": "0.19",
    "nvcr.io/nvidia/vllm:26.07-py3": "0.24.0",
    "nvcr.io/nvidia/vllm:26.05.post1-py3": "0.20.1",
    "nvcr.io/nvidia/vllm:26.04-py3": "0.19.0",
    "nvcr.io/nvidia/vllm:26.11-py3": None,
    "nvcr.io/nvidia/vllm:26.050-py3": None,
    "nvcr.io/nvidia/vllm:v0.24.0": None,
    "vllm/vllm-openai:nightly": None,
    "vllm/vllm-openai:cu130-nightly": "0.19.2rc1.dev134",
    "vllm/vllm-openai:nightly-07351e0883470724dd5a7e9730ed10e01fc99d08": "0.19.2rc1.dev205",
    "vllm/vllm-openai:nightly-07351e088": "0.19.2rc1.dev205",
    "vllm/vllm-openai:cu130-nightly-fe9c3d6c5": "0.19.2rc1.dev134",
    "vllm/vllm-openai:nightly-d223c90aaa": None,
    "vllm/vllm-openai:nightly-aarch64": None,
    "vllm/vllm-openai:latest": None,
    "vllm/vllm-openai:version0.24.0": None,
    f"vllm/vllm-openai@{ONES}": None,
    "ghcr.io/aeon-7/vllm-dflash:latest": None,
    "example.org/vllm:v0.24.0": "0.24.0",
    "example.org/dgx-spark-vllm:0.17.0-t5": "0.17.0",
    "example.org/vllm:0.25.1rc1-cu130": "0.25.1rc1",
    "example.org/vllm:1.2.0": None,
    "example.org/vllm:v23": None,
    "example.org/server:v0.24.0": None,
    "nvcr.io/nvidia/vllm@sha256:9204569b17ee4c0eff75194b8e6e458479c8aee18953b5ab9cf359fcdac659e2": "0.20.1",
    "vllm/vllm-openai:nightly@sha256:0a51ea5b4ae2dc5d81890e5173f54203d2a3ae0cfffe51b8fd2afd4391bfd967": "0.27.1",
}


@pytest.mark.parametrize("reference", RELEASES)
def test_the_release_follows_from_the_digest_or_the_tag(reference: str) -> None:
    assert image(reference, lock=None, mirrors={}).vllm == RELEASES[reference]


@pytest.mark.parametrize(
    ("recorded", "release"),
    [
        ("0.24.0", "0.24.0"),
        ("v0.24.0", "0.24.0"),
        ("0.24.0+092c4842.dev", "0.24.0"),
        ("0.24.1rc1.dev46+g8d5dc6e", "0.24.1rc1.dev46"),
        ("0.1.dev17016+g27fd665bd", None),
        ("nightly", None),
    ],
)
def test_the_lock_records_the_release_of_any_image(recorded: str, release: str | None) -> None:
    for reference in ("example.org/engine:1", "vllm/vllm-openai:nightly"):
        pin = f"'{reference}': {{digest: '{ONES}', versions: {{cuda: '13.0', vllm: '{recorded}'}}}}"
        assert image(reference, lock=lock(f"version: 1\nimages: {{{pin}}}\n"), mirrors={}).vllm == release


def test_what_the_image_says_goes_before_the_lock_and_the_lock_before_the_tag() -> None:
    pin = f"'{NGC}': {{digest: '{ONES}', versions: {{vllm: 0.19.1+nv26.4}}}}"
    found = image(NGC, lock=lock(f"version: 1\nimages: {{{pin}}}\n"), mirrors={})
    assert found.vllm == "0.19.1"
    captured = interfaces.interface("0.20.2")
    assert found._replace(interface=captured).vllm == "0.20.2"


def test_a_build_without_a_release_leaves_the_recorded_one() -> None:
    captured = interfaces.interface("0.20.2")
    assert captured is not None
    found = image(NGC, lock=None, mirrors={})._replace(interface=captured._replace(version="0.1.dev17016+g27fd665bd"))
    assert found.vllm == "0.19.0"
