"""What the preflight is told of drivers, stores, logins and memory: facts of the catalog, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog
from sparkiac.host.preflight.expectations import DockerAccess, ImageDriver, RegistryLogin, StoreExpectation
from sparkiac.plan import preflight
from sparkiac.plan.preflight import expected_stores as stores
from sparkiac.render import generation
from tests.conftest import ROOT
from tests.plan.fleets import COMMIT, LOCK, ONES, PAIR, container, deployment, planned, service

if TYPE_CHECKING:
    from sparkiac.host.preflight.expectations import Expectations

GIB = 1 << 30
PC = "platforms: {pc: {title: PC, architecture: amd64, memory_gib: 64}}\n"
ON_PC = "spark-01: {address: 192.168.1.11, platform: pc}"
NANO = "nvcr.io/nvidia/vllm:25.12.post1-py3"


def wanted(text: str, locked: str = LOCK) -> Expectations:
    """Return what is expected of the first host."""
    return planned(text, locked=locked).hosts[0].preflight


def test_drivers_that_sources_disagree_on_are_named_on_this_hardware_alone() -> None:
    """(DRV001) A driver that a source runs without trouble is not doubted."""
    doubts = wanted(deployment()).doubted_drivers
    assert [each.series for each in doubts] == ["590"]
    assert "SM121 reference" in doubts[0].why
    assert "dual-Spark post" in doubts[0].why
    assert not wanted(deployment(host=ON_PC) + PC).doubted_drivers
    assert not wanted(service()).doubted_drivers


def test_memory_that_cannot_be_pinned_fails_for_groups_over_rdma_alone() -> None:
    """(LOG149) The words are those of the symptom; a group without RDMA, and a single host, lose memory only."""
    [known] = [each for each in catalog.symptoms() if each.code == "LOG149"]
    text = f"{known.cause} {known.remedy[0]}"
    group = wanted(PAIR).unpinnable
    assert group is not None
    assert group == (("big",), f"big cannot register memory for RDMA. {text}", "LOG149")
    for other in (PAIR + "    env: {NCCL_IB_DISABLE: 1}\n", PAIR.replace("hca: rocep1s0f1, ", ""), deployment()):
        assert wanted(other).unpinnable == ((), text, "LOG149")
    named = wanted(PAIR + "    env: {NCCL_IB_GID_INDEX: 3}\n").unpinnable
    assert named == group, "the GID is not looked up, but RDMA is used"
    assert wanted(service()).unpinnable is None


def test_nftables_must_work_where_other_hosts_reach_a_unit() -> None:
    assert wanted(deployment()).nft
    assert [host.preflight.nft for host in planned(PAIR).hosts] == [True, True], (
        "the first counts votes, the second leads"
    )
    assert not wanted(service("port: 80", "bind: loopback")).nft
    copied = service(
        "port: 80",
        "bind: loopback",
        host="spark-01: {address: 1.1.1.1, images_from: spark-02}, spark-02: {address: 1.1.1.2}",
    )
    assert [host.preflight.nft for host in planned(copied).hosts] == [False, True], "the second gives images"
    optional = planned(deployment(host="spark-01: {address: 192.168.1.11, nft: optional}")).hosts[0]
    assert not optional.preflight.nft
    written = generation.render(optional, {each.unit: () for each in optional.units}).content
    assert b'"nft_optional": true' in written


def test_an_image_brings_the_driver_that_it_was_built_for() -> None:
    """(DRV002, DRV003) Most images say nothing."""
    found = wanted(deployment(f'image: "{NANO}@{ONES}"'))
    assert found.image_drivers == (ImageDriver("chat", "590.44", "580"),)
    assert not wanted(deployment()).image_drivers
    chat = container(deployment(f'image: "{NANO}@{ONES}"'))
    assert chat.image.tag is not None
    bare = chat._replace(image=chat.image._replace(tag=chat.image.tag._replace(forward_compat=None)))
    assert preflight.image_drivers([bare]) == (ImageDriver("chat", "590.44", None),)


@pytest.mark.parametrize(
    ("entrypoint", "older"), [("[/opt/nvidia/nvidia_entrypoint.sh]", "580"), ("[vllm, serve]", None)]
)
def test_forward_compatibility_needs_the_entrypoint_of_the_image(entrypoint: str, older: str | None) -> None:
    """(DRV002, DRV003) NVIDIA's entrypoint turns it on; a build can have another one."""
    built = f"version: 1\nimages: {{}}\nbuilds: {{own: {{id: '{ONES}', spec: '{ONES}', entrypoint: {entrypoint}}}}}\n"
    text = deployment("image: own") + f"builds: {{own: {{base: '{NANO}@{ONES}', pip: [x==1.0], why: x}}}}\n"
    assert planned(text, locked=built).hosts[0].preflight.image_drivers == (ImageDriver("chat", "590.44", older),)
    pulled = f"version: 1\nimages: {{'{NANO}': {{digest: '{ONES}', entrypoint: {entrypoint}}}}}\n"
    [found] = planned(deployment(f'image: "{NANO}"'), locked=pulled).hosts[0].preflight.image_drivers
    assert found == ImageDriver("chat", "590.44", older)


def test_the_registry_that_requires_a_login_is_named_for_its_own_images() -> None:
    """(HST003) Not where a mirror is asked in its place."""
    chat = container(deployment())
    assert wanted(deployment()).logins == (RegistryLogin("nvcr.io", chat.image.pull),)
    assert not wanted(deployment() + "registries: {mirrors: {nvcr.io: mirror.lan}}\n").logins
    assert not wanted(service()).logins


