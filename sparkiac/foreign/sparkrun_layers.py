"""`overrides` of a sparkrun recipe: layers with a condition. Those that apply to DGX Sparks are merged.

Source: sparkrun's recipe overrides (0.3, 2026). All keys of `when` must match; a value is a scalar, a list of
alternatives, or a mapping of operators; `config` compares the defaults before any layer; later layers win. A layer
with an unknown condition does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkiac import catalog
from sparkiac.foreign import machines
from sparkiac.foreign.recipe_file import RecipeFile, summary

_LAYERS: Final = ("defaults", "env")
_SHORT_NAMES: Final = {
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "dp": "data_parallel",
    "ep": "expert_parallel",
}
_CONFIG: Final = "config"


def apply(file: RecipeFile) -> None:
    """Merge the layers that apply into the recipe's defaults, environment and container."""
    base = file.data.get("defaults")
    settings = dict(base) if isinstance(base, dict) else {}
    facts = _facts(file, settings)
    for index, (line, layer) in enumerate([*file.entries("overrides")]):
        when = layer.get("when") if isinstance(layer, dict) else None
        if not isinstance(layer, dict) or not isinstance(when, dict) or not when:
            file.lost(line, summary("overrides", layer), "an override without `when` or without values")
        elif all(_applies(key, condition, facts, settings) for key, condition in when.items()):
            file.corrected(
                line, summary("when", _condition(when)), "merged, because the condition holds on a DGX Spark"
            )
            _merge(file, layer, ("overrides", index))
        elif when.keys() <= facts.keys() | {_CONFIG}:
            file.unused(line, summary("when", _condition(when)), "the condition does not hold on a DGX Spark")
        else:
            file.lost(line, summary("when", _condition(when)), "the condition is unknown")


def _condition(when: Mapping[str, object]) -> str:
    return ", ".join(summary(str(key), condition) for key, condition in when.items())


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
