"""What is rendered is what the sources run, but for the differences named: both sides are sets of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from sparkiac import catalog
from tests.catalog.commands import COMMANDS
from tests.catalog.printed import flags
from tests.catalog.rendered import DEPLOYMENT, LEADER, entries, render, seen
from tests.host.conftest import SCRIPTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.catalog.commands import Command
    from tests.catalog.printed import Fact
    from tests.catalog.rendered import Seen

_KNOWN: dict[str, list[Seen]] = {}
VLLM = [name for name in COMMANDS if not name.startswith("aeon-7/")]


@pytest.fixture
def rendered(tmp_path_factory: pytest.TempPathFactory):  # noqa: ANN201  a function
    """Return a function that renders an entry's hosts, each entry once."""

    def get(name: str) -> list[Seen]:
        if name not in _KNOWN:
            _KNOWN[name] = render(COMMANDS[name], tmp_path_factory.mktemp("entry"))
        return _KNOWN[name]

    return get


def unexplained(command: Command, found: frozenset[Fact]) -> list[str]:
    """Return every fact that only one side has and no difference names, and every one that is named and is none."""
    differences = command.all_differences()
    gone = {fact for difference in differences for fact in difference.gone}
    new = {fact for difference in differences for fact in difference.new}
    sides = {"gone": (command.printed - found, gone), "new": (found - command.printed, new)}
    return sorted(
        f"{words} {side}: {' '.join(fact)}"
        for side, (real, named) in sides.items()
        for words, facts in (("not named as", real - named), ("named, and not", named - real))
        for fact in facts
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_what_runs_is_what_the_source_runs_but_for_named_differences(name: str, rendered) -> None:  # noqa: ANN001
    """The words, variables and Docker options of each command; of two hosts, those of the one that leads."""
    assert unexplained(COMMANDS[name], rendered(name)[0].facts) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_recipe_corrects_is_what_differs(name: str) -> None:
    """No difference without an entry under `corrections`, and no such entry that is a dead letter."""
    [*_, entry] = entries(name)
    command = COMMANDS[name]
    named = [difference.about for difference in command.differences] + list(command.remarks)
    assert sorted(named) == sorted(correction.what for correction in entry.corrections)


def test_what_is_said_once_for_every_recipe_differs_somewhere() -> None:
    """No dead letters in standing.yaml either; the one exception is about keys, which one image cannot keep secret."""
    differences = [difference for command in COMMANDS.values() for difference in command.all_differences()]
    real = {difference.about for difference in differences if difference.gone or difference.new}
    own = {difference.about for command in COMMANDS.values() for difference in command.differences}
    said = {each.what for each in catalog.standing().corrections}
    assert said == (real - own) | {"the API key comes from a secret file"}


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.hosts > 1])
def test_the_other_host_of_a_pair_runs_the_same_but_for_its_rank(name: str, rendered) -> None:  # noqa: ANN001
    """It has a rank and an address of its own, and answers nobody."""
    leader, worker = (host.facts for host in rendered(name))
    own = {("env", "VLLM_HOST_IP", "192.168.177.12")} | flags(host="192.168.177.12", node_rank=1, headless=True)
    assert worker - leader == own
    assert leader - worker == {
        *flags(host=LEADER, node_rank=0),
        ("env", "VLLM_HOST_IP", LEADER),
        ("unit", "ExecStartPost"),  # it opens its port
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_each_fact_is_in_one_difference(name: str) -> None:
    differences = COMMANDS[name].all_differences()
    facts = [fact for difference in differences for fact in (*difference.gone, *difference.new)]
    assert len(facts) == len(set(facts))
    assert all(difference.gone or difference.new for difference in COMMANDS[name].differences)


def test_all_commands_of_the_sources_are_here() -> None:
    """Seventeen are printed: thirteen, one, two and one of the four sources that print any. One more is told."""
    printed = [command.where.partition(" ")[0] for command in COMMANDS.values() if not command.told]
    assert {source: printed.count(source) for source in printed} == {
        "Spark": 13,
        "vLLM": 1,
        "dual-Spark": 2,
        "DeepSeek-V4": 1,
    }
    assert len({frozenset(command.facts) for command in COMMANDS.values()}) == len(COMMANDS) == 18


@pytest.mark.parametrize("name", VLLM)
def test_vllm_serve_is_said_once(name: str, rendered) -> None:  # noqa: ANN001
    """By the image's entrypoint or by the command, whatever the source printed."""
    for host in rendered(name):
        first, *rest = host.argv
        words = rest if first == "/opt/nvidia/nvidia_entrypoint.sh" else [first, *rest]
        assert words[:2] == ["vllm", "serve"]
        assert "serve" not in words[2:]
        assert ("model", words[2]) in host.facts


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rendered_fact_that_is_lost_or_changed_is_noticed(name: str, rendered) -> None:  # noqa: ANN001
    found = rendered(name)[0].facts
    for fact in found:
        assert unexplained(COMMANDS[name], found - {fact})
        assert unexplained(COMMANDS[name], found - {fact} | {(*fact[:-1], "other")})
    assert unexplained(COMMANDS[name], found | {("flag", "enforce-eager", "true")})


def test_a_rendered_file_that_is_changed_is_noticed(tmp_path: Path) -> None:
    """One digit of one argument, and one start step, in the files themselves."""
    command = COMMANDS["qwen/qwen3-coder-next-fp8"]
    render(command, tmp_path)
    root, lock = tmp_path / "out/hosts/spark-01/etc", yaml.safe_load((tmp_path / "reference.lock.yaml").read_text())
    assert unexplained(command, seen(root, lock).facts) == []
    replace(root / f"sparkiac/{DEPLOYMENT}/compose.yaml", "--max-model-len=170000", "--max-model-len=170001")
    replace(
        root / f"systemd/system/sparkiac-{DEPLOYMENT}.service",
        "ExecStartPre=+/usr/local/lib/sparkiac/preflight",
        "ExecStartPre=/usr/local/lib/sparkiac/preflight",
    )
    assert unexplained(command, seen(root, lock).facts) == [
        "named, and not new: start step +/usr/local/lib/sparkiac/preflight",
        "not named as gone: flag max-model-len 170000",
        "not named as new: flag max-model-len 170001",
        "not named as new: start step /usr/local/lib/sparkiac/preflight",
    ]


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_the_start_step_drops_the_page_cache() -> None:
    """The printed step that the preflight took over."""
    assert "/proc/sys/vm/drop_caches" in (SCRIPTS / "host/preflight/start.py").read_text()
