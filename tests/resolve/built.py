"""Inventories that Hypothesis builds: valid, with every field that a layer can set."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.plan.fleets import ONES

MODELS = ("example/one", "example/Two.2")
RECIPES = ("base/single-spark", "google/gemma-4-26b-a4b-it-fp8", "redhatai/qwen3.6-35b-a3b-nvfp4")
"""Recipes that run on any number of hosts and ask the inventory for nothing."""
HOSTS = ("spark-01", "spark-02", "spark-03")
_TEXTS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=12).map(
    lambda text: f"x{text.strip()}y"  # a description may start and end with no blank or backslash
)
_SECONDS = st.integers(1, 900)
_SCALARS = st.one_of(st.integers(0, 99), st.booleans(), _TEXTS, st.floats(0, 1, width=16).map(lambda f: round(f, 3)))
_PORTS = st.integers(1, 65535)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return mappings with any of these keys."""
    return st.fixed_dictionaries({}, optional=fields)


def settings() -> st.SearchStrategy[dict[str, Any]]:
    """Return what any layer may say about a deployment."""
    mount = st.one_of(st.none(), st.fixed_dictionaries({"source": st.sampled_from(["model_store", "/data"])}))
    return some(
        image=st.sampled_from([f"example.org/engine:1@{ONES}", "nvcr.io/nvidia/vllm:26.04-py3"]),
        set=st.dictionaries(
            st.sampled_from(["max_model_len", "dtype", "a", "b"]),
            st.one_of(_SCALARS, st.none(), st.lists(_TEXTS, min_size=1, max_size=2), st.dictionaries(_TEXTS, _SCALARS)),
        ),
        env=st.dictionaries(st.sampled_from(["A", "B", "HF_HUB_OFFLINE"]), st.one_of(st.integers(0, 9), _TEXTS)),
        container=some(
            ipc=st.sampled_from(["host", "private"]),
            shm_size_gib=st.integers(1, 8),
            tmp_size_gib=st.integers(1, 8),
            read_only=st.booleans(),
            ulimits=some(memlock=st.integers(-1, 9), stack=st.integers(-1, 9), nofile=st.integers(1, 9)),
            mounts=st.dictionaries(st.sampled_from(["/models", "/data"]), mount),
        ),
        timeouts=some(ready_s=_SECONDS, stop_s=_SECONDS, restart_delay_s=_SECONDS, drain_s=_SECONDS, answer_s=_SECONDS),
        bind=st.sampled_from(["loopback", "lan", "fabric", "any"]),
        model_store=st.sampled_from(["/srv/a", "/srv/b"]),
        api_key=st.sampled_from([{"secret": "key_a"}, {"secret": "key_b"}]),
        speculative=st.sampled_from([{"method": "ngram", "num_speculative_tokens": 4}, {"method": "mtp"}]),
    )


def _host(number: int) -> st.SearchStrategy[dict[str, Any]]:
    link = {"interface": "enp1s0f1np1", "address": f"10.0.0.{number}/24", "hca": "rocep1s0f1"}
    fixed = {"address": st.just(f"192.168.1.{number}"), "fabric": st.just({"links": [link]})}
    optional = {
        "platform": st.just("dgx-spark"),
        "memory": st.just({"total_gib": 121}),
        "driver": st.sampled_from(["580", "580.142"]),
        "ssh": some(user=st.just("milo"), port=_PORTS),
        "sysctl": st.dictionaries(st.sampled_from(["vm.swappiness", "net.core.somaxconn"]), st.integers(0, 9)),
        "model_store": st.just(f"/srv/of-{number}"),
    }
    return st.fixed_dictionaries(fixed, optional=optional)


@st.composite
def _deployment(draw: st.DrawFn, hosts: list[str]) -> dict[str, Any]:
    group = draw(st.lists(st.sampled_from(hosts), min_size=1, max_size=3, unique=True))
    fixed = {
        "recipe": draw(st.sampled_from(RECIPES)),
        "model": draw(st.sampled_from(MODELS)),
        "hosts": group[0] if len(group) == 1 and draw(st.booleans()) else group,
        "port": draw(_PORTS),
    }
    optional = draw(some(description=_TEXTS, served_names=st.lists(_TEXTS, min_size=1, max_size=2)))
    single = draw(st.dictionaries(st.sampled_from(group), settings()))
    return fixed | optional | draw(settings()) | ({"per_host": single} if single else {})


def _service(hosts: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {
        "kind": st.just("container"),
        "image": st.just(f"example.org/asr:2@{ONES}"),
        "hosts": st.sampled_from(hosts),
        "port": _PORTS,
    }
    optional: dict[str, st.SearchStrategy[Any]] = {
        "container_port": _PORTS,
        "bind": st.sampled_from(["loopback", "lan", "any"]),
        "health": st.just("/health"),
        "command": st.lists(_TEXTS, max_size=3),
        "env": st.dictionaries(st.sampled_from(["A", "B"]), _TEXTS),
        "mounts": st.just({"/data": {"source": "/srv/data", "read_only": False}}),
        "gpu": st.booleans(),
        "read_only": st.booleans(),
        "timeouts": some(ready_s=_SECONDS, stop_s=_SECONDS),
        "description": _TEXTS,
    }
    return st.fixed_dictionaries(fixed, optional=optional)


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """Return the data of a whole inventory."""
    hosts = list(HOSTS[: draw(st.integers(1, len(HOSTS)))])
    defaults = draw(settings()) | {"model_store": "/srv/models"}
    extra = draw(some(user=st.just("spark"), sysctl=st.just({"vm.swappiness": 7})))
    names = st.sampled_from(["one", "two"])
    services = draw(st.dictionaries(st.sampled_from(["asr", "tts"]), _service(hosts), max_size=2))
    return {
        "name": "built",
        "defaults": defaults | extra,
        "hosts": {name: draw(_host(index + 11)) for index, name in enumerate(hosts)},
        "deployments": draw(st.dictionaries(names, _deployment(hosts), max_size=2)),
        "services": services,
    }


def as_yaml(data: object) -> str:
    """Write data as a YAML file, in the order of its keys."""
    return str(yaml.dump(data, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=10**6))


class _Plain(yaml.SafeDumper):
    """No anchors: the gate refuses them."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML's signature
        return True
