"""SGLang refuses this attention backend on the GPU of a DGX Spark.

SGLang checks the compute capability at start and exits if it does not match: GB10 has 12.1. `fa3` requires 8 or 9.
`trtllm_mha` required 10 until 0.5.9; from 0.5.10 to 0.5.18 only its prefill did, and since 0.5.19 its prefill refuses
an FP8 KV cache on 12.1. `trtllm_mla` required 10 until 0.5.4.post1, and `cutedsl_mla` requires it in all releases from
0.5.13 to 0.5.23. This is an error if an upstream tag names one of these releases, and a warning if every release that
the image may contain refuses the backend.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {attention_backend: fa3}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {attention_backend: triton}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, rule
from sparkiac.rules.serverrelease import ServerRelease

RULE: Final = rule(
    __name__,
    ("fails", "source"),
    "SGLang 0.4.7 to 0.5.23: create_flashattention_v3_backend, in model_runner.py, later attention_registry.py",
    "SGLang 0.5.1 to 0.5.23: server_args.py, later arg_groups/overrides.py and arg_groups/attention_hook.py",
)
_SM_12: Final = "12."


def check(plan: Plan) -> Iterator[Hit]:
    """Find backends that are refused by every release that the image may contain."""
    for server in serverrelease.servers(plan):
        gpu = server.host.gpu
        if gpu is not None and gpu.compute_capability.startswith(_SM_12):
            yield from _hits(server, gpu.compute_capability)


def _hits(server: ServerRelease, capability: str) -> Iterator[Hit]:
    options = server.container.server.options
    found = [server.engine.refused(options, server.table, release) for release in server.releases]
    for name, refusal in found[-1].items():
        if all(name in each for each in found):
            message = f"{server.title} refuses {name}: {refusal.backend} of {server.container.name}"
            message = f"{message}: it requires {refusal.wants}, and the GPU of {server.host.name} has {capability}"
            hint = "remove it, or set it to triton or flashinfer"
            yield server.hit(("set", name), message, hint)
