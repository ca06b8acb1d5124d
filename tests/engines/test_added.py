"""An engine is one file: LMDeploy, from a folder outside of the package, with all that the shipped engines have."""

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
from tests.monitoring.fleets import rendered
from tests.plan.fleets import checked, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = Path(__file__).parent / "data" / "added" / "lmdeploy.py"
IMPORT: Final = """\
import sys
from sparkiac.engines import records
records.__path__.append(sys.argv.pop(1))
from sparkiac.__main__ import main
sys.exit(main())
"""
"""Importers make their patterns when they are imported, so the engine is there before."""
DIGEST: Final = f"sha256:{'3' * 64}"
IMAGE: Final = "openmmlab/lmdeploy:v0.10.2"
INVENTORY: Final = f"""\
name: lab
defaults: {{model_store: /srv/models}}
hosts: {{spark-01: {{address: 192.168.1.11}}}}
deployments:
  chat:
    engine: lmdeploy
    image: {IMAGE}@{DIGEST}
    model: example/model
    hosts: spark-01
    port: 8001
    container: {{mounts: {{/root/.cache/huggingface: {{source: model_store, read_only: true}}}}}}
    set: {{session_len: 65536, cache_max_entry_count: 0.4}}
monitoring: {{prometheus: {{hosts: spark-01}}}}
"""
COMMAND: Final = (
    f"docker run --gpus all --network host {IMAGE} lmdeploy serve api_server example/model"
    " --server-port 8002 --server-name 0.0.0.0 --session-len 32768 --model-name chat --tp 1\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with the file of one more engine, which sparkiac searches too."""
    found = tmp_path / "engines"
    found.mkdir()
    shutil.copy(FILE, found)
    monkeypatch.setattr(records, "__path__", [*records.__path__, str(found)])
    monkeypatch.delitem(sys.modules, f"{records.__name__}.lmdeploy", raising=False)
    _forget()
    yield found
    monkeypatch.delitem(sys.modules, f"{records.__name__}.lmdeploy", raising=False)
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
    assert 'engine: "lmdeploy"' in text
    for recorded in ("sparkiac:requests_running", "sparkiac:kv_use", "sparkiac:first_token_p95_seconds"):
        assert recorded in text
    assert "lmdeploy:time_to_first_token_seconds_bucket" in text


@pytest.mark.usefixtures("folder")
def test_it_has_no_metrics_if_its_option_is_off() -> None:
    (host,) = planned(INVENTORY.replace("session_len:", "enable_metrics: false, session_len:")).hosts
    assert host.promises["sparkiac-chat"].metrics is None


@pytest.mark.usefixtures("folder")
def test_its_options_are_checked() -> None:
    assert {code for code in findings(INVENTORY) if code.startswith(("ENG", "REF", "INV"))} == set()
    wrong = findings(INVENTORY.replace("session_len: 65536", "max_model_len: 65536, backend: cuda"))
    assert wrong["ENG001"] == "max_model_len of chat is not a known option of LMDeploy"
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
    assert [each.message for each in found] == ["unknown engine 'lmdeploy'"]


def test_a_recipe_of_the_repository_on_an_engine_without_a_file_is_refused_at_its_line() -> None:
    raw = b"title: Chat\nengine: lmdeploy\nsources: [own]\nmodel: example/model\n"
    recipe = RecipeText("recipes/ours/chat.yaml", ("ours", "chat"), raw)
    text = INVENTORY.replace(", cache_max_entry_count: 0.4", "").replace("engine: lmdeploy", "recipe: ours/chat")
    outcome = pipeline.check(
        pipeline.InputFile("lab.yaml", text.encode(), recipes=(recipe,)), None, allow_unlocked=True
    )
    [found] = outcome.report.findings
    assert found.loc is not None
    assert (found.message, found.loc.file, found.loc.mark.line) == ("unknown engine 'lmdeploy'", recipe.path, 2)


@pytest.mark.usefixtures("folder")
def test_it_is_exported_where_the_other_tool_can_run_it() -> None:
    nodes = foreign.nodes(planned(INVENTORY), "chat")
    text = foreign.exporter("docker-run").write(nodes).text.replace("\\\n", "")
    assert "lmdeploy serve api_server example/model" in " ".join(text.split())
    assert "--server-port 23333" in " ".join(text.split())
    with pytest.raises(ExportError, match="sparkrun has no runtime for lmdeploy"):
        foreign.exporter("sparkrun").write(nodes)


def test_it_is_recognised_and_imported(folder: Path) -> None:
    script = folder.parent / "run.sh"
    script.write_text(COMMAND)
    run = [sys.executable, "-c", IMPORT, str(folder), "import", script.name]
    found = subprocess.run(run, cwd=folder.parent, capture_output=True, text=True, check=False).stdout
    for line in ("engine: lmdeploy", "served_names: [chat]", "port: 8002", "session_len: 32768", "tp: 1"):
        assert line in found
    assert "server_port" not in found


def findings(text: str) -> dict[str, str]:
    """Return code → message of the findings about an inventory."""
    return {each.code: each.message for each in checked(text, allow_unlocked=True).report.findings}
