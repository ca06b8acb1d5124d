"""An engine is one file: Toyserve, from a folder outside of the package, with all that the shipped engines have."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import engines, foreign, pipeline
from sparkiac.catalog.library import RecipeText
from sparkiac.engines import records
from sparkiac.foreign import ExportError
from sparkiac.report import Severity
from tests.monitoring.fleets import rendered
from tests.plan.fleets import SMALL, checked, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = Path(__file__).parent / "data" / "added" / "toyserve.py"
PROGRAM: Final = """\
import sys
from sparkiac.engines import records
records.__path__.append(sys.argv.pop(1))
from sparkiac.__main__ import main
sys.exit(main())
"""
"""Importers make their patterns when they are imported, so the engine is there before."""
IMAGE: Final = "example.org/toyserve:v0.10.2"
DIGEST: Final = f"sha256:{'3' * 64}"
LOCK_OF_ALL: Final = f"""\
version: 1
images:
  {IMAGE}@{DIGEST}: {{digest: "{DIGEST}", entrypoint: []}}
  docker.io/utkuozdemir/nvidia_gpu_exporter:1.15.1: {{digest: "{DIGEST}"}}
  quay.io/prometheus/node-exporter:v1.9.1: {{digest: "{DIGEST}"}}
  docker.io/prom/prometheus:v3.5.0: {{digest: "{DIGEST}"}}
models:
  example/model: {{{SMALL}}}
"""
INVENTORY: Final = f"""\
name: lab
defaults: {{model_store: /srv/models}}
hosts: {{spark-01: {{address: 192.168.1.11}}}}
deployments:
  chat:
    engine: toyserve
    image: {IMAGE}@{DIGEST}
    model: example/model
    hosts: spark-01
    port: 8001
    container: {{mounts: {{/root/.cache/huggingface: {{source: model_store, read_only: true}}}}}}
    set: {{session_len: 65536, cache_max_entry_count: 0.4}}
monitoring: {{prometheus: {{hosts: spark-01}}}}
"""
COMMAND: Final = (
    f"docker run --gpus all --network host {IMAGE} toyserve serve api_server example/model"
    " --server-port 8002 --server-name 0.0.0.0 --session-len 32768 --model-name chat --tp 1\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with the file of one more engine, which sparkiac searches too."""
    found = tmp_path / "engines"
    found.mkdir()
    shutil.copy(FILE, found)
    monkeypatch.setattr(records, "__path__", [*records.__path__, str(found)])
    monkeypatch.delitem(sys.modules, f"{records.__name__}.toyserve", raising=False)
    _forget()
    yield found
    monkeypatch.delitem(sys.modules, f"{records.__name__}.toyserve", raising=False)
    _forget()


def _forget() -> None:
    for each in (engines.named, engines.every, engines.names):
        each.cache_clear()


@pytest.mark.usefixtures("folder")
def test_it_has_its_port_its_health_and_its_promise() -> None:
    (host,) = planned(INVENTORY).hosts
    chat = next(each for each in host.containers if each.name == "chat")
    published, promise = chat.network.published, host.promises["sparkiac-chat"]
    assert published is not None
    assert published.container_port == 23333
    assert (promise.health, promise.metrics, promise.structured) == ("/health", "/metrics", True)
    assert promise.max_model_len == 65536
    assert chat.memory_bytes is not None


@pytest.mark.usefixtures("folder")
def test_its_metrics_are_collected_and_recorded_under_the_common_names() -> None:
    files = rendered(INVENTORY)
    text = "\n".join(raw.decode() for path, raw in sorted(files.items()) if "/prometheus/" in path)
    assert 'engine: "toyserve"' in text
    for recorded in ("sparkiac:requests_running", "sparkiac:kv_use", "sparkiac:first_token_p95_seconds"):
        assert recorded in text
    assert "toyserve:time_to_first_token_seconds_bucket" in text


@pytest.mark.usefixtures("folder")
def test_it_has_no_metrics_if_its_option_is_off() -> None:
    (host,) = planned(INVENTORY.replace("session_len:", "enable_metrics: false, session_len:")).hosts
    assert host.promises["sparkiac-chat"].metrics is None


