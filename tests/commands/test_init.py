"""`sparkiac init`: the repository that it makes is right from its first commit, or it makes none."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import yaml

from sparkiac import __version__, catalog, pipeline
from sparkiac.commands.init import _wheel
from sparkiac.commands.init.repository import UrlOrigin, origin, recorded_origin
from tests.catalog.test_reference import ENTRIES, USABLE
from tests.commands.test_own_recipes import RECIPE as OWN
from tests.conftest import ROOT
from tests.lock import conftest
from tests.lock.upstream import repository

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.lock.upstream import Upstream

    Cli = Callable[..., Outcome]

registry, upstream = conftest.registry, conftest.upstream
"""Fixtures: a real registry, the model hub's stand-in."""
BIN: Final = Path(sys.executable).parent
RECIPE: Final = "redhatai/qwen3.6-35b-a3b-nvfp4"
GROUP: Final = "nvidia/minimax-m2.7-nvfp4"
"""A recipe for two hosts."""
LINKS: Final = tuple(f"spark-0{number}=enp1s0f1np1,rocep1s0f1,192.168.177.1{number}/24" for number in (1, 2))
GATED: Final = "nvidia/gemma-4-31b-it-nvfp4"
SERVED: Final = "--host", "spark-01=192.168.1.11", "--recipe", RECIPE
FILES: Final = [
    ".editorconfig",
    ".gitattributes",
    ".github/workflows/check.yml",
    ".gitignore",
    ".pre-commit-config.yaml",
    "README.md",
    "ansible.cfg",
    "ci/check.sh",
    "inventories/lab.lock.yaml",
    "inventories/lab.yaml",
    "requirements.txt",
    "schema/inventory.schema.json",
    "site.yml",
]
INVENTORY: Final = """\
defaults:
  user: milo
  model_store: /data/models
  bind: lan
  # its value is never here: `sparkiac secrets new` generates it
  api_key: {secret: vllm_api_key}
hosts:
  spark-01: {address: "192.168.1.11"}
deployments:
  qwen3-6-35b-a3b-nvfp4:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    hosts: spark-01
"""
SSH: Final = """\
#!/bin/sh
# Stands in for ssh: it runs the command on this machine, which has a GPU then.
while [ "$1" != -- ]; do shift; done
PATH="{tools}:$PATH" exec sh -c "$3"
"""
TWO: Final = """\
recipe_version: "1"
name: two
description: a model over two machines
model: acme/large
container: vllm-node
defaults: {port: 8000, host: 0.0.0.0, tensor_parallel: 2}
command: vllm serve acme/large --port {port} --host {host} --tensor-parallel-size {tensor_parallel}
"""
"""A recipe of eugr's launcher."""
LAUNCH: Final = "docker run -d --gpus all --ipc host -p 8001:8000 -v /srv/hf:/root/.cache/huggingface {image} {words}\n"


WHEEL: Final = f"wheels/sparkiac-{__version__}-py3-none-any.whl"
REQUIREMENT: Final = origin().requirement or f"./{WHEEL}"
"""The sparkiac of these tests is installed from its checkout."""
STEPS: Final = ("lock", "check", "plan", "secrets", "generate")
"""Commands of sparkiac that init prints before `apply`."""


