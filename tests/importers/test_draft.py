"""Drafts as texts: what stands where, and that a person and `check` can read them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from sparkiac.foreign import assemble, draft, yamlwrite
from sparkiac.foreign.launch import Launch, Note, grouped
from tests.importers.texts import imported, loaded

NGC = "nvcr.io/nvidia/vllm:26.04-py3"

DRAFT = """\
# Imported from file. Read the comments, then `sparkiac check`.
name: lab
defaults:
  model_store: /data/hf
hosts:
  spark-01: {address: "192.168.1.11"}
  spark-02: {address: "192.168.1.12"}
deployments:
  # lost, line 1: --cpus 4: an inventory has no setting for this
  # corrected, line 2: HF_TOKEN: weights are staged before the start, so the server needs no token; secrets are files
  #   on the host
  coder:
    # the catalog has no recipe for this model: these settings come from the file and no source has tried them here
    recipe: base/single-spark
    hosts: spark-01
    model: org/Coder-7B
    port: 8001
    set:
      enable_prefix_caching: true
      gpu_memory_utilization: 0.3
      hf_overrides: {rope_theta: 10000}
      # corrected, line 3: --max-model-len: overridden in line 4
      max_model_len: 32768
      max_num_seqs: null
    container:
      mounts:
        /data: {source: /srv/data, read_only: true}
services:
  db:
    kind: container
    hosts: spark-01
    image: postgres:17
    port: 5432
    read_only: false
