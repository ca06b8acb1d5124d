"""Blocks of a sparkrun recipe other than its command: container settings, hooks, files to copy, metadata, overrides.

`overrides` are layers with a condition; those that apply to DGX Sparks are merged. Source: sparkrun's recipe overrides
(0.3, 2026). All keys of `when` must match; a value is a scalar, a list of alternatives, or a mapping of operators;
`config` compares the defaults before any layer; later layers win. A layer with an unknown condition does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkiac import catalog
from sparkiac.foreign import docker, machines
from sparkiac.foreign.launch import Launch, Note
from sparkiac.foreign.recipe_file import RecipeFile, summary
from sparkiac.foreign.shell_words import split
from sparkiac.plan.confinement import KEYED, Tree
from sparkiac.report import Path

_HOOKS: Final = ("pre_exec", "post_exec", "post_commands")
_ESTIMATE: Final = "remarks, and sizes for sparkrun's memory estimate; sparkiac reads the sizes from the model"
_OPTION: Final = "an inventory cannot set this container option"
_DEFAULTS: Final = {"gpus": "all", "network": "host"}
_SETTINGS: Final = {each.docker.replace("-", "_"): each for each in KEYED}
"""Key of `executor_config` → setting."""
_UNDERSTOOD: Final = frozenset({*_SETTINGS, "entrypoint", "restart_policy", "devices"})
_DOCKER: Final = "docker"
_LAYERS: Final = ("defaults", "env")
_SHORT_NAMES: Final = dict(zip(("tp", "pp", "dp", "ep"), (*machines.KEYS, "expert_parallel"), strict=True))
_CONFIG: Final = "config"


def with_container_settings(file: RecipeFile, launch: Launch) -> Launch:
    """Return the launch with the settings of `executor` and `executor_config`; the defaults are sparkrun's."""
    executor = file.text("executor")
    if executor not in {None, _DOCKER}:
        file.lost(file.line("executor"), f"executor: {executor}", "sparkiac starts containers with docker compose")
    values = {key: _words(value) for key, value in file.mapping("executor_config").items() if value is not None}
    stated: dict[Path, Tree] = {("container", "ipc"): "host"}
    for key, words in values.items():
        found, refused = docker.settings((_SETTINGS[key], word, 1) for word in words if key in _SETTINGS)
        stated |= found
        if refused or not (key in _UNDERSTOOD or words == [_DEFAULTS.get(key)]):
            kind, why = _option(key.replace("_", "-"), words)
            line = file.line("executor_config", key)
            file.add(Note(kind, line, f"executor_config: {summary(key, ' '.join(words))}", why))
    return launch._replace(
        entrypoint=split(" ".join(values.get("entrypoint", ()))),
        gpus=True,
        host_network=values.get("network", ["host"]) == ["host"],
        settings=stated,
        devices=tuple(values.get("devices", ())),
    )


def _words(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]


def _option(name: str, words: list[str]) -> tuple[str, str]:
    """Return the kind and the reason of the note about an option of the container."""
    if name == "user" and words[0] in docker.ROOT:
        return "unused", "server images run as root anyway"
    noted = docker.NOTED.get(name)
    return ("lost", _OPTION) if noted is None else (noted.kind, noted.why or "sparkiac's units set this themselves")


def note_hooks(file: RecipeFile) -> bool:
    """Note the hooks that sparkrun runs, and return whether they copy files into the containers."""
    copies = False
    for key in _HOOKS:
        why = catalog.launchers().sparkrun.notes[key].why
        for line, each in file.entries(key):
            copy = each.get("copy") if isinstance(each, dict) else None
            file.lost(line, summary(key, each) if copy is None else f"{key}: copy {copy}", why)
            copies |= copy is not None
    return copies


def description(file: RecipeFile) -> str | None:
    """Read the description, also under `metadata`, and note what else is there."""
    metadata = file.read("metadata")
    values = dict(metadata) if isinstance(metadata, dict) else {}
    found = file.text("description")
    if found is None and not isinstance(values.get("description"), dict | tuple | None):
        found = str(values.pop("description")).strip()
    if values or (metadata is not None and not isinstance(metadata, dict)):
        file.unused(file.line("metadata"), summary("metadata", values or metadata), _ESTIMATE)
    return found


def blocks(file: RecipeFile) -> None:
    """Note the blocks other than the command."""
    for key, noted in catalog.launchers().sparkrun.notes.items():
        for line, each in file.entries(key) if key not in _HOOKS else ():
            if each is not False:
                file.add(Note(noted.kind, line, summary(key, each), noted.why))


