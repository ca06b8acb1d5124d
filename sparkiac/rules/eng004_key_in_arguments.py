"""The engine cannot take an API key without showing it.

SGLang takes a key in its arguments or from a file, and shows it in `/server_info`; TensorRT-LLM takes none; the start
script of AEON-7's images puts VLLM_API_KEY into the server's arguments and prints them into its log. Arguments are read
by everybody on the host, and logs are kept and copied. A server without a key belongs on loopback, with a gateway in
front that asks for one.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    api_key: {secret: team_key}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang@sha256:1111111111111111111111111111111111111111111111111111111111111111
    on: spark-01
    bind: loopback
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan

RULE: Final = Rule(
    code="ENG004",
    slug="key-in-arguments",
    severity=Severity.ERROR,
    sources=(
        "github.com/AEON-7/vllm-dflash: start script",
        "github.com/NVIDIA/TensorRT-LLM issue 9950",
        "sglang 0.5.23: server_args, http_server",
    ),
    since="0.1.0",
    waivable=False,
)


def check(plan: Plan) -> Iterator[Hit]:
    """Find deployments with a key that the server would show."""
    for host in plan.hosts:
        for container in host.containers:
            if container.server.engine is not None and container.secrets:
                engine = engines.named(container.server.engine)
                if engine.key_variable is None:
                    message = f"{engine.title} cannot take the API key of {container.name} without showing it"
                    hint = "write `api_key: null` and `bind: loopback`, and let a gateway ask for the key"
                    leaf = (*container.path, host.name, "api_key")
                    yield Hit((*container.path, "api_key"), message, hint, leaf=leaf, host=host.name)
