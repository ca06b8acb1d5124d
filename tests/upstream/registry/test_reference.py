"""References in short and in full, as inventories write them."""

from __future__ import annotations

import pytest

from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import ImageReference, parse
from sparkiac.upstream.transport import is_loopback

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nginx", ImageReference("docker.io", "library/nginx", "latest", "")),
        ("vllm/vllm-openai:v0.17.1", ImageReference("docker.io", "vllm/vllm-openai", "v0.17.1", "")),
        ("docker.io/nginx", ImageReference("docker.io", "library/nginx", "latest", "")),
        ("index.docker.io/ubuntu", ImageReference("docker.io", "library/ubuntu", "latest", "")),
        ("registry-1.docker.io/vllm/vllm-openai:1", ImageReference("docker.io", "vllm/vllm-openai", "1", "")),
        ("nvcr.io/nvidia/vllm:26.04-py3", ImageReference("nvcr.io", "nvidia/vllm", "26.04-py3", "")),
        (f"a/b@{DIGEST}", ImageReference("docker.io", "a/b", "", DIGEST)),
        (f"a/b:1@{DIGEST}", ImageReference("docker.io", "a/b", "1", DIGEST)),
        ("localhost:5000/a:1", ImageReference("localhost:5000", "a", "1", "")),
        ("localhost:5000/a", ImageReference("localhost:5000", "a", "latest", "")),
        ("localhost/a", ImageReference("localhost", "a", "latest", "")),
        ("registry:5000/team/sub/a:1", ImageReference("registry:5000", "team/sub/a", "1", "")),
        ("ghcr.io/a:1", ImageReference("ghcr.io", "a", "1", "")),
    ],
)
def test_what_a_short_reference_leaves_out_is_said(text: str, wanted: ImageReference) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize("text", ["nginx", f"nvcr.io/nvidia/vllm@{DIGEST}", f"a/b:1@{DIGEST}", "localhost:5000/a"])
def test_a_full_reference_reads_as_itself(text: str) -> None:
    whole = parse(text)
    assert parse(str(whole)) == whole


@pytest.mark.parametrize(
    "text", ["", "A/b", "a b", "a/../b", "https://nvcr.io/a", "a@sha256:00", "a:1\n", "user@host/a"]
)
def test_what_is_not_a_reference_is_refused(text: str) -> None:
    with pytest.raises(UpstreamError, match="is not an image reference such as") as caught:
        parse(text)
    assert caught.value.code == "LCK001"


def test_docker_hub_answers_under_another_name() -> None:
    assert parse("nginx").host == "registry-1.docker.io"
    assert parse("nvcr.io/a/b").host == "nvcr.io"


def test_a_digest_is_requested_before_a_tag() -> None:
    assert parse(f"a/b:1@{DIGEST}").selector == DIGEST
    assert parse("a/b:1").selector == "1"


@pytest.mark.parametrize("host", ["localhost", "localhost:5000", "127.0.0.1", "127.0.0.1:80"])
def test_this_machine_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["nvcr.io", "localhost.example.com", "128.0.0.1:5000", "127.0.0.2", "127.0.0.1.nip.io", "10.0.0.1"]
)
def test_other_machines_are_not_this_one(host: str) -> None:
    assert not is_loopback(host)
