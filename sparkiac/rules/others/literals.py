"""Page of the code for literal secrets, which are refused when the file is read."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "SEC003",
        "literal-secret",
        """\
A secret stands in the file.

The file is reviewed and kept in a repository, and what is generated from it is copied to hosts: a token in it is known
to all who read either. Values that have the form of a token or a private key are refused wherever they stand, and so
are passwords in URLs and the values of variables and options that are called a key, a token or a password. The value is
shown nowhere. A deployment takes its key by `api_key: {secret: NAME}`; a login for the model hub is needed only where
weights are staged, and no container gets it. If the secret was a real one, change it: it is in the history of the file.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    on: spark-01
    port: 8001
    env: {VLLM_API_KEY: not-to-be-shown}
```

Good:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    on: spark-01
    port: 8001
    api_key: {secret: vllm_api_key}
```
""",
        "Spark guide L52, L72, L634, L722-723, L739, L741",
        "dual-Spark post L121",
    ),
)
