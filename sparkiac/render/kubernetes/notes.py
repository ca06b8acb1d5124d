"""What the objects do not cover, and what must exist before they are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from sparkiac.plan import Container, HostPlan, Plan, confinement, unwritten
from sparkiac.plan.links import is_address
from sparkiac.plan.topology import GATEWAY_ENTRY
from sparkiac.render.kubernetes import objects, pods
from sparkiac.render.kubernetes.objects import Node
from sparkiac.render.templates import fill
from sparkiac.report import hints
from sparkiac.report.artifact import Artifact

_ALWAYS: Final = (
    (
        "preflight: before a pod starts, nothing drops the page cache, waits for free memory, or compares driver and "
        "model store with the inventory"
    ),
    "apply: no gate brings the former version back; `kubectl rollout undo` does for Deployments",
    "limits of processes, log size and OOM score: the kubelet of the node decides",
)


class Notes(NamedTuple):
    """Notes for the reader of the files."""

    uncovered: tuple[str, ...]
    """What is not covered, or differs from the files for Ansible."""
    steps: tuple[str, ...]
    """What must exist before the first apply."""


def notes(plan: Plan, rendered: Sequence[Sequence[Node]], refused: Mapping[str, str]) -> Notes:
    """Return the notes; `rendered` are the nodes of each deployment, `refused` are those that could not be rendered."""
    uncovered = [
        *(f"{name}: not rendered, because {reason}" for name, reason in refused.items()),
        *(each for host in plan.hosts for each in _of_host(host)),
        *_monitoring(plan),
        *(each for nodes in rendered for each in _of_pods(nodes, plan.name)),
        *_ALWAYS,
    ]
    return Notes(tuple(uncovered), tuple(_steps(plan, [node for nodes in rendered for node in nodes])))


def render(plan: Plan, found: Notes) -> Artifact:
    """Render NOTES.md."""
    values = {
        "name": plan.name,
        "refused": hints.unpinned_notice(plan.unpinned, result=hints.PODS_FAIL),
        **found._asdict(),
    }
    return Artifact("NOTES.md", fill("kubernetes/NOTES.md.j2", values))


def _of_host(host: HostPlan) -> Iterator[str]:
    for program in host.programs:
        yield f"{program.name}: not rendered, because it is a program of {host.name} without a container"
    for document in host.config_files:
        yield f"{document.name}: not rendered, because it is a file for a program of {host.name}"
    if host.fleet_timer is not None:
        yield f"fleet timer: not rendered, because it is a systemd timer of {host.name}"
    set_on = [f"{key}={value}" for key, value in host.sysctls.items()]
    set_on += [f"{each.key}={each.value}" for each in host.settings]
    wanted = [*([f"driver {host.values.driver}"] if host.values.driver else []), *set_on]
    if wanted:
        yield f"{host.name}: nothing checks or sets on the node: {', '.join(wanted)}"
    sharing = sorted(each.name for each in host.containers if each.confinement.gpu and each.path[0] != "monitoring")
    if len(sharing) > 1:
        names = ", ".join(sharing)
        yield f"{host.name}: {names} share its GPU; the NVIDIA device plugin must offer it {len(sharing)} times"


def _monitoring(plan: Plan) -> Iterator[str]:
    found = sorted({each.name for _, each in plan.containers if each.path[0] == "monitoring"})
    if found:
        yield f"monitoring ({', '.join(found)}): not rendered; use the monitoring of the cluster"


def _of_pods(nodes: Sequence[Node], namespace: str) -> Iterator[str]:
    host, container = nodes[0]
    name = container.name
    limits = sorted({f"{key}={value}" for node in nodes for key, value in _limits(node.container)})
    if limits:
        yield f"{name}: a pod cannot set {', '.join(limits)}; the container runtime of the node decides"
    if container.kind == "deployment":
        yield from (f"{name}: {key} is not rendered; {why}" for key, why in unwritten.notes(container, "kubernetes"))
    if GATEWAY_ENTRY in container.network.extra_hosts and not is_address(host.address):
        yield f"{name}: {host.address} is a name, so host.docker.internal is unknown in the pod"
    for model in container.server.pulls:
        pull = f"kubectl -n {namespace} exec deployment/{name} -- ollama pull {model}"
        yield f"{name}: nothing pulls {model}; run `{pull}`"
    if len(nodes) > 1:
        yield from _of_group(nodes)


def _limits(container: Container) -> Iterator[tuple[str, int]]:
    """Yield the limits that a pod cannot express; IPC_LOCK replaces an unlimited memlock."""
    limits = container.confinement.ulimits.items()
    return ((key, value) for key, value in limits if (key, value) != confinement.LOCKING)


def _of_group(nodes: Sequence[Node]) -> Iterator[str]:
    container = nodes[0].container
    name, listen, link = container.name, container.network.listen, container.network.link
    opened = [port for _, port in container.network.opened if link is None or port != str(link.port)]
    yield f"{name}: its pods use the network of their nodes, to which no NetworkPolicy applies"
    if opened:
        yield f"{name}: port {', '.join(opened)} of the rendezvous store is open on all addresses of the leader's node"
    yield f"{name}: the pods connect over the addresses of their Kubernetes nodes; only NCCL's data uses the links"
    lookups = [node.container.network.fabric for node in nodes if node.container.network.fabric is not None]
    if any(each.rdma for each in lookups):
        yield f"{name}: NCCL_IB_GID_INDEX is not looked up; NCCL 2.21 or newer finds the GID itself"
    if any(each.sockets for each in lookups):
        names = "NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME"
        yield f"{name}: {names} are not looked up; set them under `env` of the deployment"
    if listen is not None and not objects.is_reachable(nodes[0]):
        yield f"{name}: no Service, because it listens on {listen[0]} only; clients use {listen[0]}:{listen[1]}"


def _steps(plan: Plan, nodes: Sequence[Node]) -> Iterator[str]:
    hosts = sorted({node.host.name for node in nodes})
    yield f"nodes named {', '.join(hosts)}, with the addresses of the inventory and the label {pods.HOSTNAME}"
    if any(node.container.confinement.gpu for node in nodes):
        yield "the NVIDIA device plugin or GPU Operator, with the NVIDIA runtime as the default of the nodes"
    if any(node.container.network.host for node in nodes):
        yield "LeaderWorkerSet (leaderworkerset.x-k8s.io/v1), with its webhooks"
    devices = sorted({each for node in nodes for each in node.container.confinement.devices})
    yield from (f"a device plugin that offers {each} as {confinement.RDMA_RESOURCES[each]}" for each in devices)
    secrets = sorted({secret.name for node in nodes for secret in node.container.secrets})
    if secrets:
        yield f"a Secret `{objects.SECRETS}` in the namespace {plan.name} with the keys {', '.join(secrets)}"
    for host, built in sorted(
        {(node.host.name, pods.image(node.container)) for node in nodes if node.container.image.build}
    ):
        yield f"{host}: the image {built}, built from source and imported under this name; nothing pulls it"
    seen = dict.fromkeys(each for node in nodes for each in _stored(node))
    yield from seen


def _stored(node: Node) -> Iterator[str]:
    """Yield what must be on the node: weights and extra files."""
    host, weights = node.host.name, node.container.weights
    for model in (*weights.models, *weights.directories):
        commit = f" at {weights.commits[model]}" if model in weights.commits else ""
        layout = "as a plain directory" if model in weights.directories else "in the layout of `hf download`"
        yield f"{host}: {model}{commit} in {weights.store}, {layout}"
    for file in node.container.storage.files:
        yield f"{host}: {file.url} as {file.path}"
