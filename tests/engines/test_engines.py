"""What holds for every engine: its parts fit together, and its defaults are a layer like any other."""

from __future__ import annotations

import ast

import pytest

from sparkiac import catalog
from sparkiac.catalog import interfaces
from sparkiac.engines import named, names
from sparkiac.model.settings import Serving, Settings
from tests.conftest import ROOT

DEPLOYED = names()
ALL = (*DEPLOYED, "ollama")
RELEASES = filter(None, map(interfaces.interface, interfaces.versions()))
METHODS = frozenset[str]().union(*(each.speculative_methods for each in RELEASES))
every_engine = pytest.mark.parametrize("name", ALL)


@every_engine
def test_an_engine_is_found_by_its_name_and_names_its_sources(name: str) -> None:
    engine = named(name)
    assert engine.name == name
    assert engine.title
    assert engine.sources
    assert engine.health.startswith("/")


@pytest.mark.parametrize("name", DEPLOYED)
def test_defaults_are_settings_that_an_inventory_could_say(name: str) -> None:
    """All that a deployment needs of its engine is there: address, waits, confinement."""
    defaults = Settings.model_validate(dict(named(name).defaults), strict=False)
    assert defaults.set is not None
    assert (defaults.set[named(name).host], type(defaults.set[named(name).port])) == ("0.0.0.0", int)  # noqa: S104  compared
    assert defaults.env is not None
    assert any(variable.endswith("OFFLINE") for variable in defaults.env)
    assert defaults.container is not None
    assert (defaults.container.ipc, defaults.container.read_only) == ("private", True)
    assert defaults.container.tmp_size_gib
    assert defaults.timeouts is not None
    assert None not in (defaults.timeouts.ready_s, defaults.timeouts.stop_s, defaults.timeouts.restart_delay_s)
    assert defaults.bind == "lan"


@pytest.mark.parametrize("name", DEPLOYED)
def test_caches_are_kept_between_restarts(name: str) -> None:
    """The image is read-only: a path that a variable names lies in the cache."""
    paths = [value for value in named(name).defaults["env"].values() if str(value).startswith("/")]
    assert paths
    assert all(path.startswith("/cache/") for path in paths)


@every_engine
def test_the_parts_of_an_engine_fit_together(name: str) -> None:
    engine = named(name)
    if engine.options is None:
        assert name == "vllm"
        return
    assert engine.options.keys().isdisjoint(engine.elsewhere)
    assert set(engine.elsewhere.values()) <= Serving.model_fields.keys()
    assert set(engine.needs) <= Serving.model_fields.keys()
    assert engine.defaults["set"].keys() <= engine.options.keys()
    assert engine.memory_share is None or engine.options[engine.memory_share].kind == "number"
    assert engine.speculative <= METHODS
    assert not any(
        option.choices for option in engine.options.values() if option.kind not in {"text", "integer", "commas"}
    )
    assert not any(option.negated for option in engine.options.values() if option.kind != "switch")


@pytest.mark.parametrize("name", DEPLOYED)
def test_what_a_record_names_is_in_the_catalog(name: str) -> None:
    engine = named(name)
    assert {*engine.sparkrun} <= catalog.sparkrun_runtimes().keys()
    base = catalog.recipe(engine.base) if engine.base else None
    assert (base is None) is (engine.base is None)
    assert base is None or base.valid.engine == name


def test_only_engines_that_a_source_ran_count_as_tested() -> None:
    assert {name for name in DEPLOYED if named(name).tested} == {"vllm", "aeon-vllm"}


def test_no_other_code_knows_an_engine_by_its_name() -> None:
    """Programs of hosts read the metrics of any engine, whose names begin with it."""
    root = ROOT / "sparkiac"
    files = {path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in {"engines", "host"}}
    named_in = {
        path.relative_to(root).as_posix()
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in {*DEPLOYED} - {"vllm"}
    }
    assert named_in == set()
