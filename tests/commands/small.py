"""A catalog of a few entries, so that what is printed of it can be written down whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import catalog

if TYPE_CHECKING:
    from pathlib import Path

FILES: Final = {
    "recipes/acme/small.yaml": """\
title: Small model
engine: vllm
sources: ["Guide L1"]
image: example.org/vllm:1
model: acme/Small-8B
port: 8001
use_cases: [coding, chat]
facts:
  architecture: {kind: dense, total_params_b: 8, sources: ["Guide L2"]}
  quantization: {format: NVFP4}
  weights: {disk_gb: 9}
set: {max_model_len: 4096, dtype: auto}
container:
  mounts: {/models: {source: model_store}}
measured: [{what: decode, value: 50 tok/s, source: Guide L3}]
corrections: [{what: no token, why: none is needed}]
not_verified: [the build]
findings: [{code: IMG003, why: the tag moves}]
notes: [it thinks]
""",
    "recipes/acme/small/long.yaml": """\
title: Small model with a long context
sources: ["Guide L9"]
use_cases: [long-context]
set: {max_model_len: 65536, dtype: null}
speculative: {method: dflash}
""",
    "recipes/acme/small/old.yaml": """\
title: Small model as it was
status: superseded
why: it crashed
instead: acme/small
sources: ["Guide L10"]
""",
    "recipes/acme/wide.yaml": """\
title: Wide model on two machines
engine: vllm
sources: ["Guide L20"]
nodes: 2
image: example.org/vllm:1
model: acme/Wide-300B
facts:
  quantization: {format: FP8}
  weights: {loaded_gib: 148}
""",
    "recipes/acme/talk.yaml": """\
title: A model that is talked about
engine: vllm
status: mention
why: no command is printed
instead: acme/small
sources: ["Guide L30"]
""",
    "fragments/quick.yaml": """\
title: Quick start
engine: vllm
sources: ["Guide L40"]
set: {load_format: fast}
""",
    "fragments/slow.yaml": """\
title: Slow start
status: superseded
why: it is built in
sources: ["Guide L41"]
""",
    "images/acme.yaml": """\
title: Image of acme
provenance: community
repository: example.org/vllm
style: vllm-serve
entrypoint: [vllm, serve]
tags:
  "1": {vllm: "0.19.0", cuda: "13.0", min_driver: "580", moving: true, lacks: [ray, dflash]}
  old: {failed_on: {dgx-spark: it crashes}, notes: [old], sources: ["Guide L50"]}
sources: ["Guide L51"]
""",
    "images/lost.yaml": """\
title: Image whose name is lost
provenance: community
incomplete: the source leaves its name out
style: unknown
sources: ["Guide L52"]
""",
    "drafters.yaml": """\
pairs:
  - {target: acme/Small-8B, drafter: acme/Small-draft, method: dflash, num_speculative_tokens: 8, source: Guide L60}
""",
    "standing.yaml": "corrections: [{what: no root, why: none is needed}]\nnot_verified: [the real image]\n",
    "platforms/dgx-spark.yaml": "title: Spark\narchitecture: arm64\nmemory_gib: 119\n",
}


def write(root: Path) -> None:
    """Write the files."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def forget() -> None:
    """Forget what was read of the catalog before."""
    for read in vars(catalog).values():
        if hasattr(read, "cache_clear"):
            read.cache_clear()
