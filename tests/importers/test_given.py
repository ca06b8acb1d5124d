"""Values of variables that a file leaves open: `import --set` and `--env-file`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from sparkiac.cli import cli
from sparkiac.foreign import importer

if TYPE_CHECKING:
    from pathlib import Path

OPEN = {
    "shell": "docker run acme/vllm:1 vllm serve $MODEL --seed ${SEED:-1}",
    "docker-run": "docker run acme/vllm:1 vllm serve ${MODEL} --seed ${SEED:-1}",
    "markdown": "```bash\ndocker run acme/vllm:1 vllm serve $MODEL --seed ${SEED:-1}\n```",
    "compose": "services:\n  a:\n    image: acme/vllm:1\n    command: vllm serve $MODEL --seed ${SEED:-1}",
    "systemd": "[Service]\nExecStart=/usr/bin/docker run acme/vllm:1 vllm serve ${MODEL} --seed ${SEED}",
    "eugr": "name: a\ncontainer: c\ncommand: vllm serve {MODEL} --seed {SEED}\ndefaults: {SEED: 1}",
    "sparkrun": "model: a/b\nruntime: vllm\ncommand: vllm serve {MODEL} --seed {SEED}\ndefaults: {SEED: 1}",
}


@pytest.mark.parametrize("form", OPEN)
def test_an_open_variable_has_the_given_value(form: str) -> None:
    (found,) = importer(form).read(OPEN[form], name="a", given={"MODEL": "acme/m", "SEED": "7"})
    assert found.argv[-3:] == ("acme/m", "--seed", "7")


def test_what_a_script_sets_stays() -> None:
    (found,) = importer("shell").read(f"MODEL=acme/own\n{OPEN['shell']}", name="a", given={"MODEL": "acme/m"})
    assert found.argv[2] == "acme/own"


def test_values_come_from_a_file_and_from_options_and_no_secret_is_shown(tmp_path: Path) -> None:
    script, values, token = tmp_path / "a.sh", tmp_path / "a.env", "hf_" + "Ab3" * 9
    script.write_text("docker run -p 1:8000 -e HF_TOKEN=$HF_TOKEN acme/vllm:1 vllm serve $MODEL --seed $SEED\n")
    values.write_text(f"# values\nexport MODEL='acme/m'\nSEED=1\nHF_TOKEN={token}\n")
    result = CliRunner().invoke(cli, ["import", str(script), "--env-file", str(values), "--set", "SEED=9"])
    assert "model: acme/m" in result.stdout
    assert "seed: 9" in result.stdout
    assert token not in result.output


def test_a_set_without_a_value_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "a.sh"
    script.write_text("docker run acme/vllm:1 vllm serve $MODEL\n")
    result = CliRunner().invoke(cli, ["import", str(script), "--set", "MODEL"])
    assert result.exit_code == 2
    assert "--set MODEL: write NAME=VALUE" in result.output
