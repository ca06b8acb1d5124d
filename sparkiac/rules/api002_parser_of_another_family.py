"""The parser reads tool calls in another form than the model writes.

Calls then stay in the text, and the client gets none. The form is the model family's, whatever the client is called:
`hermes` is no parser for Hermes Agent. Qwen3.6 is run with `qwen3_xml` on nightly and with `qwen3_coder` on NGC
26.04, which read the same form; Gemma-4-26B-A4B with `pythonic` in gemma4-cu130 (Spark guide) and with `hermes` in the
preview of May 5 (dual-Spark post), Gemma-4-31B with `gemma4`: on other images the 26B may have each of these, and on
those two `gemma4` is a warning. What the recipe itself says is right for its image, and a parser of a plugin is not
known here. For families that no source ran the parser is that of vLLM's documentation, and another one is a warning.
Try a real call after each change.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
    set: {enable_auto_tool_choice: true, tool_call_parser: hermes}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: nvidia/qwen3.6-35b-a3b-nvfp4
    image: vllm/vllm-openai:nightly@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    port: 8000
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Severity
from sparkiac.rules.kernels import deployments, hit, model, option
from sparkiac.rules.readings import tested
from sparkiac.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.rules.rule import Hit

RULE: Final = Rule(
    code="API002",
    slug="parser-of-another-family",
    severity=Severity.ERROR,
    sources=(
        "Spark guide L159, L175, L229, L251, L334, L764",
        "dual-Spark post L52, L93",
        "DeepSeek-V4 thread L299",
        "docs.vllm.ai: Tool calling",
    ),
    since="0.1.0",
)
_PARSERS: Final = (
    ("qwen3.6", "", ("qwen3_xml", "qwen3_coder")),
    ("qwen3.5", "", ("qwen3_coder", "qwen3_xml")),
    ("qwen3-coder", "", ("qwen3_coder", "qwen3_xml")),
    ("nemotron-3-", "", ("qwen3_coder", "qwen3_xml")),
    ("gemma-4-31b", "", ("gemma4",)),
    ("gemma-4-26b-a4b", ":gemma4-cu130", ("pythonic",)),
    ("gemma-4-26b-a4b", ":gemma4-0505", ("hermes",)),
    ("gemma-4-26b-a4b", "", ("gemma4", "pythonic", "hermes")),
    ("laguna", "", ("poolside_v1",)),
    ("deepseek-v4", "", ("deepseek_v4",)),
)
"""Part of the model's name, part of the image's, and the parsers that sources run; the first row counts."""
_OF_VLLM: Final = {"gemma4"}
"""Parsers that vLLM's documentation names for a family of which sources run another one on some image."""
_DOCUMENTED: Final = {
    "gpt-oss": "openai",
    "glm-4.5": "glm45",
    "glm-4.6": "glm45",
    "glm-4.7": "glm47",
    "minimax-m2": "minimax_m2",
    "kimi-k2": "kimi_k2",
}
"""Part of the model's name → the parser that vLLM's documentation names for it."""


def check(plan: Plan) -> Iterator[Hit]:
    """Find parsers that neither the recipe nor the family has."""
    for host, container in deployments(plan):
        yield from _hits(host, container)


def _hits(host: HostPlan, container: Container) -> Iterator[Hit]:
    parser = option(container, "tool_call_parser")
    run, documented = _run(container), _documented(container)
    wanted = run or documented or (parser,)
    own = "tool_parser_plugin" in container.server.options
    if not own and parser not in {"", tested(container, "tool_call_parser"), *wanted}:
        message = (
            f"{container.server.model} writes tool calls for {' or '.join(wanted)}, and {container.name} reads {parser}"
        )
        severity = None if run and parser not in _OF_VLLM else Severity.WARNING
        yield hit(host, container, ("set", "tool_call_parser"), message, f"set tool_call_parser: {wanted[0]}", severity)


def _run(container: Container) -> tuple[str, ...]:
    served, image = model(container), container.image.reference
    return next((parsers for part, tag, parsers in _PARSERS if part in served and tag in image), ())


def _documented(container: Container) -> tuple[str, ...]:
    return tuple(parser for part, parser in _DOCUMENTED.items() if part in model(container))
