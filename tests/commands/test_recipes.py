"""`sparkiac recipes`: what it prints of a small catalog to the letter, and that it can print all of the shipped one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac import catalog, pipeline
from sparkiac.commands import terminal
from sparkiac.resolve import catalogued
from sparkiac.words import entries, recipe_page
from sparkiac.words.page import Verbatim, bullets
from tests.commands.looks import printed_on_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

WIDTHS = (60, 80, 120)


def lines(outcome: Outcome) -> list[str]:
    """Return the printed lines of a command that ended well."""
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.splitlines()


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Read what was printed, which must be sorted and ASCII."""
    assert (outcome.code, outcome.err) == (0, "")
    data: dict[str, Any] = json.loads(outcome.out)
    assert outcome.out == json.dumps(data, indent=1, sort_keys=True) + "\n"
    assert data["format_version"] == 1
    return data


def found(outcome: Outcome) -> list[str]:
    """Return the names of a search, each with those of its variants that match."""
    return [name for each in as_json(outcome)["recipes"] for name in (each["name"], *each["variants"])]


@pytest.mark.usefixtures("small_catalog")
def test_the_list(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert lines(cli("recipes", "list")) == [
        "recipe                        weights  nodes  format",
        "────────────────────────────────────────────────────",
        "acme/small                    9 GB         1  NVFP4",
        "  vllm in example.org/vllm:1  on disk",
        "  #long",
        "acme/wide                     148 GiB      2  FP8",
        "  vllm in example.org/vllm:1  loaded",
        "",
        "Fragments: settings for any recipe of an engine, named under `fragments:`",
        "fragment  engine  what it does",
        "──────────────────────────────",
        "quick     vllm    Quick start",
    ]
    assert lines(cli("recipes", "list", "--fragments"))[1:] == lines(cli("recipes", "list"))[-4:]


@pytest.mark.usefixtures("small_catalog")
def test_the_list_on_a_narrow_and_on_a_wide_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert lines(cli("recipes", "list"))[:8] == [
        "  acme/small",
        "    9 GB on disk, NVFP4, 1 node",
        "    vllm in example.org/vllm:1",
        "    #long",
        "  acme/wide",
        "    148 GiB loaded, FP8, 2 nodes",
        "    vllm in example.org/vllm:1",
        "",
    ]
    monkeypatch.setenv("COLUMNS", "120")
    assert lines(cli("recipes", "list"))[:3] == [
        "recipe                        weights  nodes  format  good for",
        "──────────────────────────────────────────────────────────────────",
        "acme/small                    9 GB         1  NVFP4   chat, coding",
    ]


@pytest.mark.usefixtures("small_catalog")
def test_the_list_of_all_says_why_something_is_set_aside(cli: Cli) -> None:
    outcome = cli("recipes", "list", "--all")
    assert "slow      any     Slow start\n                    superseded: it is built in\n" in outcome.out
    assert lines(outcome)[-7:] == [
        "Set aside: only mentioned, superseded or retired",
        "  acme/small#old  superseded",
        "    it crashed",
        "    instead: acme/small",
        "  acme/talk  mention",
        "    no command is printed",
        "    instead: acme/small",
    ]
    aside = as_json(cli("recipes", "list", "--all", "--format", "json"))["set_aside"]
    assert [(each["name"], each["status"], each["why"]) for each in aside] == [
        ("acme/small#old", "superseded", "it crashed"),
        ("acme/talk", "mention", "no command is printed"),
    ]


@pytest.mark.usefixtures("small_catalog")
def test_the_list_as_json(cli: Cli) -> None:
    data = as_json(cli("recipes", "list", "--format", "json"))
    assert data["recipes"][0] == {
        "name": "acme/small",
        "title": "Small model",
        "file": None,
        "status": "recipe",
        "why": None,
        "instead": None,
        "engine": "vllm",
        "nodes": 1,
        "image": "example.org/vllm:1",
        "model": "acme/Small-8B",
        "quantization": "NVFP4",
        "weights": {"disk_gb": 9.0},
        "use_cases": ["chat", "coding"],
        "variants": ["acme/small#long"],
        "needs": {},
    }
    assert [each["name"] for each in data["fragments"]] == ["quick"]
    assert set(as_json(cli("recipes", "list", "--fragments", "--format", "json"))) == {"format_version", "fragments"}


def test_the_list_says_what_an_entry_needs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = " ".join(line.strip() for line in lines(cli("recipes", "list")))
    assert "needs: the commits of its build, under builds #eugr-nightly #host-tuning" in shown
    assert "#chat-template (needs: the URL of the template, under container.files) #flashinfer-cutlass" in shown
    needs = [each["needs"] for each in as_json(cli("recipes", "list", "--format", "json"))["recipes"]]
    template = {"REF003": "the URL of the template, under container.files"}
    assert {"redhatai/qwen3.5-122b-a10b-nvfp4#chat-template": template} in needs


@pytest.mark.usefixtures("small_catalog")
def test_a_fragment_has_two_names_and_one_page(cli: Cli) -> None:
    page = [
        "quick",
        "Quick start",
        "",
        "  engine  vllm",
        "",
        "Options",
        "name         value  from",
        "────────────────────────────",
        "load_format  fast   fragment",
        "",
        "Sources",
        "  - Guide L40",
        "",
        "For a deployment of an inventory",
        "fragments:",
        "  - quick",
    ]
    assert lines(cli("recipes", "show", "quick")) == lines(cli("recipes", "show", "fragment", "quick")) == page


@pytest.mark.usefixtures("small_catalog")
def test_a_mention_has_neither_command_nor_snippet(cli: Cli) -> None:
    assert lines(cli("recipes", "show", "acme/talk")) == [
        "acme/talk",
        "A model that is talked about",
        "mention: no command is printed; instead: acme/small",
        "",
        "  engine   vllm",
        "  model    unknown",
        "  weights  unknown",
        "  nodes    1",
        "",
        "Sources",
        "  - Guide L30",
    ]


@pytest.mark.usefixtures("small_catalog")
def test_a_variant_is_shown_merged_with_the_layer_of_each_value(cli: Cli) -> None:
    page = lines(cli("recipes", "show", "acme/small#long"))
    start = page.index("Command, after the image's entrypoint vllm serve")
    assert page[start + 1 : start + 11] == [
        "  acme/Small-8B \\",
        "    --host=0.0.0.0 \\",
        "    --max-model-len=65536 \\",
        "    --port=8000 \\",
        """    '--speculative-config={"method":"dflash","model":"acme/Small-draft","num_speculative_tokens":8}'""",
        "",
        "Options",
        "name           value    from",
        "───────────────────────────────",
        "host           0.0.0.0  engine",
    ]
    assert "max_model_len  65536    variant" in page
    assert "num_speculative_tokens  8                 variant, drafters" in page
    assert "/models  model_store, read-only  recipe" in page
    assert page[page.index("Sources") :] == [
        *("Sources", "  - Guide L9", "", "Sources (of the recipe)", "  - Guide L1", ""),
        *("For an inventory", "deployments:", "  small-long:", "    recipe: acme/small", "    variant: long"),
        "    hosts: spark-01",
    ]


@pytest.mark.usefixtures("small_catalog")
def test_a_page_shows_figures_corrections_and_what_is_not_known_with_their_sources(cli: Cli) -> None:
    text = cli("recipes", "show", "acme/small").out
    for words in (
        "decode  50 tok/s  Guide L3\n",
        "What differs from the source\n  - no token: none is needed\n",
        "Differences from all sources\n  - no root: none is needed\n",
        "Not verified: only a real machine can show it\n  - the build\n",
        "What `sparkiac check` says about it\n  - IMG003: the tag moves\n",
        "Notes\n  - it thinks\n",
        "Variants\n  long  Small model with a long context\n  old   superseded: Small model as it was\n",
        "dflash: acme/Small-draft for acme/Small-8B; tokens in each step: 8; from",
    ):
        assert words in text, words


@pytest.mark.usefixtures("small_catalog")
def test_a_group_says_what_each_machine_gets_for_itself(cli: Cli) -> None:
    text = cli("recipes", "show", "acme/wide").out
    assert "  weights       148 GiB loaded, on 2 nodes together\n" in text
    assert "Options that sparkiac sets for each host of the group:" in text
    assert "--node-rank" in text
    assert "    hosts:\n      - spark-01\n      - spark-02\n    port: 8000\n" in text


@pytest.mark.usefixtures("small_catalog")
def test_json_shows_file_and_line_of_each_value(cli: Cli) -> None:
    entry = as_json(cli("recipes", "show", "acme/small#long", "--format", "json"))["entry"]
    settings = {".".join(each["path"]): each for each in entry["settings"]}
    assert settings["set.max_model_len"] == {
        "path": ["set", "max_model_len"],
        "value": 65536,
        "layer": "variant acme/small#long",
        "file": "catalog/recipes/acme/small/long.yaml",
        "line": 4,
    }
    assert settings["set.host"]["file"] is None
    assert "set.dtype" not in settings
    assert entry["sources"] == [{"of": "variant", "text": "Guide L9"}, {"of": "recipe", "text": "Guide L1"}]
    assert entry["start"]["entrypoint"] == ["vllm", "serve"]


@pytest.mark.usefixtures("small_catalog")
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], ["acme/small", "acme/small#long", "acme/wide"]),
        (["--model", "SMALL-8b"], ["acme/small", "acme/small#long"]),
        (["--model", "long context"], ["acme/small#long"]),
        (["SMALL-8b"], ["acme/small", "acme/small#long"]),
        (["acme", "context"], ["acme/small#long"]),
        (["small", "long-context"], ["acme/small#long"]),
        (["small", "wide"], []),
        (["acme", "--nodes", "2"], ["acme/wide"]),
        (["--use-case", "chat"], ["acme/small", "acme/small#long"]),
        (["--use-case", "chat", "--use-case", "long-context"], ["acme/small#long"]),
        (["--max-weights-gib", "8.4"], ["acme/small", "acme/small#long"]),
        (["--max-weights-gib", "8.3"], []),
        (["--nodes", "2"], ["acme/wide"]),
        (["--quantization", "fp4"], ["acme/small", "acme/small#long"]),
        (["--quantization", "fp"], ["acme/small", "acme/small#long", "acme/wide"]),
        (["--engine", "vllm"], ["acme/small", "acme/small#long", "acme/wide"]),
        (["--engine", "sglang"], []),
        (["--image", "vllm:1"], ["acme/small", "acme/small#long", "acme/wide"]),
        (["--image", "vllm:1", "--nodes", "1", "--model", "wide"], []),
        (["--fits-beside", "acme/small"], ["acme/small", "acme/small#long"]),
    ],
)
def test_search(cli: Cli, options: list[str], names: list[str]) -> None:
    assert found(cli("recipes", "search", *options, "--format", "json")) == names


