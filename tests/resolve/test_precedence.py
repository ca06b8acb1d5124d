"""Which layer wins, leaf by leaf, and what `null` takes away."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac import catalog, source
from sparkiac.engines.records import vllm
from sparkiac.model.catalog import Fragment, Recipe, Variant
from sparkiac.model.inventory import Inventory
from sparkiac.resolve import merged_layers
from sparkiac.resolve.leaves import nest
from tests.plan.fleets import deployment, service, values
from tests.resolve.built import as_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel

    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves
    from sparkiac.source import Source

LEAVES: Final[dict[Path, Callable[[int], Any]]] = {
    ("image",): lambda n: f"example.org/engine:{n}",
    ("set", "port"): lambda n: 9000 + n,
    ("set", "number"): lambda n: n,
    ("set", "json"): lambda n: {"same": 0, f"key_{n}": n},
    ("set", "words"): lambda n: [f"word {n}"],
    ("env", "HF_HUB_OFFLINE"): lambda n: n,
    ("env", "NAME"): lambda n: f"value {n}",
    ("container", "ipc"): lambda n: ("host", "private")[n % 2],
    ("container", "shm_size_gib"): lambda n: n,
    ("container", "tmp_size_gib"): lambda n: n,
    ("container", "read_only"): lambda n: bool(n % 2),
    ("container", "ulimits", "memlock"): lambda n: n,
    ("container", "ulimits", "nofile"): lambda n: n,
    ("container", "mounts", "/data"): lambda n: {"source": f"/srv/{n}"},
    ("timeouts", "ready_s"): lambda n: n,
    ("timeouts", "stop_s"): lambda n: n,
    ("timeouts", "restart_delay_s"): lambda n: n,
    ("timeouts", "drain_s"): lambda n: n,
    ("timeouts", "answer_s"): lambda n: n,
    ("container", "files", "/opt/file"): lambda n: {"url": f"https://example.org/{n}"},
    ("container", "prelude"): lambda n: [["echo", str(n)]],
    ("speculative",): lambda n: {"method": "ngram", "num_speculative_tokens": n},
    ("bind",): lambda n: ("loopback", "lan", "fabric", "any")[n % 4],
    ("model_store",): lambda n: f"/srv/{n}",
    ("api_key",): lambda n: {"secret": f"key_{n}"},
}
"""Every leaf that all layers can set, and how to make a value that tells the layers apart."""
LAYERS: Final = ("engine", "recipe", "variant", "fragment", "defaults", "deployment", "per_host")
"""From the weakest to the strongest."""
ORIGINS: Final = {
    "engine": "engine vllm",
    "recipe": "recipe test/recipe",
    "variant": "variant test/recipe#fast",
    "fragment": "fragment extra",
    "own memory": "a server on one host",
}
IPC: Final = ("container", "ipc")
SHM: Final = ("container", "shm_size_gib")
NOTHING: Final = object()


def put(data: dict[str, Any], path: Path, value: object) -> None:
    for part in path[:-1]:
        data = data.setdefault(str(part), {})
    data[str(path[-1])] = value


def get(data: Any, path: Path) -> Any:  # noqa: ANN401  any leaf
    for part in path:
        data = data.get(part, NOTHING) if isinstance(data, dict) else NOTHING
    return data


def plain(value: object) -> object:
    """Return a value with lists for tuples, as YAML has it."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def loaded(name: str, data: dict[str, Any], model: type[BaseModel]) -> Source[Any]:
    """Load a catalog entry that is written here."""
    found = source.load(as_yaml(data).encode(), name=f"catalog/{name}.yaml", model=model)
    assert found.value is not None, found.findings
    return found


