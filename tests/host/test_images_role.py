"""The role `images`, run by Ansible on this machine with a stand-in for docker: what is pulled, and what cannot be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.host.tree import IMAGE

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
BUILT = "sha256:" + "1" * 64
DOCKER = """\
#!/bin/sh
# Stand-in for docker: $STUB/images names the images that are here, $STUB/pulled those that were pulled.
case "$1 $2" in
  "image inspect") grep -qxF "$3" "$STUB/images" ;;
  "pull --quiet") echo "$3" >>"$STUB/images"; echo "$3" >>"$STUB/pulled" ;;
  *) exit 9 ;;
esac
"""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Give a folder with the stand-in and a play of this role alone."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").write_text(DOCKER)
    (tmp_path / "bin/docker").chmod(0o755)
    (tmp_path / "images").write_text("")
    variables = {"host": "spark-01", "images": [IMAGE, BUILT], "builds": [{"image": BUILT, "name": "engine"}]}
    play = {"hosts": "all", "gather_facts": False, "vars": {"sparkiac": variables}}
    roles = [{"role": str(PLAYBOOKS / "roles/images")}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play | {"roles": roles}]))
    return tmp_path


def apply(bench: Path, *words: str) -> tuple[int, str]:
    """Run the play; give the exit code and what was said."""
    env = {"PATH": f"{bench / 'bin'}:{os.environ['PATH']}", "STUB": str(bench), "HOME": str(bench), "LC_ALL": "C.UTF-8"}
    here = ["-i", "here,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    argv = [Path(sys.executable).with_name("ansible-playbook"), *here, "play.yml", *words]
    done = subprocess.run(argv, cwd=bench, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_an_image_that_only_a_build_makes_stops_the_play_and_says_what_to_run(bench: Path) -> None:
    """Nothing is pulled then, and a dry run tells the same (row 19.5)."""
    for words in ((), ("--check",)):
        code, said = apply(bench, *words)
        assert code == 2
        sentence = re.sub(r"\s+", " ", said)
        assert f"spark-01 lacks {BUILT}, which comes from the build engine and from no registry." in sentence
        assert f"docker save {BUILT} | ssh spark-01 docker load" in sentence
        assert "run builds/engine/build here" in sentence
    assert not (bench / "pulled").exists()


def test_with_the_built_image_there_the_rest_is_pulled_once(bench: Path) -> None:
    """The second run changes nothing (row 19.5)."""
    (bench / "images").write_text(f"{BUILT}\n")
    code, said = apply(bench)
    assert code == 0, said
    assert "changed=1" in said
    assert (bench / "pulled").read_text() == f"{IMAGE}\n"
    code, said = apply(bench)
    assert code == 0
    assert "changed=0" in said
