"""Names that lead nowhere: each has its finding, at its place, with the nearest name."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.model.inventory import Inventory
from sparkiac.resolve import check_names, hosts_of
from sparkiac.source import load
from tests.plan.fleets import PAIR, SPARK, container, deployment, faults, resolution, resolved, service

IN_GROUP = "hosts: [spark-02, spark-01]"


def hints(text: str) -> list[str]:
    return [finding.hint for finding in resolution(text)[0]]


def test_a_good_inventory_has_no_finding() -> None:
    for text in (PAIR, deployment(), service("port: 8765")):
        assert faults(text) == []


def test_an_unknown_recipe() -> None:
    text = deployment().replace("base/single-spark", "base/single-sprak")
    assert faults(text) == ["REF001 6:13 unknown recipe 'base/single-sprak'"]
    assert hints(text) == ["did you mean 'base/single-spark'?"]


@pytest.mark.parametrize(
    ("word", "hosts", "named", "unnamed"),
    [
        ("nvidia/minimax-m2.7", "spark-01", "", "minimax-m2.7-nvfp4"),  # for two hosts
        ("nvidia/minimax-m2.7", "[spark-02, spark-01]", "nvidia/minimax-m2.7-nvfp4", ""),
        ("base/tensorrt", "spark-01", "base/tensorrt-llm", ""),
        ("base/tensorrt", "[spark-02, spark-01]", "", "tensorrt"),  # an engine that serves on one host
        ("deepseek-ai/deepseek-v4-flash-jasi", "[spark-02, spark-01]", "", "-jasl"),  # only mentioned
    ],
)
def test_hints_name_recipes_that_can_be_deployed_there(word: str, hosts: str, named: str, unnamed: str) -> None:
    [hint] = hints(PAIR.replace("base/single-spark", word).replace(IN_GROUP, f"hosts: {hosts}"))
    assert named in hint
    assert not unnamed or unnamed not in hint


def test_an_unknown_variant() -> None:
    text = deployment("variant: dflash")
    assert faults(text) == ["REF001 10:14 unknown variant 'dflash'"]


def test_a_recipe_for_any_model_needs_one() -> None:
    text = deployment().replace("    model: example/model\n", "")
    assert faults(text) == [
        "REF003 5:3 deployment chat has no model: recipe base/single-spark serves any model and sets none"
    ]
    assert "add `model: organisation/name`" in hints(text)[0]


def test_an_unknown_platform() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11, platform: dgx-sprak}")
    assert faults(text) == ["REF001 3:53 unknown platform 'dgx-sprak'"]
    assert hints(text) == ["did you mean 'dgx-spark'?"]


def test_an_own_platform_is_known() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11, platform: pc}")
    assert faults(text + "platforms: {pc: {title: PC, architecture: amd64}}\n") == []


def test_an_unknown_host_of_a_deployment() -> None:
    text = deployment().replace("hosts: spark-01", "hosts: spark-1")
    assert faults(text) == ["REF001 8:12 unknown host 'spark-1'"]
    assert hints(text) == ["did you mean 'spark-01'?"]


def test_an_unknown_host_of_a_service() -> None:
    assert faults(service().replace("hosts: spark-01", "hosts: spark-9")) == ["REF001 8:12 unknown host 'spark-9'"]


def test_an_unknown_host_in_a_group() -> None:
    text = PAIR.replace(IN_GROUP, "hosts: [spark-02, spark-03]")
    assert faults(text) == ["REF001 14:23 unknown host 'spark-03'"]


def test_a_host_twice_in_a_group() -> None:
    text = PAIR.replace(IN_GROUP, "hosts: [spark-02, spark-02]")
    assert faults(text) == ["REF002 14:23 host spark-02 is listed twice"]


def test_a_group_needs_the_fabric() -> None:
    link = "    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}\n"
    text = PAIR.replace(link, "")
    assert text != PAIR
    assert faults(text) == ["REF003 13:13 host spark-02 has no fabric link, but big runs on 2 hosts"]
    assert hints(text) == ["run sparkiac fabric discover, or add hosts.spark-02.fabric.links"]


def test_a_group_of_one_needs_no_fabric() -> None:
    text = deployment().replace("hosts: spark-01", "hosts: [spark-01]")
    assert faults(text) == []


def test_settings_for_a_host_that_the_deployment_is_not_on() -> None:
    text = deployment("per_host: {spark-02: {bind: any}}", host=f"{SPARK}, spark-02: {{address: 192.168.1.12}}")
    assert faults(text) == ["REF001 10:16 unknown host of this deployment 'spark-02'"]


def test_a_service_and_a_deployment_with_one_name() -> None:
    text = deployment() + "services: {chat: {kind: container, image: 'a:1', hosts: spark-01}}\n"
    assert faults(text) == ["REF002 10:12 'chat' is also a deployment (line 5); both would get the unit sparkiac-chat"]


def test_all_faults_at_once_and_nothing_is_resolved_then() -> None:
    text = deployment("variant: x").replace("hosts: spark-01", "hosts: spark-9")
    findings, found = resolution(text)
    assert [finding.code for finding in findings] == ["REF001", "REF001"]
    assert found is None


@pytest.mark.parametrize(("on", "hosts"), [("spark-02", ("spark-02",)), (IN_GROUP[7:], ("spark-02", "spark-01"))])
def test_the_leading_host_is_the_first(on: str, hosts: tuple[str, ...]) -> None:
    fleet = resolved(PAIR.replace(IN_GROUP, f"hosts: {on}")).inventory.value
    assert fleet is not None
    assert hosts_of(fleet.deployments["big"]) == hosts


def test_two_names_for_one_machine() -> None:
    text = "name: twins\nhosts:\n  one: {address: 192.168.1.11}\n  two: {address: 192.168.1.11}\n"
    assert faults(text) == ["REF002 4:18 hosts two and one have the same address 192.168.1.11"]
    apart = text.replace("two: {", "two: {ssh: {port: 2222}, ")
    assert faults(apart) == []


def test_names_of_a_faulty_file_are_checked_as_far_as_they_are_names() -> None:
    text = deployment().replace("hosts: spark-01", "hosts: 5").replace("base/single-spark", "'../../x'")
    found = check_names(load((text + "hosts2: {}\n").encode(), name="lab.yaml", model=Inventory))
    assert found == ()
    text = deployment().replace("port: 8001", "port: none").replace("hosts: spark-01", "hosts: spark-9")
    found = check_names(load(text.encode(), name="lab.yaml", model=Inventory))
    assert [finding.message for finding in found] == ["unknown host 'spark-9'"]


TWO: Final = "spark-01: {{address: 192.168.1.11, images_from: {}}}, spark-02: {{address: 192.168.1.12{}}}"


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (TWO.format("spark-09", ""), "REF001 3:56 unknown host 'spark-09'"),
        (TWO.format("spark-01", ""), "REF001 3:56 unknown host 'spark-01'"),
        (
            TWO.format("spark-02", ", images_from: spark-01"),
            "REF003 3:56 spark-01 gets its images from spark-02, which gets its images from another host",
        ),
    ],
)
def test_images_come_from_another_host_that_has_them(hosts: str, message: str) -> None:
    assert message in faults(deployment(host=hosts))
    assert faults(deployment(host=TWO.format("spark-02", ""))) == []


def test_a_single_host_copies_images_from_no_host() -> None:
    [finding] = resolution(deployment(host="spark-01: {address: 192.168.1.11, images_from: spark-2}"))[0]
    assert finding.message == "unknown host 'spark-2'"
    assert finding.hint == "remove it: no other host can provide the images"


INLINE: Final = deployment("image: example.org/x:1").replace("recipe: base/single-spark", "engine: vllm")


def test_a_deployment_may_start_from_no_recipe() -> None:
    found = container(INLINE)
    assert (found.server.engine, found.server.recipe, found.server.facts, found.server.superseded) == (
        "vllm",
        None,
        None,
        (),
    )
    assert found.argv[:3] == ("vllm", "serve", "example/model")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (INLINE.replace("    engine: vllm\n", ""), "REF003 5:3 deployment chat has neither a recipe nor an engine"),
        (
            INLINE.replace("    image: example.org/x:1\n", ""),
            "REF003 5:3 deployment chat has no image: neither the catalog nor the inventory sets it",
        ),
        (
            INLINE.replace("    model: example/model\n", ""),
            "REF003 5:3 deployment chat has no model: neither the catalog nor the inventory sets it",
        ),
        (
            INLINE + "    variant: dflash\n",
            "REF003 11:5 deployment chat has a variant but no recipe",
        ),
        (
            deployment("engine: vllm"),
            "REF002 10:5 deployment chat sets both recipe and engine; the recipe sets the engine",
        ),
        (INLINE + "    fragments: [dflah]\n", "REF001 11:17 unknown fragment 'dflah'"),
    ],
)
def test_without_a_recipe_engine_image_and_model_are_its_own(text: str, message: str) -> None:
    assert message in faults(text)


def test_an_unknown_fragment_beside_a_recipe_is_found() -> None:
    assert "REF001 10:17 unknown fragment 'dflah'" in faults(deployment("fragments: [dflah]"))


ROCE: Final = PAIR.replace("    port: 8001\n", "    port: 8001\n    fragments: [LISTED]\n")


def test_a_fragment_has_the_fragments_that_it_needs() -> None:
    assert faults(ROCE.replace("LISTED", "sm121-ngc-2604, two-node-roce")) == []
    missing = "fragment two-node-roce needs fragment sm121-ngc-2604, which deployment big does not list before it"
    assert faults(ROCE.replace("LISTED", "two-node-roce")) == [f"REF003 16:17 {missing}"]
    assert hints(ROCE.replace("LISTED", "two-node-roce")) == [
        "add sm121-ngc-2604 before it: fragments: [sm121-ngc-2604, two-node-roce]"
    ]


def test_a_needed_fragment_comes_first_because_later_values_win() -> None:
    missing = "fragment two-node-roce needs fragment sm121-ngc-2604, which deployment big does not list before it"
    assert faults(ROCE.replace("LISTED", "two-node-roce, sm121-ngc-2604")) == [f"REF003 16:17 {missing}"]


def test_a_fragment_for_two_hosts_is_for_two_hosts() -> None:
    text = deployment("fragments: [sm121-ngc-2604, two-node-roce]")
    assert faults(text) == [
        "REF003 10:33 fragment two-node-roce is for 2 hosts, but deployment chat runs on 1",
    ]
    assert hints(text) == ["remove it, or list 2 names under `hosts`"]


@pytest.mark.parametrize("listed", ["5", "[5]", "[{a: b}]", "[Not-A-Name]"])
def test_a_value_that_is_not_a_list_of_fragments_has_no_traceback(listed: str) -> None:
    source = load(deployment(f"fragments: {listed}").encode(), name="l", model=Inventory)
    assert {found.code for found in check_names(source)} <= {"REF001"}


RETIRED: Final = "retired: {spark-03: {address: 192.168.1.13, user: spark}}\n"


def test_a_retired_host_runs_nothing() -> None:
    assert faults(deployment() + RETIRED) == []
    text = deployment().replace("hosts: spark-01", "hosts: spark-03") + RETIRED
    assert faults(text) == ["REF001 8:12 host 'spark-03' is retired"]
    assert hints(text) == ["use another host, or move spark-03 from `retired:` to `hosts:`"]
    canary = deployment() + RETIRED + "rollout: {canary: spark-03}\n"
    assert faults(canary) == ["REF001 11:19 host 'spark-03' is retired"]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("spark-01: {address: 192.168.1.99}", "REF002 10:11 retired host spark-01 is also under hosts (line 3)"),
        ("old: {address: 192.168.1.11}", "REF002 10:26 retired host old is the same machine as host spark-01"),
        (
            "old: {address: 192.168.1.11, port: 22}",
            "REF002 10:26 retired host old is the same machine as host spark-01",
        ),
        ("old: {address: 192.168.1.11, port: 2222}", ""),
    ],
)
def test_a_retired_host_that_is_still_in_use(entry: str, fault: str) -> None:
    """Otherwise an apply would remove what the host runs."""
    assert faults(deployment() + f"retired: {{{entry}}}\n") == ([fault] if fault else [])


@pytest.mark.parametrize("address", ["null", "[1]", "{a: b}", "5"])
def test_an_address_that_is_none(address: str) -> None:
    source = load(f"{deployment()}retired: {{old: {{address: {address}}}}}\n".encode(), name="l", model=Inventory)
    assert source.findings
    assert check_names(source) == ()
