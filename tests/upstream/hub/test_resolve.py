"""What a repository resolves to, through the real client, from the stand-in."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
from huggingface_hub import HfApi

from sparkiac import source
from sparkiac.model.lock import Lock, LockedModel
from sparkiac.render import yamltext
from tests.standin.hub import Fault, Hub, Repository, safetensors
from tests.upstream.hub.tiny import CONFIG, FILES, FIRST, HANDLE, SECOND, client, refused, resolve, tiny


def test_a_repository_resolves_to_its_commit_and_what_hosts_need() -> None:
    repository = tiny(card={"license": "apache-2.0"})
    with Hub(repository) as hub:
        model = resolve(HANDLE, hub=client(hub))

    needed = sorted(set(FILES) - {"README.md", ".gitattributes", "figure.png"})
    assert model.commit == repository.head()
    assert (model.revision, model.licence, model.gated, model.remote_code) == ("main", "apache-2.0", False, False)
    assert list(model.files) == needed
    for path, file in model.files.items():
        assert (file.size_bytes, file.sha256) == (len(FILES[path]), hashlib.sha256(FILES[path]).hexdigest())
    assert model.tensors == {"BF16": 40, "F32": 1, "U8": 15}
    assert model.tensor_bytes == 64 + 4 + 15 + 16
    assert model.config == {
        "architectures": ("TinyForCausalLM",), "model_type": "tiny", "num_hidden_layers": 2, "num_key_value_heads": 1,
        "head_dim": 8, "layer_types": ("full_attention", "sliding_attention"), "sliding_window": None,
    }  # fmt: skip


def test_what_is_counted_is_what_the_library_counts() -> None:
    with Hub(tiny()) as hub:
        model = resolve(HANDLE, hub=client(hub))
        api = HfApi(endpoint=hub.url, token=False)
        counts = [api.parse_safetensors_file_metadata(HANDLE, path).parameter_count for path in FILES if "-of-" in path]

    assert model.tensors == {dtype: sum(each.get(dtype, 0) for each in counts) for dtype in ("BF16", "F32", "U8")}


def test_an_entry_reads_back_from_the_lock_as_it_was() -> None:
    with Hub(tiny(card={"license": "mit"})) as hub:
        model = resolve(HANDLE, hub=client(hub))

    text = yamltext.dump({"version": 1, "images": {}, "models": {HANDLE: model.model_dump()}})
    loaded = source.load(text.encode(), name="lab.lock.yaml", model=Lock)
    assert loaded.findings == ()
    assert loaded.value is not None
    assert loaded.value.models == {HANDLE: model}


def test_a_branch_a_tag_and_a_commit_are_revisions() -> None:
    repository = tiny()
    first = repository.head()
    second = repository.commit({**FILES, "LICENSE": b"Ask first."})
    beta = repository.commit({**FILES, "LICENSE": b"Never."}, branch="beta/2")
    repository.tag("v1.0", first)
    with Hub(repository) as hub:
        found = {
            revision: resolve(HANDLE, hub=client(hub), revision=revision)
            for revision in ("main", "beta/2", "v1.0", first)
        }

    assert {revision: model.commit for revision, model in found.items()} == {
        "main": second, "beta/2": beta, "v1.0": first, first: first,
    }  # fmt: skip
    assert found["beta/2"].revision == "beta/2"
    assert found["beta/2"].files["LICENSE"].sha256 == hashlib.sha256(b"Never.").hexdigest()


def test_files_are_read_at_the_commit_even_if_the_branch_moves_meanwhile() -> None:
    repository = tiny()
    first = repository.head()
    with Hub(repository) as hub:
        asked = client(hub)
        listed = asked.repository(HANDLE, revision="main")
        repository.commit({**FILES, "config.json": b'{"model_type": "other"}'})
        read = asked.content(HANDLE, "config.json", commit=listed.commit, max_bytes=1000)

        assert read == CONFIG
        resolve(HANDLE, hub=asked, revision=first)
        assert all(f"/resolve/{first}/" in each for each in hub.asked() if "/resolve/" in each)


def test_no_weights_are_read() -> None:
    big = safetensors({"weight": ("U8", (3_000_000,), bytes(3_000_000))})
    with Hub(tiny({"model-00001-of-00002.safetensors": big})) as hub:
        model = resolve(HANDLE, hub=client(hub))
        ranges = {each.headers["range"] for each in hub.requests if each.server == "cdn"}

    assert ranges == {"bytes=0-99999", f"bytes=0-{len(SECOND) - 1}"}
    assert model.tensor_bytes == 3_000_000 + 15 + 16


def test_a_long_header_is_read_whole() -> None:
    tensors = {f"layers.{number}.weight": ("BF16", (1,), b"\0\0") for number in range(3000)}
    long = safetensors(tensors)
    end = len(long) - 6000
    with Hub(tiny({"model-00001-of-00002.safetensors": long})) as hub:
        model = resolve(HANDLE, hub=client(hub))
        ranges = [each.headers["range"] for each in hub.requests if each.server == "cdn" and "00001-of" in each.path]

    assert end > 100_000
    assert ranges == ["bytes=0-99999", f"bytes=0-{end - 1}"]
    assert model.tensors == {"BF16": 3000 + 8, "U8": 15}


def test_a_server_that_ignores_ranges_is_read_no_further() -> None:
    fault = Fault("model-00001-of-00002.safetensors", no_ranges=True)
    with Hub(tiny()) as hub:
        hub.fail(fault)
        model = resolve(HANDLE, hub=client(hub))

    assert model.tensor_bytes == 99


def test_one_gguf_of_many_is_all_that_is_staged() -> None:
    files = {"config.json": CONFIG, "tiny-Q4.gguf": b"GGUF4", "tiny-Q8.gguf": b"GGUF8", "README.md": b"#"}
    with Hub(Repository(HANDLE, files)) as hub:
        model = resolve(HANDLE, hub=client(hub), file="tiny-Q4.gguf")
        asked = hub.asked()

    assert list(model.files) == ["tiny-Q4.gguf"]
    assert (model.tensors, model.tensor_bytes, model.config) == ({}, None, {})
    assert asked == ["GET /api/models/acme/tiny/revision/main"]


def test_a_split_gguf_comes_with_all_its_parts() -> None:
    parts = [f"Q4/tiny-{part:05}-of-00003.gguf" for part in (1, 2, 3)]
    with Hub(Repository(HANDLE, {**dict.fromkeys(parts, b"GGUF"), "Q8/tiny.gguf": b"GGUF8"})) as hub:
        assert list(resolve(HANDLE, hub=client(hub), file=parts[1]).files) == parts


def test_a_part_that_is_missing_is_named() -> None:
    files = {"tiny-00001-of-00002.gguf": b"GGUF"}
    with Hub(Repository(HANDLE, files)) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub), file="tiny-00001-of-00002.gguf"))

    assert refusal.code == "LCK015"
    assert "'tiny-00002-of-00002.gguf'" in str(refusal)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_the_repository_is_found_where_it_is_named(name: str) -> None:
    said = json.dumps({**json.loads(FILES[name]), "auto_map": {"AutoModel": "modeling_tiny.Tiny"}}).encode()
    with Hub(tiny({name: said, "modeling_tiny.py": b"", "__init__.py": b""})) as hub:
        model = resolve(HANDLE, hub=client(hub))

    assert model.remote_code
    assert model.files["modeling_tiny.py"].size_bytes == 0
    assert model.files["modeling_tiny.py"].sha256 == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ({}, None),
        ({"license": "mit"}, "mit"),
        ({"license": "other", "license_name": "acme-open"}, "acme-open"),
        ({"license": "other"}, "other"),
        ({"license": ["mit", "apache-2.0"]}, "mit, apache-2.0"),
        ({"license": "a\nb\x00"}, "ab"),
    ],
)
def test_the_licence_is_what_the_card_says(card: dict[str, Any], licence: str | None) -> None:
    with Hub(tiny(card=card)) as hub:
        assert resolve(HANDLE, hub=client(hub)).licence == licence


def test_what_modelopt_says_beside_config_json_is_kept_beside_it() -> None:
    said = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    with Hub(tiny({"hf_quant_config.json": json.dumps(said).encode()})) as hub:
        model = resolve(HANDLE, hub=client(hub))

    assert model.config["hf_quant_config"] == {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}


def test_a_config_in_lfs_is_read_all_the_same() -> None:
    repository = tiny()
    repository.lfs += ("config.json",)
    with Hub(repository) as hub:
        assert resolve(HANDLE, hub=client(hub)).config["model_type"] == "tiny"


def test_a_repository_without_a_config_has_no_facts() -> None:
    with Hub(tiny({"config.json": None, "tokenizer_config.json": None})) as hub:
        model = resolve(HANDLE, hub=client(hub))

    assert (model.config, model.remote_code) == ({}, False)


def test_the_library_is_imported_when_the_hub_is_asked_and_not_before() -> None:
    program = "import sys, sparkiac.upstream.hub, sparkiac.upstream.files; sys.exit('huggingface_hub' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_entry_is_of_the_lock_s_own_model() -> None:
    with Hub(tiny()) as hub:
        assert isinstance(resolve(HANDLE, hub=client(hub)), LockedModel)
        assert len(FIRST) == resolve(HANDLE, hub=client(hub)).files["model-00001-of-00002.safetensors"].size_bytes
