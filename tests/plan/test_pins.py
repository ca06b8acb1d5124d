"""Which pins of a host name nothing real."""

from __future__ import annotations

import pytest

from tests.plan.fleets import LOCK, ONES, PAIR, TWOS, checked, deployment, planned, service

EXAMPLE = LOCK.replace("version: 1", "version: 1\nexample: true")
NGC = "nvcr.io/nvidia/vllm:26.04-py3"
FILE = "hf://example/model/parser.py"
WITH_FILE = deployment(f"container: {{files: {{/opt/parser.py: {{url: '{FILE}'}}}}}}")
FILES = f"files: {{'{FILE}': {{sha256: '{'a' * 64}'}}}}\n"
NONE = "version: 1\nimages: {}\n"


def unpinned(text: str, locked: str | None) -> tuple[str, ...]:
    plan = checked(text, locked=locked, allow_unlocked=True).plan
    assert plan is not None
    return plan.unpinned


def test_a_real_lock_pins_everything() -> None:
    assert unpinned(deployment(), LOCK) == unpinned(PAIR, LOCK) == unpinned(WITH_FILE, LOCK + FILES) == ()


@pytest.mark.parametrize("locked", [EXAMPLE + FILES, NONE, None])
def test_pins_that_are_made_up_or_missing_are_named(locked: str | None) -> None:
    assert unpinned(WITH_FILE, locked) == ("example/model", FILE, NGC)


def test_what_the_lock_lacks_is_named_alone() -> None:
    assert unpinned(WITH_FILE, LOCK) == (FILE,)
    assert unpinned(deployment().replace("example/model", "example/other"), LOCK) == ("example/other",)


def test_a_digest_in_the_inventory_is_real_whatever_the_lock_says() -> None:
    locked = f"version: 1\nexample: true\nimages: {{'example.org/asr:1@{ONES}': {{digest: '{TWOS}'}}}}\n"
    text = service().replace(f"example.org/asr@{ONES}", f"example.org/asr:1@{ONES}")
    assert unpinned(text, locked) == unpinned(service(), None) == ()


def test_a_copied_image_runs_by_an_id_that_only_the_lock_has() -> None:
    host = "spark-01: {address: 192.168.1.11, images_from: spark-02}, spark-02: {address: 192.168.1.12}"
    image = f"example.org/asr@{ONES}"
    locked = f"images: {{'{image}': {{digest: '{ONES}', config: '{TWOS}'}}}}\n"
    assert unpinned(service(host=host), "version: 1\n" + locked) == ()
    assert unpinned(service(host=host), "version: 1\nexample: true\n" + locked) == (image,)
    assert unpinned(service(host=host), None) == (image,)


def test_each_host_has_its_own() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}")
    assert [host.unpinned for host in planned(text, locked=EXAMPLE).hosts] == [("example/model", NGC), ()]


def test_preflight_does_not_look_for_a_commit_that_is_made_up() -> None:
    """Its hint would be to download that."""
    real, example = (planned(deployment(), locked=each).hosts[0].preflight.store for each in (LOCK, EXAMPLE))
    assert [each.models for each in real] == [(f"models--example--model@{'3' * 40}",)]
    assert [each.models for each in example] == [("models--example--model",)]