def merge_layers(layers: dict[str, dict[str, Any]]) -> Leaves:
    """Merge the layers of one deployment whose settings are these, layer by layer; the engine's are what they are."""
    recipe = {
        "title": "Test",
        "engine": "vllm",
        "sources": ["test"],
        "image": "example.org/engine:recipe",
        "model": "example/model",
        **layers.get("recipe", {}),
    }
    entry = {"title": "Test", "sources": ["test"]}
    variant, fragment = entry | layers.get("variant", {}), entry | layers.get("fragment", {})
    chat = {
        "recipe": "test/recipe",
        "variant": "fast",
        "fragments": ["extra"],
        "hosts": "spark-01",
        "port": 8001,
        **layers.get("deployment", {}),
        "per_host": {"spark-01": layers.get("per_host", {})},
    }
    link = {"interface": "enp1s0f1np1", "address": "10.0.0.1/24"}
    inventory = {
        "name": "lab",
        "defaults": layers.get("defaults", {}),
        "hosts": {"spark-01": {"address": "192.168.1.11", "fabric": {"links": [link]}}},
        "deployments": {"chat": chat},
    }
    with pytest.MonkeyPatch.context() as patch:
        known = {
            "test/recipe": loaded("recipes/test/recipe", recipe, Recipe),
            "fast": loaded("recipes/test/recipe/fast", variant, Variant),
            "extra": loaded("fragments/extra", fragment, Fragment),
        }
        patch.setattr(catalog, "recipe", known.get)
        patch.setattr(catalog, "variant", lambda _recipe, name: known.get(name))
        patch.setattr(catalog, "fragment", known.get)
        return merged_layers(source.load(as_yaml(inventory).encode(), name="lab.yaml", model=Inventory))


def steps() -> Iterator[tuple[Path, str, str]]:
    for path in LEAVES:
        setting = [layer for layer in LAYERS if layer != "engine" or get(vllm.DEFAULTS, path) is not NOTHING]
        for weaker, stronger in pairwise(setting):
            yield path, weaker, stronger


@pytest.mark.parametrize(
    ("path", "weaker", "stronger"), list(steps()), ids=lambda part: ".".join(part) if isinstance(part, tuple) else part
)
def test_the_stronger_layer_wins(path: Path, weaker: str, stronger: str) -> None:
    layers: dict[str, dict[str, Any]] = {}
    for number, layer in enumerate((weaker, stronger)):
        if layer != "engine":
            put(layers.setdefault(layer, {}), path, LEAVES[path](number + 2))
    value, origin = merge_layers(layers)["deployments", "chat", "spark-01", *path]
    assert plain(value) == LEAVES[path](3)
    assert origin.layer == ORIGINS.get(stronger, "inventory")


@settings(max_examples=40)
@given(st.data())
def test_any_layers_merge_leaf_by_leaf(data: st.DataObject) -> None:
    """The expectation is written anew here: walk the layers, keep the last value, forget it at a null."""
    layers: dict[str, dict[str, Any]] = {}
    expected: dict[Path, tuple[Any, str]] = {
        path: (get(vllm.DEFAULTS, path), "engine") for path in LEAVES if get(vllm.DEFAULTS, path) is not NOTHING
    }
    for number, layer in enumerate(LAYERS[1:], start=1):
        layers[layer] = {}
        for path in data.draw(st.sets(st.sampled_from(sorted(LEAVES)))):
            value = None if layer != "recipe" and data.draw(st.booleans()) else LEAVES[path](number)
            put(layers[layer], path, value)
            expected[path] = (value, layer)
        if layer == "fragment" and expected.get(IPC) in {("host", "recipe"), ("host", "variant")}:
            expected[IPC] = ("private", "own memory")
            if expected.get(SHM, (None, ""))[0] is None:
                expected[SHM] = (16, "own memory")
    expected.setdefault(("image",), ("example.org/engine:recipe", "recipe"))
    leaves = merge_layers(layers)
    for path in LEAVES:
        value, layer = expected.get(path, (None, ""))
        found = leaves.get(("deployments", "chat", "spark-01", *path))
        if value is None:
            assert found is None, path
        else:
            assert found is not None, path
            assert (plain(found[0]), found[1].layer) == (plain(value), ORIGINS.get(layer, "inventory")), path


def test_a_null_takes_a_whole_mapping_away() -> None:
    leaves = merge_layers({"deployment": {"env": None}, "per_host": {"env": {"A": 1}}})
    env = {path[4:]: leaf[0] for path, leaf in leaves.items() if path[3:4] == ("env",)}
    assert env == {("A",): 1}


