"""Faults that newcomers make: each is found, at its place, with what to do. The texts were judged one by one.

`cases/` has what a parser must withstand; these are inventories of people.
"""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.report import Severity
from tests.plan.fleets import checked

INVENTORY: Final = """\
name: home
defaults:
  user: spark
  model_store: /srv/models
  bind: lan
  api_key: {secret: vllm_api_key}
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
deployments:
  chat:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    hosts: spark-01
    port: 8001
    set: {gpu_memory_utilization: 0.5, max_model_len: 65536}
  fast:
    recipe: google/gemma-4-26b-a4b-it-fp8
    hosts: spark-02
services:
  web: {kind: open-webui, image: "ghcr.io/a/webui:v0.6", hosts: spark-02, port: 3000, uses: [chat]}
"""
FAULTS: Final = [
    (
        "recipe without vendor",
        "redhatai/qwen3.6-35b-a3b-nvfp4",
        "qwen3.6-35b-a3b-nvfp4",
        "12:13 INV002",
        "`sparkiac recipes search --model qwen3.6-35b-a3b-nvfp4` prints its whole name",
    ),
    (
        "recipe in other case",
        "redhatai/qwen3.6-35b-a3b-nvfp4",
        "RedHatAI/Qwen3.6-35B-A3B-NVFP4",
        "12:13 INV002",
        "write it in lower case: redhatai/qwen3.6-35b-a3b-nvfp4",
    ),
    (
        "recipe with tag",
        "redhatai/qwen3.6-35b-a3b-nvfp4",
        "redhatai/qwen3.6-35b-a3b-nvfp4#dflash",
        "12:13 INV002",
        "write `recipe: redhatai/qwen3.6-35b-a3b-nvfp4` and `variant: dflash`",
    ),
    (
        "misspelt key of the recipe",
        "recipe: redhatai/qwen3.6-35b-a3b-nvfp4\n",
        "recpie: redhatai/qwen3.6-35b-a3b-nvfp4\n    variant: dflash\n",
        "12:5 INV001",
        "did you mean 'recipe'?",
    ),
    (
        "misspelt recipe",
        "redhatai/qwen3.6-35b-a3b-nvfp4",
        "redhatai/qwen3.6-35b-a3b-nvpf4",
        "12:13 REF001",
        "did you mean 'redhatai/qwen3.6-35b-a3b-nvfp4'?",
    ),
    (
        "unknown variant",
        "    port: 8001\n",
        "    port: 8001\n    variant: fastest\n",
        "15:14 REF001",
        "remove `variant`: ",
    ),
    (
        "unknown fragment",
        "    port: 8001\n",
        "    port: 8001\n    fragments: [single-usr]\n",
        "15:17 REF001",
        "did you mean 'single-user'?",
    ),
    (
        "hosts as list of names in text",
        "hosts: spark-01",
        "hosts: spark-01, spark-02",
        "13:12 INV002",
        "write a list: [spark-01, spark-02]",
    ),
    (
        "hosts missing",
        "    hosts: spark-01\n",
        "",
        "11:3 INV003",
        "One host, or the hosts of one group; the first one is the leader.",
    ),
    (
        "host for hosts",
        "    hosts: spark-01\n",
        "    host: spark-01\n",
        "13:5 INV001",
        "the key is `hosts`: in a deployment `hosts: HOST`, or `hosts: [HOST, HOST]`",
    ),
    (
        "nodes for hosts",
        "    hosts: spark-01\n",
        "    nodes: [spark-01]\n",
        "13:5 INV001",
        "the key is `hosts`: in a deployment `hosts: HOST`, or `hosts: [HOST, HOST]`",
    ),
    ("hosts unknown", "hosts: spark-01\n", "hosts: spark01\n", "13:12 REF001", "did you mean 'spark-01'?"),
    (
        "two hosts no links",
        "hosts: spark-01\n",
        "hosts: [spark-01, spark-02]\n",
        "13:13 REF003 13:23 REF003",
        "run sparkiac fabric discover, or add hosts.spark-01.fabric.links",
    ),
    (
        "same host twice",
        "hosts: spark-01\n",
        "hosts: [spark-01, spark-01]\n",
        "13:13 REF003 13:23 REF002",
        "run sparkiac fabric discover, or add hosts.spark-01.fabric.links",
    ),
    (
        "gib in percent",
        "gpu_memory_utilization: 0.5",
        "gpu_memory_utilization: 50",
        "15:35 INV002",
        "for 50 %, write 0.5",
    ),
    (
        "percent text",
        "gpu_memory_utilization: 0.5",
        "gpu_memory_utilization: 50%",
        "15:35 INV002",
        "for 50 %, write 0.5",
    ),
    ("option with dashes", "max_model_len: 65536", "max-model-len: 65536", "15:40 INV002", "write max_model_len"),
    (
        "option at top of deployment",
        "    set: {gpu_memory_utilization: 0.5, max_model_len: 65536}\n",
        "    max_model_len: 65536\n",
        "15:5 INV001",
        "write `set: {max_model_len: …}`",
    ),
    (
        "two models on one host",
        "hosts: spark-02\nservices",
        "hosts: spark-01\nservices",
        "8:13 MEM103 16:3 NET007",
        "lower a share, move a container to another host",
    ),
    ("port as text", "port: 8001", 'port: "8001"', "14:11 INV002", "write it without quotation marks"),
    ("port mapping", "port: 8001", "port: 8001:8000", "14:11 INV002", "write the port of the host alone: 8001"),
    (
        "a port of another deployment",
        "  fast:\n",
        "  three: {recipe: nvidia/nemotron-3-nano-4b-fp8, hosts: spark-01, port: 8001}\n  fast:\n",
        "8:13 MEM103 16:73 NET007",
        "lower a share, move a container to another host",
    ),
    ("port too large", "port: 8001", "port: 80010", "14:11 INV002", "Port on the host."),
    (
        "address with port",
        "address: 192.168.1.11",
        "address: 192.168.1.11:22",
        "8:23 INV002",
        "write the address alone: 192.168.1.11; `ssh: {user: …, port: …}` of the host sets login and port",
    ),
    (
        "address with user",
        "address: 192.168.1.11",
        "address: spark@192.168.1.11",
        "8:23 INV002",
        "write the address alone: 192.168.1.11; `ssh: {user: …, port: …}` of the host sets login and port",
    ),
    (
        "address with scheme",
        "address: 192.168.1.11",
        "address: http://192.168.1.11:8000/v1",
        "8:23 INV002",
        "write the address alone: 192.168.1.11",
    ),
    (
        "IPv6 address",
        "address: 192.168.1.11",
        "address: fd00::11",
        "8:23 INV002",
        "write the IPv4 address of the host or its DNS name",
    ),
    (
        "address twice",
        "address: 192.168.1.12",
        "address: 192.168.1.11",
        "9:23 REF002",
        "give each host its own address, or remove one of them",
    ),
    (
        "localhost",
        "address: 192.168.1.11",
        "address: localhost",
        "11:3 REF003",
        "set hosts.spark-01.address to an IP address, or use bind: any",
    ),
    (
        "loopback",
        "address: 192.168.1.11",
        "address: 127.0.0.1",
        "20:94 NET100",
        "write `bind: lan` under deployments.chat",
    ),
    (
        "hosts as list",
        "hosts:\n  spark-01: {address: 192.168.1.11}\n  spark-02: {address: 192.168.1.12}\n",
        "hosts:\n  - spark-01\n  - spark-02\n",
        "7:1 INV002",
        "write `name: value` for each, on separate lines or inside { }",
    ),
    (
        "host as text",
        "spark-01: {address: 192.168.1.11}",
        "spark-01: 192.168.1.11",
        "8:13 INV002",
        "write {address: 192.168.1.11}",
    ),
    ("host with underscore", "spark-01", "spark_01", "8:3 INV002", "write spark-01"),
    ("host capitalised", "spark-01", "Spark-01", "8:3 INV002", "write spark-01"),
    (
        "key literal",
        "{secret: vllm_api_key}",
        "sk-1234567890abcdefghij",
        "6:12 INV002",
        "write {secret: NAME}; `sparkiac secrets new INVENTORY` ",
    ),
    ("bind all", "bind: lan", "bind: 0.0.0.0", "5:9 INV002", "`any` listens on all addresses"),
    (
        "store home",
        "model_store: /srv/models",
        "model_store: ~/models",
        "4:16 INV002",
        "write the value itself: variables and templates are not expanded in an inventory",
    ),
    (
        "store missing",
        "  model_store: /srv/models\n",
        "",
        "10:3 REF003 15:3 REF003",
        "add `model_store: /srv/models` to defaults",
    ),
    (
        "image with docker prefix",
        "    port: 8001\n",
        "    port: 8001\n    image: docker://vllm/vllm-openai:v0.27.1\n",
        "15:12 INV002",
        "write vllm/vllm-openai:v0.27.1",
    ),
    ("tabs", "  spark-01: {", "\tspark-01: {", "8:1 YML004", "indent with spaces, not tabs"),
    (
        "indent",
        "    port: 8001\n",
        "   port: 8001\n",
        "14:4 YML004",
        "indent it like the keys beside it, and check the line above",
    ),
    (
        "no space after colon",
        "port: 8001\n",
        "port:8001\n",
        "15:5 YML004",
        "write `key: value`, with a space after the colon",
    ),
    (
        "colon in value",
        "    port: 8001\n",
        "    port: 8001\n    description: chat: the big one\n",
        "15:22 YML004",
        "quote a value that contains a colon and a space",
    ),
    (
        "deployments as list",
        "deployments:\n  chat:\n",
        "deployments:\n  - name: chat\n",
        "16:3 YML004",
        "indent it like the keys beside it, and check the line above",
    ),
    ("service unknown kind", "kind: open-webui", "kind: openwebui", "20:15 INV002", "did you mean 'open-webui'?"),
    ("service uses unknown", "uses: [chat]", "uses: [chatt]", "20:94 REF001", "did you mean 'chat'?"),
    ("uses as text", "uses: [chat]", "uses: chat", "20:93 INV002", "write [chat]"),
    (
        "env bool",
        "    port: 8001\n",
        "    port: 8001\n    env: {VLLM_USE_V1: true}\n",
        "15:24 INV002",
        "to make it a text, quote it: 'true'",
    ),
    (
        "env list",
        "    port: 8001\n",
        "    port: 8001\n    env: [VLLM_USE_V1=1]\n",
        "15:10 INV002",
        "write `name: value` for each, on separate lines or inside { }",
    ),
    (
        "model handle url",
        "    port: 8001\n",
        "    port: 8001\n    model: https://huggingface.co/Qwen/Qwen3-8B\n",
        "15:12 INV002",
        "write Qwen/Qwen3-8B",
    ),
    (
        "model folder",
        "    port: 8001\n",
        "    port: 8001\n    model: /home/milo/bot\n",
        "15:12 INV002",
        "write `model: me/NAME`, and at the top level `own_models: {me/NAME: {host: HOST, path: /home/milo/bot}}`",
    ),
    (
        "jinja",
        "address: 192.168.1.11",
        'address: "{{ ip }}"',
        "8:23 INV002",
        "write the value itself: variables and templates are not expanded in an inventory",
    ),
    (
        "env var",
        "model_store: /srv/models",
        "model_store: $HOME/models",
        "4:16 INV002",
        "write the value itself: variables and templates are not expanded in an inventory",
    ),
    (
        "comma decimal",
        "gpu_memory_utilization: 0.5",
        "gpu_memory_utilization: 0,5",
        "15:37 YML008",
        "write a decimal point, or quote the value: a comma without a space starts a new key here",
    ),
    (
        "no hosts",
        "hosts:\n  spark-01: {address: 192.168.1.11}\n  spark-02: {address: 192.168.1.12}\n",
        "",
        "1:1 INV003",
        "Hosts of the fleet, by name.",
    ),
    (
        "waiver without reason",
        "    port: 8001\n",
        "    port: 8001\n    allow: [{code: MEM001}]\n",
        "15:13 INV003",
        "Why the finding does not apply here.",
    ),
    (
        "monitoring host",
        "services:\n",
        "monitoring: {prometheus: true}\nservices:\n",
        "19:26 INV002",
        "its keys are bind, hosts, image, memory_gib, port, reachable_from, retention",
    ),
    (
        "turn unknown",
        "services:\n",
        "turns: {day: [chat], night: [fest]}\nservices:\n",
        "19:30 REF001",
        "did you mean 'fast'?",
    ),
]
"""Name, text, its replacement, places and codes of all errors, and the start of a hint of one of them."""


def test_without_a_fault_it_has_no_error() -> None:
    report = checked(INVENTORY, locked=None, allow_unlocked=True).report
    assert [each.message for each in report.findings if each.severity is Severity.ERROR] == []
    assert len(FAULTS) >= 50


@pytest.mark.parametrize(
    ("old", "new", "places", "hint"), [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS]
)
def test_a_fault_is_found_where_it_is_with_what_to_do(old: str, new: str, places: str, hint: str) -> None:
    assert old in INVENTORY
    report = checked(INVENTORY.replace(old, new, 1), locked=None, allow_unlocked=True).report
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    marks = [(each.loc.mark, each.code) for each in errors if each.loc is not None]
    assert " ".join(f"{mark.line}:{mark.column} {code}" for mark, code in marks) == places
    assert [each.hint for each in errors if each.hint.startswith(hint)]
