"""What an inventory wants pinned: each thing once, with everything that wants it and where that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog
from sparkiac.report import Origin
from tests.builds.toys import fleet
from tests.commands import small
from tests.lock.pins import state
from tests.plan.fleets import ONES, PAIR, deployment, service

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "vllm/vllm-openai:v0.19.1"


def told(text: str, kind: str) -> dict[str, tuple[str, list[str]]]:
    """Return users and places of what is wanted of a kind."""
    return {
        pin.name: (" ".join(pin.users), [f"{loc.mark.line}:{loc.mark.column}" for loc in pin.locations])
        for pin in state(text).pins
        if pin.kind == kind
    }


def revisions(text: str) -> dict[str, str]:
    return {pin.name: pin.revision for pin in state(text).pins if pin.kind == "model"}


def test_image_model_tokenizer_and_drafter_where_the_inventory_names_them() -> None:
    text = deployment(
        "needs_models: [acme/tokenizer]",
        f"image: {IMAGE}",
        "speculative: {method: draft_model, model: acme/drafter, num_speculative_tokens: 2}",
    )
    assert told(text, "image") == {IMAGE: ("chat", ["11:12"])}
    assert told(text, "model") == {
        "acme/drafter": ("chat", ["12:47"]),
        "acme/tokenizer": ("chat", ["10:20"]),
        "example/model": ("chat", ["7:12"]),
    }


def test_what_the_recipe_names_is_found_at_the_deployment_with_its_origin() -> None:
    text = deployment().replace(
        "    recipe: base/single-spark\n    model: example/model\n", "    recipe: google/gemma-4-26b-a4b-it-fp8\n"
    )
    found = {pin.name: pin for pin in state(text).pins}
    pin = found["google/gemma-4-26B-A4B-it"]
    assert [loc.mark[:2] for loc in pin.locations] == [(5, 3)]
    assert isinstance(pin.origin, Origin)
    assert str(pin.origin).startswith("recipe google/gemma-4-26b-a4b-it-fp8 catalog/recipes/google/")


def test_what_the_defaults_name_is_found_there() -> None:
    text = deployment(defaults=f"{{model_store: /srv/models, image: '{IMAGE}'}}")
    assert told(text, "image") == {IMAGE: ("chat", ["2:45"])}
    assert state(text).pins[0].origin is None


def test_a_group_wants_everything_once() -> None:
    assert told(PAIR, "model") == {"example/big": ("big", ["13:12"])}
    [image] = [pin for pin in state(PAIR).pins if pin.kind == "image"]
    assert image.architectures == ("arm64",)


def test_two_deployments_want_one_thing_in_two_places() -> None:
    text = deployment(f"image: {IMAGE}") + (
        f"  again: {{recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8002, image: '{IMAGE}'}}\n"
    )
    assert told(text, "model") == {"example/model": ("again chat", ["7:12", "11:45"])}
    assert told(text, "image") == {IMAGE: ("again chat", ["10:12", "11:96"])}


def test_a_model_that_is_served_from_a_directory_and_its_one_file() -> None:
    text = deployment("model_file: a.gguf", "image: example.org/llama:1").replace("base/single-spark", "base/llama-cpp")
    [pin] = [pin for pin in state(text).pins if pin.kind == "model"]
    assert (pin.name, pin.files) == ("example/model", ("a.gguf",))


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("acme/drafter", {"acme/drafter": (None,), "example/model": ("a.gguf",)}),
        ("acme/drafter/d.gguf", {"acme/drafter": ("d.gguf",), "example/model": ("a.gguf",)}),
        ("example/model/d.gguf", {"example/model": ("a.gguf", "d.gguf")}),
        ("drafter.gguf", {"example/model": ("a.gguf",)}),
    ],
)
def test_a_drafter_that_is_given_by_its_path(path: str, wanted: dict[str, tuple[str | None, ...]]) -> None:
    """One that lies in no organisation's directory is of no hub."""
    text = deployment(
        *("model_file: a.gguf", "image: example.org/llama:1"),
        "container: {mounts: {/store: {source: model_store}}}",
        f"speculative: {{method: draft_model, model: /store/{path}, num_speculative_tokens: 2}}",
    ).replace("base/single-spark", "base/llama-cpp")
    assert {pin.name: pin.files for pin in state(text).pins if pin.kind == "model"} == wanted