def test_an_engine_option_is_one_value_and_never_merged() -> None:
    recipe = {"set": {"hf_overrides": {"rope_type": "yarn", "factor": 2}}}
    own = {"set": {"hf_overrides": {"factor": 4}}}
    leaves = merge_layers({"recipe": recipe, "deployment": own})
    assert leaves["deployments", "chat", "spark-01", "set", "hf_overrides"][0] == {"factor": 4}


def test_a_method_of_speculative_decoding_is_one_value_and_never_merged() -> None:
    recipe = {"speculative": {"method": "mtp", "num_speculative_tokens": 2}}
    leaves = merge_layers({"recipe": recipe, "deployment": {"speculative": {"method": "ngram"}}})
    assert leaves["deployments", "chat", "spark-01", "speculative"][0] == {"method": "ngram"}


def test_a_variant_edits_flags_environment_and_image() -> None:
    recipe = {"set": {"dtype": "auto", "max_num_seqs": 4}, "env": {"A": 1}, "image": "example.org/engine:stable"}
    variant = {"set": {"dtype": "bfloat16", "max_num_seqs": None}, "env": {"A": 2}, "image": "example.org/engine:next"}
    chat = nest(merge_layers({"recipe": recipe, "variant": variant}))["deployments"]["chat"]["spark-01"]
    assert (chat["image"], chat["env"]["A"]) == ("example.org/engine:next", 2)
    assert chat["set"] == {"dtype": "bfloat16", **vllm.DEFAULTS["set"]}


def test_a_host_adds_to_its_platform_and_the_defaults() -> None:
    text = deployment(
        defaults="{model_store: /srv/models, user: milo, sysctl: {vm.swappiness: 5, net.core.somaxconn: 1}}",
        host="spark-01: {address: 192.168.1.11, driver: '580.142', memory: {total_gib: 121}, model_store: /data,"
        " ssh: {port: 2222}, sysctl: {net.core.somaxconn: 2}}",
    )
    found = values(text)
    host = found["hosts"]["spark-01"]
    assert host["sysctl"] == {"vm.swappiness": 5, "net.core.somaxconn": 2}
    assert host["ssh"] == {"user": "milo", "port": 2222}
    assert (host["driver"], host["memory_gib"], host["architecture"]) == ("580.142", 121, "arm64")
    assert found["deployments"]["chat"]["spark-01"]["model_store"] == "/data"


def test_a_host_without_facts_is_what_its_platform_says() -> None:
    host = values(deployment())["hosts"]["spark-01"]
    assert (host["driver"], host["memory_gib"], host["sysctl"]) == ("580", 119, {"vm.swappiness": 1})
    assert "ssh" not in host


def test_a_host_may_take_a_fact_of_its_platform_away() -> None:
    host = values(deployment(host="spark-01: {address: 192.168.1.11, driver: null}"))["hosts"]["spark-01"]
    assert "driver" not in host


def test_a_platform_of_the_inventory_hides_one_of_the_catalog() -> None:
    text = deployment() + "platforms: {dgx-spark: {title: Other, architecture: amd64}}\n"
    assert values(text)["hosts"]["spark-01"] == {
        "title": "Other",
        "architecture": "amd64",
        "address": "192.168.1.11",
        "model_store": "/srv/models",
    }


def test_a_service_has_its_own_defaults_and_the_fleets_bind() -> None:
    asr = values(service("port: 8765", "timeouts: {stop_s: 5}", defaults="{bind: loopback}"))["services"]
    assert asr["asr"]["bind"] == "loopback"
    assert asr["asr"]["timeouts"] == {"ready_s": 300, "stop_s": 5, "restart_delay_s": 2, "drain_s": 0, "answer_s": 120}
    assert (asr["asr"]["gpu"], asr["asr"]["read_only"]) == (False, True)


def test_a_service_reads_no_weights_of_deployments() -> None:
    """Defaults for deployments, such as their image or environment, are not the services'."""
    asr = values(service("port: 8765", defaults="{env: {A: 1}, set: {x: 1}}"))["services"]["asr"]
    assert "env" not in asr
    assert "set" not in asr