@pytest.mark.usefixtures("small_catalog")
def test_a_search_that_finds_nothing_says_so(cli: Cli) -> None:
    outcome = cli("recipes", "search", "--nodes", "7")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "no recipe matches\n")


@pytest.mark.usefixtures("small_catalog")
def test_what_fits_beside_and_what_is_not_known_to(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """9 GB are 8.382 GiB. 119 - 11.9 - 2 * 11.382 leave 84.336, and 11.382 to 53.549 of 119 are 0.10 to 0.44."""
    monkeypatch.setenv("COLUMNS", "80")
    assert lines(cli("recipes", "search", "--fits-beside", "acme/small")) == [
        "On one dgx-spark: 119 GiB, less 11.9 GiB for the system and 3 GiB for each",
        "engine, beside",
        "  acme/small  8.4 GiB on disk",
        "",
        "recipe       GiB  left  share      beside",
        "────────────────────────────────────────────",
        "acme/small  8.4*  84.3  0.10-0.45  0.10-0.45",
        "",
        "Each share is a range for gpu_memory_utilization: from weights and overhead",
        "alone to these and an even part of the rest. GiB is the size of weights and",
        "drafter.",
        "",
        "Unknown whether it fits",
        "  acme/small#long",
        "    size of the drafter unknown",
        "",
        "The KV cache for a context length is not included: `sparkiac plan` computes it.",
        "* size on disk; loaded weights can be larger (Spark guide L138, L345: 19 GB on",
        "disk, 21.94 GiB loaded).",
    ]
    monkeypatch.setenv("COLUMNS", "60")
    narrow = lines(cli("recipes", "search", "--fits-beside", "acme/small"))
    assert "    share 0.10-0.45, beside 0.10-0.45" in narrow


@pytest.mark.usefixtures("small_catalog")
def test_beside_something_unknown_nothing_is_known_to_fit(cli: Cli) -> None:
    outcome = cli("recipes", "search", "--fits-beside", "acme/small#long")
    assert "share" not in outcome.out
    assert "  acme/small\n    size of the drafter unknown: acme/small#long\n" in outcome.out
    rooms = as_json(cli("recipes", "search", "--fits-beside", "acme/small#long", "--format", "json"))["recipes"]
    assert [each["room"]["fits"] for each in rooms] == [None, None]


def test_the_two_models_of_the_dual_spark_post_on_one_machine(cli: Cli) -> None:
    """The numbers are worked out in tests/memory/test_sharing.py."""
    beside = ("--fits-beside", "redhatai/qwen3.6-35b-a3b-nvfp4")
    hits = as_json(cli("recipes", "search", "--model", "gemma-4-26b-a4b-it-fp8", *beside, "--format", "json"))[
        "recipes"
    ]
    [room] = [each["room"] for each in hits if each["name"] == "google/gemma-4-26b-a4b-it-fp8"]
    assert room["fits"] is True
    assert [(share["least"], share["even"]) for share in room["shares"]] == [(0.21, 0.35), (0.42, 0.55)]


def test_three_on_one_machine_leave_no_place_for_a_large_one(cli: Cli) -> None:
    beside = ("--fits-beside", "redhatai/qwen3.6-35b-a3b-nvfp4", "--fits-beside", "google/gemma-4-26b-a4b-it-fp8")
    names = found(cli("recipes", "search", *beside, "--format", "json"))
    assert "sakamakismile/gemma-4-12b-coder-nvfp4" in names
    assert "qwen/qwen3-coder-next-fp8" not in names


@pytest.mark.usefixtures("small_catalog")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["recipes", "lst"], "unknown command 'lst'; did you mean 'list'?"),
        (["recipes", "show"], "Missing argument 'NAME...'"),
        (["recipes", "show", "acme/smal"], "'acme/smal'; did you mean 'acme/small'?"),
        (["recipes", "show", "small"], "'small'; did you mean 'acme/small'?"),
        (["recipes", "show", "acme/small#lang"], "'acme/small#lang'; did you mean 'acme/small#long'?"),
        (["recipes", "show", "fragment", "quik"], "'quik'; did you mean 'quick'?"),
        (["recipes", "show", "../../model"], "unknown recipe, variant or fragment '../../model'"),
        (["recipes", "show", "two", "words"], "'two words'"),
        (["recipes", "search", "--use-case", "codng"], "unknown use case 'codng'; did you mean 'coding'?"),
        (["recipes", "search", "--engine", "vlm"], "unknown engine 'vlm'; did you mean 'vllm'?"),
        (["recipes", "search", "--fits-beside", "acme/smal"], "did you mean 'acme/small'?"),
        (["recipes", "search", "--fits-beside", "acme/wide"], "acme/wide needs 2 hosts"),
        (["recipes", "search", "--nodes", "0"], "--nodes"),
        (["recipes", "search", "--max-weights-gib", "0"], "--max-weights-gib"),
        (["recipes", "list", "--format", "xml"], "'xml' is not one of"),
        (["recipes", "list", "more"], "unexpected extra argument"),
    ],
)
def test_exit_2_for_what_is_wrong_with_the_nearest_name(cli: Cli, arguments: list[str], says: str) -> None:
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err


