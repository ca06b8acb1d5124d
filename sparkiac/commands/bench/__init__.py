"""`sparkiac bench`: measure a model server, compare records, and search for better options."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, CommandGroup, Exit, answer, reject
from sparkiac.commands.inventories import INVENTORY

_HELP: Final = frozenset({"-h", "--help"})
_RECORD: Final = click.Path(dir_okay=False, path_type=Path)
_FORMAT = click.option(
    "--format", "output_format", type=click.Choice(["text", "markdown", "json"]), default="text", help="Output format."
)
_PLOT = click.option("--plot", type=click.Path(path_type=Path), help="Also write a chart to this file (SVG).")


class _Bench(CommandGroup):
    """A group whose first word may also be an inventory or an option: then `run` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` where it is omitted."""
        if args and args[0] not in self.commands and args[0] not in _HELP:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Bench)
def bench() -> None:
    """Measure a model server: sparkiac bench INVENTORY DEPLOYMENT [MODE], or sparkiac bench --url URL [MODE].

    Each run writes a record to the directory measurements/bench beside the inventory: the measured values, and the
    software, options and hosts that they are of. `sparkiac bench run --help` explains the modes and options.
    """


@bench.command(short_help="Measure a server; the word run may be omitted.")
@click.argument("words", nargs=-1, metavar="[INVENTORY DEPLOYMENT] [MODE]", shell_complete=completion.bench_words)
@click.option("--url", help="Measure the server at this URL instead of a deployment.")
@click.option("--model", help="Served model name; default: the first one that the server lists.")
@click.option("--prompt-tokens", type=click.IntRange(1), help="Tokens of each prompt; default: depends on the mode.")
@click.option("--output-tokens", type=click.IntRange(1), help="Tokens of each response; default: depends on the mode.")
@click.option("--levels", help="Comma-separated concurrencies (sweep), requests per second (rate) or tokens (depth).")
@click.option("--thinking", type=click.Choice(["on", "off"]), help="Turn thinking on or off; default: the model's own.")
@click.option("--runs", type=click.IntRange(1), default=12, show_default=True, help="Measured rounds of each point.")
@click.option("--minutes", type=click.FloatRange(0.1, 600), default=15, show_default=True, help="Longest time.")
@click.option("--with", "tool", type=click.Choice(["vllm-bench", "llama-benchy", "tool-eval-bench"]),
              help="Measure with this program, which must be installed, instead of sparkiac's own client.")  # fmt: skip
@click.option("--log", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Log of a start, for mode startup; default: the journal of the host.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="File of the record; default: in measurements.")
@click.option("--yes", is_flag=True, help="Measure although the server may serve clients.")
@AS_JSON
def run(words: tuple[str, ...], output_format: str, **options: Any) -> int:  # noqa: ANN401  click's values
    """Measure DEPLOYMENT of INVENTORY, or the server at --url, and write a record to measurements.

    \b
    Modes:
      single       one request at a time: time to first token, prefill, decode
      scenarios    the five scenarios of vLLM's post about DGX Spark
      sweep        more and more concurrent requests, up to the knee
      rate         requests at random times, at several rates
      depth        long contexts
      speculation  code, structured data and filler, with the acceptance
      stall        how long another request waits for a token while one long prompt is read
      tools        share of tool calls that are right
      startup      time of each phase of the last start, from its log

    Prompts are unique, so that a prefix cache cannot help, and the length of responses is forced. Ctrl-C keeps what was
    measured. An API key for --url is read from the variable SPARKIAC_API_KEY.

    Exit codes: 0 done, 1 requests failed or nothing was measured, 2 bad input or options, 5 the server serves clients,
    6 the server or host is not reachable, 130 interrupted.
    """  # noqa: D301  click reads the control character
    from sparkiac.commands.bench import measure

    return measure.run(words, output_format, options)


@bench.command(short_help="Compare two records: faster, slower, or cannot tell.")
@click.argument("first", type=_RECORD)
@click.argument("second", type=_RECORD)
@_FORMAT
@_PLOT
def compare(first: Path, second: Path, output_format: str, *, plot: Path | None) -> int:
    """Compare the record SECOND with FIRST: faster, slower, or cannot tell.

    Each quantity of each point is tested (Mann-Whitney, corrected for the number of tests by Holm's method): two equal
    runs differ at most once in fifty comparisons. Differences below 2 % do not count.

    Exit codes: 0 faster or cannot tell, 1 something is slower, 2 a file cannot be read, 6 no chart was written.
    """
    from sparkiac.bench import comparison
    from sparkiac.commands.bench import starts
    from sparkiac.words import bench as words
    from sparkiac.words.page import plain

    records = starts.read(first), starts.read(second)
    found = comparison.compare(*records)
    if not found.rows:
        reject("the records have no point in common: measure the same mode with the same levels")
    if output_format == "markdown":
        click.echo(words.comparison_markdown(found), nl=False)
    else:
        answer(output_format, plain(found), lambda _: words.comparison(found))
    drawn = starts.plot(plot, list(zip((first.stem, second.stem), records, strict=True))) if plot else Exit.OK
    slower = any(row.verdict == comparison.SLOWER for row in found.rows)
    return drawn or (Exit.FINDINGS if slower else Exit.OK)


@bench.command(short_help="Show a record, or write it as Markdown or as a chart.")
@click.argument("record", type=_RECORD)
@_FORMAT
@_PLOT
def show(record: Path, output_format: str, *, plot: Path | None) -> int:
    """Show RECORD: a record of sparkiac, or an output of vllm bench serve, llama-benchy or tool-eval-bench.

    Exit codes: 0 done, 1 nothing to draw, 2 the file cannot be read, 6 the chart cannot be written.
    """
    from sparkiac.commands.bench import starts
    from sparkiac.words import bench as words

    found = starts.read(record)
    if output_format == "markdown":
        click.echo(words.markdown(found), nl=False)
    else:
        answer(output_format, {"record": found.model_dump(mode="json")}, lambda _: words.page(found))
    return starts.plot(plot, [(record.stem, found)]) if plot else Exit.OK


@bench.command(short_help="Search for better options, and print them as a patch.")
@INVENTORY
@click.argument("deployment", shell_complete=completion.deployments)
@click.argument("ansible", nargs=-1, type=click.UNPROCESSED, metavar="[-- ANSIBLE OPTIONS]")
@click.option(
    "--goal",
    type=click.Choice(["decode", "ttft", "throughput"]),
    default="decode",
    show_default=True,
    help="What must become better.",
)
@click.option("--minutes", type=click.FloatRange(1, 1440), default=120, show_default=True, help="Longest time.")
@click.option("--runs", type=click.IntRange(4), default=12, show_default=True, help="Measured rounds of each trial.")
@click.option("--prompt-tokens", type=click.IntRange(1), help="Tokens of each prompt.")
@click.option("--output-tokens", type=click.IntRange(1), help="Tokens of each response.")
@click.option("--generated", type=click.Path(path_type=Path), help="Generated directory; default: generated/<name>.")
@click.option("--output", type=click.Path(path_type=Path), help="File of the patch; default: standard output.")
@click.option("--yes", is_flag=True, help="Try without a question.")
def tune(inventory: Path, deployment: str, ansible: tuple[str, ...], *, yes: bool, **options: Any) -> int:  # noqa: ANN401  click's values
    """Search for better options of DEPLOYMENT: try one change at a time, measure, and restore the former options.

    Each trial is applied to the hosts as `sparkiac apply` does it, with the gate: the server restarts, and its clients
    wait. A trial whose inventory has errors is left out; one that the gate refuses is undone by the host itself. At the
    end the hosts run what they ran before. The inventory is not changed: a patch for `git apply` is printed if a change
    made the goal better.

    Exit codes: 0 done, 1 findings, or the hosts could not be switched back, 2 bad input or options, 3 generated files
    out of date, 4 lock missing or incomplete, 5 the server serves clients, 6 a host or the server is not reachable, 130
    interrupted or answered with no.
    """
    from sparkiac.commands.bench import trials

    return trials.tune(inventory, deployment, ansible, trials.SearchRequest(**options), yes=yes)
