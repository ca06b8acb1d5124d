"""`sparkiac lock --hosts`: models that lie on a host, read with an ssh that stays on this machine."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac.host.sent import model_files
from tests.standin.hub import sha256
from tests.upstream.hub.tiny import FILES, FIRST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SSH: Final = """\
#!/bin/sh
# Stands in for ssh: it runs the command on this machine, and on no other than spark-01.
for word; do last=$word; case $word in milo@*) target=$word ;; esac; done
echo "$target" >>"$0.log"
[ "$target" = milo@192.168.1.11 ] || { echo "no route to host" >&2; exit 255; }
exec sh -c "$last"
"""
IMAGE: Final = f"example.org/vllm@sha256:{'1' * 64}"
HEAD: Final = "name: lab\ndefaults: {model_store: /srv/models, user: milo}\n"
HOSTS: Final = "hosts: {spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}}\n"
LOCK: Final = f"""\
version: 1
images:
  {IMAGE}: {{digest: sha256:{"1" * 64}, manifest: sha256:{"1" * 64}, config: sha256:{"2" * 64}, size_bytes: 7}}
"""


class Own:
    """An inventory whose model lies in a folder."""

    def __init__(self, folder: Path) -> None:
        """Write the folder, and the stand-in of ssh."""
        self.folder, self.model, self.ssh = folder, folder / "out/support-bot", folder / "bin/ssh"
        self.lock = folder / "lab.lock.yaml"
        self.ssh.parent.mkdir()
        self.ssh.write_text(SSH)
        self.ssh.chmod(0o755)
        for name, content in FILES.items():
            self.model.mkdir(parents=True, exist_ok=True)
            (self.model / name).write_bytes(content)
        self.write()

    def write(
        self, *lines: str, path: Path | None = None, host: str = "spark-01", recipe: str = "single-spark"
    ) -> None:
        """Write the inventory and a lock that has the image."""
        own = f"own_models: {{me/support-bot: {{host: {host}, path: {path or self.model}}}}}\n"
        base = f"recipe: base/{recipe or 'single-spark'}"
        named = (base, f"image: {IMAGE}", "model: me/support-bot", "hosts: spark-02", "port: 8001", *lines)
        chat = "".join(f"    {line}\n" for line in named)
        (self.folder / "lab.yaml").write_text(f"{HEAD}{HOSTS}{own}deployments:\n  chat:\n{chat}")
        if not self.lock.exists():
            self.lock.write_text(LOCK)

    @property
    def locked(self) -> dict[str, Any]:
        """What the lock says of the model."""
        found: dict[str, Any] = yaml.safe_load(self.lock.read_text())["models"]["me/support-bot"]
        return found


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    found = Own(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{found.ssh.parent}:{os.environ['PATH']}")
    return found


def test_a_folder_is_pinned_by_its_files_as_the_hub_would_list_them(own: Own, cli: Cli) -> None:
    done = cli("lock", "lab.yaml", "--hosts")
    assert (done.code, done.err) == (0, ""), done
    found = own.locked
    staged = FILES.keys() - {"README.md", ".gitattributes", "figure.png"}
    assert found["files"] == {
        path: {"size_bytes": len(FILES[path]), "sha256": sha256(FILES[path])} for path in sorted(staged)
    }
    assert found["revision"] == f"spark-01:{own.model}"
    assert found["config"]["model_type"] == "tiny"
    assert found["tensors"] == {"BF16": 40, "F32": 1, "U8": 15}
    assert found["tensor_bytes"] == 99
    assert cli("lock", "lab.yaml", "--check").code == 0
    assert "MDL001" not in cli("check", "lab.yaml").text


def test_no_host_is_contacted_without_the_option(own: Own, cli: Cli) -> None:
    done = cli("lock", "lab.yaml")
    assert done.code == 1
    assert "LCK016" in done.text
    assert "run `sparkiac lock INVENTORY --hosts`" in done.text
    assert not own.ssh.with_name("ssh.log").exists()
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    own.ssh.with_name("ssh.log").unlink()
    before = own.lock.read_bytes()
    assert cli("lock", "lab.yaml").code == 0
    assert own.lock.read_bytes() == before
    assert not own.ssh.with_name("ssh.log").exists()


def test_a_changed_folder_is_pinned_again_only_on_request(own: Own, cli: Cli) -> None:
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    before = own.locked["commit"]
    (own.model / "chat_template.jinja").write_text("{{ other }}")
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    assert own.locked["commit"] == before
    compared = cli("lock", "lab.yaml", "--check", "--online", "--hosts")
    assert "LCK034" in compared.text
    assert "--upgrade me/support-bot" in compared.text
    done = cli("lock", "lab.yaml", "--hosts", "--upgrade", "me/support-bot")
    assert (done.code, "1 changed" in done.out) == (0, True), done
    assert own.locked["commit"] != before


def test_an_upgrade_of_everything_leaves_hosts_alone(own: Own, cli: Cli) -> None:
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    own.ssh.with_name("ssh.log").unlink()
    cli("lock", "lab.yaml", "--upgrade", "--dry-run")
    assert not own.ssh.with_name("ssh.log").exists()


def test_another_place_is_read_again(own: Own, cli: Cli) -> None:
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    moved = own.model.with_name("moved")
    shutil.copytree(own.model, moved)
    own.write(path=moved)
    stale = cli("lock", "lab.yaml", "--check")
    assert (stale.code, "run `sparkiac lock lab.yaml --hosts`" in stale.text) == (3, True), stale.text
    before = own.locked["commit"]
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    assert (own.locked["commit"], own.locked["revision"]) == (before, f"spark-01:{moved}")


def test_a_gguf_file_is_pinned_alone_with_its_other_parts(own: Own, cli: Cli) -> None:
    for name in ("bot-00001-of-00002.gguf", "bot-00002-of-00002.gguf", "other.gguf"):
        (own.model / name).write_text(name)
    path = own.model / "bot-00001-of-00002.gguf"
    own.write("set: {ctx_size: 4096}", path=path, recipe="llama-cpp")
    done = cli("lock", "lab.yaml", "--hosts")
    assert done.code == 0, done
    assert list(own.locked["files"]) == ["bot-00001-of-00002.gguf", "bot-00002-of-00002.gguf"]


def test_a_folder_in_a_cache_of_the_hub_is_links(own: Own, cli: Cli) -> None:
    blobs = own.folder / "blobs"
    blobs.mkdir()
    for place in list(own.model.iterdir()):
        place.rename(blobs / place.name)
        place.symlink_to(blobs / place.name)
    assert cli("lock", "lab.yaml", "--hosts").code == 0
    assert own.locked["files"]["config.json"]["sha256"] == sha256(FILES["config.json"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shutil.rmtree, "No such file or directory"),
        (lambda model: (model / "config.json").unlink(), "there is no config.json"),
        (
            lambda model: [(model / "config.json").rename(model / "adapter_config.json")],
            "merge the adapter into its model",
        ),
        (lambda model: [each.unlink() for each in model.glob("*.safetensors")], "there is no safetensors file"),
        (
            lambda model: (model / "model-00001-of-00002.safetensors").write_bytes(FIRST[:-1]),
            "is not a complete safetensors file",
        ),
        (lambda model: (model / "config.json").write_text("[1"), "is not a JSON object"),
        (lambda model: (model / "config.json").write_text(json.dumps("x" * (5 << 20))), "at most 4194304 are read"),
        (lambda model: (model / "to do.txt").write_text("x"), "cannot be staged"),
    ],
)
def test_what_cannot_be_served_is_told_at_the_model(
    own: Own, cli: Cli, change: Callable[[Path], object], words: str
) -> None:
    change(own.model)
    done = cli("lock", "lab.yaml", "--hosts")
    assert (done.code, words in done.text) == (1, True), done.text
    assert "lab.yaml:9:12: error LCK016" in done.text
    assert own.lock.read_text() == LOCK


def test_a_host_that_does_not_answer_is_no_fault_of_the_inventory(own: Own, cli: Cli) -> None:
    own.write(host="spark-02")
    done = cli("lock", "lab.yaml", "--hosts")
    assert (done.code, "LCK017" in done.text) == (6, True), done.text
    assert "which cannot be reached: no route to host" in done.text


def test_large_files_show_how_far_they_are(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "STEP_BYTES", len(FIRST))
    lines: list[dict[str, Any]] = []
    names = ["model-00001-of-00002.safetensors", "tokenizer.json", "model-00002-of-00002.safetensors"]
    model_files.hash_all(own.model, names, lines.append)
    assert lines[0] == {"read_bytes": len(FIRST)}
    assert [line["path"] for line in lines if "path" in line] == names


def test_an_unknown_host_is_an_error_at_its_name(own: Own, cli: Cli) -> None:
    own.write(host="spark-03")
    done = cli("check", "lab.yaml")
    assert "lab.yaml:4:37: error REF001 unknown-name: unknown host 'spark-03'" in done.text, done.text