def test_a_model_as_a_whole_and_one_file_of_it() -> None:
    one = "recipe: base/llama-cpp, model: example/model, model_file: a.gguf, hosts: spark-01, image: example.org/l:1"
    [pin] = [pin for pin in state(f"{deployment()}  one: {{{one}}}\n").pins if pin.kind == "model"]
    assert pin.files == (None, "a.gguf")


def test_extra_files_and_images_of_services() -> None:
    text = deployment("container: {files: {/a.py: {url: 'https://example.org/a.py'}}}")
    assert told(text, "file") == {"https://example.org/a.py": ("chat", ["10:38"])}
    assert told(service("port: 1"), "image") == {f"example.org/asr@{ONES}": ("asr", ["7:12"])}


def test_the_base_of_a_build_stands_for_the_build() -> None:
    text = fleet("repository: https://example.org/engine.git", f"commit: '{'1' * 40}'")
    assert told(text, "image") == {"example.org/base:1": ("engine", ["8:11"])}


def test_the_base_of_a_build_is_for_the_hosts_that_run_what_comes_out() -> None:
    text = fleet("repository: https://example.org/engine.git", f"commit: '{'1' * 40}'")
    more = "{spark-01: {address: 192.168.1.11}, pc: {address: 192.168.1.12, platform: pc}}"
    text = text.replace("{spark-01: {address: 192.168.1.11}}", more)
    [pin] = state(text + "platforms: {pc: {title: PC, architecture: amd64}}\n").pins
    assert pin.architectures == ("arm64",)


def test_a_deployment_without_a_recipe() -> None:
    text = deployment(f"image: {IMAGE}", "engine: vllm").replace("    recipe: base/single-spark\n", "")
    assert [(pin.name, pin.revision) for pin in state(text).pins] == [(IMAGE, "main"), ("example/model", "main")]


@pytest.mark.parametrize(
    ("reference", "mirrors", "source"),
    [
        ("nginx", "{}", "nginx"),
        ("nginx:1", "{docker.io: m.example:5000/hub}", "m.example:5000/hub/library/nginx:1"),
        ("nvcr.io/nvidia/vllm:26.04-py3", "{nvcr.io: m.example}", "m.example/nvidia/vllm:26.04-py3"),
        ("localhost:5000/a/b", "{localhost:5000: m.example}", "m.example/a/b"),
        (f"nvcr.io/a:1@{ONES}", "{nvcr.io: m.example}", f"m.example/a:1@{ONES}"),
    ],
)
def test_the_source_of_an_image_is_at_its_mirror_with_its_own_tag(reference: str, mirrors: str, source: str) -> None:
    text = (
        service("port: 1").replace(f"example.org/asr@{ONES}", f"'{reference}'")
        + f"registries: {{mirrors: {mirrors}}}\n"
    )
    [pin] = state(text).pins
    assert (pin.name, pin.source) == (reference, source)


def test_the_revision_is_the_inventorys_or_main() -> None:
    text = deployment() + "revisions: {example/model: release/1}\n"
    [pin] = [pin for pin in state(text).pins if pin.kind == "model"]
    assert pin.revision == "release/1"
    assert pin.revision_loc is not None
    assert pin.revision_loc.mark[:2] == (10, 28)
    [pin] = [pin for pin in state(deployment()).pins if pin.kind == "model"]
    assert (pin.revision, pin.revision_loc) == ("main", None)


def test_a_file_of_the_hub_has_the_revision_of_its_repository() -> None:
    text = deployment("container: {files: {/a.py: {url: 'hf://acme/parser/a.py'}, /b.py: {url: 'hf://acme/b/b.py'}}}")
    text += "revisions: {acme/parser: v2}\n"
    found = {pin.name: pin for pin in state(text).pins if pin.kind == "file"}
    parser = found["hf://acme/parser/a.py"]
    assert (parser.repository, parser.revision) == ("acme/parser", "v2")
    assert parser.revision_loc is not None
    assert parser.revision_loc.mark[:2] == (11, 26)
    assert found["hf://acme/b/b.py"].revision == "main"


