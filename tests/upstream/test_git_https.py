"""Recipes from a Git repository over https, with a private certificate authority and each way to fail."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sparkiac.upstream import git
from sparkiac.upstream.programs import ProgramError
from tests.upstream import git_server
from tests.upstream.registry import servers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.upstream.registry.servers import Authority, Server

FILES = {"ours/chat.yaml": b"title: Ours\n"}


class Upstream(NamedTuple):
    """A server with one repository, /team.git, and a server without TLS."""

    server: Server
    plain: Server
    authority: Authority
    commit: str
    tag: str
    """Object of the annotated tag v1."""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    """Serve a repository."""
    root = tmp_path_factory.mktemp("git")
    work, served = root / "work", root / "served"
    (work / "recipes/ours").mkdir(parents=True)
    (work / "recipes/ours/chat.yaml").write_bytes(FILES["ours/chat.yaml"])
    commit = git_server.commit(work)
    git_server.git(work, "-c", "user.name=a", "-c", "user.email=a@example.org", "tag", "-a", "-m", "first", "v1")
    git_server.git(root, "clone", "-q", "--bare", str(work), str(served / "team.git"))
    (served / "empty.git").mkdir()
    git_server.git(served / "empty.git", "init", "-q", "--bare")
    authority = servers.authority(root)
    with (
        servers.Server(lambda _: servers.Reply(), None) as plain,
        git_server.serve(served, authority, plain.base) as server,
    ):
        yield Upstream(server, plain, authority, commit, git_server.git(work, "rev-parse", "v1").strip())


@pytest.fixture(autouse=True)
def _trusted(upstream: Upstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Trust the authority as users do, and know no proxy and no login."""
    for name in ("HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in {"NO_PROXY": "*", "HOME": str(tmp_path), "GIT_ASKPASS": "", "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(upstream.authority.bundle))


@pytest.mark.parametrize("path", ["team.git", "moved/team.git"])
def test_a_branch_a_tag_and_a_commit_are_fetched(upstream: Upstream, path: str) -> None:
    for revision in ("HEAD", "v1", upstream.commit):
        found = git.fetch(f"{upstream.server.base}/{path}", revision, "recipes")
        assert found[:2] == (upstream.commit, FILES)
        assert found.created


def test_git_s_own_configuration_names_the_authority(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_SSL_CAINFO")
    with pytest.raises(ProgramError, match=r"certificate.*name it in GIT_SSL_CAINFO"):
        git.fetch(f"{upstream.server.base}/team.git", "HEAD", "recipes")
    shutil.copy(upstream.authority.bundle, tmp_path / "ca.pem")
    (tmp_path / ".gitconfig").write_text(f"[http]\n\tsslCAInfo = {tmp_path}/ca.pem\n")
    assert git.fetch(f"{upstream.server.base}/team.git", "HEAD", "recipes").files == FILES


@pytest.mark.parametrize(
    ("path", "revision", "message"),
    [
        ("team.git", "1" * 40, f"not our ref {'1' * 40}; the repository has no such commit"),
        ("team.git", "nowhere", "couldn't find remote ref nowhere; revision must be a branch, a tag, or all 40 digits"),
        ("empty.git", "HEAD", "couldn't find remote ref HEAD; the repository is empty"),
        ("other.git", "HEAD", "repository 'BASE/other.git/' not found"),
        ("elsewhere/team.git", "HEAD", "; the server redirects to an address without TLS"),
        ("private/team.git", "HEAD", "the repository does not exist, or git needs a credential helper for it"),
    ],
)
def test_a_failure_has_its_reason(upstream: Upstream, path: str, revision: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        git.fetch(f"{upstream.server.base}/{path}", revision, "recipes")
    assert message.replace("BASE", upstream.server.base) in str(caught.value)
    assert upstream.plain.requests == []


def test_a_server_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(ProgramError, match=r"https://localhost:1/team.git/': "):
        git.fetch("https://localhost:1/team.git", "HEAD", "recipes")


def test_the_object_of_a_tag_is_not_a_commit(upstream: Upstream) -> None:
    with pytest.raises(ProgramError) as caught:
        git.fetch(f"{upstream.server.base}/team.git", upstream.tag, "recipes")
    assert str(caught.value) == f"{upstream.tag} is a tag object; name its commit {upstream.commit}"


@pytest.mark.parametrize("path", ["private/team.git", "other.git"])
def test_a_password_in_git_s_configuration_is_not_in_a_message(upstream: Upstream, tmp_path: Path, path: str) -> None:
    address = upstream.server.base.replace("https://", "https://reader:canary@")
    (tmp_path / ".gitconfig").write_text(f'[url "{address}/"]\n\tinsteadOf = https://git.example.org/\n')
    with pytest.raises(ProgramError) as caught:
        git.fetch(f"https://git.example.org/{path}", "HEAD", "recipes")
    assert "canary" not in str(caught.value)
