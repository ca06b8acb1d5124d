"""The engine cannot use an API key without exposing it.

SGLang reads a key from its arguments or from a file and shows it in `/server_info`; TensorRT-LLM does not support a
key; the start script of AEON-7's images puts VLLM_API_KEY into the server's arguments and prints them to its log. Every
user of the host can read the arguments of a process, and logs are kept and copied. Bind a server without a key to
loopback, behind a gateway that requires one.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    api_key: {secret: team_key}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    bind: loopback
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac import engines
from sparkiac.plan import Plan
from sparkiac.rules.rule import Hit, hit, rule

RULE: Final = rule(
    __name__,
    ("fails", "contract"),
    "github.com/AEON-7/vllm-dflash: start script",
    "github.com/NVIDIA/TensorRT-LLM issue 9950",
    "sglang 0.5.23: server_args, http_server",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments with a key that the server would expose."""
    for host, container in plan.containers:
        if container.server.engine is not None and container.secrets:
            engine = engines.named(container.server.engine)
            if engine.key_variable is None:
                message = f"{engine.title} cannot use the API key of {container.name} without exposing it"
                hint = "set `api_key: null` and `bind: loopback`, and put a gateway with the key in front"
                yield hit(host, container, ("api_key",), message, hint)