def printed(outcome: Outcome) -> list[str]:
    """Return the commands that init prints, without the one that builds a wheel."""
    lines = [line.strip() for line in outcome.out.splitlines() if line.startswith("  ")]
    return [line for line in lines if "--wheel-dir" not in line]


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def run(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program as the owner of a repository does, with sparkiac and Ansible in the PATH."""
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "ANSIBLE_NOCOLOR": "1"} | env
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def holds_what_its_readme_says(repository: Path, *, address: str = "192.168.1.11") -> None:
    """Generate it, check it by its own script, and read its playbooks: the lock is complete."""
    generated = run("sparkiac", "generate", "inventories/lab.yaml", cwd=repository)
    assert generated.returncode == 0, generated.stderr
    summary = repository.parent / "summary.md"
    checked = run("sh", "ci/check.sh", cwd=repository, GITHUB_STEP_SUMMARY=str(summary))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert address in summary.read_text()
    for folder in (repository, repository / "generated/lab"):
        read = run("ansible-playbook", "site.yml", "--syntax-check", cwd=folder)
        assert read.returncode == 0, read.stdout + read.stderr
    again = run("sparkiac", "generate", "--check", "inventories/lab.yaml", cwd=repository)
    assert again.returncode == 0, again.stderr


def test_from_a_recipe_all_files_are_there_and_say_what_was_asked(folder: Path, cli: Cli) -> None:
    outcome = cli("init", "lab", *SERVED, "--user", "milo", "--model-store", "/data/models")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"created {folder / 'lab'}: 13 files. Next steps:\n")
    assert files(folder) == [f"lab/{each}" for each in FILES]
    text = (folder / "lab/inventories/lab.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=../schema/inventory.schema.json\n")
    assert text.partition("name: lab\n")[2] == INVENTORY
    assert [each["hosts"] for each in yaml.safe_load(text)["deployments"].values()] == ["spark-01"]
    assert (folder / "lab/requirements.txt").read_text().splitlines()[1:] == [REQUIREMENT]
    assert (folder / "lab/schema/inventory.schema.json").read_text() == cli("schema").out
    assert "{{" not in "".join((folder / "lab" / each).read_text() for each in FILES if "schema" not in each)


def test_the_first_commit_is_short_outside_the_files_that_reviews_fold(folder: Path, cli: Cli) -> None:
    hosts = ("--host", "spark-01=192.168.1.11", "--host", "spark-02=192.168.1.12")
    assert cli("init", "lab", *hosts, "--recipe", "redhatai/qwen3.6-35b-a3b-nvfp4").code == 0
    assert run("sparkiac", "generate", "inventories/lab.yaml", "--allow-unlocked", cwd=folder / "lab").returncode == 0
    run("git", "init", "--quiet", cwd=folder / "lab")
    run("git", "add", "--all", cwd=folder / "lab")
    listed = run("git", "ls-files", cwd=folder / "lab").stdout.split()
    assert sorted(listed) == [each for each in files(folder / "lab") if not each.startswith(".git/")], "a clone has all"
    marks = run("git", "check-attr", "linguist-generated", "--", *listed, cwd=folder / "lab").stdout.splitlines()
    shown = [line.partition(": ")[0] for line in marks if not line.endswith(": set")]
    assert {"inventories/lab.yaml", "README.md", "generated/lab/PLAN.md"} <= set(shown)
    assert sum(len((folder / "lab" / path).read_text().splitlines()) for path in shown) <= 1_500


def test_a_recipe_of_the_directory_is_served(folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = folder / "lab/recipes/ours/chat.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text(OWN.replace("engine: vllm", "engine: vlm"))
    served = ("--host", "spark-01=192.168.1.11", "--recipe", "ours/chat", "--user", "milo")
    refused = cli("init", "lab", *served)
    assert refused.code == 2
    assert "lab/recipes/ours/chat.yaml:2:9: error" in refused.err
    assert files(folder) == ["lab/recipes/ours/chat.yaml"]
    recipe.write_text(OWN)
    outcome = cli("init", "lab", *served)
    assert (outcome.code, outcome.err) == (0, "")
    monkeypatch.chdir(folder / "lab")
    assert "recipe: ours/chat" in (folder / "lab/inventories/lab.yaml").read_text()
    assert cli("check", "inventories/lab.yaml", "--allow-unlocked").code == 0


def test_a_fleet_without_secrets_needs_no_step_for_them(folder: Path, cli: Cli) -> None:
    (folder / "run.sh").write_text(LAUNCH.format(image="nvcr.io/nvidia/vllm:26.04-py3", words="vllm serve acme/tiny"))
    outcome = cli("init", "lab", "--host", "spark-01=192.168.1.11", "--user", "milo", "--import", "run.sh")
    commands = printed(outcome)
    assert [line.split()[1] for line in commands[2:]] == ["lock", "check", "plan", "generate", "apply"]
    assert commands[-1] == "sparkiac apply inventories/lab.yaml"


def test_a_host_that_serves_nothing_is_named_with_the_command_for_it(folder: Path, cli: Cli) -> None:
    outcome = cli("init", "lab", *SERVED, "--host", "spark-02=192.168.1.12")
    [line] = [line for line in outcome.out.splitlines() if "serves nothing yet" in line]
    host, _, command = line.partition(" serves nothing yet: ")
    assert host == "spark-02"
    added = run(*command.replace("RECIPE", RECIPE).split(), cwd=folder / "lab")
    assert added.returncode == 0, added.stderr
    deployments = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())["deployments"]
    assert [each["hosts"] for each in deployments.values()] == ["spark-01", "spark-02"]


def test_until_the_lock_is_complete_its_check_fails_and_says_what_to_do(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *SERVED).code == 0
    done = run("sh", "ci/check.sh", cwd=folder / "lab")
    assert done.returncode == 1
    words = "ci/check.sh: the lock is incomplete: run sparkiac lock inventories/lab.yaml and commit it\n"
    assert done.stderr.endswith(words)


def test_from_a_recipe_its_own_check_passes_once_it_is_locked(
    upstream: Upstream, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real registry stands for NVIDIA's as a mirror, and the hub's stand-in has small models of these names."""
    monkeypatch.chdir(tmp_path)
    entrypoint = ["/opt/nvidia/nvidia_entrypoint.sh"]
    image = upstream.push("nvidia/vllm", "26.04-py3", Entrypoint=entrypoint, Cmd=[])
    for handle in ("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "Qwen/Qwen3.6-35B-A3B"):
        upstream.hub.repositories[handle] = repository(handle)
    outcome = cli("init", "made/lab", *SERVED)
    made = tmp_path / "made/lab"
    mirrors = f"registries: {{mirrors: {{nvcr.io: '{upstream.registry.host}/{upstream.prefix}'}}}}\n"
    with (made / "inventories/lab.yaml").open("a") as file:
        file.write(mirrors)
    *before, apply = printed(outcome)
    assert [line.split()[:2] for line in before[2:]] == [["sparkiac", each] for each in STEPS]
    done = run("sh", "-ec", "\n".join(before), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    command, _, options = apply.partition(" -- ")
    assert command == "sparkiac apply inventories/lab.yaml"
    read = run("ansible-playbook", "site.yml", "--syntax-check", *options.split(), cwd=made)
    assert (read.returncode, options) == (0, "-e @secrets/lab.json"), read.stderr
    assert image.index.digest in (made / "inventories/lab.lock.yaml").read_text()
    holds_what_its_readme_says(made)


def test_from_a_command_line_the_whole_way_goes_with_a_real_registry(
    upstream: Upstream, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`init`, `lock`, `generate`, the check of CI, the playbooks: a real registry and the hub's stand-in are asked."""
    monkeypatch.chdir(tmp_path)
    words = "vllm serve acme/tiny --max-model-len 4096 --gpu-memory-utilization 0.3 --max-num-seqs 4"
    (tmp_path / "run.sh").write_text(LAUNCH.format(image=upstream.image("vllm"), words=words))
    outcome = cli("init", "made/lab", "--import", "run.sh", "--host", "spark-01=192.168.1.11", "--user", "milo")
    assert outcome.code == 0, outcome.err
    made = tmp_path / "made/lab"
    assert yaml.safe_load((made / "inventories/lab.yaml").read_text())["defaults"]["user"] == "milo"
    locked = run("sparkiac", "lock", "inventories/lab.yaml", cwd=made)
    assert locked.returncode == 0, locked.stdout + locked.stderr
    assert upstream.pushed["vllm"].index.digest in (made / "inventories/lab.lock.yaml").read_text()
    holds_what_its_readme_says(made)


def test_a_host_that_was_asked_is_shown_with_what_it_said(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ssh is a stand-in that runs the real program on this machine; tests/e2e/test_init.py has a real one."""
    for path, text in (
        ("bin/ssh", SSH.format(tools=folder / "tools")),
        ("tools/nvidia-smi", "#!/bin/sh\necho NVIDIA GB10, 12.1, 580.142\n"),
    ):
        (folder / path).parent.mkdir()
        (folder / path).write_text(text)
        (folder / path).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    # This machine may be too small for the model, which is a finding then.
    asked = ("--from-host", "milo@192.168.1.11", "--from-host", "ann@192.168.1.12")
    assert cli("init", "lab", *asked, "--recipe", RECIPE).code in {0, 1}
    text = (folder / "lab/inventories/lab.yaml").read_text()
    data = yaml.safe_load(text)
    (name, host), (second, other) = data["hosts"].items()
    assert (second, other["address"], other["ssh"]) == (f"{name}-2", "192.168.1.12", {"user": "ann"})
    assert (host["address"], "ssh" in host) == ("192.168.1.11", False)
    assert host["driver"] == "580.142"
    assert host["memory"]["total_gib"] * 2**30 <= _memory_bytes() < (host["memory"]["total_gib"] + 0.2) * 2**30
    assert host.get("platform", "dgx-spark") == catalog.platform_of("NVIDIA GB10", host["memory"]["total_gib"])
    assert data["defaults"]["user"] == "milo"
    assert f"# Measured over ssh: NVIDIA GB10, {os.uname().machine}, " in text


@pytest.mark.parametrize("answer", ["y", "", "n"])
def test_on_a_terminal_the_software_of_hosts_that_were_read_is_pinned_on_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(SSH.format(tools=folder / "tools"))
    (folder / "bin/ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    given = ("--name", "lab", "--from-host", "milo@192.168.1.11", "--recipe", RECIPE, "--user", "milo")
    done = answered(folder, answer, arguments=(*given, "--model-store", "/srv/models"))
    assert done.returncode in {0, 1}, done.stderr
    assert "Docker of these hosts as they are (sparkiac docs hosts)? [y/N]" in done.stderr
    lock = folder / "lab/inventories/lab.lock.yaml"
    sets = yaml.safe_load(lock.read_text()).get("hosts", {"sets": {}})["sets"]
    assert [each["kernel"] for each in sets.values()] == ([os.uname().release] if answer == "y" else [])


def _memory_bytes() -> int:
    return int(Path("/proc/meminfo").read_text(encoding="ascii").split()[1]) * 1024


def test_a_second_run_overwrites_nothing(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *SERVED).code == 0
    (folder / "lab/README.md").write_text("mine\n")
    for each in FILES:
        if each != "README.md":
            (folder / "lab" / each).unlink()
    outcome = cli("init", "lab", *SERVED)
    assert outcome.code == 2
    assert "already contains README.md; init overwrites no file" in outcome.err
    assert files(folder) == ["lab/README.md"]


def test_here_is_good_enough_beside_files_of_others(folder: Path, cli: Cli) -> None:
    (folder / ".git").mkdir()
    (folder / "inventories").mkdir()
    (folder / "inventories/other.yaml").write_text("name: other\n")
    assert cli("init", "--name", "lab", *SERVED).code == 0
    assert files(folder) == sorted([*FILES, "inventories/other.yaml"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--recipe", RECIPE],
            (
                "--host NAME=ADDRESS or --from-host [USER@]ADDRESS is missing, "
                "and without a terminal it cannot be prompted for"
            ),
        ),
        (
            ["--host", "spark-01=192.168.1.11"],
            "--recipe RECIPE is missing, and without a terminal it cannot be prompted for",
        ),
        (["--host", "spark-01", "--recipe", RECIPE], "--host 'spark-01' is not NAME=ADDRESS"),
        (["--host", "spark 1=192.168.1.11", "--recipe", RECIPE], "--host 'spark 1' is not "),
        (["--host", "a=192.168.1.11", "--host", "a=192.168.1.12", "--recipe", RECIPE], "--host names a twice"),
        (["--host", "a=192.168.1.11", "--host", "b=192.168.1.11", "--recipe", RECIPE], "names 192.168.1.11 twice"),
        (["--host", "a=192.168.1.300", "--recipe", RECIPE], "--host '192.168.1.300' is not an IPv4 address"),
        ([*SERVED, "--name", "../lab"], "--name '../lab' is not "),
        ([*SERVED, "--user", "Mi lo"], "--user 'Mi lo' is not a Linux user name"),
        ([*SERVED, "--model-store", "models"], "--model-store 'models' is not an absolute path"),
        (["--host", "a=192.168.1.11", "--recipe", "qwen3.6-35b-a3b-nvfp4"], "unknown recipe"),
        (["--host", "a=192.168.1.11", "--recipe", "qwen3.6-35b-a3b-nvfp4"], f"or {RECIPE!r}?"),
        (["--host", "a=192.168.1.11", "--recipe", "deepseek-ai/deepseek-v4-flash"], "needs 2 hosts, but there are 1"),
        (
            ["--host", "a=192.168.1.11", "--recipe", "base/sglang", "--model", "acme/qwen"],
            "base/sglang leaves 1 value open: image of base/sglang. Add --fill image=IMAGE, or an empty value (",
        ),
        (["--host", "a=192.168.1.11", "--import", "two.yaml"], "two.yaml needs 2 hosts, but there are 1; add --host"),
        (
            ["--host", "a=192.168.1.11", "--host", "b=192.168.1.12", "--import", "two.yaml"],
            "two.yaml needs 2 hosts, and the direct links of a, b are unknown; use --from-host, which reads the links",
        ),
        (["--from-host=-oProxyCommand=x@a", "--recipe", RECIPE], "--from-host '-oProxyCommand=x' is not a Linux user"),
        (["--from-host=-oProxyCommand=x", "--recipe", RECIPE], "--from-host '-oProxyCommand=x' is not an IPv4 address"),
        ([*SERVED, "--import", "odd.txt"], "--import sets model, recipe and model store"),
        (
            ["--host", "a=192.168.1.11", "--import", "odd.txt"],
            "odd.txt:1:1: error IMP001 unreadable: format not recognised; set it ",
        ),
        (["--host", "a=192.168.1.11", "--recipe", "base/single-spark"], "--model ORGANISATION/NAME is missing, and"),
        (
            ["--host", "a=192.168.1.11", "--recipe", "base/single-spark", "--model", "qwen"],
            "--model 'qwen' is not a model handle",
        ),
        ([*SERVED, "--model", "acme/qwen"], "--model acme/qwen: no chosen recipe leaves its model open"),
        ([*SERVED, "--recipe", RECIPE], f"--recipe {RECIPE}: each host has a recipe already; add --host or --from-h"),
        (["--host", "a=192.168.1.11", "--recipe", GROUP], f"{GROUP} needs 2 hosts, but there are 1; add --host"),
        (
            ["--host", "a=192.168.1.11", "--host", "b=192.168.1.12", "--recipe", GROUP],
            "--from-host, which reads the links that are up, or --link HOST=INTERFACE,DEVICE,ADDRESS/PREFIX",
        ),
        ([*SERVED, "--link", LINKS[1]], "unknown host 'spark-02'"),
        ([*SERVED, "--link", "spark-01=enp1,mlx5_0,192.168.1"], "--link 'enp1,mlx5_0,192.168.1' is not HOST="),
    ],
)
def test_a_wrong_answer_makes_no_file(folder: Path, cli: Cli, arguments: list[str], said: str) -> None:
    (folder / "odd.txt").write_text("hello\n")
    (folder / "two.yaml").write_text(TWO)
    outcome = cli("init", "lab", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert sorted(path.name for path in folder.iterdir()) == ["odd.txt", "two.yaml"]


def test_a_folder_that_cannot_be_written_to_stays_as_it_was(folder: Path, cli: Cli) -> None:
    """A file stands where a folder must be: what was copied before it is gone again."""
    (folder / "lab").mkdir()
    (folder / "lab/inventories").write_text("a file\n")
    outcome = cli("init", "lab", *SERVED)
    assert outcome.code == 6
    assert files(folder) == ["lab/inventories"]


@pytest.mark.parametrize("home", ["/proc/none", None])
def test_no_home_is_needed_and_none_is_written_to(folder: Path, home: str | None) -> None:
    environment = {"PATH": f"{BIN}:/usr/bin:/bin"} | ({} if home is None else {"HOME": home})
    done = subprocess.run(
        [BIN / "sparkiac", "init", "lab", *SERVED],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert files(folder) == [f"lab/{each}" for each in FILES]


def answered(folder: Path, *lines: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run init on a real terminal, and type these lines."""
    leader, follower = pty.openpty()
    os.write(leader, "".join(f"{line}\n" for line in lines).encode())
    done = subprocess.run(
        [BIN / "sparkiac", "init", "lab", *arguments],
        cwd=folder,
        stdin=follower,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    os.close(follower)
    os.close(leader)
    return done


def test_on_a_terminal_six_questions_are_asked(folder: Path) -> None:
    """An empty line takes what stands in brackets."""
    done = answered(folder, "", "spark-01=192.168.1.11", "", RECIPE, "milo", "")
    assert done.returncode == 0, done.stderr
    asked = [
        "Name of the fleet [lab]",
        "First host",
        "Another host",
        "Recipe for spark-01",
        "Login name",
        "Directory of weights",
    ]
    assert [done.stderr.count(each) for each in asked] == [1, 1, 1, 1, 1, 1]
    assert yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())["defaults"]["model_store"] == "/srv/models"


def test_a_gated_recipe_asks_once_for_the_name_of_a_secret_and_never_takes_the_token(folder: Path) -> None:
    token = "hf_CanaryOfATestAndNoToken"  # noqa: S105  no token
    hosts = ("--host", "spark-01=192.168.1.11", "--host", "spark-02=192.168.1.12")
    recipes = ("--recipe", GATED, "--recipe", GATED)
    done = answered(folder, "", "milo", "", token, "my_token", arguments=(*hosts, *recipes))
    assert done.returncode in {0, 1}, done.stderr
    assert done.stderr.count("gated on the model hub: name of the secret") == 2, "once, and again after a wrong answer"
    assert token not in done.stderr + done.stdout
    data = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())
    assert data["hub"] == {"api_key": {"secret": "my_token"}}
    assert "sparkiac secrets new inventories/lab.yaml" in done.stdout
    assert not [path for path in (folder / "lab").rglob("*") if path.is_file() and token in path.read_text("utf-8")]


def test_without_a_terminal_a_gated_recipe_gets_a_secret_and_another_one_none(folder: Path, cli: Cli) -> None:
    for recipe, hub in ((GATED, {"api_key": {"secret": "hub_token"}}), (RECIPE, None)):
        name = recipe.partition("/")[0]
        cli("init", name, "--host", "spark-01=192.168.1.11", "--recipe", recipe)
        assert yaml.safe_load((folder / name / f"inventories/{name}.yaml").read_text()).get("hub") == hub


def test_on_a_terminal_a_wrong_answer_is_prompted_for_again(folder: Path) -> None:
    """What was answered before it stays."""
    named = ("My Lab", "lab", "spark-01", "spark-01=192.168.1.300", "spark-01=192.168.1.11")
    more = ("spark-01=192.168.1.12", "spark-02=192.168.1.12", "", "both", "each", "0", "999", GROUP)
    served = ("base/single-sparc", "base/single-spark", "", "qwen", "acme/qwen", "Milo", "milo")
    done = answered(folder, *named, *more, *served, "m", "/srv")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Error: ") == 12
    assert "Error: 'both' is neither together nor each" in done.stderr
    assert "Error: 999 is not in the list; enter a number from 1 to " in done.stderr
    assert f"Error: {GROUP} needs 2 hosts, not 1" in done.stderr
    assert "Error: unknown recipe 'base/single-sparc'; did you mean 'base/single-spark'?" in done.stderr
    data = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())
    assert data["hosts"] == {"spark-01": {"address": "192.168.1.11"}, "spark-02": {"address": "192.168.1.12"}}
    assert data["defaults"]["user"] == "milo"
    assert data["deployments"]["qwen"].items() >= {"recipe": "base/single-spark", "model": "acme/qwen"}.items()


def test_on_a_terminal_one_model_over_both_is_chosen_by_number_and_its_links_are_asked(folder: Path) -> None:
    hosts = ("spark-01=192.168.1.11", "spark-02=192.168.1.12", "")
    links = ("enp1,mlx5_0", LINKS[0].partition("=")[2], LINKS[1].partition("=")[2])
    done = answered(folder, "", *hosts, "together", "1", *links, "", "", "", "")
    assert done.returncode in {0, 1}, done.stderr
    first = done.stderr.partition("memory:\n")[2].split(",")[0].lstrip(" 1")
    data = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())
    [deployment] = data["deployments"].values()
    assert deployment["hosts"] == ["spark-01", "spark-02"]
    assert first.partition("#")[0] == deployment["recipe"]
    assert f"{first}, 2 hosts: " in done.stderr
    assert "Error: --link 'enp1,mlx5_0' is not HOST=INTERFACE,DEVICE,ADDRESS/PREFIX" in done.stderr
    assert [host["fabric"]["links"][0]["address"] for host in data["hosts"].values()] == [
        "192.168.177.11/24",
        "192.168.177.12/24",
    ]


def test_each_recipe_of_the_command_line_gets_the_first_hosts_that_are_free(folder: Path, cli: Cli) -> None:
    hosts = [word for number in (1, 2, 3) for word in ("--host", f"spark-0{number}=192.168.1.1{number}")]
    links = [word for link in LINKS for word in ("--link", link)]
    served = ("--recipe", GROUP, "--recipe", "base/single-spark", "--model", "acme/qwen")
    outcome = cli("init", "lab", *hosts, *links, *served)
    assert outcome.code == 0, outcome.err
    assert "serves nothing yet" not in outcome.out
    data = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())
    first, second = data["deployments"].values()
    assert (first["recipe"], first["hosts"]) == (GROUP, ["spark-01", "spark-02"])
    assert (second["recipe"], second["model"], second["hosts"]) == ("base/single-spark", "acme/qwen", "spark-03")
    twin = {"interface": "enP2p1s0f1np1", "hca": "roceP2p1s0f1"}
    link = {"interface": "enp1s0f1np1", "hca": "rocep1s0f1", "address": "192.168.177.11/24", "twin": twin}
    assert data["hosts"]["spark-01"]["fabric"] == {"links": [link]}
    assert "fabric" not in data["hosts"]["spark-03"]


def test_the_same_recipe_on_two_hosts_has_two_names(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *SERVED, "--host", "spark-02=192.168.1.12", "--recipe", RECIPE).code == 0
    deployments = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())["deployments"]
    assert {name: each["hosts"] for name, each in deployments.items()} == {
        "qwen3-6-35b-a3b-nvfp4": "spark-01",
        "qwen3-6-35b-a3b-nvfp4-2": "spark-02",
    }


