"""Page of the code for literal secrets, which are refused when the file is read."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "SEC003",
        "literal-secret",
        """\
The file contains a secret.

The file is reviewed and kept in a repository, and the files generated from it are copied to hosts: everyone who can
read either can read a token in it. Values that have the form of a token or a private key are refused everywhere, and so
are passwords in URLs and the values of variables and options that are called a key, a token or a password. The value is
never shown. A deployment gets its key from `api_key: {secret: NAME}`; a login for the model hub is needed only where
weights are staged, and no container gets it. If the secret was real, change it: it remains in the history of the file.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
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
    hosts: spark-01
    port: 8001
    api_key: {secret: vllm_api_key}
```
""",
        "Spark guide L52, L72, L634, L722-723, L739, L741",
        "dual-Spark post L121",
    ),
)
