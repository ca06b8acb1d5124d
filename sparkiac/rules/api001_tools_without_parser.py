"""A client sends tools to a deployment that has no tool parser.

An agent sends `tool_choice: "auto"` with each request. Without `enable_auto_tool_choice` and `tool_call_parser` the
server loads and lists the model, but answers every such request with HTTP 400. The right parser depends on the model's
family, not on the client; recipes name it. Hermes Agent always sends tools; for other clients, set `clients: [tools]`
on the deployment, `messages` for Claude Code, or `responses` for Codex. With `enable_auto_tool_choice` and no parser
vLLM does not start at all.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
services:
  agent:
    kind: hermes-agent
    hosts: spark-01
    uses: chat
    api_key: {secret: hermes_key}
    program: /home/spark/.local/bin/hermes
    user: spark
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: RedHatAI/Qwen3.6-35B-A3B-NVFP4
    image: nvcr.io/nvidia/vllm:26.04-py3@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    port: 8001
    set: {enable_auto_tool_choice: true, tool_call_parser: qwen3_xml}
    clients: [tools]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "source"),
    "https://github.com/vllm-project/vllm/blob/v0.19.0/vllm/entrypoints/openai/cli_args.py",
    "https://github.com/vllm-project/vllm/blob/v0.19.0/vllm/entrypoints/serve/render/serving.py",
    "Spark guide L158-159, L184, L637-639, L648",
)
_HINT: Final = "add it under `set`; choose the parser of the model's family: qwen3_xml, qwen3_coder, gemma4"


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments that lack an option which their clients or vLLM itself require."""
    programs = [program for host in plan.hosts for program in host.programs]
    agents = {link.name: program.name for program in programs for link in program.dependencies}
    for host, container in plan.containers:
        if container.server.served and engines.named(container.server.engine).tools:
            asked = container.server.clients or container.name in agents
            yield from _hits(host, container, agents.get(container.name, "its clients") if asked else None)


def _hits(host: HostPlan, container: Container, who: str | None) -> Iterator[Hit]:
    needed = engines.named(container.server.engine).tools
    missing = [option for option in needed if not container.server.options.get(option)]
    if who is not None and missing:
        message = f"{container.name} refuses requests with tools from {who}: {' and '.join(missing)} not set"
        yield Hit(container.path, message, _HINT, host=host.name)
    elif missing == [needed[-1]]:
        message = f"{container.name} does not start: {needed[0]} needs a {needed[-1]}"
        yield hit(host, container, ("set", needed[0]), message, _HINT)
