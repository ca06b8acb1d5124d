"""Preflight of the model store and of the registry: what is missing, how to get it, and how old it is."""

from __future__ import annotations

import calendar
import os
import time
from typing import TYPE_CHECKING

import pytest

from sparkiac.host.preflight.expectations import Expectations
from tests.host.expected import complete

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    Make = Callable[..., Any]
    Checked = Callable[..., Any]

STORE = "srv/models/hub/models--a--b"
IMAGE = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64
LOGIN = {"logins": [{"registry": "nvcr.io", "image": IMAGE}]}


@pytest.fixture
def store(preflight: ModuleType) -> Checked:
    """Return a function that checks one model of a store and returns its lines."""

    def check(host: object, *models: str, **known: object) -> Any:  # noqa: ANN401  a class of the script
        wanted = {"store": [{"path": "/srv/models", "models": list(models), **known}]}
        return preflight.check_host(complete(Expectations, wanted), host)

    return check


def test_missing_weights_are_staged_before_anything_starts(store: Checked, machine: Make) -> None:
    """(HST006) Nothing is pulled at start, so it fails here, with the command that stages them."""
    [line] = store(machine(), "models--a--b")
    assert (line.code, line.state, line.found) == ("HST006", "FAIL", "missing")
    assert line.hint == "download it: hf download a/b --cache-dir /srv/models"


def test_a_token_in_a_store_is_named_and_its_value_is_not(store: Checked, machine: Make) -> None:
    host = machine()
    assert store(host) == []
    place = host.path("/srv/models/token")
    place.parent.mkdir(parents=True)
    place.write_text("hf_canary")
    [line] = store(host)
    assert (line.state, line.found) == ("warn", "has a token of the hub: token")
    assert "canary" not in str(line)


@pytest.mark.parametrize("name", ["models--a--b", "a/b"])
def test_a_missing_gated_model_wants_licence_and_token(store: Checked, machine: Make, name: str) -> None:
    """(HST004) Once it is staged, nobody asks for them again."""
    [line] = store(machine(), name, gated=[name])
    assert (line.code, line.state) == ("HST004", "FAIL")
    for part in ("licence", "https://huggingface.co/a/b", "HF_TOKEN", "hf download a/b "):
        assert part in line.hint
    host = machine(**{f"{STORE}/snapshots/abc/config.json": "{}", "srv/models/a/b/config.json": "{}"})
    assert [(line.code, line.state) for line in store(host, name, gated=[name])] == [("HST006", "ok")]


def fetched(folder: Path, day: str) -> None:
    """Date all that lies in a folder, as a download at noon of that day does."""
    moment = calendar.timegm(time.strptime(f"{day} 12:00", "%Y-%m-%d %H:%M"))
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (moment, moment), follow_symlinks=False)


@pytest.mark.parametrize(("day", "state"), [("2026-04-18", "FAIL"), ("2026-04-19", "ok"), ("2026-05-02", "ok")])
def test_a_drafter_that_was_fetched_too_early(
    store: Checked, machine: Make, tmp_path: Path, day: str, state: str
) -> None:
    """(SPD007) What was fetched before the day is older than it for certain; nothing is said of what came later."""
    host = machine(**{f"{STORE}/snapshots/abc/config.json": "{}"})
    fetched(tmp_path / STORE, day)
    line = store(host, "models--a--b", not_before={"models--a--b": "2026-04-19"})[1]
    assert (line.code, line.state, line.found) == ("SPD007", state, f"downloaded {day}")
    assert line.wanted == "downloaded 2026-04-19 or later"
    assert ("download it again" in line.hint) or state == "ok"


