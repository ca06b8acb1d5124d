"""Render the files that Ansible reads: inventory, variables, playbooks, configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkiac.host.generation import PlacedFile, generation_id
from sparkiac.plan import HostPlan, HubEndpoint, Plan, PlannedRetirement
from sparkiac.plan.preflight import cache_path
from sparkiac.render import generation, jsontext, playbooks, rollout, staging, yamltext
from sparkiac.report import assets
from sparkiac.report.artifact import Artifact

CHANGING: Final = "sparkiac_changing"
"""Group of the hosts that differ from the generated files; the play fills it."""


def render(plan: Plan, on_hosts: Mapping[str, tuple[Artifact, ...]]) -> Iterator[Artifact]:
    """Render everything that `ansible-playbook site.yml` reads; an apply does not need sparkiac."""
    yield Artifact("inventory.yml", _yaml(_inventory(plan)))
    programs = generation.placed(playbooks.on_every_host())
    rolling = {"on_failure": plan.rollout.on_failure}
    common = {"sparkiac_rollout": rolling, "sparkiac_programs": jsontext.plain(programs)}
    yield Artifact("group_vars/all.yml", _yaml(common))
    for host in plan.hosts:
        found = _variables(host, on_hosts[host.name], plan.hub, programs)
        variables = {"sparkiac": yamltext.without_templates(found)}
        yield Artifact(f"host_vars/{host.name}.yml", _yaml(variables))
    yield rollout.render(plan)
    yield Artifact("ansible.cfg", (assets.directory("templates") / "ansible.cfg").read_bytes())
    yield Artifact(".gitattributes", playbooks.ATTRIBUTES.encode())
    yield from playbooks.render()


def _yaml(data: Mapping[str, Any]) -> bytes:
    return b"---\n" + yamltext.generated(data)


def _inventory(plan: Plan) -> dict[str, Any]:
    sparks = {"hosts": {host.name: _connection(host) for host in plan.hosts}}
    # The play adds the hosts on which something changes.
    children: dict[str, Any] = {"sparks": sparks, CHANGING: {}}
    if plan.retired:
        children[rollout.RETIRED] = {"hosts": {host.name: _connection(host) for host in plan.retired}}
    return {"all": {"children": children}}


def _connection(host: HostPlan | PlannedRetirement) -> dict[str, Any]:
    wanted = {"ansible_host": host.address, "ansible_user": host.user, "ansible_port": host.ssh_port}
    return {key: value for key, value in wanted.items() if value is not None}


def _variables(
    host: HostPlan, artifacts: tuple[Artifact, ...], hub: HubEndpoint, programs: list[PlacedFile]
) -> dict[str, Any]:
    root = f"hosts/{host.name}/"
    own = generation.placed(each._replace(path=each.path.removeprefix(root)) for each in artifacts)
    return {
        "host": host.name,
        "user": "sparkiac",
        "unpinned": list(host.unpinned),
        "files": jsontext.plain(own),
        "directories": _directories(host),
        "networks": sorted({each.network.shared for each in host.containers if each.network.shared is not None}),
        "images": sorted({container.image.pull for container in host.containers}),
        "image_ids": staging.image_ids(host),
        "images_from": staging.peer(host.images_from),
        "copied_by": list(host.copied_by),
        "stores": jsontext.plain(staging.stores(host)),
        "fetch": staging.fetch(host, hub),
        "generation": generation_id([*own, *programs]),
        "together": list(host.group.members if host.group else [host.name]),
        "gpu_image": _gpu_image(host),
        "builds": _builds(host),
        "extra_files": staging.extra_files(host, hub),
        "secrets": list(host.secrets),
        "pulls": [{"unit": each.unit, "model": model} for each in host.containers for model in each.server.pulls],
    }


def _directories(host: HostPlan) -> list[dict[str, str]]:
    """Return the directories for compile caches and persistent data of containers."""
    kept = [each.storage.data for each in host.containers if each.storage.data is not None]
    paths = [path for each in host.containers if (path := cache_path(each)) is not None]
    # The users of programs and of node_exporter must be able to enter the parent directory of their files.
    open_to_all = kept or host.programs or host.is_measured
    above = [{"path": "/var/lib/sparkiac", "mode": "0755"}] if open_to_all else []
    return [*above, *({"path": path, "mode": "0700"} for path in (*paths, *kept))]


def _builds(host: HostPlan) -> list[dict[str, str]]:
    """Return the locally built images with their build names, for the message about a missing image."""
    made = {each.image.pull: each.image.build for each in host.containers if each.image.build is not None}
    return [{"image": image, "name": name} for image, name in sorted(made.items())]


def _gpu_image(host: HostPlan) -> str:
    """Return an engine's image for the GPU test of the playbook; empty if no engine uses the GPU."""
    images = [each.image.pull for each in host.containers if each.confinement.gpu and each.kind == "deployment"]
    return min(images, default="")
