"""The pair as a group on Ray: real Ray in the image, and a stand-in of vLLM that places real actors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.bed.images import SERVE_ENTRYPOINT
from tests.e2e.lab import KEY
from tests.e2e.pair import HOSTS, UNIT, Pair

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

IMAGE = "vllm/vllm-openai:v0.19.0"
"""The last release whose image contains Ray."""
SESSION = re.compile(r"/session_[\d_-]+")
NODES = """
import json, ray
ray.init("auto", log_to_driver=False, logging_level="ERROR")
print(json.dumps([node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]))
"""


class RayPair(Pair):
    """The group `qwen36`, on Ray."""

    settings = (
        *(each.replace("ready_s: 90", "ready_s: 900") for each in Pair.settings),
        "executor: ray",
        f"image: {IMAGE}",
    )

    def push_images(self) -> dict[str, dict[str, object]]:
        """Push the image with Ray as well."""
        repository, _, tag = IMAGE.partition(":")
        digest = self.bed.push_with_ray(f"hub/{repository}", tag=tag)
        return {**super().push_images(), IMAGE: {"digest": digest, "entrypoint": list(SERVE_ENTRYPOINT)}}

    def workers(self) -> dict[str, list[str]]:
        """Return node and interface of each actor of the server."""
        _, told = self.get("spark-01", "/standin")
        found: dict[str, list[str]] = told["ranks"]
        return found

    def nodes(self) -> list[str]:
        """Return the addresses of the nodes that are alive, as Ray lists them."""
        command = f"docker exec {UNIT}-server-1 python3 -c '{NODES}'"
        found: list[str] = json.loads(self.bed.ssh("spark-01", command, root=True).stdout.splitlines()[-1])
        return sorted(found)

    def answer(self) -> str | None:
        """Return the answer to a request, for which all actors must answer; None if there is none."""
        url = f"http://{self.bed.hosts['spark-01'].address}:8001/v1/completions"
        body = json.dumps({"prompt": "17 * 23 =", "max_tokens": 8})
        words = ["curl", "-s", "-H", f"Authorization: Bearer {KEY}", "-d", body, url]
        done = self.bed.run(words, check=False)
        return json.loads(done.stdout)["choices"][0]["text"].strip() if done.stdout else None

    def length(self) -> int:
        """Return the longest text that the server takes."""
        _, told = self.get("spark-01", "/v1/models")
        found: int = told["data"][0]["max_model_len"]
        return found


def sessions(bed: Bed) -> dict[str, set[str]]:
    """Return the sessions of Ray to which the Ray nodes of each host belong. Each start of a head makes another one."""
    found: dict[str, set[str]] = {host: set() for host in HOSTS}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            argv = (place / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        host = bed.host_of(int(place.name)) if argv.partition("\0")[0].endswith("/raylet") else None
        if host:
            found[host] |= {*SESSION.findall(argv)}
    return found
