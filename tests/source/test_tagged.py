"""Unions that one key tells apart: a service's kind. And the keys of speculative decoding."""

from __future__ import annotations

import pytest

from tests.source.reading import FLEET, only

KINDS = (
    "'container', 'parakeet', 'chatterbox', 'gpu-exporter', 'ollama', 'open-webui', 'hermes-agent', 'openclaw' "
    "or 'gateway'"
)


@pytest.mark.parametrize(
    ("entry", "column", "message", "hint"),
    [
        (
            "{kind: parakete}",
            22,
            f"services.x.kind: must be {KINDS}, not the text 'parakete'",
            "did you mean 'parakeet'?",
        ),
        ("{kind: 5}", 22, f"services.x.kind: must be {KINDS}, not the number 5", ""),
        ("{kind: [a]}", 22, f"services.x.kind: must be {KINDS}, not a list", ""),
        ("{kind: null}", 22, f"services.x.kind: must be {KINDS}, not nothing", ""),
        (
            "{hosts: a}",
            12,
            "services.x needs the key 'kind'",
            "one of: chatterbox, container, gateway, gpu-exporter, hermes-agent,",
        ),
        ("5", 15, "services.x: must be a mapping, not the number 5", ""),
        ("{kind: ollama, hosts: a, modles: []}", 40, "unknown key 'modles' in services.x", "did you mean 'models'?"),
        (
            "{kind: openclaw, hosts: a, image: b, aliases: {x: {to: b}}}",
            42,
            "unknown key 'image' in services.x",
            "known: aliases, allow, description, hosts, kind, memory_gib",
        ),
        (
            "{kind: ollama, hosts: a, secret_key: word}",
            40,
            "unknown key 'secret_key' in services.x",
            "known: allow, bind, command, ",
        ),
        (
            "{kind: open-webui, hosts: a, secret_key: word}",
            56,
            "services.x.secret_key: must be a reference to a secret (value",
            "write {secret: NAME}",
        ),
        (
            "{kind: openclaw, hosts: a, aliases: {x: {to: b, sampling: {topp: 1}}}}",
            74,
            "unknown key 'topp' in services.x.aliases.x.sampling",
            "did you mean 'top_p'?",
        ),
        (
            "{kind: openclaw, hosts: a, aliases: {x: {}}}",
            52,
            "services.x.aliases.x needs the key 'to'",
            "Deployment or service that serves it.",
        ),
    ],
)
def test_a_service(entry: str, column: int, message: str, hint: str) -> None:
    finding = only(f"{FLEET}services: {{x: {entry}}}\n")
    assert finding.loc is not None
    assert finding.loc.mark[:2] == (4, column)
    assert finding.message.startswith(message)
    assert finding.hint.startswith(hint)
    assert bool(finding.hint) is bool(hint)
    assert "word" not in finding.loc.text


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ("{model: a/b}", "defaults.speculative needs the key 'method'", "Method, by vLLM's name: mtp, dflash,"),
        ("{metod: mtp}", "defaults.speculative needs the key 'method'", "did you mean 'method' instead of 'metod'?"),
        ("{method: [mtp]}", "defaults.speculative.method: must be a text, not a list", ""),
        ("{method: mtp, Top: 1}", "defaults.speculative.Top: 'Top' is not an option name in snake_case", "write top"),
    ],
)
def test_a_method(entry: str, message: str, hint: str) -> None:
    finding = only(f"{FLEET}defaults: {{speculative: {entry}}}\n")
    assert finding.message.startswith(message)
    assert finding.hint.startswith(hint)
