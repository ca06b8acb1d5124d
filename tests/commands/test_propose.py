"""`sparkiac propose`: each printed inventory passes the check, and the plan says that it fits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

QWEN = "recipe=nvidia/qwen3.6-35b-a3b-nvfp4"
SMALL = "recipe=unsloth/gemma-4-26b-a4b-it-nvfp4"
LARGE = "recipe=redhatai/qwen3.5-122b-a10b-nvfp4"
GROUP = "recipe=deepseek-ai/deepseek-v4-flash"


def fleet(*memories: int, more: str = "") -> str:
    """Return hosts with these sizes of memory in GiB, all on one switch."""
    link = "{{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.{0}/24}}"
    form = "  spark-{0:02}: {{address: 192.168.1.{0}, memory: {{total_gib: {1}}}, fabric: {{links: [" + link + "]}}}}\n"
    hosts = "".join(form.format(number, memory) for number, memory in enumerate(memories, 1))
    return f"name: lab\ndefaults: {{model_store: /srv/models}}\nhosts:\n{hosts}{more}"


@pytest.fixture
def propose(folder: Path, cli: Cli) -> Callable[..., dict[str, Any]]:
    """Return a function that proposes; every inventory that it gets is checked and planned."""

    def call(text: str, *wants: str, code: int = 0) -> dict[str, Any]:
        (folder / "lab.yaml").write_text(text)
        words = [word for want in wants for word in ("--want", want)]
        outcome = cli("propose", "lab.yaml", *words, "--format", "json")
        assert outcome.code == code, outcome.err
        found: dict[str, Any] = json.loads(outcome.out)
        for each in found["proposals"]:
            (folder / "taken.yaml").write_text(each["inventory"])
            assert cli("check", "taken.yaml", "--allow-unlocked").code == 0
            for host in json.loads(cli("plan", "taken.yaml", "--format", "json").out)["plan"]["hosts"]:
                for view in host["turns"] or [host]:
                    assert view["memory"]["verdict"]["word"] == "fits"
        return found

    return call


def hosts(proposal: dict[str, Any]) -> dict[str, list[str]]:
    return {each["name"]: each["hosts"] for each in proposal["deployments"]}


def test_one_host_shares_its_memory(propose: Callable[..., dict[str, Any]]) -> None:
    found = propose(fleet(119), f"coder: users=2 context=64k {QWEN}", f"eyes: context=32k {SMALL}")
    first, *_ = found["proposals"]
    assert sum(each["utilization"] for each in first["deployments"]) <= 0.9
    coder = next(each for each in first["deployments"] if each["name"] == "coder")
    assert coder["decode"][-1]["context"] == 65536
    assert 0 < coder["busy"] < coder["decode"][0]["high"]
    assert "workload: {users: 2, context: 65536}" in first["inventory"]


def test_two_hosts_get_one_each(propose: Callable[..., dict[str, Any]]) -> None:
    found = propose(fleet(119, 119), f"coder: {QWEN}", f"eyes: {SMALL}")
    assert sorted(hosts(found["proposals"][0]).values()) == [["spark-01"], ["spark-02"]]
    assert found["examined"]["coder"] > 5


def test_a_group_over_two_of_four_hosts(propose: Callable[..., dict[str, Any]]) -> None:
    found = propose(fleet(119, 119, 119, 119), f"big: users=2 context=128k {GROUP}", f"eyes: {SMALL}")
    placed = hosts(found["proposals"][0])
    assert len(placed["big"]) == 2
    assert not set(placed["big"]) & set(placed["eyes"])


def test_eight_alike_hosts_are_tried_once(propose: Callable[..., dict[str, Any]]) -> None:
    """Each further wish meets a host without any of the former ones, and one with each of them: 1 + 2 + 3 at most."""
    found = propose(fleet(*[119] * 8), *(f"m{number}: {SMALL}" for number in range(3)))
    assert found["placements"] <= 1 + 2 + 2 * 3
    assert len({on for [on] in hosts(found["proposals"][0]).values()}) == 3


def test_large_models_get_the_large_ones_of_mixed_hosts(propose: Callable[..., dict[str, Any]]) -> None:
    found = propose(fleet(59, 119), f"big: users=2 {LARGE}", f"eyes: {SMALL}")
    assert hosts(found["proposals"][0]) == {"big": ["spark-02"], "eyes": ["spark-01"]}


def test_what_does_not_fit_together_takes_turns(propose: Callable[..., dict[str, Any]]) -> None:
    found = propose(fleet(119, 119), f"big: users=2 context=128k {GROUP}", f"eyes: {SMALL}")
    first, *_ = found["proposals"]
    assert first["turns"] == [["big"], ["eyes"]]
    assert "turns:\n  big:\n    run: [big]\n" in first["inventory"]


@pytest.mark.parametrize(
    ("text", "want", "why"),
    [
        (fleet(119), f"big: {GROUP}", "needs 2 hosts with links between them"),
        (fleet(59), f"big: {LARGE}", "of a host, and none has as much left"),
        (fleet(119), f"eyes: context=1m {SMALL}", "supports 262144 tokens"),
        (
            fleet(119),
            "big: recipe=openai/gpt-oss-120b",
            "is unknown, missing: weights; add the recipe, then run sparkiac lock to read it from the model hub",
        ),
    ],
)
def test_a_wish_that_cannot_be_met_says_why(
    propose: Callable[..., dict[str, Any]], cli: Cli, text: str, want: str, why: str
) -> None:
    found = propose(text, want, code=1)
    name = want.partition(":")[0]
    assert found["unmet"] == {name: "no recipe or variant for it is known to fit"}
    assert any(why in each for each in found["left_out"][name].values())
    outcome = cli("propose", "lab.yaml", "--want", want)
    assert outcome.code == 1
    assert why in " ".join(outcome.out.split())


def test_wishes_that_fit_only_alone_name_the_one_that_is_left_over(propose: Callable[..., dict[str, Any]]) -> None:
    """The inventory has turns of its own, so none are proposed."""
    small = "{recipe: unsloth/gemma-4-26b-a4b-it-nvfp4, hosts: spark-02, port: 8000}"
    more = f"deployments:\n  old: {small}\n  new: {small}\nturns:\n  day: {{run: [old]}}\n  night: {{run: [new]}}\n"
    found = propose(fleet(119, 59, more=more), f"a: users=2 {LARGE}", f"b: users=2 {LARGE}", code=1)
    assert list(found["unmet"]) == ["b"]
    assert "not this one beside the others" in found["unmet"]["b"]


def test_what_is_there_stays_and_loses_a_share(propose: Callable[..., dict[str, Any]], cli: Cli) -> None:
    more = f"deployments:\n  chat: {{{QWEN.replace('=', ': ')}, hosts: spark-01, port: 8000}}\n"
    found = propose(fleet(119, more=more), f"eyes: {SMALL}")
    assert "hosts: spark-01, port: 8000, set: {gpu_memory_utilization: 0." in found["proposals"][0]["inventory"]
    outcome = cli("propose", "lab.yaml", "--want", f"eyes: {SMALL}")
    assert "Changed for it: chat" in outcome.out
    assert "eyes: 1 of 1 recipe taken" in outcome.out


def test_errors_that_were_there_are_mentioned(cli: Cli, folder: Path) -> None:
    chat = "{recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8000, set: {max_model_len: -5}}"
    wrong = f"deployments:\n  chat: {chat}\n"
    (folder / "lab.yaml").write_text(fleet(119, 119, more=wrong))
    outcome = cli("propose", "lab.yaml", "--want", f"eyes: {SMALL}")
    assert (outcome.code, "on spark-02" in outcome.out, "FLG102" in outcome.err) == (1, True, True), outcome.err


@pytest.mark.parametrize(
    ("want", "message"),
    [
        ("eyes", "is not NAME: users=2 context=128k for=coding"),
        ("eyes: user=2", "is not NAME: users=2 context=128k for=coding"),
        ("eyes: users=2 users=3", "is not NAME: users=2 context=128k for=coding"),
        ("eyes: context=lots", "context=lots is not a number such as 4 or 128k"),
        ("eyes: for=seeing", "unknown use case 'seeing'; known: agents, any, audio, chat, coding"),
        ("eyes: recipe=nobody/nothing", "unknown recipe 'nobody/nothing'"),
        ("chat: for=vision", "there is a deployment or service chat already"),
        ("Eyes!: for=vision", "is not a name of"),
    ],
)
def test_a_wrong_wish_names_what_is_known(folder: Path, cli: Cli, want: str, message: str) -> None:
    more = f"deployments:\n  chat: {{{QWEN.replace('=', ': ')}, hosts: spark-01, port: 8000}}\n"
    (folder / "lab.yaml").write_text(fleet(119, more=more))
    outcome = cli("propose", "lab.yaml", "--want", want)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
