"""What units promise, derived from the engine, its options and the facts about the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.plan.fleets import LOCK, ONES, PAIR, SMALL, deployment, planned, service

if TYPE_CHECKING:
    from sparkiac.host.generation import Promise


def promises(text: str, host: str = "spark-01", **locked: str) -> dict[str, Promise]:
    """Return unit → promise of a host; `config` is config.json of example/model in the lock."""
    lock = LOCK.replace(SMALL, f"{SMALL[:-1]}, {locked['config']}}}") if locked else LOCK
    return dict(next(each for each in planned(text, locked=lock).hosts if each.name == host).promises)


def chat(*lines: str, **locked: str) -> Promise:
    """Return the promise of a deployment with these lines."""
    return promises(deployment(*lines), **locked)["sparkiac-chat"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("set: {}", "generate"),
        ("clients: [tools]", "chat"),
        ("set: {reasoning_parser: qwen3}", "chat"),
        ("set: {tool_call_parser: hermes, enable_auto_tool_choice: true}", "chat"),
        ("set: {chat_template: /models/template.jinja}", "chat"),
        ("set: {runner: pooling}", "embedding"),
        ("set: {runner: pooling, convert: classify}", "pooling"),
        ("set: {convert: embed}", "embedding"),
        ("set: {runner: pooling, hf_overrides: {architectures: [Qwen3VLForSequenceClassification]}}", "pooling"),
    ],
)
def test_the_options_decide_the_kind(line: str, kind: str) -> None:
    assert chat(line).kind == kind


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("Qwen3ForCausalLM", "generate"),
        ("WhisperForConditionalGeneration", "transcription"),
        ("Qwen3ASRForConditionalGeneration", "transcription"),
        ("VoxtralForConditionalGeneration", "generate"),
        ("BertModel", "embedding"),
        ("NomicBertModel", "embedding"),
        ("BertForSequenceClassification", "pooling"),
        ("Qwen2ForRewardModel", "pooling"),
        ("Qwen2RewardModel", "pooling"),
    ],
)
def test_the_network_decides_the_kind(architecture: str, kind: str) -> None:
    assert chat(config=f"architectures: [{architecture}]").kind == kind


def test_an_embedding_model_promises_the_length_of_its_vectors() -> None:
    found = chat("set: {runner: pooling}", config="hidden_size: 1024")
    assert (found.dimensions, found.structured, found.reasoning) == (1024, False, False)
    assert chat(config="hidden_size: 1024").dimensions is None


def test_reasoning_and_tools() -> None:
    found = chat("clients: [tools]", "set: {reasoning_parser: qwen3}")
    assert (found.clients, found.reasoning) == (("tools",), True)
    assert (chat().clients, chat().reasoning) == ((), False)
    assert chat("clients: [messages, responses]").clients == ("messages", "responses")


@pytest.mark.parametrize(
    ("setting", "length"),
    [("4096", 4096), ("32k", 32_000), ("32K", 32_768), ("auto", None)],
)
def test_the_length_is_that_of_the_options(setting: str, length: int | None) -> None:
    assert chat(f"set: {{max_model_len: {setting}}}").max_model_len == length


@pytest.mark.parametrize(
    ("line", "sees"),
    [
        ("set: {}", True),
        ("set: {limit_mm_per_prompt: {image: 0}}", False),
        ("set: {limit_mm_per_prompt: {image: 2}}", True),
        ("set: {language_model_only: true}", False),
    ],
)
def test_images_are_promised_unless_an_option_turns_them_off(line: str, *, sees: bool) -> None:
    assert chat(line, config="vision_config: {depth: 2}").vision is sees
    assert chat(line).vision is False


def test_a_drafter_is_a_promise() -> None:
    assert chat("speculative: {method: ngram, num_speculative_tokens: 3}").speculative is True
    assert chat().speculative is False


def test_a_worker_is_connected_to_the_store_of_its_leader() -> None:
    found = promises(PAIR)["sparkiac-big"]
    assert (found.kind, found.url, found.store) == ("worker", None, "192.168.177.12:29501")
    leader = promises(PAIR, "spark-02")["sparkiac-big"]
    assert (leader.kind, leader.url, leader.store) == ("generate", "http://192.168.1.12:8001", found.store)
    assert (leader.workers, found.workers, chat().workers) == (1, 1, 0)


def test_the_url_of_an_ipv6_address() -> None:
    links = "[{interface: enp1s0, address: 'fd00::11/64'}]"
    found = deployment("bind: fabric", host=f"spark-01: {{address: 192.168.1.11, fabric: {{links: {links}}}}}")
    assert promises(found)["sparkiac-chat"].url == "http://[fd00::11]:8001"


def test_services_of_speech() -> None:
    text = service("port: 8765").replace("kind: container", "kind: parakeet")
    assert promises(text)["sparkiac-asr"].kind == "transcription"
    assert promises(text.replace("parakeet", "chatterbox"))["sparkiac-asr"].kind == "speech"
    assert promises(service("port: 8765"))["sparkiac-asr"].kind == "service"


def test_metrics_that_are_switched_off_are_not_promised() -> None:
    text = deployment(f"image: lmsysorg/sglang@{ONES}").replace("base/single-spark", "base/sglang")
    assert promises(text)["sparkiac-chat"].metrics == "/metrics"
    assert promises(f"{text}    set: {{enable_metrics: false}}\n")["sparkiac-chat"].metrics is None