def test_the_age_is_that_of_the_snapshot_that_is_used(store: Checked, machine: Make, tmp_path: Path) -> None:
    """(SPD007) An old one that lies beside it does no harm, and a new one beside it does not help."""
    host = machine(**{f"{STORE}/snapshots/{name}/config.json": "{}" for name in ("old", "new")})
    fetched(tmp_path / STORE / "snapshots/old", "2026-01-01")
    fetched(tmp_path / STORE / "snapshots/new", "2026-06-01")
    (tmp_path / STORE / "refs").mkdir()
    for name, state in (("old", "FAIL"), ("new", "ok")):
        (tmp_path / STORE / "refs/main").write_text(name)
        assert store(host, "models--a--b", not_before={"models--a--b": "2026-04-19"})[1].state == state


def revisions(lines: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401  a class of the script
    return [(line.state, line.check, line.found) for line in lines if line.code == "MN008"]


def test_the_revision_of_a_groups_model_is_named(store: Checked, machine: Make, tmp_path: Path) -> None:
    """(MN008) That of main, or the only one, or else all: what an offline start would take."""
    host = machine(**{f"{STORE}/snapshots/abc/config.json": "{}"})
    grouped = {"compared": {"models--a--b": ["big"]}}
    assert revisions(store(host, "models--a--b", **grouped)) == [("ok", "revision of a/b for big", "abc")]
    machine(**{f"{STORE}/snapshots/def/config.json": "{}"})
    assert revisions(store(host, "models--a--b", **grouped)) == [("ok", "revision of a/b for big", "abc, def")]
    (tmp_path / STORE / "refs").mkdir()
    for text, found in (("def\n", "def"), ("gone", "abc, def")):
        (tmp_path / STORE / "refs/main").write_text(text)
        assert revisions(store(host, "models--a--b", **grouped)) == [("ok", "revision of a/b for big", found)]


def test_the_revision_that_is_pinned_is_the_one_that_counts(store: Checked, machine: Make) -> None:
    host = machine(**{f"{STORE}/snapshots/{name}/config.json": "{}" for name in ("abc", "def")})
    found = store(host, "models--a--b@def", compared={"models--a--b": ["big"]})
    assert revisions(found) == [("ok", "revision of a/b for big", "def")]


def test_the_revision_of_a_plain_directory(store: Checked, machine: Make) -> None:
    """(MN008) `hf download --local-dir` writes the commit beside the files; a copy without it is not known."""
    host = machine(**{"srv/models/a/b/config.json": "{}"})
    grouped = {"compared": {"a/b": ["big"]}}
    assert revisions(store(host, "a/b", **grouped)) == [("unknown", "revision of a/b for big", "not recorded")]
    machine(**{"srv/models/a/b/.cache/huggingface/download/config.json.metadata": "abc\netag\n1.5\n"})
    assert revisions(store(host, "a/b", **grouped)) == [("ok", "revision of a/b for big", "abc")]


@pytest.mark.parametrize(
    ("config", "state"),
    [
        (None, "warn"),
        ("{", "warn"),
        ('{"auths": {"ghcr.io": {}}}', "warn"),
        ('{"auths": {"nvcr.io": {}}}', "ok"),
        ('{"credHelpers": {"nvcr.io": "pass"}}', "ok"),
        ('{"credsStore": "pass"}', "ok"),
    ],
)
def test_a_login_for_an_image_that_is_still_to_be_pulled(
    preflight: ModuleType, machine: Make, config: str | None, state: str
) -> None:
    """(HST003) It only warns: the registry may give the image to everybody."""
    files = {} if config is None else {"root/.docker/config.json": config}
    [line] = preflight.check_host(
        complete(Expectations, LOGIN), machine({"docker image": RuntimeError("No such image")}, **files)
    )
    assert (line.code, line.state, line.wanted) == ("HST003", state, IMAGE)
    assert line.found == f"missing, and {'no' if state == 'warn' else 'a'} login for nvcr.io"
    assert ("docker login nvcr.io --username '$oauthtoken'" in line.hint) is (state == "warn")


def test_an_image_that_is_there_needs_no_login(preflight: ModuleType, machine: Make) -> None:
    [line] = preflight.check_host(complete(Expectations, LOGIN), machine({"docker image": "[]"}))
    assert (line.code, line.state, line.found) == ("HST003", "ok", "present")
