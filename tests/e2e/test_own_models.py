"""A model that lies in a folder of one host is pinned over real SSH, and served by the other, which copies it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.e2e.lab import IMAGES, KEY, STORE, Lab, moved
from tests.standin.hub import safetensors, sha256

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

OUT: Final = "/home/spark/out/bot"
IMAGE: Final = next(iter(IMAGES))
CONFIG: Final = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 1024,
    "vocab_size": 1000,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "max_position_embeddings": 262144,
}
FILES: Final = {
    "config.json": json.dumps(CONFIG).encode(),
    "tokenizer.json": b"{}",
    "model.safetensors": safetensors({"a": ("BF16", (64, 256), bytes(range(256)) * 128)}),
    "optimizer.pt": b"no engine loads it",
}
TRAINED: Final = safetensors({"a": ("BF16", (64, 256), bytes(range(255, -1, -1)) * 128)})
INVENTORY: Final = f"""\
name: lab
defaults: {{user: milo, model_store: /home/milo/.cache/huggingface, bind: lan, api_key: {{secret: vllm_api_key}}}}
hosts:
  spark-01:
    address: 192.168.1.11
    memory: {{total_gib: 119}}
    driver: "580.142"
  spark-02:
    address: 192.168.1.12
    memory: {{total_gib: 119}}
    driver: "580.142"
own_models: {{me/bot: {{host: spark-01, path: {OUT}}}}}
deployments:
  chat: {{recipe: base/single-spark, model: me/bot, hosts: spark-02, port: 8001, set: {{max_model_len: 4096}}}}
"""


def put(bed: Bed, name: str, content: bytes) -> None:
    """Write a file of the model on its host."""
    text = base64.b64encode(content).decode()
    bed.ssh("spark-01", f"mkdir -p {OUT} && echo {text} | base64 -d >{OUT}/{name}")


def stored(bed: Bed, host: str) -> dict[str, str]:
    """Return the hash of each file that the engine of a host would load."""
    lines = bed.ssh(host, f"cd {STORE}/me/bot && sha256sum *", root=True).stdout.splitlines()
    return {path: digest for digest, path in (line.split() for line in lines)}


def locked(lab: Lab, image: dict[str, Any], *options: str) -> dict[str, Any]:
    """Pin the model on its host, and return its entry; what the lock says of the bed's image beside is made up."""
    path = lab.inventory.with_name("lab.lock.yaml")
    whole = image | {"manifest": image["digest"], "config": f"sha256:{'1' * 64}", "size_bytes": 1}
    former = yaml.safe_load(path.read_text()).get("models", {}) if path.exists() else {}
    path.write_text(json.dumps({"version": 1, "images": {IMAGE: whole}, "models": former}))
    done = lab.sparkiac("lock", "inventories/lab.yaml", "--own-models", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    models = yaml.safe_load(path.read_text())["models"]
    path.write_text(json.dumps({"version": 1, "images": {IMAGE: image}, "models": models}))
    found: dict[str, Any] = models["me/bot"]
    return found


def test_a_folder_of_one_host_is_pinned_and_served_by_the_other(
    bed: Bed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lab = Lab(bed, tmp_path_factory.mktemp("lab"))
    lab.inventory.parent.mkdir()
    lab.inventory.write_text(moved(INVENTORY))
    (lab.folder / "secrets.json").write_text(json.dumps({"sparkiac_secrets": {"vllm_api_key": KEY}}))
    image = lab.push_images()[IMAGE]
    for name, content in FILES.items():
        put(bed, name, content)
    entry = locked(lab, image)
    wanted = {name: sha256(content) for name, content in FILES.items() if name != "optimizer.pt"}
    assert {path: file["sha256"] for path, file in entry["files"].items()} == wanted
    assert entry["revision"] == f"spark-01:{OUT}"

    lab.generate()
    recap = lab.apply()
    assert recap.code == 0, recap.output[-6000:]
    assert stored(bed, "spark-01") == stored(bed, "spark-02") == wanted
    assert lab.served("spark-02") == ["me/bot"]

    # Training again changes neither what is served nor what an apply brings, until it is pinned.
    put(bed, "model.safetensors", TRAINED)
    assert stored(bed, "spark-02") == wanted
    again = locked(lab, image, "--upgrade", "me/bot")
    assert again["commit"] != entry["commit"]
    lab.generate()
    recap = lab.apply()
    assert recap.code == 0, recap.output[-6000:]
    assert stored(bed, "spark-02") == wanted | {"model.safetensors": sha256(TRAINED)}
    assert lab.served("spark-02") == ["me/bot"]
