"""Where endpoint and token come from: the environment that is passed, and what `hf auth login` left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream.hub import client
from sparkiac.upstream.hub.client import HubClient
from tests.upstream.hub.tiny import refused

if TYPE_CHECKING:
    from pathlib import Path


def test_without_variables_it_is_the_public_hub_and_no_token() -> None:
    assert client.endpoint({}) == "https://huggingface.co"
    assert client.token({}) is None


def test_an_endpoint_loses_its_slash() -> None:
    assert (
        HubClient.from_environ({"HF_ENDPOINT": "http://mirror.lab:8080/hub/"}).endpoint == "http://mirror.lab:8080/hub"
    )


@pytest.mark.parametrize("address", ["mirror.lab", "https://user:pass@mirror.lab", "file:///x", "https://a b"])
def test_an_endpoint_that_is_not_a_plain_address_is_refused_and_not_repeated(address: str) -> None:
    refusal = refused(lambda: HubClient.from_environ({"HF_ENDPOINT": address}))

    assert refusal.code == "LCK013"
    assert address not in f"{refusal}{refusal.hint}"


def test_the_variable_goes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_file")

    assert client.token({"HF_TOKEN": " hf_said\n", "HF_HOME": str(tmp_path)}) == "hf_said"
    assert client.token({"HUGGING_FACE_HUB_TOKEN": "hf_old", "HF_HOME": str(tmp_path)}) == "hf_old"


@pytest.mark.parametrize(
    ("variable", "value", "file"),
    [
        ("HF_TOKEN_PATH", "{}/mine", "mine"),
        ("HF_HOME", "{}", "token"),
        ("XDG_CACHE_HOME", "{}", "huggingface/token"),
        ("HOME", "{}", ".cache/huggingface/token"),
    ],
)
def test_a_login_is_found_where_the_library_leaves_it(tmp_path: Path, variable: str, value: str, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("hf_left\n")

    assert client.token({variable: value.format(tmp_path)}) == "hf_left"


def test_a_home_is_expanded_from_what_is_passed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_left")

    assert client.token({"HOME": str(tmp_path), "HF_HOME": "~"}) == "hf_left"


def test_an_empty_or_missing_login_is_none(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")

    assert client.token({"HF_HOME": str(tmp_path)}) is None
    assert client.token({"HF_HOME": str(tmp_path / "nothing")}) is None
    assert client.token({"HF_TOKEN": "", "HF_TOKEN_PATH": str(tmp_path)}) is None


@pytest.mark.parametrize("token", ["hf_ä", "hf_a b", "hf_\x00"])
def test_a_token_that_no_header_carries_is_refused_and_not_repeated(token: str) -> None:
    refusal = refused(lambda: HubClient.from_environ({"HF_TOKEN": token}))

    assert refusal.code == "LCK010"
    assert token not in f"{refusal!r}{refusal.hint}"


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_means_that_no_request_is_sent(variable: str) -> None:
    refusal = refused(lambda: HubClient.from_environ({variable: "1"}))

    assert (refusal.code, refusal.hint) == ("LCK013", f"unset {variable}")
    assert HubClient.from_environ({variable: "0"}).endpoint == "https://huggingface.co"