def test_the_user_and_group_are_those_of_the_units() -> None:
    """(HST001) The template and the role that makes the user say the same."""
    assert wanted(deployment()).docker_access == DockerAccess(user="sparkiac", group="docker")
    text = (ROOT / "templates/host/etc/systemd/system/sparkiac.service.j2").read_text()
    assert "\nUser=sparkiac\nGroup=docker\n" in text
    assert "groups: [docker]" in (ROOT / "playbooks/roles/host/tasks/main.yml").read_text()
    assert not wanted("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n").docker_access


def test_memory_that_is_free_while_nothing_runs_is_asked_where_a_gpu_could_keep_it() -> None:
    """(MEM017) Three quarters of it; only where the machine's memory is known and an engine uses its GPU."""
    assert wanted(deployment()).idle_memory_bytes == 119 * GIB * 3 // 4
    assert not wanted(deployment(host=ON_PC) + PC).idle_memory_bytes
    assert not wanted(service()).idle_memory_bytes
    without = PC.replace("memory_gib: 64", "gpu: {name: X, compute_capability: '9.0'}")
    assert not wanted(deployment(host=ON_PC) + without).idle_memory_bytes


def test_load_tuning_is_looked_at_where_the_inventory_opts_in() -> None:
    """(MEM012, MEM013, MEM014, MEM015) A host that sets something else has not."""
    host = (
        "spark-01: {address: 192.168.1.11, sysctl: {vm.min_free_kbytes: 5242880, vm.dirty_ratio: 5, vm.swappiness: 1}}"
    )
    tuned = wanted(deployment(host=host)).load_tuning
    assert tuned == {"vm.min_free_kbytes": "5242880", "vm.dirty_ratio": "5"}
    assert not wanted(deployment()).load_tuning


def test_no_shipped_platform_tunes_loads() -> None:
    """(MEM012, MEM015) Contested settings are nobody's default."""
    found = [catalog.platform(name) for name in catalog.platform_names()]
    set_there = {key for each in found if each and each.value for key in each.value.sysctl}
    assert {"vm.swappiness"} <= set_there
    assert set_there.isdisjoint({"vm.min_free_kbytes", "vm.vfs_cache_pressure", "vm.dirty_ratio"})


def test_the_files_of_a_unit_are_looked_for_before_it_starts() -> None:
    """(HST014) Under their pinned content's name."""
    url, digest = "https://example.org/parser.py", "a" * 64
    text = deployment(f"container: {{files: {{/opt/parser.py: {{url: '{url}'}}}}}}")
    [host] = planned(text, locked=f"{LOCK}files: {{'{url}': {{sha256: '{digest}'}}}}\n").hosts
    assert host.preflight.units["chat"].files == (f"/var/lib/sparkiac/files/{digest}/parser.py",)
    assert not wanted(deployment()).units["chat"].files


def test_a_gated_model_is_named_as_such() -> None:
    """(HST004) Where the catalog says so, and only that one of a store."""
    text = deployment().replace("base/single-spark", "nvidia/gemma-4-31b-it-nvfp4")
    text = text.replace("    model: example/model\n", "")
    [store] = wanted(text).store
    assert store.gated == ("models--nvidia--Gemma-4-31B-IT-NVFP4",)
    assert set(store.gated) <= set(store.models)
    assert not wanted(deployment()).store[0].gated
    other = deployment().replace("base/single-spark", "nvidia/gemma-4-31b-it-nvfp4")
    assert not wanted(other).store[0].gated, "of another model than the recipe's nothing is known"


def test_the_lock_states_what_is_gated_whatever_the_recipe_says() -> None:
    pinned = LOCK.replace("example/model: {", "example/model: {gated: true, ")
    assert wanted(deployment(), locked=pinned).store[0].gated == ("models--example--model",)
    text = deployment().replace("base/single-spark", "nvidia/gemma-4-31b-it-nvfp4")
    text = text.replace("    model: example/model\n", "")
    opened = f'{LOCK}  nvidia/Gemma-4-31B-IT-NVFP4: {{commit: "{COMMIT}"}}\n'
    assert not wanted(text, locked=opened).store[0].gated


def test_a_drafter_has_the_day_before_which_it_must_not_have_been_fetched() -> None:
    """(SPD007) The catalog's table of drafters has it."""
    drafter = "z-lab/Qwen3.6-35B-A3B-DFlash"
    text = deployment(f"speculative: {{method: dflash, model: {drafter}, num_speculative_tokens: 15}}")
    [store] = wanted(text).store
    assert store.not_before == {"models--z-lab--Qwen3.6-35B-A3B-DFlash": "2026-04-19"}
    assert not wanted(deployment()).store[0].not_before


def test_models_of_a_group_are_compared_between_its_nodes_and_others_are_not() -> None:
    """(MN008) Under the group's name: two groups may have two revisions."""
    for host in planned(PAIR).hosts:
        [store] = host.preflight.store
        assert store.compared == {"models--example--big": ("big",)}
    assert not wanted(deployment()).store[0].compared


def test_a_plain_directory_is_compared_as_such() -> None:
    """(MN008, HST004) Under the name that it has in the store."""
    found = container(deployment())
    weights = found.weights._replace(models=(), directories=("example/model",))
    chat = found._replace(weights=weights, server=found.server._replace(node=(0, 2)))
    compared = {"example/model": ("chat",)}
    assert stores([chat]) == (StoreExpectation("/srv/models", ("example/model",), (), {}, compared),)


@pytest.mark.parametrize("names", [(), None])
def test_a_container_without_a_store_or_models_requires_nothing(names: tuple[str, ...] | None) -> None:
    chat = container(deployment())
    change = {"store": None} if names is None else {"models": names}
    found = stores([chat._replace(weights=chat.weights._replace(**change))])
    assert [each.models for each in found] == ([] if names is None else [()]), "a store is looked through for tokens"