def test_an_import_says_what_it_lost(folder: Path, cli: Cli) -> None:
    words = "vllm serve acme/tiny --gpu-memory-utilization 0.3"
    launch = LAUNCH.format(image="nvcr.io/nvidia/vllm:26.04-py3", words=words).replace(
        "-d ", "-d -e DB_PASSWORD=open-sesame "
    )
    (folder / "run.sh").write_text(launch)
    outcome = cli("init", "lab", "--import", "run.sh", "--host", "spark-01=192.168.1.11")
    assert outcome.code == 1
    assert outcome.err.startswith("run.sh:1: deployment ")
    assert "  lost, line 1: DB_PASSWORD: " in outcome.err
    assert "sesame" not in outcome.err + (folder / "lab/inventories/lab.yaml").read_text()
    assert "check of the draft, without its lock:\ninventories/lab.yaml:" in outcome.err
    assert files(folder) == [*(f"lab/{each}" for each in FILES), "run.sh"]


@pytest.mark.parametrize("source", [["--recipe", RECIPE], ["--import", "run.sh"]])
def test_a_host_with_a_name_serves_itself_only(folder: Path, cli: Cli, source: list[str]) -> None:
    """`lan` publishes on an address, and a name is none."""
    image = "nvcr.io/nvidia/vllm:26.04-py3"
    (folder / "run.sh").write_text(LAUNCH.format(image=image, words="vllm serve acme/tiny"))
    outcome = cli("init", "lab", "--host", "spark-01=spark-1a2b.local", "--user", "milo", *source)
    assert outcome.code == 0, outcome.err
    text = (folder / "lab/inventories/lab.yaml").read_text()
    assert yaml.safe_load(text)["defaults"]["bind"] == "loopback"
    assert "  # lan needs an IP address of each host, but a host has a name\n  bind: loopback\n" in text