"""


def test_a_draft_is_what_a_person_would_write() -> None:
    text = (
        "docker run -d --name coder -p 8001:8000 --cpus 4 -v /srv/data:/data:ro "
        "-v /data/hf:/root/.cache/huggingface \\\n"
        f"  -e HF_TOKEN {NGC} \\\n"
        "  vllm serve org/Coder-7B --gpu-memory-utilization 0.3 --enable-prefix-caching --max-model-len 1 \\\n"
        """  --max-model-len 32768 --hf-overrides '{"rope_theta": 10000}'\n"""
        "docker run -d --name db -p 5432:5432 postgres:17\n"
    )
    assert imported(text).text == DRAFT
    assert loaded(DRAFT).deployments["coder"].set == {
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.3,
        "hf_overrides": {"rope_theta": 10000},
        "max_model_len": 32768,
        "max_num_seqs": None,
    }


@pytest.mark.parametrize(
    "value",
    [
        "hosts",
        "no",
        "1.10",
        "22:22",
        "~",
        "",
        "a: b",
        "#x",
        "é",
        "1e3",
        "0x1",
        "2026-01-01",
        "null",
        "-x",
        "a b",
        "x:y",
        "/a/b",
    ],
)
def test_a_text_stays_a_text_for_every_reader(value: str) -> None:
    data: dict[str, Any] = {"a": value, "b": {"c": [value, value]}, "d": {f"k{value}": {"e": value}}}
    text = yamlwrite.dump(data, {})
    assert yaml.safe_load(text) == {"a": value, "b": {"c": [value, value]}, "d": {f"k{value}": {"e": value}}}


def test_a_comment_is_one_and_says_nothing_else() -> None:
    text = yamlwrite.dump({"a": {"b": 1}}, {("a", "b"): ["x\n- y: \u2028z"]})
    assert text == "a:\n  # x - y: \\u2028z\n  b: 1\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My_Server.1", "my-server-1"),
        ("\u00c4pfel \u2460", "apfel-1"),
        ("org/Model-7B", "model-7b"),
        ("7b", "b"),
        ("secrets", "server"),
        ("!!!", "server"),
    ],
)
def test_names_are_what_units_can_be_called(text: str, name: str) -> None:
    assert draft.slug(text) == name


def test_twins_get_numbers() -> None:
    line = f"docker run -d --name {'a' * 45} -p 8001:8000 {NGC} vllm serve a/b\n"
    found = imported(line * 3)
    assert [entry.name for entry in found.entries] == ["a" * 40, "a" * 38 + "-2", "a" * 38 + "-3"]


def test_notes_of_one_reason_are_reported_once() -> None:
    notes = [Note("lost", line, f"-x{line}", "why") for line in (3, 1, 2)] + [Note("lost", 4, "-y", "other")]
    first, second = grouped(notes)
    assert (first.place, first.what, first.why) == ("lines 1, 2, 3", "-x3, -x1, -x2", "why")
    assert (second.place, second.what) == ("line 4", "-y")


def test_more_hosts_than_are_named_are_placeholders() -> None:
    launch = Launch(None, 1, NGC, None, ("vllm", "serve", "a/b", "--port", "8000"), nodes=3, host_network=True)
    entries = assemble.entries([("file", launch)], frozenset())
    text = assemble.inventory(entries, "lab", [("spark-01", "10.0.0.1")])
    assert [*loaded(text).hosts] == ["spark-01", "spark-02", "spark-03"]
    assert text.count("# fill in the machine's name and address") == 2
    assert text.count("# fill in the interface, RDMA device and address of the link") == 3
    assert "hosts: [spark-01, spark-02, spark-03]" in text


def test_links_have_the_names_that_the_variables_of_a_group_give() -> None:
    pair = "-e NCCL_SOCKET_IFNAME=enp1s0f0np0,enP2p1s0f0np0 -e NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0"
    line = "docker run --network host {} vllm/vllm-openai:v0.23.0 --model a/b --port 8000 -tp 2 --nnodes 2"
    links = loaded(imported(line.format(pair)).text).hosts["spark-02"].fabric.links  # type: ignore[union-attr]
    assert [(each.interface, each.hca) for each in links] == [
        ("enp1s0f0np0", "rocep1s0f0"),
        ("enP2p1s0f0np0", "roceP2p1s0f0"),
    ]
    text = imported(line.format("-e NCCL_SOCKET_IFNAME=^lo -e NCCL_IB_HCA=rocep1s0f0")).text
    assert text.count("interface: placeholder") == text.count("hca: rocep1s0f0") == 2


def test_stores_of_several_files_are_each_their_own() -> None:
    line = "docker run -d -p {port}:8000 -v {store}:/root/.cache/huggingface {image} vllm serve a/b\n"
    text = line.format(port=1, store="/a", image=NGC) + line.format(port=2, store="/b", image=NGC)
    found = loaded(imported(text).text)
    assert found.defaults.model_store == "/a"
    assert [each.model_store for each in found.deployments.values()] == [None, "/b"]


def test_what_no_inventory_can_say_is_lost_and_the_draft_stays_one() -> None:
    found = imported(
        f"docker run -p 8000:8000 $IMAGE vllm serve a/b --hf-overrides '{{\"a\": {'9' * 30}}}' --x '\u200e'"
    )
    loaded(found.text)
    assert set(found.whys("lost")) >= {"image $IMAGE"}
    assert NGC not in found.text


def test_the_revision_of_a_model_is_the_locks_to_pin() -> None:
    launch = Launch("x", 1, NGC, None, ("vllm", "serve", "a/b"), revision="release-2", host_network=True)
    text = assemble.inventory(assemble.entries([("file", launch)], frozenset()), "lab", [("spark-01", "10.0.0.1")])
    assert loaded(text).revisions == {"a/b": "release-2"}


def test_a_character_that_no_file_may_carry_is_lost_with_its_value() -> None:
    launch = Launch("x", 1, "example.org/x:1", None, ("a\ufeff",), lines=(1,))
    (found,) = assemble.entries([("file", launch)], frozenset())
    assert found[1].data == {"kind": "container", "image": "example.org/x:1", "read_only": False}
    assert [note.what for note in found[1].notes if note.kind == "lost"] == ["command"]


@pytest.mark.parametrize("image", ["models", "x/files", "x/secrets", "switch", "turn-it"])
def test_no_draft_has_a_name_that_sparkiac_uses_itself(image: str) -> None:
    loaded(imported(f"docker run {image}", "docker-run").text)
