"""A placeholder has not been filled in.

`sparkiac import` writes one where the imported file lacks something that an inventory needs: the address of a host, the
links between the hosts of a group, a model, an image, the source of a file. `sparkiac init` and `add` write one for a
value that a recipe leaves open and that was not given: the commit or the base of a build. A placeholder is a value that
cannot be real: the name `placeholder`, the domain `placeholder.invalid` (RFC 2606), a commit of zeros, or an address
that is reserved for documentation (RFC 5737, RFC 3849). All other checks still run; `generate` writes nothing while a
placeholder is left.

Bad:

```yaml
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.0.2.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: placeholder/model
    hosts: spark-01
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: google/gemma-4-26B-A4B-it
    hosts: spark-01
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.plan.container import Container
from sparkiac.plan.values import HostPlan
from sparkiac.report.placeholders import MODEL_FILE, is_placeholder
from sparkiac.rules.rule import Hit, rule

RULE: Final = rule(__name__, ("fails", "contract"), "RFC 5737", "RFC 3849", "RFC 2606", waivable=False)


def check(plan: Plan) -> Iterator[Hit]:
    """Find placeholders: one hit for each host, link, model, image, file and value of a build."""
    for host in plan.hosts:
        yield from _machine(host)
    found = {hit.path: hit for host in plan.hosts for container in host.containers for hit in _container(container)}
    yield from found.values()
    for build in plan.builds:
        for key, value in build.spec.items():
            if any(map(is_placeholder, _texts(value))):
                message = f"the {key} of build {build.name} is a placeholder"
                hint = "`sparkiac recipes show RECIPE` prints what is known about it; docs/builds.md explains the key"
                yield Hit(("builds", build.name, key), message, hint)


def _texts(value: object) -> Iterator[str]:
    """Return all texts in a value of a build."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _machine(host: HostPlan) -> Iterator[Hit]:
    path = ("hosts", host.name)
    if is_placeholder(host.address):
        message = f"the address of {host.name} is a placeholder"
        yield Hit((*path, "address"), message, "write the address that Ansible and clients use")
    for number, link in enumerate(host.links):
        left = [key for key, value in link if isinstance(value, str) and is_placeholder(value)]
        if left:
            message = f"link {number + 1} of {host.name} has placeholders: {', '.join(left)}"
            hint = "`ibdev2netdev` shows interface and RDMA device (hca), `ip -br address` the address with its prefix"
            yield Hit((*path, "fabric", "links", number), message, hint)


def _container(container: Container) -> Iterator[Hit]:
    if container.server.model is not None and is_placeholder(container.server.model):
        message = f"the model of {container.name} is a placeholder"
        yield Hit((*container.path, "model"), message, "write its handle, such as google/gemma-4-26B-A4B-it")
    if any(word.endswith(f"/{MODEL_FILE}") for word in container.command.words):
        message = f"the GGUF file of {container.name} is a placeholder"
        yield Hit((*container.path, "model_file"), message, "write the file's name in the model's repository")
    if is_placeholder(container.image.reference):
        message = f"the image of {container.name} is a placeholder"
        yield Hit((*container.path, "image"), message, "write the image, such as nvcr.io/nvidia/vllm:26.04-py3")
    for file in container.storage.files:
        if is_placeholder(file.url):
            path = (*container.path, "container", "files", file.target)
            message = f"the source of {file.target} of {container.name} is a placeholder"
            yield Hit(path, message, "write its url: https://…, hf://organisation/model/path or file:///…")