def test_what_to_do_next_can_be_pasted_into_a_shell(folder: Path, cli: Cli) -> None:
    outcome = cli("init", "my lab", *SERVED)
    commands = outcome.out.partition("Next steps:\n")[2].splitlines()[:2]
    assert commands == [f"  cd '{folder}/my lab'", "  git init"]
    done = run("sh", "-ec", "\n".join([*commands, "git status --short"]), cwd=folder)
    assert (done.returncode, "?? inventories/" in done.stdout) == (0, True), done.stderr
    assert "git init" not in cli("init", "my lab/other", *SERVED).out


def test_its_check_tells_a_missing_program_and_a_bad_inventory_from_an_open_lock(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *SERVED).code == 0
    done = run("sh", "ci/check.sh", cwd=folder / "lab", PATH="/usr/bin:/bin")
    assert done.stderr == "ci/check.sh: sparkiac is not in the PATH: pip install -r requirements.txt\n"
    (folder / "lab/inventories/lab.yaml").write_text("name: lab\n")
    done = run("sh", "ci/check.sh", cwd=folder / "lab")
    assert (done.returncode, "the lock is incomplete" in done.stderr) == (1, False)
    assert done.stderr.endswith("ci/check.sh: inventories/lab.yaml or its lock cannot be read\n")


