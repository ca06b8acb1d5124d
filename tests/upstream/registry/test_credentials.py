"""Logins as Docker, Podman and the programs docker-credential-… keep them."""

from __future__ import annotations

import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import credentials, parse
from sparkiac.upstream.registry.authorization import denied
from sparkiac.upstream.registry.credentials import Credentials, Login

if TYPE_CHECKING:
    from pathlib import Path

    from tests.upstream.registry.conftest import Home


def entry(user: str, secret: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{secret}".encode()).decode()}


def found(home: Home, reference: str) -> Login | None:
    return Credentials(home.environ).login(parse(reference))


def program(folder: Path, name: str, script: str) -> None:
    """Write a stand-in for a program docker-credential-… of Docker's.

    It checks what it is given as Docker's protocol has it: one argument, the key on standard input.
    """
    head = '#!/bin/sh\n[ $# = 1 ] && [ "$1" = get ] || exit 64\nread -r key\n'
    path = folder / f"docker-credential-{name}"
    path.write_text(f"{head}{script}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(home: Home, tmp_path: Path) -> Path:
    """Make a directory on the PATH of that home."""
    folder = tmp_path / "bin"
    folder.mkdir()
    home.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    return folder


def says(user: str, secret: str) -> str:
    """Answer as such a program does, and keep which key it was asked for."""
    answer = json.dumps({"ServerURL": "ignored", "Username": user, "Secret": secret})
    return f'echo "$key" >> "$HOME/asked"\ncat <<\'END\'\n{answer}\nEND'


@pytest.mark.parametrize(
    ("key", "reference"),
    [
        ("nvcr.io", "nvcr.io/nvidia/vllm:1"),
        ("https://nvcr.io", "nvcr.io/nvidia/vllm:1"),
        ("https://nvcr.io/v2/", "nvcr.io/nvidia/vllm:1"),
        ("localhost:5000", "localhost:5000/a"),
        ("https://index.docker.io/v1/", "vllm/vllm-openai:1"),
        ("docker.io", "nginx"),
        ("index.docker.io", "nginx"),
        ("https://index.docker.io/v1/", "index.docker.io/vllm/vllm-openai:1"),
        ("https://registry-1.docker.io/v2/", "docker.io/vllm/vllm-openai:1"),
        ("registry-1.docker.io", "nginx"),
        ("quay.io/team", "quay.io/team/vllm:1"),
        ("quay.io/team/vllm", "quay.io/team/vllm:1"),
    ],
)
def test_a_key_means_a_registry_however_it_is_written(home: Home, key: str, reference: str) -> None:
    home.configure({"auths": {key: entry("me", "canary")}})
    assert found(home, reference) == Login("me", "canary")


@pytest.mark.parametrize(
    ("key", "reference"),
    [
        ("nvcr.io", "nvcr.io.example.com/a:1"),
        ("localhost", "localhost:5000/a"),
        ("localhost:5000", "localhost:5001/a"),
        ("quay.io/team", "quay.io/teammate/vllm:1"),
        ("quay.io/team", "quay.io/other:1"),
        ("https://index.docker.io/v1/", "nvcr.io/nvidia/vllm:1"),
    ],
)
def test_a_login_is_for_no_other_registry(home: Home, key: str, reference: str) -> None:
    home.configure({"auths": {key: entry("me", "canary")}})
    assert found(home, reference) is None


def test_ngc_requires_a_user_of_this_very_name(home: Home) -> None:
    home.configure({"auths": {"nvcr.io": entry("$oauthtoken", "nvapi-canary:with:colons")}})
    login = found(home, "nvcr.io/nvidia/vllm:26.04-py3")
    assert login == Login("$oauthtoken", "nvapi-canary:with:colons")


def test_an_identity_token_counts_before_a_password(home: Home) -> None:
    home.configure({"auths": {"a.io": {**entry("me", "old"), "identitytoken": "canary"}}})
    assert found(home, "a.io/b") == Login("<token>", "canary")


def test_the_most_exact_key_counts(home: Home) -> None:
    keys = {"quay.io": entry("all", "1"), "quay.io/team": entry("team", "2"), "quay.io/team/x": entry("x", "3")}
    home.configure({"auths": keys})
    wanted = {"quay.io/team/x": "x", "quay.io/team/y": "team", "quay.io/other/x": "all"}
    assert {each: login.user for each in wanted if (login := found(home, each))} == wanted


def test_a_program_of_one_registry_counts_before_auths_and_those_before_the_store(home: Home, programs: Path) -> None:
    program(programs, "one", says("one", "1"))
    program(programs, "store", says("store", "3"))
    auths = {"a.io": entry("file", "2"), "b.io": entry("file", "2"), "c.io": {}}
    home.configure({"credHelpers": {"a.io": "one"}, "auths": auths, "credsStore": "store"})
    users = [login.user for name in "abcd" if (login := found(home, f"{name}.io/x"))]
    assert users == ["one", "file", "store", "store"]
    assert (home.path / "asked").read_text().split() == ["a.io", "c.io", "d.io"]


def test_a_store_knows_docker_hub_by_its_old_address(home: Home, programs: Path) -> None:
    program(programs, "store", says("me", "canary"))
    home.configure({"credsStore": "store"})
    assert found(home, "nginx") == Login("me", "canary")
    assert (home.path / "asked").read_text().split() == ["https://index.docker.io/v1/"]


def test_a_program_that_may_ask_a_person_is_started_once(home: Home, programs: Path) -> None:
    program(programs, "store", says("me", "canary"))
    home.configure({"credsStore": "store"})
    kept = Credentials(home.environ)
    with ThreadPoolExecutor(8) as pool:
        logins = list(pool.map(lambda number: kept.login(parse(f"a.io/image{number}")), range(16)))
    assert set(logins) == {Login("me", "canary")}
    assert (home.path / "asked").read_text().split() == ["a.io"]


def test_files_are_read_in_their_order(home: Home, tmp_path: Path) -> None:
    named, docker, runtime = tmp_path / "named.json", tmp_path / "docker", tmp_path / "run"
    (docker).mkdir()
    (runtime / "containers").mkdir(parents=True)
    named.write_text(json.dumps({"auths": {"a.io": entry("named", "1")}}))
    (docker / "config.json").write_text(json.dumps({"auths": {r: entry("docker", "2") for r in ("a.io", "b.io")}}))
    every = {r: entry("podman", "3") for r in ("a.io", "b.io", "c.io")}
    (runtime / "containers/auth.json").write_text(json.dumps({"auths": every}))
    home.log_in("d.io", "home")
    folders = {"REGISTRY_AUTH_FILE": named, "DOCKER_CONFIG": docker, "XDG_RUNTIME_DIR": runtime}
    home.environ.update({name: str(path) for name, path in folders.items()})
    users = [login and login.user for login in (found(home, f"{name}.io/x") for name in "abcd")]
    assert users == ["named", "docker", "podman", None]


def test_no_file_and_an_empty_one_hold_no_login(home: Home) -> None:
    assert found(home, "a.io/x") is None
    home.configure("")
    assert found(home, "a.io/x") is None
    assert Credentials({}).login(parse("a.io/x")) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"auths": {"a.io": {"auth": "canary"', "is not a JSON object at line 1, column 37"),
        ("[]", "is not a JSON object"),
        ('{"auths": ["canary"]}', "auths is not a JSON object"),
        ('{"auths": {"a.io": "canary"}}', "auths: a.io is not a JSON object"),
        ('{"auths": {"a.io": {"auth": "canary!"}}}', "auths: a.io: auth is not USER:SECRET in base64"),
        ('{"auths": {"a.io": {"auth": "Y2FuYXJ5"}}}', "auths: a.io: auth is not USER:SECRET in base64"),
        ('{"auths": {"a.io": {"auth": 7}}}', "auths: a.io: auth is not USER:SECRET in base64"),
        ('{"auths": {"a.io": {"auth": "/////w=="}}}', "auths: a.io: auth is not USER:SECRET in base64"),
        ('{"credHelpers": {"a.io": "../canary"}}', "invalid name of the credential helper for a.io"),
        ('{"credsStore": 7}', "invalid name of the credential helper for a.io"),
        ("[" * 100_000, "is not a JSON object"),
        ("\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "is not a JSON object at line 1, column 1"),
    ],
)
def test_a_malformed_file_is_named_and_not_shown(home: Home, text: str, fault: str) -> None:
    home.configure(text)
    with pytest.raises(UpstreamError) as caught:
        found(home, "a.io/x")
    assert caught.value.code == "LCK003"
    assert str(caught.value) == f"{home.path}/.docker/config.json: {fault}"
    assert caught.value.hint == "correct the file, or remove it and log in again"


def test_a_file_that_cannot_be_read_is_named(home: Home) -> None:
    (home.path / ".docker/config.json").mkdir(parents=True)
    with pytest.raises(UpstreamError, match=r"config\.json: cannot be read: Is a directory"):
        found(home, "a.io/x")


def test_a_program_that_is_not_installed_is_named(home: Home) -> None:
    home.configure({"credHelpers": {"a.io": "nowhere"}})
    with pytest.raises(UpstreamError) as caught:
        found(home, "a.io/x")
    file = f"{home.path}/.docker/config.json"
    assert caught.value.code == "LCK003"
    assert str(caught.value) == (f"docker-credential-nowhere, the credential helper for a.io in {file}, is not on PATH")
    assert caught.value.hint == f"install docker-credential-nowhere, or remove it from {file}"


@pytest.mark.parametrize(
    "words", ["credentials not found in native keychain", "no credentials server URL", "no credentials username"]
)
def test_a_program_without_a_login_is_not_a_fault(home: Home, programs: Path, words: str) -> None:
    program(programs, "store", f"echo '{words}'; exit 1")
    home.configure({"credsStore": "store"})
    assert found(home, "a.io/x") is None


def test_a_program_with_an_empty_login_has_none(home: Home, programs: Path) -> None:
    program(programs, "desktop", """echo '{"ServerURL":"","Username":"","Secret":""}'""")
    home.configure({"credsStore": "desktop"})
    assert found(home, "vllm/vllm-openai:1") is None


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("echo canary; echo canary >&2; exit 3", "exited with 3 for the login for a.io"),
        ("echo canary", "printed no Username and Secret for a.io"),
        ('echo \'{"Username": "me"}\'', "printed no Username and Secret for a.io"),
        ('echo \'{"Username": "me", "Secret": 7}\'', "printed no Username and Secret for a.io"),
        ("echo '[]'", "printed no Username and Secret for a.io"),
        ("printf '\\377'", "printed no Username and Secret for a.io"),
    ],
)
def test_a_program_that_fails_is_named_and_not_quoted(home: Home, programs: Path, script: str, fault: str) -> None:
    program(programs, "odd", script)
    home.configure({"credHelpers": {"a.io": "odd"}})
    with pytest.raises(UpstreamError) as caught:
        found(home, "a.io/x")
    assert (caught.value.code, str(caught.value)) == ("LCK003", f"docker-credential-odd {fault}")


def test_a_program_that_hangs_is_given_up(home: Home, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_TIMEOUT_S", 0.1)
    program(programs, "slow", "exec sleep 5")
    home.configure({"credHelpers": {"a.io": "slow"}})
    with pytest.raises(UpstreamError, match=r"docker-credential-slow did not end within 0\.1 s"):
        found(home, "a.io/x")


def test_a_program_that_cannot_be_started_is_named(home: Home, programs: Path) -> None:
    (programs / "docker-credential-broken").write_text("#!/nowhere/sh\n")
    (programs / "docker-credential-broken").chmod(0o755)
    home.configure({"credHelpers": {"a.io": "broken"}})
    with pytest.raises(UpstreamError, match="cannot be started: No such file or directory"):
        found(home, "a.io/x")


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("vllm/vllm-openai", "docker login"),
        ("ghcr.io/acme/vllm", "docker login ghcr.io"),
        (
            "nvcr.io/nvidia/vllm",
            "docker login nvcr.io; the user is literally $oauthtoken, and the password is an NGC API key",
        ),
    ],
)
def test_the_hint_is_the_command_that_logs_in(home: Home, reference: str, hint: str) -> None:
    refusal = denied(parse(reference), Credentials(home.environ), "the.host")
    assert (refusal.code, refusal.hint) == ("LCK003", hint)
