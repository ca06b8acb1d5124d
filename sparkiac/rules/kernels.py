"""What the rules about kernels of sm_121 share: which deployments they look at, and what is known of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.facts import of_model
from sparkiac.report import Edit
from sparkiac.rules.rule import Hit
from sparkiac.rules.shares import sparks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.plan.facts import CatalogFacts
    from sparkiac.report import Removal, Scalar, Severity

_DOCKER_HUB: Final = "docker.io/"


def deployments(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Give the deployments on vLLM on GPUs of sm_121, of a group the node that leads."""
    for host in sparks(plan):
        for container in host.containers:
            if container.server.engine == "vllm" and (container.server.node or (0, 1))[0] == 0:
                yield host, container


def option(container: Container, name: str) -> str:
    """Give an option as a lower-case text, empty where vLLM is left to choose; it takes names in any case."""
    value = str(container.server.options.get(name, "auto")).casefold()
    return "" if value == "auto" else value


def model(container: Container) -> str:
    """Give the handle of a deployment's model in lower case, as hubs compare them."""
    return (container.server.model or "").casefold()


def image(container: Container) -> str:
    """Give the image's name and tag, without the digest and the registry that needs no name."""
    return container.image.reference.partition("@")[0].removeprefix(_DOCKER_HUB)


def may_be(container: Container, reference: str) -> bool:
    """Whether the image is this one; a digest without a tag may be it."""
    pinned, found = "@" in container.image.reference, image(container)
    return found == reference or (pinned and reference.startswith(f"{found}:"))


def known(container: Container) -> CatalogFacts | None:
    """Give what the catalog knows of the model, whichever of its recipes serves it."""
    return container.server.facts or (of_model(container.server.model) if container.server.model else None)


def fp4_moe(container: Container) -> bool:
    """Whether the model is known as a mixture of experts in NVFP4."""
    found = known(container)
    return found is not None and (found.kind or "").endswith("moe") and (found.format or "").startswith("NVFP4")


def fp8(container: Container) -> bool:
    """Whether the weights are FP8, by themselves or made so at load."""
    found = known(container)
    stored = (found.format or "") if found is not None else ""
    return option(container, "quantization") == "fp8" or (stored.startswith("FP8") and "at load" not in stored)


def falls_back(container: Container) -> bool:
    """Whether the backend for experts is one of FlashInfer's that vLLM 0.19 replaces by Triton on this GPU."""
    chosen = option(container, "moe_backend") in {"flashinfer_cutlass", "flashinfer_cutedsl"}
    return chosen and (container.image.vllm or "").startswith("0.19")


def hit(  # noqa: PLR0913, PLR0917  the parts of a hit
    host: HostPlan,
    container: Container,
    key: tuple[str, ...],
    message: str,
    hint: str,
    severity: Severity | None = None,
    *,
    fix: tuple[Edit, ...] = (),
) -> Hit:
    """Make the hit of a setting of a deployment."""
    path, leaf = (*container.path, *key), (*container.path, host.name, *key)
    return Hit(path, message, hint, leaf=leaf, host=host.name, severity=severity, fix=fix)


def written(container: Container, *key: str, value: Scalar | Removal) -> tuple[Edit, ...]:
    """Make the fix that writes a setting of a deployment, or removes it."""
    return (Edit((*container.path, *key), value),)