ALONE: Final = [
    name
    for name in USABLE
    if ENTRIES[name].nodes == 1 and {"model", "image"} <= ENTRIES[name].values.keys() and "#chat-t" not in name
]


@pytest.mark.parametrize("name", ALONE)
def test_every_recipe_for_one_machine_makes_an_inventory_with_no_finding_of_its_own(
    folder: Path, cli: Cli, name: str
) -> None:
    """What the catalog's entry says of itself is there, and what the lock settles."""
    each = ENTRIES[name]
    outcome = cli("init", "lab", "--host", "spark-01=192.168.1.11", "--recipe", name)
    text = (folder / "lab/inventories/lab.yaml").read_bytes()
    report = pipeline.check(pipeline.InputFile("lab.yaml", text), None, allow_unlocked=True).report
    known = {finding.code for finding in (*each.recipe.findings, *each.entry.findings)}
    errors = {finding.code for finding in report.findings if finding.severity.name == "ERROR"}
    assert errors <= known
    assert outcome.code == int(bool(errors))


def test_hook_and_workflow_run_the_same_script(folder: Path, cli: Cli) -> None:
    """The hook's file is read by the real pre-commit; the workflow was run by nobody but a reader of YAML."""
    assert cli("init", "lab", *SERVED).code == 0
    read = run("pre-commit", "validate-config", ".pre-commit-config.yaml", cwd=folder / "lab", HOME=str(folder))
    assert (read.returncode, read.stdout + read.stderr) == (0, "")
    [repository] = yaml.safe_load((folder / "lab/.pre-commit-config.yaml").read_text())["repos"]
    workflow = yaml.safe_load((folder / "lab/.github/workflows/check.yml").read_text())
    assert [hook["entry"] for hook in repository["hooks"]] == ["sh ci/check.sh"]
    assert workflow["jobs"]["check"]["steps"][-1] == {"run": "sh ci/check.sh"}
    assert workflow["permissions"] == {"contents": "read"}
    actions = [step["uses"] for step in workflow["jobs"]["check"]["steps"] if "uses" in step]
    assert [re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", each) is not None for each in actions] == [True, True]


GIT: Final = {"url": "https://example.org/sparkiac.git", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}}
FETCHED: Final = {"url": "https://example.org/s.whl", "archive_info": {"hashes": {"sha256": "b" * 64}}}


