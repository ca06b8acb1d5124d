"""Inventories that a rule's page has no room for. The guard in test_mutants.py asks for one when it is needed."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, PAIR, deployment, service
from tests.rules.pages import Case

UPSTREAM: Final = f"image: vllm/vllm-openai@{ONES}"


def _two(first: str, second: str) -> str:
    """Write two services with these lines in flow style."""
    common = f"kind: container, image: 'example.org/x@{ONES}', on: spark-01"
    services = f"services:\n  asr: {{{common}, {first}}}\n  tts: {{{common}, {second}}}\n"
    return f"name: lab\nhosts: {{spark-01: {{address: 192.168.1.11}}}}\n{services}"


def _vllm(*command: str) -> str:
    return service(f"command: [{', '.join(command)}]").replace(f"image: example.org/asr@{ONES}", UPSTREAM)


def _port(columns: str) -> tuple[str, ...]:
    return (f"NET007 5:{columns} port 80 of spark-01 is used twice: by asr and by tts",)


CASES: Final[dict[str, list[Case]]] = {
    "ENT001": [
        Case(_vllm("example/model", "--port=1", "--dtype=auto", "--host=x")),
        Case(
            _vllm("vllm", "serve", "example/model"),
            (
                "ENT001 9:14 asr would run `vllm serve vllm serve …`: "
                "the entrypoint of vllm/vllm-openai@" + ONES + " is `vllm serve` already",
            ),
        ),
        Case(deployment()),
        Case(deployment("api_key: {secret: k}").replace("base/single-spark", "google/gemma-4-26b-a4b-it-fp8")),
    ],
    "IMG003": [
        Case(deployment()),
        Case(
            deployment(),
            ("IMG003 5:3 chat runs nvcr.io/nvidia/vllm:26.04-py3, which the lock does not pin",),
            locked=None,
        ),
        Case(
            deployment("image: example.org/x:1"),
            ("IMG003 10:12 chat runs example.org/x:1, which the lock does not pin",),
        ),
        Case(
            deployment(defaults="{model_store: /srv/models, image: 'example.org/x:1'}"),
            ("IMG003 2:45 chat runs example.org/x:1, which the lock does not pin",),
        ),
    ],
    "NET007": [
        Case(_two("port: 80", "port: 81")),
        Case(_two("port: 80, bind: loopback", "port: 80, bind: lan")),
        Case(_two("port: 80, bind: loopback", "port: 80, bind: any"), _port("142")),
        Case(_two("port: 80, bind: any", "port: 80, bind: loopback"), _port("142")),
        Case(_two("port: 80, bind: any", "port: 81, bind: any")),
        Case(_two("command: [x]", "port: 80")),
        Case(PAIR),
    ],
}
