"""`sparkiac backup` and `restore`: hosts behind a stand-in for ssh, each in a folder, with a stand-in for systemctl."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.write import backup as archive
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SSH: Final = """\
#!/usr/bin/env python3
# Stand-in for ssh: the last word runs in the folder of the host, which is its root directory.
import os, subprocess, sys
from pathlib import Path

stub = Path(os.environ["STUB"])
with (stub / "argv").open("a") as log:
    log.write(f"{sys.argv}\\n")
address, command = sys.argv[sys.argv.index("--") + 1 :]
root = stub / address
if not root.exists():
    sys.exit(f"ssh: connect to host {address} port 22: No route to host")
head = b"".join(sys.stdin.buffer.readline() for _ in range(3))
head = head.replace(b"LocalHost()", f"LocalHost(Path('{root}'))".encode())
process = subprocess.Popen(["sh", "-c", command], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdin.write(head)
process.stdin.flush()
if b'["restore"' in head:
    process.stdin.write(sys.stdin.buffer.read())
    process.stdin.close()
if (stub / "cut").exists() and address == "192.168.1.12" and b'["save"' in head:
    process.stdout.read(100)
    process.stdout.close()
    process.wait()
    sys.exit(255)
sys.stdout.buffer.write(process.stdout.read())
sys.exit(process.wait())
"""
SYSTEMCTL: Final = """\
#!/bin/sh
# Stand-in for systemctl in the folder of a host: a unit runs while `running` names it.
echo "$@" >>systemctl.log
case $1 in
show) ;;
is-active) grep -qx "$3" running 2>/dev/null ;;
stop) : >running; [ ! -e var/lib/sparkiac/chat ] || echo "at rest" >var/lib/sparkiac/chat/webui.db ;;
start) [ ! -e fails ] || { echo "it does not start" >&2; exit 1; }; echo "$2" >running ;;
esac
"""
FIRST, SECOND = "192.168.1.11", "192.168.1.12"
UNIT: Final = "sparkiac-chat"
SECRET: Final = "correct-horse-battery-staple"  # noqa: S105  invented
PASSPHRASE: Final = "a long passphrase"  # noqa: S105  invented
BY_AGE: Final = (
    "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCA3OG9rUnMwSUF6ZHFTQ2tJV1lTNWF3IDE4CnNneG5KQ1d1OVEyV3BzdjZsTk1nUkc4RWtqRFlJ"
    "a21sekJicFFKWWJtQzgKLS0tIGowdTNUdU0vOXBVWlVCcWJvRlRnZy9IQkd4c3hFTXhRUFVKajJrdTVCNFUKa3+0oqxHTB5tQvMFLAP/DMayouU7zBqD"
    "3vJ17WHTjr2l57H/xA=="
)
"""What age 1.1.1 wrote for the text hello, with the passphrase `pass phrase`."""


@pytest.fixture
def fleet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository and two hosts, of which the second one has a chat with data; return the folder of the hosts."""
    stub = folder / "hosts"
    programs = stub / "bin"
    programs.mkdir(parents=True)
    for name, text in {"ssh": SSH, "systemctl": SYSTEMCTL, "sudo": "#!/bin/sh\nexit 1\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("STUB", str(stub))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(archive, "_WORK", 10)  # a backup is decrypted twice for each host
    repository = folder / "lab"
    golden = ROOT / "tests/golden/open-webui"
    (repository / "inventories/measurements/bench").mkdir(parents=True)
    shutil.copy(golden / "inventory.yaml", repository / "inventories/lab.yaml")
    shutil.copy(golden / "inventory.lock.yaml", repository / "inventories/lab.lock.yaml")
    (repository / "inventories/measurements/bench/a.json").write_text("{}")
    (repository / "secrets").mkdir(mode=0o700)
    put(repository / "secrets/lab.json", SECRET, 0o600)
    put(repository / "secrets/.gitignore", "*\n", 0o644)
    for address in (FIRST, SECOND):
        put(stub / address / "etc/sparkiac/secrets/vllm_api_key", SECRET, 0o600)
        (stub / address / "etc/sparkiac/secrets").chmod(0o700)
        put(stub / address / "var/lib/sparkiac/history.json", "[]", 0o600)
    chat = stub / SECOND / "var/lib/sparkiac/chat"
    put(chat / "webui.db", "in the middle of a write", 0o640)
    put(chat / "uploads/Ünïcode name", "x" * 3_000_000, 0o444)
    (chat / "cache").symlink_to("uploads")
    chat.chmod(0o700)
    os.utime(chat / "uploads/Ünïcode name", (1_700_000_000, 1_700_000_000))
    (stub / SECOND / "running").write_text(f"{UNIT}\n")
    put(folder / "passphrase", f"{PASSPHRASE}\n", 0o600)
    monkeypatch.chdir(repository)
    return stub


def put(path: Path, text: str, mode: int) -> None:
    """Write a file with a mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def state(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return path → mode, time and content of everything that is backed up."""
    found = {}
    for top in (root / "etc", root / "var", root / "secrets", root / "inventories/measurements"):
        for path in (top, *sorted(top.rglob("*"))) if top.exists() else ():
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            changed = int(status.st_mtime) if content else 0
            found[str(path.relative_to(root))] = (status.st_mode, changed, content)
    return found


def save(cli: Cli, fleet: Path) -> Outcome:
    return cli("backup", "../lab.age", "--passphrase-file", str(fleet.parent / "passphrase"))


def restore(cli: Cli, fleet: Path, *words: str) -> Outcome:
    return cli("restore", "../lab.age", "--passphrase-file", str(fleet.parent / "passphrase"), *words)


def test_what_was_lost_comes_back_with_modes_and_times(cli: Cli, fleet: Path) -> None:
    saved = save(cli, fleet)
    assert saved.code == 0, saved.text
    assert stat.S_IMODE(Path("../lab.age").stat().st_mode) == 0o600
    before = {each: state(each) for each in (fleet / FIRST, fleet / SECOND, Path())}
    shutil.rmtree("secrets")
    shutil.rmtree("inventories/measurements")
    for host in (fleet / FIRST, fleet / SECOND):
        shutil.rmtree(host / "etc")
        shutil.rmtree(host / "var")
    done = restore(cli, fleet, "--yes")
    assert done.code == 0, done.text
    assert {each: state(each) for each in before} == before
    assert restore(cli, fleet, "--yes").out.splitlines()[-1] == "nothing to restore"


def test_a_database_is_read_while_its_unit_is_stopped(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    log = [each for each in (fleet / SECOND / "systemctl.log").read_text().splitlines() if not each.startswith("show")]
    assert log == [f"is-active --quiet {UNIT}", f"stop {UNIT}", f"start {UNIT}"]
    shutil.rmtree(fleet / SECOND / "var/lib/sparkiac/chat")
    (fleet / SECOND / "running").write_text("")
    assert restore(cli, fleet, "--yes").code == 0
    assert (fleet / SECOND / "var/lib/sparkiac/chat/webui.db").read_text() == "at rest\n"


def test_a_unit_starts_again_when_the_connection_is_cut(cli: Cli, fleet: Path) -> None:
    (fleet / "cut").touch()
    done = save(cli, fleet)
    assert done.code == 6
    assert "../lab.age is not written" in done.err
    assert not [each.name for each in fleet.parent.iterdir() if "lab.age" in each.name]
    assert (fleet / SECOND / "systemctl.log").read_text().splitlines()[-2:] == [f"stop {UNIT}", f"start {UNIT}"]


def test_what_is_newer_is_replaced_only_after_a_question(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    path = fleet / SECOND / "var/lib/sparkiac/chat/webui.db"
    path.write_text("of today")
    os.utime(path, (2_000_000_000, 2_000_000_000))
    put(fleet / SECOND / "var/lib/sparkiac/history.json", "[1]", 0o600)
    asked = restore(cli, fleet)
    assert asked.code == 2
    assert "a confirmation needs a terminal: add --yes" in asked.err
    assert path.read_text() == "of today"
    done = restore(cli, fleet, "--yes")
    assert "/var/lib/sparkiac/chat  newer than the backup (2033-05-18 03:33 UTC), is replaced" in done.out
    assert path.read_text() == "at rest\n"
    assert (fleet / SECOND / "var/lib/sparkiac/history.json").read_text() == "[1]"
    assert not list(path.parents[1].glob("chat.*"))


def test_only_the_named_host_is_restored(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    shutil.rmtree("secrets")
    shutil.rmtree(fleet / FIRST / "etc")
    shutil.rmtree(fleet / SECOND / "etc")
    assert restore(cli, fleet, "spark-02", "--yes").code == 0
    assert not Path("secrets").exists()
    assert not (fleet / FIRST / "etc").exists()
    assert (fleet / SECOND / "etc/sparkiac/secrets/vllm_api_key").read_text() == SECRET
    assert stat.S_IMODE((fleet / SECOND / "etc/sparkiac/secrets").stat().st_mode) == 0o700


def test_a_host_that_is_not_reachable_prevents_a_backup_but_no_restore(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    (fleet / SECOND / "etc/sparkiac/secrets/vllm_api_key").unlink()
    shutil.rmtree(fleet / FIRST)
    done = restore(cli, fleet, "--yes")
    assert done.code == 6
    assert "spark-01: " in done.err
    assert "spark-02: restored 1" in done.out
    Path("../lab.age").unlink()
    assert save(cli, fleet).code == 6
    assert not Path("../lab.age").exists()


def test_no_secret_and_no_passphrase_is_shown_or_readable(cli: Cli, fleet: Path) -> None:
    saved = save(cli, fleet)
    shutil.rmtree(fleet / SECOND / "etc")
    done = restore(cli, fleet, "--yes")
    seen = (saved.text + done.text + (fleet / "argv").read_text()).encode() + Path("../lab.age").read_bytes()
    assert [text for text in (SECRET, PASSPHRASE) if text.encode() in seen] == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda raw: raw[:-1], "is damaged: it was changed, or it ends early"),
        (lambda raw: raw[: len(raw) // 2], "is damaged: it was changed, or it ends early"),
        (lambda raw: raw[:5000] + bytes([raw[5000] ^ 1]) + raw[5001:], "is damaged: it was changed, or it ends early"),
        (lambda raw: raw + b"x", "is damaged: it was changed, or it ends early"),
        (lambda raw: raw.replace(b" 10\n", b" 24\n", 1), "needs 2^24 rounds of scrypt"),
        (lambda raw: raw[::-1], "is not a backup of sparkiac"),
    ],
)
def test_a_damaged_file_is_refused_before_anything_changes(
    cli: Cli, fleet: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    assert save(cli, fleet).code == 0
    shutil.rmtree("secrets")
    Path("../lab.age").write_bytes(damage(Path("../lab.age").read_bytes()))
    done = restore(cli, fleet, "--yes")
    assert (done.code, said in done.err) == (2, True), done.text
    assert not Path("secrets").exists()


def test_a_wrong_passphrase_is_refused(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    (fleet.parent / "passphrase").write_text("another\n")
    done = restore(cli, fleet, "--yes")
    assert done.code == 2
    assert "../lab.age cannot be decrypted: the passphrase is wrong" in done.err


def test_a_backup_is_written_only_where_it_is_new_and_outside_of_git(cli: Cli, fleet: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    words = ("--passphrase-file", str(fleet.parent / "passphrase"))
    done = cli("backup", "secrets/lab.age", *words)
    assert (done.code, "would be in the Git work tree" in done.err) == (2, True)
    Path("../lab.age").touch()
    done = cli("backup", "../lab.age", *words)
    assert (done.code, "../lab.age exists; name a new file" in done.err) == (2, True)
    (fleet.parent / "passphrase").write_text("\n")
    done = cli("backup", "../other.age", *words)
    assert (done.code, "the first line of --passphrase-file is empty" in done.err) == (2, True), done.text
    done = cli("backup", "../other.age")
    assert (done.code, "--passphrase-file is missing" in done.err) == (2, True)


def test_a_directory_that_refuses_files_is_told_with_the_file_that_was_named(cli: Cli, fleet: Path) -> None:
    """/proc refuses them, also those of root."""
    done = cli("backup", "/proc/lab.age", "--passphrase-file", str(fleet.parent / "passphrase"))
    assert (done.code, "/proc/lab.age: " in done.err, ".lab.age" in done.err) == (6, True, False), done.text


def test_a_backup_of_another_inventory_is_refused(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    path = Path("inventories/lab.yaml")
    path.write_text(path.read_text().replace("name: open-webui", "name: other"))
    done = restore(cli, fleet, "--yes")
    assert (done.code, "is a backup of open-webui, not of other" in done.err) == (2, True)


def test_data_of_a_service_that_is_gone_are_left_out(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    path = Path("inventories/lab.yaml")
    path.write_text(path.read_text().replace("  chat:\n", "  talk:\n"))
    shutil.rmtree(fleet / SECOND / "var")
    done = restore(cli, fleet, "--yes")
    assert "spark-02  /var/lib/sparkiac/chat  nothing in the inventory uses it, is left out" in done.out
    assert (done.code, "spark-02: restored 1" in done.out) == (0, True)
    assert not (fleet / SECOND / "var/lib/sparkiac/chat").exists()


def test_an_apply_that_runs_prevents_both(cli: Cli, fleet: Path) -> None:
    assert save(cli, fleet).code == 0
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    lease = f'{{"run": "r", "owner": "ada@desk, pid 7", "taken": {uptime}, "renewed": {uptime}, "session": null}}'
    put(fleet / FIRST / "run/sparkiac/lease.json", lease, 0o600)
    shutil.rmtree(fleet / FIRST / "etc")
    assert "ada@desk" in restore(cli, fleet, "--yes").err
    Path("../lab.age").unlink()
    assert "ada@desk" in save(cli, fleet).err


def test_a_file_of_age_itself_is_read() -> None:
    assert archive._Decrypting(BytesIO(b64decode(BY_AGE)), b"pass phrase").read(10) == b"hello"  # noqa: SLF001