@pytest.mark.parametrize(
    ("lines", "recipe", "forms"),
    [
        ((), "single-spark", ("consolidated",)),
        (("image: vllm/vllm-openai:v0.32.0",), "single-spark", ("consolidated",)),
        (("image: vllm/vllm-openai:v0.11.2",), "single-spark", ("shards",)),
        (("image: nvcr.io/nvidia/vllm:26.01-py3",), "single-spark", ("shards",)),
        (("set: {load_format: mistral, config_format: mistral}",), "single-spark", ("consolidated",)),
        (("set: {config_format: mistral}",), "single-spark", ("consolidated",)),
        (("set: {load_format: fastsafetensors}",), "single-spark", ("shards",)),
        (("set: {config_format: hf}",), "single-spark", ("shards",)),
        ((), "sglang", ("shards",)),
        (("set: {load_format: mistral}",), "sglang", ("consolidated",)),
    ],
)
def test_weights_are_wanted_in_the_form_that_the_engine_loads(
    lines: tuple[str, ...], recipe: str, forms: tuple[str, ...]
) -> None:
    image = () if any(line.startswith("image") for line in lines) else ("image: example.org/x:1",)
    text = deployment(*image, *lines).replace("base/single-spark", f"base/{recipe}")
    [pin] = [pin for pin in state(text).pins if pin.kind == "model"]
    assert (pin.files, pin.forms) == ((None,), forms)


@pytest.mark.parametrize("option", ["tokenizer", "hf_config_path"])
def test_of_a_tokenizers_repository_no_weights_are_wanted(option: str) -> None:
    text = deployment("needs_models: [acme/tokenizer, acme/adapter]", f"set: {{{option}: acme/tokenizer}}")
    found = {pin.name: pin.forms for pin in state(text).pins if pin.kind == "model"}
    assert found == {
        "acme/adapter": ("consolidated",),
        "acme/tokenizer": ("bare",),
        "example/model": ("consolidated",),
    }


def test_an_option_of_another_type_is_for_the_rules() -> None:
    text = deployment("needs_models: [acme/tokenizer]", "set: {tokenizer: [acme/tokenizer], load_format: {a: 1}}")
    assert [pin.forms for pin in state(text).pins if pin.kind == "model"] == [("shards",)] * 2


def test_a_tokenizer_that_is_the_models_own_is_wanted_with_its_weights() -> None:
    text = deployment("set: {tokenizer: example/model}")
    [pin] = [pin for pin in state(text).pins if pin.kind == "model"]
    assert pin.forms == ("consolidated",)


def test_the_revision_is_the_commit_that_a_source_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small.write(tmp_path)
    for name, commit in (("one", "1" * 40), ("two", "2" * 40)):
        facts = f"model: acme/pinned\nport: 1\nimage: example.org/x:1\nfacts: {{revision: '{commit}'}}\n"
        recipe = tmp_path / f"recipes/acme/{name}.yaml"
        recipe.write_text(f"title: One\nengine: vllm\nsources: [Guide L1]\n{facts}")
    (tmp_path / "configs.json").write_text("{}")
    monkeypatch.setattr(catalog, "_ROOT", tmp_path)
    small.forget()
    try:
        one, two, other = (
            revisions(text)
            for text in (
                deployment().replace("base/single-spark", "acme/one").replace("example/model", "acme/pinned"),
                deployment("variant: null")
                .replace("base/single-spark", "acme/two")
                .replace("    model: example/model\n", ""),
                deployment().replace("base/single-spark", "acme/one"),
            )
        )
    finally:
        monkeypatch.undo()
        small.forget()
    assert one == {"acme/pinned": "1" * 40}
    assert two == {"acme/pinned": "2" * 40}
    assert other == {"example/model": "main"}, "the facts are of another model"


def test_architectures_come_from_the_hosts() -> None:
    hosts = "spark-01: {address: 192.168.1.11}, pc: {address: 192.168.1.12, platform: pc}"
    text = (
        service("port: 1", host=hosts)
        + f"  tts: {{kind: container, image: example.org/asr@{ONES}, hosts: pc, port: 2}}\n"
    )
    found = state(text + "platforms: {pc: {title: PC, architecture: amd64}}\n")
    [pin] = found.pins
    assert pin.architectures == ("amd64", "arm64")
    [finding] = found.report.findings
    assert (finding.code, finding.loc) == ("LCK030", pin.locations[0])


def test_without_deployments_nothing_is_wanted() -> None:
    assert state("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n").pins == ()