@pytest.mark.parametrize(
    ("recorded", "requirement", "path"),
    [
        ({}, f"sparkiac=={__version__}", None),
        (GIT, f"sparkiac @ git+https://example.org/sparkiac.git@{'a' * 40}", None),
        (GIT | {"url": "file:///srv/s"}, None, Path("/srv/s")),
        (FETCHED, f"sparkiac @ https://example.org/s.whl#sha256={'b' * 64}", None),
        ({"url": "file:///my%20files/s.whl", "archive_info": {}}, None, Path("/my files/s.whl")),
        ({"url": "file:///work/s", "dir_info": {"editable": True}}, None, Path("/work/s")),
    ],
)
def test_ci_installs_what_this_sparkiac_was_installed_from(
    recorded: dict[str, object], requirement: str | None, path: Path | None
) -> None:
    assert recorded_origin(recorded) == UrlOrigin(requirement, path)


def test_a_local_wheel_or_directory_is_put_into_the_repository(folder: Path) -> None:
    (folder / "a b.whl").write_text("wheel\n")
    assert run("sh", "-ec", _wheel(folder / "a b.whl"), cwd=folder).returncode == 0
    assert (folder / WHEEL).read_text() == "wheel\n"
    assert _wheel(ROOT) == f"  python3 -m pip wheel --quiet --no-deps --wheel-dir wheels {ROOT}\n"
    assert _wheel(None) == ""


