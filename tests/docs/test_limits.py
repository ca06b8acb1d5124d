"""The page of limits names the numbers of the program."""

# ruff: noqa: SLF001  the constants have no other reader

from __future__ import annotations

import pytest

from sparkiac.commands import import_
from sparkiac.fleet import machine, query
from sparkiac.host.sent import safetensors
from sparkiac.model import answers
from sparkiac.source import gate, text
from sparkiac.upstream import capture, files, git, playbook, programs, streaming, transport
from sparkiac.upstream.hub import client as hub
from sparkiac.upstream.hub import model
from sparkiac.upstream.registry import artifacts, authorization, credentials, images
from sparkiac.upstream.registry import client as registry
from tests.conftest import ROOT

PAGE = (ROOT / "docs/limits.md").read_text()


def size(number: int) -> str:
    """Return a size as the page has it."""
    unit = next((name, each) for name, each in (("GiB", 30), ("MiB", 20), ("KiB", 10)) if number % (1 << each) == 0)
    return f"{number >> unit[1]} {unit[0]}"


@pytest.mark.parametrize(
    ("start", "limit"),
    [
        ("output and errors", size(programs.MOST_BYTES)),
        ("a journal", size(programs.MOST_LOG_BYTES)),
        ("output of `git`", size(git.MAX_ALL_BYTES)),
        ("a file of your own", size(git._MAX_OWN_BYTES)),
        ("`status` of a host", f"{query.DEADLINE_S} s"),
        ("ports and facts", f"{machine._TIMEOUT_S} s"),
        ("`git`", f"{git._TIMEOUT_S} s"),
        ("`cosign`", f"{images._TIMEOUT_S} s"),
        ("a credential helper", f"{credentials._TIMEOUT_S} s"),
        ("`ansible-vault`", f"{playbook._VAULT_TIMEOUT_S} s"),
        ("an image whose", f"{capture._TIMEOUT_S} s"),
        ("a line that", size(programs._LONGEST_LINE)),
        ("an event of Ansible", size(playbook._LONGEST_EVENT)),
        ("depth of JSON", f"{answers.MOST_DEPTH} levels"),
        ("values of JSON that is checked", f"{answers.MOST_VALUES:,}"),
        ("values of JSON that is read", f"{answers.MOST_PLAIN_VALUES:,}"),
        ("an inventory", f"{size(text.MAX_BYTES)}, {gate.MAX_NODES:,} keys and values, {gate.MAX_DEPTH} levels"),
        ("a file that `import`", size(import_._MAX_BYTES)),
        ("a manifest", size(registry.MANIFEST_MAX_BYTES)),
        ("a configuration", size(registry.BLOB_MAX_BYTES)),
        ("a token", size(authorization._MAX_BYTES)),
        ("all layers", size(artifacts._MAX_UNPACKED_BYTES)),
        ("entries", f"{artifacts._MAX_ENTRIES:,}"),
        ("a file of a source", size(git.MAX_BYTES)),
        ("all files of a source", size(git.MAX_ALL_BYTES)),
        ("files of a source", f"{git.MAX_FILES:,}"),
        ("time until", f"{artifacts._DEADLINE_S} s"),
        ("the hub's listing", size(hub._LISTING_MAX_BYTES)),
        ("a file outside LFS", size(model.LARGEST_BYTES)),
        ("the header", size(safetensors._MAX_HEADER_BYTES)),
        ("an extra file", size(files.LARGEST_BYTES)),
        ("redirects", str(transport.MAX_REDIRECTS)),
        ("tries", str(transport.TRIES)),
        ("a wait", f"{transport.LONGEST_WAIT_S} s"),
        (
            "a response of a registry",
            f"{transport.HttpTimeouts().total} s, longer from {size(transport.MIN_BYTES_PER_S)}/s",
        ),
        ("a response", size(streaming._MAX_BYTES)),
        ("an event of a stream", size(streaming._MAX_EVENT_BYTES)),
        ("a stream", size(streaming._MAX_STREAM_BYTES)),
    ],
)
def test_the_page_has_the_limit(start: str, limit: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| {start}") and line.endswith(f" | {limit} |")]
    assert rows, f"no row begins with {start!r} and has the limit {limit}"
