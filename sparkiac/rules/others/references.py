"""Pages of REF codes: each value is right by itself, and leads nowhere or lacks something."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "REF001",
        "unknown-name",
        """\
A name leads nowhere.

No host, platform, recipe, variant, fragment, deployment, service or served model is called so. The hint names the
nearest one. `sparkiac recipes list` shows what the catalog has.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1", on: spark-1}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1", on: spark-01}
```
""",
    ),
    other(
        "REF002",
        "name-twice",
        """\
One thing has two names, or two things have one.

Two hosts with one address are one machine, and each would undo what the other one did. A deployment and a service of
one name would be the same unit. A group that names a host twice has one machine too few.

Bad:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.11}
```

Good:

```yaml
name: lab
hosts:
  spark-01: {address: 192.168.1.11}
  spark-02: {address: 192.168.1.12}
```
""",
    ),
    other(
        "REF003",
        "needed",
        """\
Something that is used needs a value that nothing gives.

A recipe that serves any model needs one; a model store that is mounted needs a place; a group of hosts needs links
between them; a build needs its commit. The hint says which line to add.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: base/single-spark, on: spark-01, port: 8000}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: base/single-spark, model: google/gemma-4-26B-A4B-it, on: spark-01, port: 8000}
```
""",
    ),
    other(
        "REF004",
        "no-recipe",
        """\
An entry of the catalog cannot be deployed.

Its source only mentions it and prints no command, or took it out of service. The hint names the nearest recipe;
`sparkiac recipes list --all` shows such entries with their reasons.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: openai/gpt-oss-120b, on: spark-01, port: 8000}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: google/gemma-4-26b-a4b-it-fp8, on: spark-01, port: 8000}
```
""",
    ),
    other(
        "REF005",
        "no-api",
        """\
A service uses something that it cannot ask.

It uses itself, or a service that offers no API of models, or one agent is to think with another one. Name a
deployment, or an Ollama server.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1", on: spark-01}
  web: {kind: open-webui, image: "example.org/webui:1", on: spark-01, uses: [asr]}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  models: {kind: ollama, image: "example.org/ollama:1", on: spark-01}
  web: {kind: open-webui, image: "example.org/webui:1", on: spark-01, uses: [models]}
```
""",
    ),
)
