"""Run the prober for one unit: on its host, on this machine, or in the container of a client.

On the host, the installed program runs. Elsewhere its parts are sent to a Python as input. The promise and the API key
are input as well, never arguments.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.assets import directory
from sparkiac.characters import escaped_line
from sparkiac.fleet.ask import Endpoint, Failure, no_connection
from sparkiac.upstream import ssh

if TYPE_CHECKING:
    from sparkiac.plan.contract import Promise

_PROGRAMS: Final = "roles/programs/files/usr/local/lib/sparkiac"
_ROOT: Final = 'if [ "$(id -u)" = 0 ]; then exec "$@"; else exec sudo -n "$@"; fi'
_CHECK: Final = ("check", "--all", "--format", "json")
_PYTHON: Final = "python3"
_LOADER: Final = """\
import importlib.abc, importlib.util, io, json, sys
given = json.load(sys.stdin)
class Parts(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in given["parts"] else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        name = module.__name__
        exec(compile(given["parts"][name], name, "exec"), module.__dict__)
sys.meta_path.insert(0, Parts())
sys.stdin = io.StringIO(json.dumps(given["asked"]))
import probe
sys.exit(probe.main(sys.argv[1:]))
"""
_NO_PYTHON: Final = frozenset({126, 127})
"""Exit codes of `docker exec` if the container does not have the command."""
_MARGIN_S: Final = 900
"""All answers after the first one, each with its limit of 60 s, and the connection."""


class Step(NamedTuple):
    """The result of one step."""

    name: str
    state: str
    """`ok`, `failed` or `skipped`."""
    evidence: str
    seconds: float


class Origin(NamedTuple):
    """Where requests come from."""

    name: str
    """`controller`, `host`, or the name of a deployment or service."""
    endpoint: Endpoint | None = None
    """Host of the client's container."""
    container: str | None = None
    """Container of the client."""


class Asked(NamedTuple):
    """One unit to check."""

    endpoint: Endpoint
    """Its host."""
    promise: Promise
    """What it promises, with the URL at which the origin reaches it."""


def steps_of(asked: Asked, origin: Origin) -> tuple[Step, ...] | Failure:
    """Run all steps for a unit."""
    if origin.name == "host":
        words = ("sh", "-c", _ROOT, "sh", _PYTHON, "/usr/local/lib/sparkiac/probe.py", *_CHECK)
        return _run(asked, asked.endpoint, words, {"promise": asked.promise._asdict(), "key": None})
    key = _key(asked)
    if isinstance(key, Failure):
        return key
    given = {"parts": _parts(), "asked": {"promise": asked.promise._asdict(), "key": key}}
    if origin.container is None:
        return _run(asked, None, (sys.executable, "-c", _LOADER, *_CHECK), given)
    inside = ("docker", "exec", "--interactive", origin.container, _PYTHON, "-c", _LOADER, *_CHECK)
    return _run(asked, origin.endpoint, ("sh", "-c", _ROOT, "sh", *inside), given)


def _key(asked: Asked) -> str | Failure | None:
    """Read the API key of a unit from its host; None if it has none."""
    if asked.promise.api_key is None:
        return None
    path = f"/etc/sparkiac/secrets/{asked.promise.api_key}"
    done = _ssh(asked.endpoint, ("sh", "-c", _ROOT, "sh", "cat", path), "", timeout_s=60)
    if isinstance(done, Failure):
        return done
    code, output, errors = done
    if code:
        hint = "allow sudo without a password there, or use --from host as root"
        return Failure(f"{path} cannot be read: {ssh.last_line(errors, f'exit code {code}')}", hint, reachable=True)
    return output.strip()


def _parts() -> dict[str, str]:
    """Return the parts of the prober: module → text."""
    found = directory("playbooks") / _PROGRAMS
    files = [found / "contract.py", *sorted(found.glob("probe*.py"))]
    return {file.stem: file.read_text(encoding="utf-8") for file in files}


def _run(
    asked: Asked, endpoint: Endpoint | None, words: tuple[str, ...], given: dict[str, Any]
) -> tuple[Step, ...] | Failure:
    done = _ssh(endpoint, words, json.dumps(given), timeout_s=asked.promise.answer_s + _MARGIN_S)
    if isinstance(done, Failure):
        return done
    code, output, errors = done
    try:
        listed = json.loads(output)["steps"]
        return tuple(Step(str(e["name"]), str(e["state"]), _shown(e["evidence"]), float(e["seconds"])) for e in listed)
    except (ValueError, KeyError, TypeError):
        return _no_result(code, ssh.last_line(errors, f"exit code {code}"), in_container="docker" in words)


def _no_result(code: int, said: str, *, in_container: bool) -> Failure:
    if in_container and code in _NO_PYTHON:
        return Failure(f"the container of the client has no python3: {said}", "use --from host", reachable=True)
    hint = "apply the generated files, or check what a login on the host prints"
    return Failure(f"the prober did not run: {said}", hint, reachable=True)


def _ssh(
    endpoint: Endpoint | None, words: tuple[str, ...], text: str, *, timeout_s: float
) -> tuple[int, str, str] | Failure:
    """Run a command at an endpoint, or on this machine; return exit code, output and errors."""
    target, port = (endpoint.target, endpoint.port) if endpoint else (None, None)
    try:
        done = ssh.run(target, words, program=text, timeout_s=timeout_s, port=port)
    except FileNotFoundError:
        return Failure("ssh is not installed on this machine", "install an OpenSSH client", reachable=False)
    except ssh.TimedOut:
        return Failure(f"no result within {timeout_s:g} s", "check the load of the host and the link", reachable=False)
    if endpoint is not None and done.returncode == ssh.FAILED:
        return no_connection(done.stderr, endpoint)
    return done.returncode, done.stdout, done.stderr


def _shown(text: object) -> str:
    return escaped_line(str(text))
