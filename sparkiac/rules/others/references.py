"""Pages of REF codes: values that are valid alone, but refer to nothing or lack another value."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "REF001",
        "unknown-name",
        """\
A name refers to nothing.

No host, platform, recipe, variant, fragment, deployment, service or served model has this name. The hint names the
nearest one. `sparkiac recipes list` shows the catalog.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1", hosts: spark-1}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1", hosts: spark-01}
```
""",
    ),
    other(
        "REF002",
        "name-twice",
        """\
One thing has two names, or two things have the same name.

Two hosts with one address are one machine, and each would undo the changes of the other. A deployment and a service of
the same name would be the same unit. A group that names a host twice has one machine too few. An apply would remove
sparkiac from a retired host that is still in use.

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
A required value is not set.

A recipe that can serve any model needs one; a model store that is mounted needs a path; a group of hosts needs links
between them; a build needs its commit; some fragments need another one before them. The hint says which line to add.

Bad, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, hosts: spark-01, port: 8000}
```

Good, on one Spark:

```yaml
deployments:
  chat: {recipe: base/single-spark, model: google/gemma-4-26B-A4B-it, hosts: spark-01, port: 8000}
```
""",
    ),
    other(
        "REF004",
        "no-recipe",
        """\
A catalog entry cannot be deployed.

Its source mentions it without a command, or no longer uses it. The hint names the nearest recipe;
`sparkiac recipes list --all` shows such entries with their reasons.

Bad, on one Spark:

```yaml
deployments:
  chat: {recipe: openai/gpt-oss-120b, hosts: spark-01, port: 8000}
```

Good, on one Spark:

```yaml
deployments:
  chat: {recipe: google/gemma-4-26b-a4b-it-fp8, hosts: spark-01, port: 8000}
```
""",
    ),
    other(
        "REF005",
        "no-api",
        """\
A service uses something that serves no models.

It uses itself, a service without a model API, or another agent as its model. Name a deployment, or an Ollama server.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  asr: {kind: container, image: "example.org/asr:1", hosts: spark-01}
  web: {kind: open-webui, image: "example.org/webui:1", hosts: spark-01, uses: [asr]}
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
services:
  ollama: {kind: ollama, image: "example.org/ollama:1", hosts: spark-01}
  web: {kind: open-webui, image: "example.org/webui:1", hosts: spark-01, uses: [ollama]}
```
""",
    ),
)
