"""The release in images that people publish for DGX Spark: how many are known, and no guess contradicts a source."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

import pytest

from sparkiac.catalog import interfaces
from sparkiac.plan import build
from sparkiac.plan.image import image
from sparkiac.rules import release, serverrelease
from tests.catalog.references import REFERENCES, Reference
from tests.every import every
from tests.plan.fleets import ONES, deployment, resolved

VERSIONED: Final = re.compile(r".*:.*(?:\d\.\d|20\d{6}|[0-9a-f]{40}).*|.*@sha256:[0-9a-f]{64}")
"""References that name a version, a day, a commit or a digest."""
UPSTREAM: Final = re.compile(r"(vllm/vllm-openai|lmsysorg/sglang):v\d+\.\d+\.\d+(-.+)?")
KNOWN_SHARE: Final = 0.8


def found(reference: Reference) -> str | None:
    """Return the release that sparkiac takes from a reference."""
    if reference.engine == "vllm":
        return image(reference.image, lock=None, mirrors={}).vllm
    pinned = reference.image if "@" in reference.image else f"{reference.image}@{ONES}"
    recipe = f"base/{reference.engine}"
    text = deployment(f"image: {pinned}", "model_file: m.gguf").replace("base/single-spark", recipe)
    (server,) = serverrelease.servers(build(resolved(text)))
    return server.title.rpartition(" ")[2] if len(server.releases) == 1 and server.releases != ("",) else None


def test_references_are_distinct_and_enough() -> None:
    assert len({each.image for each in REFERENCES}) == len(REFERENCES) >= 60
    assert all(each.link.startswith("https://") for each in REFERENCES)


@every(REFERENCES, name=lambda each: each.image)
def test_the_release_is_the_one_of_the_source_or_unknown(reference: Reference) -> None:
    version = found(reference)
    if reference.release is None:
        assert version is None
        return
    assert version is not None
    assert version == reference.release or re.fullmatch(rf"{re.escape(reference.release)}(\.dev)?\d+", version)


def test_most_versioned_references_are_known_and_all_of_upstreams_releases() -> None:
    versioned = [each for each in REFERENCES if VERSIONED.fullmatch(each.image)]
    known = [each for each in versioned if found(each)]
    assert len(known) >= KNOWN_SHARE * len(versioned)
    assert all(found(each) for each in REFERENCES if UPSTREAM.fullmatch(each.image))


@pytest.mark.parametrize(
    ("reference", "printed"),
    [
        ("ghcr.io/spark-arena/dgx-vllm-eugr-nightly:2026070501", "0.23.1"),
        ("ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:20260614", "0.22.1"),
        ("ghcr.io/spark-arena/dgx-vllm-eugr-nightly:2026082102", "0.27.2rc1.dev360"),
        ("ghcr.io/spark-arena/dgx-vllm-eugr-nightly:20260927", "0.30.1rc1.dev220"),
        ("eugr/spark-vllm:nightly-20260710", "0.25.0"),
    ],
)
def test_a_build_of_a_day_is_compared_with_releases_around_what_its_server_printed(
    reference: str, printed: str
) -> None:
    version = image(reference, lock=None, mirrors={}).vllm
    assert version is not None
    assert "dev" in version
    first, *_, last = map(interfaces.release, interfaces.neighbours(version))
    assert first <= interfaces.release(printed) <= last


@pytest.mark.parametrize(
    ("day", "version"),
    [
        ("20260705", "0.23.1.dev20260705"),
        ("20260707", "0.24.1.dev20260707"),
        ("20261102", "0.32.1.dev20261102"),
        ("20261103", None),
        ("20250701", None),
    ],
)
def test_a_day_is_placed_between_published_releases(day: str, version: str | None) -> None:
    assert interfaces.of_day(day) == version


@pytest.mark.parametrize("tag", ["20261399", "20260705-custom", "nightly-2026", "70705"])
def test_a_tag_that_is_not_a_day_is_unknown(tag: str) -> None:
    assert image(f"ghcr.io/spark-arena/dgx-vllm-eugr-nightly:{tag}", lock=None, mirrors={}).vllm is None


def test_every_release_with_an_interface_has_its_day_and_days_follow_the_versions() -> None:
    days = interfaces.published()
    assert set(interfaces.versions()) <= set(days)
    assert list(days) == sorted(days, key=interfaces.release)
    assert list(days.values()) == sorted(days.values())
    for day, week_later in days.values():
        assert date.fromisoformat(week_later) - date.fromisoformat(day) == timedelta(days=7)


def test_options_of_a_nightly_are_warnings_if_no_release_around_it_has_them() -> None:
    nightly = "vllm/vllm-openai:nightly-07351e0883470724dd5a7e9730ed10e01fc99d08"
    lines = (f"image: {nightly}@{ONES}", "set: {swap_space: 4}")
    (container,) = build(resolved(deployment(*lines))).hosts[0].containers
    known = release.known(container)
    assert known is not None
    assert not known.exact
    assert known.title == "vLLM 0.19.2rc1.dev205, compared with 0.19.1, 0.20.0 and 0.21.0"
