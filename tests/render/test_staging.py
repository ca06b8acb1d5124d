"""What Ansible is told of weights and images, and the list of files of each repository."""

from __future__ import annotations

import json

import yaml

from sparkiac import pipeline
from tests.plan.fleets import COMMIT, PAIR, planned
from tests.plan.test_weights import BIG


def files(text: str, locked: str = BIG) -> dict[str, str]:
    return {artifact.path: artifact.content.decode() for artifact in pipeline.render(planned(text, locked=locked))}


def variables(text: str, host: str, locked: str = BIG) -> dict[str, object]:
    made = files(text, locked)
    main, hashes = (
        yaml.safe_load(made[f"host_vars/{host}/{name}.yml"].replace("!unsafe", "")) for name in ("main", "hashes")
    )
    return {**main["sparkiac"], **hashes["sparkiac_hashes"]}


def test_hosts_get_the_models_to_store_and_where_to_copy_them_from() -> None:
    found = variables(PAIR, "spark-02")
    model = {
        "model": "example/big",
        "commit": COMMIT,
        "layout": "hub",
        "manifest": "models/example--big.json",
        "own": None,
    }
    assert found["stores"] == [{"path": "/srv/models", "models": [model]}]
    near = [{"host": "spark-01", "address": "192.168.177.11"}]
    assert found["fetch"] == {"endpoint": "https://huggingface.co", "token": None, "from": near, "owners": []}
    assert found["images_from"] is None
    assert found["copied_by"] == []
    assert variables(PAIR, "spark-01")["copied_by"] == ["192.168.1.12", "192.168.177.12"]
    assert found["image_ids"] == {}


def test_a_repository_is_one_list_for_the_whole_fleet() -> None:
    text = files(PAIR)["models/example--big.json"]
    assert json.loads(text) == {
        "commit": COMMIT,
        "files": {"config.json": {"sha256": "a" * 64, "size_bytes": 7}},
        "gated": False,
        "model": "example/big",
    }
    assert f'  "config.json": {{"sha256": "{"a" * 64}", "size_bytes": 7}}\n' in text, "a line for each file"


def test_a_generation_is_named_after_all_that_is_applied() -> None:
    first = variables(PAIR, "spark-02")["generation"]
    assert first == variables(PAIR, "spark-02")["generation"]
    assert first != variables(PAIR, "spark-01")["generation"]
    assert first != variables(PAIR, "spark-02", BIG.replace(COMMIT, "4" * 40))["generation"]
    assert first != variables(PAIR.replace("port: 8001", "port: 8002"), "spark-02")["generation"]


def test_the_id_of_a_copied_image_is_in_the_variables() -> None:
    image = f"sha256:{'7' * 64}"
    text = PAIR.replace("address: 192.168.1.12", "address: 192.168.1.12\n    images_from: spark-01")
    found = variables(text, "spark-02", BIG.replace("entrypoint: [/opt", f'config: "{image}", entrypoint: [/opt'))
    assert found["images_from"] == {"host": "spark-01", "address": "192.168.177.11"}
    assert (found["images"], found["image_ids"]) == ([image], {image: image})
