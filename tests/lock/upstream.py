"""What `sparkiac lock` asks in these tests: a real registry and the model hub's stand-in, both on loopback."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from tests.standin.hub import Repository, safetensors
from tests.upstream.registry import content

if TYPE_CHECKING:
    from pathlib import Path

    from tests.standin.hub import Hub
    from tests.upstream.registry.servers import Registry

WEIGHTS: Final = safetensors({"a": ("BF16", (2, 3), b"\0" * 12), "b": ("F8_E4M3", (4,), b"\1" * 4)})
CONFIG: Final = {"architectures": ["TinyForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2}
TINY: Final = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": WEIGHTS, "README.md": b"# Tiny"}
HOSTS: Final = "hosts: {spark-01: {address: 192.168.1.11}}\n"
HEAD: Final = f"name: lab\ndefaults: {{model_store: /srv/models}}\n{HOSTS}"


def repository(handle: str = "acme/tiny", *, gated: str | bool = False) -> Repository:
    """Make a repository that holds a small model."""
    return Repository(handle, TINY, card={"license": "apache-2.0"}, gated=gated)


@dataclass
class Upstream:
    """The servers, and the folder that an inventory lies in."""

    folder: Path
    registry: Registry
    hub: Hub
    prefix: str
    """Of the repositories of this test: the registry is that of many."""
    pushed: dict[str, content.Multi] = field(default_factory=dict)

    @property
    def inventory(self) -> Path:
        """The inventory."""
        return self.folder / "lab.yaml"

    @property
    def lock(self) -> Path:
        """Its lock."""
        return self.folder / "lab.lock.yaml"

    @property
    def locked(self) -> dict[str, Any]:
        """What the lock says."""
        found: dict[str, Any] = yaml.safe_load(self.lock.read_text())
        return found

    def image(self, name: str, tag: str = "1") -> str:
        """Return the reference of an image of this test."""
        return f"{self.registry.host}/{self.prefix}/{name}:{tag}"

    def push(self, name: str, tag: str = "1", *, mark: str = "first", **config: object) -> content.Multi:
        """Push an image for two architectures."""
        made = content.multi(f"{name} {mark}", config=config)
        self.registry.push(f"{self.prefix}/{name}", tag, made.attestation, made.amd, made.arm, made.index)
        self.pushed[name] = made
        return made

    def deployment(self, *, name: str = "chat", image: str = "vllm", model: str = "acme/tiny", port: int = 8001) -> str:
        """Write a deployment."""
        head = f"  {name}:\n    recipe: base/single-spark\n    image: {self.image(image)}\n    model: {model}\n"
        return f"{head}    hosts: spark-01\n    port: {port}\n"

    def service(self, name: str = "asr", *, image: str = "asr", port: int = 8765) -> str:
        """Write a service."""
        return f"  {name}: {{kind: container, image: '{self.image(image)}', hosts: spark-01, port: {port}}}\n"

    def write(self, deployments: str = "", services: str = "", more: str = "") -> None:
        """Write the inventory."""
        text = HEAD + (f"deployments:\n{deployments}" if deployments else "")
        self.inventory.write_text(text + (f"services:\n{services}" if services else "") + more)
