"""The role `images`, run by Ansible on this machine with a stand-in for docker: what is pulled, and what cannot be."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.host.plays import play
from tests.host.tree import IMAGE

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
BUILT = "sha256:" + "1" * 64
DOCKER = """\
#!/bin/sh
# Stand-in for docker: $STUB/images names the images that are here, $STUB/pulled those that were pulled, $STUB/log all
# that was asked. $STUB/refusal is what the registry says, $STUB/no-gpu what a container without the GPU says.
echo "$*" >>"$STUB/log"
case "$1 $2" in
  "run --rm") [ ! -e "$STUB/no-gpu" ] || { cat "$STUB/no-gpu" >&2; exit 125; } ;;
  "image inspect") grep -qxF "$3" "$STUB/images" ;;
  "pull --quiet")
    [ ! -e "$STUB/refusal" ] || { cat "$STUB/refusal" >&2; exit 1; }
    echo "$3" >>"$STUB/images"; echo "$3" >>"$STUB/pulled" ;;
  *) exit 9 ;;
esac
"""


def bench_in(folder: Path) -> Path:
    """Return a folder with the stand-in and a play of this role alone."""
    (folder / "bin").mkdir()
    (folder / "bin/docker").write_text(DOCKER)
    (folder / "bin/docker").chmod(0o755)
    (folder / "images").write_text("")
    variables = {"host": "spark-01", "images": [IMAGE, BUILT], "builds": [{"image": BUILT, "name": "engine"}]}
    variables |= {"gpu_image": IMAGE, "images_from": None, "copied_by": [], "nft_optional": False, "image_ids": {}}
    written = {"hosts": "all", "gather_facts": False, "vars": {"sparkiac": variables}}
    roles = [{"role": str(PLAYBOOKS / "roles/images")}]
    (folder / "play.yml").write_text(yaml.safe_dump([written | {"roles": roles}]))
    return folder


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return bench_in(tmp_path)


def test_an_image_that_only_a_build_makes_stops_the_play_and_says_what_to_run(bench: Path) -> None:
    """Nothing is pulled then, and a dry run tells the same."""
    for words in ((), ("--check",)):
        code, _, said = play(bench, *words)
        assert code == 2
        sentence = re.sub(r"\s+", " ", said)
        assert f"spark-01 does not have the image {BUILT} of the build engine, and no registry has it." in sentence
        assert f"docker save {BUILT} | ssh spark-01 docker load" in sentence
        assert "run builds/engine/build on this host" in sentence
    assert not (bench / "pulled").exists()


def test_with_the_built_image_there_the_rest_is_pulled_once(bench: Path) -> None:
    """The second run changes nothing."""
    (bench / "images").write_text(f"{BUILT}\n")
    code, _, said = play(bench)
    assert code == 0, said
    assert "changed=1" in said
    assert (bench / "pulled").read_text() == f"{IMAGE}\n"
    code, _, said = play(bench)
    assert code == 0
    assert "changed=0" in said


UNAUTHORIZED = "Error response from daemon: unauthorized: authentication required"
NGC = "nvcr.io, with '$oauthtoken' and, as password, an NGC API key."
REFUSED = {
    "daemon": ("nvcr.io/", UNAUTHORIZED, NGC),
    "status": (
        "nvcr.io/",
        'Error response from daemon: Head "https://nvcr.io/v2/x": received unexpected HTTP status: 401 Unauthorized',
        NGC,
    ),
    "denied": ("nvcr.io/", "denied: requested access to the resource is denied", NGC),
    "port": ("registry.lan:5000/", UNAUTHORIZED, "registry.lan:5000, with an account that can pull it."),
    "hub": ("", UNAUTHORIZED, "docker.io, with an account that can pull it."),
    "github": ("ghcr.io/", UNAUTHORIZED, "ghcr.io, with an account that can pull it."),
}
"""Host → the registry of its image, what that says, and the login that is named."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the role on hosts that are all refused: the folder with a folder for each, and what was said."""
    folder = bench_in(tmp_path_factory.mktemp("refused"))
    [written] = yaml.safe_load((folder / "play.yml").read_text())
    common, hosts = written.pop("vars")["sparkiac"], {}
    for host, (prefix, refusal, _) in REFUSED.items():
        (folder / host).mkdir()
        (folder / host / "images").write_text(f"{BUILT}\n")
        (folder / host / "refusal").write_text(refusal)
        images = [IMAGE.replace("nvcr.io/", prefix), BUILT]
        own = {**common, "host": host, "images": images, "gpu_image": images[0]}
        hosts[host] = {"sparkiac": own, "stub": str(folder / host)}
    (folder / "play.yml").write_text(yaml.safe_dump([{**written, "environment": {"STUB": "{{ stub }}"}}]))
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    done = play(folder, inventory="inventory.yml")
    assert done.code == 2
    return folder, done.sentence