def test_an_import_without_a_model_has_hosts_and_user_all_the_same(folder: Path, cli: Cli) -> None:
    (folder / "asr.sh").write_text("docker run -d --name asr -p 8765:8765 example.org/asr:1.2\n")
    places = ("--host", "a=192.168.1.11", "--host", "b=192.168.1.12")
    assert cli("init", "lab", "--import", "asr.sh", *places, "--user", "milo").code == 0
    data = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())
    assert data["defaults"] == {"user": "milo"}
    assert data["hosts"] == {"a": {"address": "192.168.1.11"}, "b": {"address": "192.168.1.12"}}


def test_ansible_runs_at_the_top_level_as_in_the_generated_directory(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Playbooks, roles, inventory and variables are found from both directories."""
    assert cli("init", "lab", *SERVED).code == 0
    monkeypatch.chdir(folder / "lab")
    assert cli("generate", "inventories/lab.yaml", "--allow-unlocked").code == 0
    same_at_both_levels(folder / "lab")
    assert cli("generate", "--check", "inventories/lab.yaml", "--allow-unlocked").code == 0


def test_the_lab_of_this_repository_has_what_init_writes(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *SERVED).code == 0
    for name in ("site.yml", "ansible.cfg"):
        assert (ROOT / name).read_text() == (folder / "lab" / name).read_text()
    same_at_both_levels(ROOT)


def same_at_both_levels(repository: Path) -> None:
    """Let Ansible list tasks and variables in both directories."""
    found = []
    for folder in (repository, repository / "generated/lab"):
        # Ansible lists the hosts of a group in the order of a set: a fixed hash seed makes both orders the same.
        listed = run("ansible-playbook", "site.yml", "--list-hosts", "--list-tasks", cwd=folder, PYTHONHASHSEED="0")
        known = run("ansible-inventory", "--list", cwd=folder)
        settings = run("ansible-config", "dump", "--only-changed", cwd=folder)
        assert (listed.returncode, known.returncode) == (0, 0), listed.stdout + listed.stderr + known.stderr
        values = [line for line in settings.stdout.splitlines() if not line.startswith(("CONFIG_FILE", "DEFAULT_HOST"))]
        found.append(
            (listed.stdout, known.stdout, [line.partition("(")[0] + line.rpartition("=")[2] for line in values])
        )
        assert "spark-01" in listed.stdout
        assert "sparkiac_programs" in known.stdout
        assert len(values) > 3
    assert found[0] == found[1]