def distribution(file: RecipeFile, *, model: str | None, container: str | None, revision: str | None) -> str | None:
    """Return the model's revision from the copy list, if the recipe has none, and note all other entries."""
    key = "distribution_config"
    found = revision
    for kind, own in (("models", model), ("containers", container)):
        block = file.mapping(key).get(kind)
        entries = block.get("entries") if isinstance(block, dict) else None
        for index, each in enumerate(entries if isinstance(entries, tuple) else ()):
            values: Mapping[str, object] = each if isinstance(each, dict) else {"name": each}
            if values.get("name") in {own, "{model}", "{container}"} and own is not None:
                found = found or (str(values["revision"]) if values.get("revision") else None)
            else:
                why = f"one of the {kind} that sparkrun copies; sparkiac fetches only what a deployment names"
                file.lost(file.line(key, kind, "entries", index), summary(kind, _copied(values)), why)
        if isinstance(block, dict) and block.get("enabled") is False:
            file.lost(file.line(key, kind), f"{kind}: enabled: false", "sparkiac always fetches what is missing")
    for kind in file.mapping(key).keys() - {"models", "containers"}:
        file.lost(file.line(key, kind), summary(kind, file.mapping(key)[kind]), "not understood")
    return found


def _copied(values: Mapping[str, object]) -> str:
    revision = values.get("revision")
    return f"{values.get('name')}@{revision}" if revision else str(values.get("name"))


def apply_overrides(file: RecipeFile) -> None:
    """Merge the layers that apply into the recipe's defaults, environment and container."""
    base = file.data.get("defaults")
    settings = dict(base) if isinstance(base, dict) else {}
    facts = _facts(file, settings)
    for index, (line, layer) in enumerate([*file.entries("overrides")]):
        when = layer.get("when") if isinstance(layer, dict) else None
        if not isinstance(layer, dict) or not isinstance(when, dict) or not when:
            file.lost(line, summary("overrides", layer), "an override without `when` or without values")
        elif all(_applies(key, condition, facts, settings) for key, condition in when.items()):
            file.corrected(line, _condition(when), "merged, because the condition holds on a DGX Spark")
            _merge(file, layer, ("overrides", index))
        elif when.keys() <= facts.keys() | {_CONFIG}:
            file.unused(line, _condition(when), "the condition does not hold on a DGX Spark")
        else:
            file.lost(line, _condition(when), "the condition is unknown")


def _condition(when: Mapping[str, object]) -> str:
    return summary("when", ", ".join(summary(str(key), condition) for key, condition in when.items()))


def _facts(file: RecipeFile, settings: Mapping[str, object]) -> dict[str, object]:
    runtime = str(file.data.get("runtime") or "vllm-distributed")
    nodes = machines.from_settings(settings) or file.data.get("min_nodes") or 1
    sizes = {short: settings.get(key, 1) for short, key in _SHORT_NAMES.items()}
    family = "vllm" if "vllm" in runtime else runtime
    arch = f"sm_{catalog.gpu().compute_capability.replace('.', '')}"
    machine = {"vendor": "nvidia", "arch": arch, "platform": catalog.DEFAULT_PLATFORM, "gpus_per_node": 1}
    return {**machine, **sizes, "nodes": nodes, "runtime": runtime, "runtime_family": family}


def _applies(key: str, expected: object, facts: Mapping[str, object], settings: Mapping[str, object]) -> bool:
    if key == _CONFIG:
        return isinstance(expected, dict) and all(_matches(each, settings.get(name)) for name, each in expected.items())
    return key in facts and _matches(expected, facts[key])


def _matches(expected: object, actual: object) -> bool:
    if isinstance(expected, dict):
        return bool(expected) and all(_compare(str(name), operand, actual) for name, operand in expected.items())
    return _compare("in" if isinstance(expected, tuple) else "eq", expected, actual)


def _compare(operator: str, operand: object, actual: object) -> bool:
    many = operand if isinstance(operand, tuple) else (operand,)
    among = _normalised(actual) in {_normalised(each) for each in many}
    if operator in {"eq", "in"}:
        return actual is not None and among
    if operator in {"ne", "not_in"}:
        return not among
    left, right = _normalised(actual), _normalised(operand)
    if not isinstance(left, float) or not isinstance(right, float):
        return False
    orders = {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}
    return orders.get(operator, False)


def _normalised(value: object) -> object:
    """Normalise values that sparkrun compares as equal: 2 and "2", NVIDIA and nvidia, but not 1 and true."""
    if isinstance(value, bool | None):
        return repr(value)
    text = str(value).strip().lower()
    try:
        return float(text)
    except ValueError:
        return text


def _merge(file: RecipeFile, layer: Mapping[str, object], place: tuple[str | int, ...]) -> None:
    for key, value in layer.items():
        if key in _LAYERS and isinstance(value, dict):
            old = file.data.get(key)
            file.replace(key, (dict(old) if isinstance(old, dict) else {}) | value, (*place, key))
        elif key == "container":
            file.replace(key, value, (*place, key))
        elif key != "when":
            file.lost(file.line(*place, key), summary(key, value), "sparkrun's layers cannot set this")
