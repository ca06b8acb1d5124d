"""What images said of their vLLM, in the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.catalog import interfaces
from sparkiac.engines.vllm_check import check
from sparkiac.plan import build
from tests.plan.fleets import ONES, TWOS, deployment, resolved

if TYPE_CHECKING:
    from sparkiac.catalog.interfaces import Interface

NAME: Final = f"image: example.org/vllm:1@{ONES}"


def known(version: str, name: str) -> Interface:
    """Return a release as an image that calls itself otherwise would tell of it."""
    found = interfaces.interface(version)
    assert found is not None
    return found._replace(version=name)


def vllm(interface: Interface, digest: str = ONES, image: str = NAME) -> str | None:
    """Return the release that is taken to be in the image."""
    (host,) = build(resolved(deployment(image), interfaces={digest: interface})).hosts
    return host.containers[0].image.vllm


@pytest.mark.parametrize(
    ("name", "release"),
    [("0.19.0", "0.19.0"), ("0.19.0+nv26.4", "0.19.0"), ("0.20.1rc1.dev33+gabc", "0.20.1rc1.dev33")],
)
def test_the_release_is_what_the_image_says(name: str, release: str) -> None:
    assert vllm(known("0.19.0", name)) == release


def test_a_build_without_a_release_leaves_what_the_catalog_knows() -> None:
    nightly = known("0.33.0", "0.1.dev17016+g27fd665bd")
    assert vllm(nightly) is None
    assert vllm(nightly, image=f"image: nvcr.io/nvidia/vllm:26.04-py3@{ONES}") == "0.19.0"


def test_a_build_without_a_release_refuses_unknown_keys_as_new_ones_do() -> None:
    options = {"compilation_config": {"pass_config": {"none_such": 1}}}
    for name, kind in (("0.1.dev17016+g27fd665bd", "key"), ("0.15.1", "ignored"), ("0.16.0", "key")):
        assert [fault.kind for fault in check(options, known("0.15.1", name))] == [kind]


def test_an_interface_captured_from_another_digest_is_not_used() -> None:
    assert vllm(known("0.19.0", "0.19.0"), digest=TWOS) is None


def test_without_captured_images_the_release_is_unknown() -> None:
    found = resolved(deployment(NAME))
    assert build(found).hosts[0].containers[0].image.vllm is None