def test_help_for_a_group_and_what_is_below_it(cli: Cli) -> None:
    assert cli("recipes", "--help").code == cli("recipes", "search", "-h").code == 0
    assert "  show " in cli("recipes", "--help").out


def test_an_image_that_is_built_says_what_the_inventory_must_give(cli: Cli) -> None:
    page = lines(cli("recipes", "show", "deepseek-ai/deepseek-v4-flash-pinned"))
    told = page[page.index("Its image is built from source") :]
    assert "  - the inventory must set base: the source does not say which image it was" in told
    assert told[told.index("For an inventory") + 1 :][:3] == [
        "builds:",
        "  vllm-ds4-pinned:",
        "    base: registry.example/repository:tag",
    ]


@pytest.mark.parametrize("name", entries.names())
def test_every_entry_can_be_shown_at_any_width_and_nothing_is_cut(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    data = entries.named(name)
    copied = {line for part in recipe_page.page(data) if isinstance(part, Verbatim) for line in part.splitlines()}
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        page = lines(cli("recipes", "show", name))
        assert page[0] == name
        assert [line for line in page if len(line) > width and line not in copied] == []
        text = "".join("".join(page).split())
        for told in ("notes", "not_verified", "sources"):
            assert [each for each in data[told] if "".join(each["text"].split()) not in text] == []
    assert as_json(cli("recipes", "show", name, "--format", "json"))["entry"] == json.loads(json.dumps(data))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "arguments",
    [["list"], ["list", "--all"], ["search"], ["search", "--fits-beside", "redhatai/qwen3.6-35b-a3b-nvfp4"]],
)
def test_lists_fit_the_terminal_and_cut_no_name(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    page = lines(cli("recipes", *arguments))
    assert max(map(len, page)) <= width
    words = {word for line in page for word in line.split()}
    listed = found(cli("recipes", "search", *arguments[1:], "--format", "json")) if arguments[0] == "search" else None
    for name in listed or [found.name for found in catalogued.everything() if found.usable]:
        base, _, variant = name.partition("#")
        assert name in words or (base in words and f"#{variant}" in words), name
    assert "…" not in "".join(line for line in page if "ghcr.io/aeon-7/…" not in line)


@pytest.mark.parametrize("name", [found.name for found in catalogued.everything() if found.usable])
def test_a_snippet_can_be_pasted(name: str) -> None:
    hosts = "".join(
        f"  spark-0{number}:\n    address: 192.168.1.1{number}\n"
        f"    fabric: {{links: [{{interface: enp1s0f1np1, address: 192.168.177.1{number}/24}}]}}\n"
        for number in (1, 2, 3, 4)
    )
    head = f"name: lab\ndefaults: {{model_store: /srv/models}}\nhosts:\n{hosts}"
    text = head + recipe_page.snippet_text(entries.snippet(catalogued.named(name)))
    outcome = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), None, allow_unlocked=True)
    form = ("YML", "INV", "REF")
    assert [finding.message for finding in outcome.report.findings if finding.code.startswith(form)] == [], text


