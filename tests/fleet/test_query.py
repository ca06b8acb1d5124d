"""What runs on a host when it is asked, with the real shell and stand-ins for `id`, `sudo` and the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.fleet import facts, query
from sparkiac.fleet.query import SshEndpoint
from sparkiac.upstream import programs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROGRAM: Final = '#!/bin/sh\necho "${AS:-user}" "$@"\n'
SUDO: Final = """\
#!/bin/sh
# Stand-in for sudo without a password.
[ "$1" = -n ] || exit 2
shift
AS=root exec "$@"
"""
REFUSES: Final = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a host on which this machine runs what ssh is told to."""
    (tmp_path / "bin").mkdir()
    write(tmp_path / "bin/id", "#!/bin/sh\necho 1000\n")
    write(tmp_path / "bin/sudo", SUDO)
    script = query.SCRIPT.replace("/usr/local/lib/sparkiac", f"{tmp_path}/sparkiac")
    monkeypatch.setattr(query, "SCRIPT", script)

    def run(  # noqa: PLR0913
        target: str, words: Sequence[str], *, program: str, timeout_s: float, port: int | None, most_bytes: int
    ) -> programs.Completed:
        assert (target, program, port) == ("ada@10.0.0.1", "", None)
        environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        return programs.execute(words, program.encode(), timeout_s=timeout_s, most_bytes=most_bytes, env=environment)

    monkeypatch.setattr(query.programs, "run", run)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def reason() -> str:
    """Query the host and return why there are no facts: here the program prints how it was started instead."""
    found = query.query(SshEndpoint("a", "10.0.0.1", "ada", None))
    assert found.failure is not None
    assert found.failure.reachable
    return found.failure.reason


def test_a_host_without_sparkiac(host: Path) -> None:
    assert host.exists()
    assert reason() == "sparkiac was never applied to this host"


def test_a_host_with_an_older_version(host: Path) -> None:
    write(host / "sparkiac/switch", PROGRAM)
    assert reason() == "an older version of sparkiac was applied to this host"


def test_it_runs_as_root_if_sudo_needs_no_password(host: Path) -> None:
    write(host / "sparkiac/status", PROGRAM)
    first = facts.metric_names()[0]
    assert f"'root {first}" in reason()
    write(host / "bin/sudo", REFUSES)
    assert f"'user {first}" in reason()
    write(host / "bin/sudo", SUDO)
    write(host / "bin/id", "#!/bin/sh\necho 0\n")
    assert f"'user {first}" in reason()


def test_without_sudo_on_the_host(host: Path) -> None:
    write(host / "sparkiac/status", PROGRAM)
    write(host / "bin/sudo", "#!/bin/sh\nexit 127\n")
    assert "'user " in reason()


def test_a_program_that_fails(host: Path) -> None:
    write(host / "sparkiac/status", "#!/bin/sh\necho 'python3: not found' >&2\nexit 127\n")
    assert reason() == "the status program ended with exit status 127: python3: not found"
