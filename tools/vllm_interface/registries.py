"""Names that vLLM accepts besides its options: read from the source's syntax trees, without running anything."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = ("cache", "kernel", "load", "parallel", "speculative", "model", "attention", "scheduler", "__init__")
READ = re.compile(r"""(?:environ(?:\.get)?|getenv)\s*[(\[]\s*["'](VLLM_[A-Z0-9_]+)["']""")
METRIC = re.compile(r'"(vllm:[a-z0-9_]+)"')
QUANTIZATION = "vllm/model_executor/layers/quantization/__init__.py"
ATTENTION = (
    "vllm/v1/attention/backends/registry.py",
    "vllm/attention/backends/registry.py",
    "vllm/platforms/interface.py",
)
"""Where the attention backends are declared; they have moved between releases."""
PARSERS = {
    "tool_call_parsers": ("Tool", ("vllm/tool_parsers", "vllm/entrypoints/openai/tool_parsers")),
    "reasoning_parsers": ("Reasoning", ("vllm/reasoning",)),
}
LIMITS = {"ge", "gt", "le", "lt"}
"""Arguments of pydantic's Field that limit a number."""
ELSEWHERE = {"previously_supported_models": "previous_architectures", "oot_supported_models": "plugin_architectures"}


def collect(source: Path) -> dict[str, Any]:
    """Return all registries by name."""
    configs = tuple(f"vllm/config/{name}.py" for name in CONFIG)
    found: dict[str, Any] = {"variables": variables(source)}
    found["undeclared_variables"] = sorted(read_variables(source) - set(found["variables"]))
    for name, (kind, folders) in PARSERS.items():
        found[name] = sorted(parsers(source, kind, folders))
    lists = {
        "quantization": ("QuantizationMethods", (QUANTIZATION,)),
        "quantization_deprecated": ("DEPRECATED_QUANTIZATION_METHODS", (QUANTIZATION,)),
        "moe_backends": ("MoEBackend", configs),
        "linear_backends": ("LinearBackend", configs),
        "kv_cache_dtypes": ("CacheDType", configs),
        "load_formats": ("LoadFormats", ("vllm/model_executor/model_loader/__init__.py", *configs)),
        "distributed_executor_backends": ("DistributedExecutorBackend", configs),
        "speculative_methods": ("SpeculativeMethod", configs),
        "mtp_methods": ("MTPModelTypes", configs),
    }
    found |= {name: sorted(listed(source, variable, paths)) for name, (variable, paths) in lists.items()}
    found["attention_backends"] = sorted(members(source, {"AttentionBackendEnum", "_Backend"}))
    found["mamba_attention_backends"] = sorted(members(source, {"MambaAttentionBackendEnum"}))
    found["metrics"] = sorted(metrics(source))
    return found | architectures(source)


@cache
def tree(path: Path) -> ast.Module:
    """Parse a file; a missing one counts as empty."""
    return ast.parse(path.read_text()) if path.exists() else ast.Module(body=[], type_ignores=[])


def assigned(module: ast.Module) -> dict[str, ast.expr]:
    """Return the value assigned to each name of a module."""
    found: dict[str, ast.expr] = {}
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            found[node.target.id] = node.value
        elif isinstance(node, ast.Assign):
            found |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def texts(node: ast.expr | None, scope: dict[str, ast.expr]) -> list[str]:
    """Return the texts in a Literal, list, tuple or set, also behind a name or in the argument of a call."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Name) and node.id in scope:
        return texts(scope[node.id], scope)
    inside: list[ast.expr] = []
    if isinstance(node, ast.Subscript):
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        inside = node.elts
    elif isinstance(node, ast.BinOp):
        inside = [node.left, node.right]
    elif isinstance(node, ast.Call):
        inside = node.args[:1]
    return [text for each in inside for text in texts(each, scope)]


def listed(source: Path, variable: str, paths: tuple[str, ...]) -> set[str]:
    """Return the texts that a variable lists, from the first file that defines it."""
    for path in paths:
        scope = assigned(tree(source / path))
        if variable in scope:
            return set(texts(scope[variable], scope))
    return set()


def members(source: Path, classes: set[str]) -> set[str]:
    """Return the members of an enumeration, from the first file that defines it."""
    for path in ATTENTION:
        for node in ast.walk(tree(source / path)):
            if isinstance(node, ast.ClassDef) and node.name in classes:
                fields = [target for each in node.body if isinstance(each, ast.Assign) for target in each.targets]
                names = {target.id for target in fields if isinstance(target, ast.Name)}
                return {name for name in names if not name.startswith("_")}
    return set()


def variables(source: Path) -> dict[str, dict[str, Any]]:
    """Return the environment variables that vLLM declares, with type and choices."""
    module = tree(source / "vllm/envs.py")
    annotations = {
        each.target.id: ast.unparse(each.annotation)
        for node in ast.walk(module)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    table = assigned(module).get("environment_variables")
    found: dict[str, dict[str, Any]] = {}
    for key, value in zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ():
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        record: dict[str, Any] = {"type": annotations[key.value]} if key.value in annotations else {}
        calls = [node for node in ast.walk(value) if isinstance(node, ast.Call) and "choices" in ast.unparse(node.func)]
        choices = {text for call in calls for word in call.args[2:3] for text in texts(word, {})}
        found[key.value] = record | ({"choices": sorted(choices)} if choices else {})
    return found


def read_variables(source: Path) -> set[str]:
    """Return the names that the source reads from the environment."""
    return {name for path in (source / "vllm").rglob("*.py") for name in READ.findall(path.read_text(errors="replace"))}


def parsers(source: Path, kind: str, folders: tuple[str, ...]) -> set[str]:
    """Return the parsers of one kind: from the table of newer releases, and from every call that registers one."""
    table = f"_{kind.upper()}_PARSERS_TO_REGISTER"
    calls = {f"{kind}ParserManager.register_module", f"{kind}ParserManager.register_lazy_module"}
    found: set[str] = set()
    for module in (tree(path) for folder in folders for path in sorted((source / folder).rglob("*.py"))):
        lazy = assigned(module).get(table)
        keys = lazy.keys if isinstance(lazy, ast.Dict) else []
        found |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in calls:
                named = [word.value for word in node.keywords if word.arg == "name"]
                found |= {text for word in [*named, *node.args][:1] for text in texts(word, {})}
    return found


def metrics(source: Path) -> set[str]:
    """Return the names of the Prometheus series as declared, without the suffixes that the client adds."""
    paths = [path for path in (source / "vllm").rglob("*.py") if "benchmarks" not in path.parts]
    return {name for path in paths for name in METRIC.findall(path.read_text(errors="replace"))}


def architectures(source: Path) -> dict[str, Any]:
    """Return the model architectures that this release serves, that older releases served, and that plugins serve."""
    found: dict[str, Any] = {"architectures": set(), "previous_architectures": {}, "plugin_architectures": []}
    for name, table in assigned(tree(source / "vllm/model_executor/models/registry.py")).items():
        key = name.strip("_").lower()
        if not name.endswith("_MODELS") or name == "_VLLM_MODELS" or not isinstance(table, ast.Dict):
            continue
        rows = zip(table.keys, table.values, strict=True)
        names = {each.value: value for each, value in rows if isinstance(each, ast.Constant)}
        if key == "previously_supported_models":
            found[ELSEWHERE[key]] = {each: ast.literal_eval(value) for each, value in names.items()}
        elif key == "oot_supported_models":
            found[ELSEWHERE[key]] = sorted(names)
        else:
            found["architectures"] |= set(names)
    return found | {"architectures": sorted(found["architectures"])}
