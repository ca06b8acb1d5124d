"""`overrides` of a sparkrun recipe: layers with a condition. Those that hold on DGX Sparks are applied.

Source: sparkrun's recipe overrides (0.3, 2026). Keys of `when` hold together; a value is a scalar, a list of which one
holds, or a mapping of operators; `config` reads the defaults before any layer; later layers win. A layer whose
condition is about something unknown does not hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.importers import world
from sparkiac.importers.sheet import entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.importers.sheet import Sheet

_LAYERS: Final = ("defaults", "env")
_SPARK: Final = {
    "vendor": "nvidia",
    "arch": "sm_121",
    "platform": "dgx-spark",
    "gpus_per_node": 1,
}
"""What a DGX Spark answers."""
_SHORT: Final = {"tp": "tensor_parallel", "pp": "pipeline_parallel", "dp": "data_parallel", "ep": "expert_parallel"}
_CONFIG: Final = "config"


def apply(sheet: Sheet) -> None:
    """Put the layers that hold into the recipe's own defaults, environment and container."""
    base = sheet.data.get("defaults")
    settings = dict(base) if isinstance(base, dict) else {}
    facts = _facts(sheet, settings)
    for index, (line, layer) in enumerate([*sheet.entries("overrides")]):
        when = layer.get("when") if isinstance(layer, dict) else None
        if not isinstance(layer, dict) or not isinstance(when, dict) or not when:
            sheet.lost(line, entry("overrides", layer), "no condition and no values")
        elif all(_holds(key, wanted, facts, settings) for key, wanted in when.items()):
            sheet.corrected(line, entry("when", _said(when)), "it holds here, so what it says is taken")
            _put(sheet, layer, ("overrides", index))
        elif when.keys() <= facts.keys() | {_CONFIG}:
            sheet.unused(line, entry("when", _said(when)), "its condition does not hold on a DGX Spark")
        else:
            sheet.lost(line, entry("when", _said(when)), "whether its condition holds is not known")


def _said(when: Mapping[str, object]) -> str:
    return ", ".join(entry(str(key), wanted) for key, wanted in when.items())


def _facts(sheet: Sheet, settings: Mapping[str, object]) -> dict[str, object]:
    runtime = str(sheet.data.get("runtime") or "vllm-distributed")
    nodes = world.of_settings(settings) or sheet.data.get("min_nodes") or 1
    sizes = {short: settings.get(key, 1) for short, key in _SHORT.items()}
    family = "vllm" if "vllm" in runtime else runtime
    return {**_SPARK, **sizes, "nodes": nodes, "runtime": runtime, "runtime_family": family}


def _holds(key: str, wanted: object, facts: Mapping[str, object], settings: Mapping[str, object]) -> bool:
    if key == _CONFIG:
        return isinstance(wanted, dict) and all(_tests(each, settings.get(name)) for name, each in wanted.items())
    return key in facts and _tests(wanted, facts[key])


def _tests(wanted: object, actual: object) -> bool:
    if isinstance(wanted, dict):
        return bool(wanted) and all(_test(str(operator), operand, actual) for operator, operand in wanted.items())
    return _test("in" if isinstance(wanted, tuple) else "eq", wanted, actual)


def _test(operator: str, operand: object, actual: object) -> bool:
    many = operand if isinstance(operand, tuple) else (operand,)
    among = _plain(actual) in {_plain(each) for each in many}
    if operator in {"eq", "in"}:
        return actual is not None and among
    if operator in {"ne", "not_in"}:
        return not among
    left, right = _plain(actual), _plain(operand)
    if not isinstance(left, float) or not isinstance(right, float):
        return False
    orders = {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}
    return orders.get(operator, False)


def _plain(value: object) -> object:
    """Write what counts as equal alike: 2 and "2", NVIDIA and nvidia, but not 1 and true."""
    if isinstance(value, bool | None):
        return repr(value)
    text = str(value).strip().lower()
    try:
        return float(text)
    except ValueError:
        return text


def _put(sheet: Sheet, layer: Mapping[str, object], place: tuple[str | int, ...]) -> None:
    for key, value in layer.items():
        if key in _LAYERS and isinstance(value, dict):
            old = sheet.data.get(key)
            sheet.replace(key, (dict(old) if isinstance(old, dict) else {}) | value, (*place, key))
        elif key == "container":
            sheet.replace(key, value, (*place, key))
        elif key != "when":
            sheet.lost(sheet.line(*place, key), entry(key, value), "no layer of sparkrun's holds this")