@pytest.mark.parametrize("host", REFUSED)
def test_a_registry_that_refuses_is_asked_once_and_the_login_is_named(refused: tuple[Path, str], host: str) -> None:
    """(HST003) An image without a registry in its name is of Docker Hub.

    The account's name at NVIDIA's holds a dollar sign, which a shell must not replace.
    """
    folder, said = refused
    prefix, _, login = REFUSED[host]
    assert f"refuses {prefix}nvidia/vllm@sha256:0000" in said
    assert f"HST003: {login.split(',')[0]} refuses" in said
    assert f"As root on {host}: docker login {login}" in said
    assert (folder / host / "log").read_text().count("pull --quiet") == 1


def test_a_pull_that_fails_for_another_reason_is_tried_again(bench: Path) -> None:
    (bench / "images").write_text(f"{BUILT}\n")
    (bench / "refusal").write_text("Error response from daemon: dial tcp: lookup nvcr.io: i/o timeout")
    role = bench / "roles/images"
    shutil.copytree(PLAYBOOKS / "roles/images", role)
    tasks = role / "tasks/main.yml"
    tasks.write_text(tasks.read_text().replace("delay: 10", "delay: 0"))
    written = bench / "play.yml"
    written.write_text(written.read_text().replace(str(PLAYBOOKS / "roles/images"), str(role)))
    code, _, said = play(bench)
    assert code == 2
    assert "HST003" not in said
    assert "i/o timeout" in said
    assert (bench / "log").read_text().count("pull --quiet") > 1


def test_an_engines_image_tries_the_gpu_before_anything_is_replaced(bench: Path) -> None:
    """With no other image, without network, and what fails is quoted."""
    (bench / "images").write_text(f"{BUILT}\n{IMAGE}\n")
    code, _, said = play(bench)
    assert (code, "changed=0" in said) == (0, True), said
    [asked] = [line for line in (bench / "log").read_text().splitlines() if line.startswith("run ")]
    assert asked.endswith(f"--entrypoint=nvidia-smi {IMAGE} --list-gpus")
    assert {"--rm", "--pull=never", "--network=none", "--gpus=all"} < set(asked.split())
    (bench / "no-gpu").write_text('could not select device driver "" with capabilities: [[gpu]]')
    for words in ((), ("--check",)):
        code, _, said = play(bench, *words)
        assert code == 2
        sentence = re.sub(r"\s+", " ", said)
        assert "HST002: containers on spark-01 cannot use the GPU: could not select device driver" in sentence
        assert "nvidia-ctk runtime configure --runtime=docker" in sentence


def test_the_gpu_is_not_tried_where_none_is_used_or_the_image_is_still_to_come(bench: Path) -> None:
    """(HST002) A dry run of the first apply has no image to try it with."""
    (bench / "images").write_text(f"{BUILT}\n")
    (bench / "no-gpu").write_text("no")
    assert play(bench, "--check").code == 0
    written = bench / "play.yml"
    written.write_text(written.read_text().replace(f"gpu_image: {IMAGE}", "gpu_image: ''"))
    assert play(bench).code == 0
    assert "\nrun " not in (bench / "log").read_text()


def test_the_image_of_the_former_deployment_stays(bench: Path) -> None:
    """(HST011) So the way back needs no registry: nothing is removed, and nothing but these words is said to docker."""
    former = "example.org/former@sha256:" + "2" * 64
    (bench / "images").write_text(f"{former}\n{BUILT}\n")
    assert play(bench).code == 0
    assert (bench / "images").read_text().splitlines() == [former, BUILT, IMAGE]
    asked = {" ".join(line.split()[:2]) for line in (bench / "log").read_text().splitlines()}
    assert asked == {"image inspect", "pull --quiet", "run --rm"}


def test_a_host_that_failed_before_is_no_error_of_the_others(bench: Path) -> None:
    """It is in its rescue section, and still in the play, when the others look for images to copy."""
    (bench / "images").write_text(f"{BUILT}\n{IMAGE}\n")
    [written] = yaml.safe_load((bench / "play.yml").read_text())
    role = {"name": "Look", "ansible.builtin.include_role": {"name": written.pop("roles")[0]["role"]}}
    fails = {"name": "Fail", "ansible.builtin.fail": {"msg": "no secret"}, "when": "inventory_hostname == 'there'"}
    rescue = [{"name": "Go on", "ansible.builtin.debug": {"msg": "left out"}}]
    tasks = [{"name": "Download", "block": [fails, role], "rescue": rescue}]
    (bench / "play.yml").write_text(yaml.safe_dump([{**written, "tasks": tasks}]))
    done = play(bench, inventory="here,there,")
    assert done.code == 0, done.said
    assert "has no attribute" not in done.said
    assert re.search(r"here +: ok=\d+ .* failed=0 .* rescued=0", done.said)
