"""The values of a deployment, by the dotted names that facts use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final

from sparkiac.host import conditions
from sparkiac.memory.values import Unknown
from sparkiac.plan import Container, HostPlan, ModelFacts, facts, memory_use

_UNSET: Final = "auto"
"""The value that leaves the choice to vLLM."""
NETWORK: Final = {
    "kind": attrgetter("architecture.kind"),
    "native_context": attrgetter("architecture.native_context"),
    **{name: attrgetter(name) for name in ("format", "checkpoint", "thinks", "modalities", "weights_bytes")},
}
"""Names of `network` → the fact of the catalog about the model."""


class Subject:
    """One deployment on its first host."""

    def __init__(self, host: HostPlan, container: Container) -> None:
        """Create the subject for a container on a host."""
        self.host, self.container = host, container

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  plain data
        """Return a value, or None where it is not set or unknown. Raise KeyError for a name that facts do not have."""
        space, _, key = name.partition(".")
        if not key and space not in NAMES:
            raise KeyError(name)
        value = self._spaces[space](key) if key else getattr(self, space)
        return None if space == "set" and isinstance(value, str) and value.casefold() == _UNSET else value

    @cached_property
    def _spaces(self) -> Mapping[str, Any]:
        server, command = self.container.server, self.container.command
        return {
            "set": partial(_inside, server.options),
            "env": command.env.get,
            "speculative": partial(_inside, server.speculative or {}),
            "recipe": server.recipe_options.get,
            "workload": lambda key: getattr(server.workload, key, None),
            "network": lambda key: None if self._known is None else NETWORK[key](self._known),
            "config": self._of_config,
            "stall": lambda key: getattr(self._stall, key, None),
        }

    def _of_config(self, key: str) -> Any:  # noqa: ANN401  plain data
        """Return a value of the model's config.json; None if it is unknown or hf_overrides replaces it."""
        if key.partition(".")[0] in str(self.container.server.options.get("hf_overrides")):
            return None
        proof = self.host.proofs.get(self.container.name)
        config = proof.config if proof else {}
        found = _inside(config, f"text_config.{key}")
        return _inside(config, key) if found is None else found

    @cached_property
    def _stall(self) -> memory_use.Stall | Unknown | None:
        proof = self.host.proofs.get(self.container.name)
        return memory_use.stall(proof) if proof else None

    @cached_property
    def _known(self) -> ModelFacts | None:
        return facts.known(self.container.server)

    @property
    def name(self) -> str:
        """Name of the deployment."""
        return self.container.name

    @property
    def model(self) -> str | None:
        """Handle of the model."""
        return self.container.server.model

    @property
    def remote_code(self) -> bool:
        """Whether its repository has Python code of its own, according to the lock."""
        proof = self.host.proofs.get(self.container.name)
        return proof is not None and proof.remote_code

    @property
    def image(self) -> str:
        """Repository and tag of the image, without its digest."""
        return self.container.image.short

    @property
    def repository(self) -> str:
        """Repository of the image, without tag and digest."""
        return self.container.image.repository

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the image lacks according to the catalog, such as `ray` or `audio`."""
        return tuple(self.container.image.tag.lacks) if self.container.image.tag else ()

    @property
    def release(self) -> str | None:
        """Release of the engine in the image."""
        return self.container.image.vllm

    @property
    def upstream(self) -> bool:
        """Whether the image is an upstream build of that release that no command or file patches."""
        tag = self.container.image.tag
        patched = self.pre_start or any("-packages/" in path for path in self.files)
        return tag is not None and tag.provenance == "upstream" and not patched

    @property
    def nodes(self) -> int:
        """Number of hosts."""
        return self.container.server.node[1] if self.container.server.node else 1

    @property
    def clients(self) -> tuple[str, ...]:
        """What clients need: `tools`, `messages`, `responses`."""
        return self.container.server.clients

    @property
    def files(self) -> tuple[str, ...]:
        """Paths in the container at which files or directories are mounted."""
        storage = self.container.storage
        return (*(each.target for each in storage.files), *(each.target for each in storage.mounts))

    @property
    def mounted(self) -> tuple[str, ...]:
        """Paths on the host that are mounted."""
        return tuple(each.source for each in self.container.storage.mounts)

    @property
    def port(self) -> int | None:
        """Port on which it accepts requests."""
        return self.container.network.listen[1] if self.container.network.listen else None

    @property
    def address(self) -> str | None:
        """Address on the host at which it accepts requests."""
        return self.container.network.listen[0] if self.container.network.listen else None

    @property
    def has_key(self) -> bool:
        """Whether requests need a key."""
        promise = self.host.promises.get(self.container.unit)
        return promise is not None and promise.api_key is not None

    @property
    def pre_start(self) -> tuple[str, ...]:
        """Words of the commands that run before the server."""
        return tuple(word for command in self.container.command.pre_start for word in command)

    def text(self, template: str) -> str:
        """Fill in the placeholders of a message."""
        return conditions.text(template, self)


NAMES: Final = frozenset(name for name, value in vars(Subject).items() if isinstance(value, property))


def _inside(values: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401  plain data
    """Return a value by its key, or by a dotted path into mappings and JSON texts."""
    if key in values:
        return values[key]
    first, _, rest = key.partition(".")
    found = values.get(first) if rest else None
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            return None
    return _inside(found, rest) if isinstance(found, Mapping) else None