@pytest.mark.parametrize("name", catalog.fragment_names())
def test_a_fragments_snippet_can_be_pasted(name: str) -> None:
    entry = entries.fragment(name)
    assert entry["snippet"] is None or entry["snippet"]["fragments"][-1] == name
    assert entry["snippet"] is None or set(entry["snippet"]["fragments"]) <= set(catalog.fragment_names())


def test_colour_only_on_a_terminal_that_supports_it(folder: Path) -> None:
    show = ("recipes", "show", "base/single-spark")
    assert b"\x1b[1m" in printed_on_terminal(*show, cwd=folder, env={})
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\x1b[3" not in printed_on_terminal(*show, cwd=folder, env=env)


def test_a_reader_that_has_seen_enough_is_not_a_fault(folder: Path) -> None:
    script = '"$0" -m sparkiac recipes list --all | head -n 1; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_a_pipe_gets_neither_colour_nor_blanks_at_the_ends(sparkiac: Callable[..., Outcome]) -> None:
    text = sparkiac("recipes", "list", "--all", env={"TERM": "xterm-256color"}).out
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_words_of_the_catalog_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show(["[bold]a[/bold]", bullets(["[red]:smile:"]), Verbatim("[b]c")])
    assert capsys.readouterr().out == "[bold]a[/bold]\n  - [red]:smile:\n[b]c\n"


def test_choosing_dflash_adds_nothing_to_a_recipe_of_a_release_that_needs_nothing(cli: Cli) -> None:
    """NVIDIA measured this recipe with an FP8 cache and the backend that vLLM 0.28 chooses."""
    shown = cli("recipes", "show", "radixark/qwen3.8-27b-nvfp4").out
    assert "--kv-cache-dtype=fp8" in shown
    assert '"method":"dflash"' in shown.replace(" ", "")
    assert "triton_attn" not in shown
    assert "DEEP_GEMM" not in shown