@pytest.mark.usefixtures("folder")
def test_its_options_are_checked() -> None:
    assert {code for code in findings(INVENTORY) if code.startswith(("ENG", "REF", "INV"))} == set()
    wrong = findings(INVENTORY.replace("session_len: 65536", "max_model_len: 65536, backend: cuda"))
    assert wrong["ENG001"] == "max_model_len of chat is not a known option of Toyserve"
    assert wrong["ENG002"] == "backend of chat cannot be 'cuda'"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("server_port: 70000", "set.server_port of chat must be a port number, not 70000"),
        (
            "cache_max_entry_count: 40",
            "set.cache_max_entry_count of chat must be a number above 0 and at most 1, not 40",
        ),
    ],
)
def test_options_that_the_plan_reads_have_the_names_of_the_engine(option: str, message: str) -> None:
    text = INVENTORY.replace(", cache_max_entry_count: 0.4", "")
    assert findings(text.replace("session_len: 65536", option))["INV002"] == message


def test_an_engine_without_a_file_is_unknown() -> None:
    found = checked(INVENTORY, allow_unlocked=True).report.findings
    assert [each.message for each in found] == ["unknown engine 'toyserve'"]


def test_a_recipe_of_the_repository_on_an_engine_without_a_file_is_refused_at_its_line() -> None:
    raw = b"title: Chat\nengine: toyserve\nsources: [own]\nmodel: example/model\n"
    recipe = RecipeText("recipes/ours/chat.yaml", ("ours", "chat"), raw)
    text = INVENTORY.replace(", cache_max_entry_count: 0.4", "").replace("engine: toyserve", "recipe: ours/chat")
    outcome = pipeline.check(
        pipeline.InputFile("lab.yaml", text.encode(), recipes=(recipe,)), None, allow_unlocked=True
    )
    [found] = outcome.report.findings
    assert found.loc is not None
    assert (found.message, found.loc.file, found.loc.mark.line) == ("unknown engine 'toyserve'", recipe.path, 2)


@pytest.mark.usefixtures("folder")
def test_it_is_exported_where_the_other_tool_can_run_it() -> None:
    nodes = foreign.nodes(planned(INVENTORY), "chat")
    text = foreign.exporter("docker-run").write(nodes).text.replace("\\\n", "")
    assert "toyserve serve api_server example/model" in " ".join(text.split())
    assert "--server-port 23333" in " ".join(text.split())
    with pytest.raises(ExportError, match="sparkrun has no runtime for toyserve"):
        foreign.exporter("sparkrun").write(nodes)


@pytest.mark.parametrize("command", [("check",), ("generate",), ("plan",), ("export", "chat", "--as", "docker-run")])
def test_the_commands_accept_a_locked_inventory_with_it(folder: Path, command: tuple[str, ...]) -> None:
    (folder.parent / "lab.yaml").write_text(INVENTORY)
    (folder.parent / "lab.lock.yaml").write_text(LOCK_OF_ALL)
    found = sparkiac(folder, command[0], "lab.yaml", *command[1:])
    assert found.returncode == 0, found.stdout + found.stderr
    assert " error " not in found.stdout + found.stderr


@pytest.mark.usefixtures("folder")
def test_without_a_lock_every_error_is_one_that_locking_settles() -> None:
    found = pipeline.check(pipeline.InputFile("lab.yaml", INVENTORY.encode()), None)
    errors = {each.code: each.hint for each in found.report.findings if each.severity is Severity.ERROR}
    assert errors.keys() == {"ENT100", "MDL001", "IMG003"}
    assert found.only_unpinned
    assert errors["ENT100"] == "run sparkiac lock, which reads it from the registry"


def test_it_is_recognised_and_imported(folder: Path) -> None:
    script = folder.parent / "run.sh"
    script.write_text(COMMAND)
    found = sparkiac(folder, "import", script.name).stdout
    for line in ("engine: toyserve", "served_names: [chat]", "port: 8002", "session_len: 32768", "tp: 1"):
        assert line in found
    assert "server_port" not in found


def sparkiac(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run sparkiac beside the folder with the engine."""
    run = [sys.executable, "-c", PROGRAM, str(folder), *words]
    return subprocess.run(run, cwd=folder.parent, capture_output=True, text=True, check=False)


def findings(text: str) -> dict[str, str]:
    """Return code → message of the findings about an inventory."""
    return {each.code: each.message for each in checked(text, allow_unlocked=True).report.findings}
