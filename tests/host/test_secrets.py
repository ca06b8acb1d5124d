"""The secrets of a host stay readable and complete, whenever the program that encrypts them is interrupted."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkiac.host import durable, local, secrets
from sparkiac.host.sent import saved

Make = Callable[[str], local.LocalHost]
PLAIN = {"first": b"value of the first\n", "second": b"value of the second"}


class Cut(BaseException):
    """The program was killed here."""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes hosts with plain files of a former version."""
    if os.geteuid() != 0:
        pytest.skip("needs root: systemd-creds makes the key of a host")
    monkeypatch.setenv("SYSTEMD_CREDENTIAL_SECRET", str(tmp_path / "host.secret"))

    def made(name: str) -> local.LocalHost:
        machine = local.LocalHost(tmp_path / name)
        for each, value in PLAIN.items():
            durable.write(machine.path(f"{local.SECRETS}/{each}"), value)
        return machine

    return made


@pytest.fixture
def host(make: Make) -> local.LocalHost:
    return make("root")


def read(machine: local.LocalHost) -> dict[str, bytes]:
    """Return what a program that reads secrets finds."""
    return {name: machine.path(f"{local.SECRETS}/{name}").read_bytes() for name in PLAIN}


def cut_before(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the program before the change with this number to the disk."""
    left = [call]
    for name in ("write", "link", "exchange", "make_directory"):
        function = getattr(durable, name)

        def cut(*words: object, function: Callable[..., object] = function) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Cut
            return function(*words)

        monkeypatch.setattr(durable, name, cut)


def interrupted(machine: local.LocalHost, call: int) -> bool:
    """Return whether the program was killed before the change with this number."""
    with pytest.MonkeyPatch.context() as patch:
        cut_before(call, patch)
        try:
            secrets.keep(machine, {"first": "new"})
        except Cut:
            return True
    return False


def test_a_second_run_completes_what_was_interrupted(make: Make) -> None:
    call = 0
    while interrupted(host := make(str(call)), call):
        call += 1
        found = read(host)
        assert found["second"] == PLAIN["second"], "nobody has passed it, so only this host has it"
        assert found["first"] in (PLAIN["first"], b"new")
        secrets.keep(host, {"first": "new"})
        assert read(host) == PLAIN | {"first": b"new"}
        assert secrets.unencrypted(host) == []
        disk = [path.read_bytes() for path in (host.root / "etc").rglob("*") if path.is_file()]
        assert not any(b"value of" in data for data in disk)
    assert call > 8


def test_the_former_value_is_nowhere(host: local.LocalHost) -> None:
    secrets.keep(host, {"first": "former value"})
    sealed = host.path(f"{secrets.ENCRYPTED}/first").read_bytes()
    assert secrets.keep(host, {"first": "new value"}) == ["first"]
    files = [path.read_bytes() for path in host.root.rglob("*") if path.is_file()]
    assert not any(text in data for data in files for text in (b"former value", sealed))
    assert secrets.decrypted(host, "first") == b"new value"


def test_a_file_that_somebody_puts_there_is_encrypted_with_the_next_apply(host: local.LocalHost) -> None:
    secrets.keep(host, {})
    host.path(f"{local.SECRETS}/token").write_text("by hand")
    assert secrets.unencrypted(host) == ["token"]
    assert secrets.keep(host, {}) == ["token"]


def test_plain_files_that_an_interrupted_run_left_are_seen(host: local.LocalHost) -> None:
    secrets.keep(host, {})
    durable.write(host.path(f"{secrets.FORMER}/first"), PLAIN["first"])
    assert secrets.unencrypted(host) == ["first", "second"]
    secrets.keep(host, {})
    assert not host.path(secrets.FORMER).exists()


def test_a_restored_secret_is_encrypted_too(host: local.LocalHost) -> None:
    secrets.keep(host, {})
    path, blocks = f"{local.SECRETS}/first", io.BytesIO()
    [item] = saved.save(host, [path], {}, blocks.write)
    secrets.keep(host, {"first": "lost since"})
    saved.restore(host, [], [item], io.BytesIO(blocks.getvalue()))
    assert read(host) == PLAIN
    assert secrets.decrypted(host, "first") == PLAIN["first"]
    assert secrets.unencrypted(host) == []
