"""`sparkiac report`: it identifies nobody. `ssh`, `journalctl` and Ansible are stand-ins here."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.host.sent import facts
from sparkiac.words import bundle
from sparkiac.words.bundle import Identities
from tests.commands.test_logs import entry
from tests.fleet.hosts import host, unit
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SSH: Final = """\
#!/bin/bash
# Stand-in for ssh: runs the last word in the folder of the host, with its secrets, its name and its accounts; what the
# status program prints is in the file `status`.
while [ "$1" != -- ]; do shift; done
[ -e "$STUB/${2##*@}" ] || { echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255; }
cd "$STUB/${2##*@}"
case "$3" in */usr/local/lib/sparkiac/status*) exec sed "s/\\"NOW\\"/$(date +%s.%N)/g" status ;; esac
accounts="[pwd.struct_passwd(('ada', 'x', 1000, 1000, 'Ada Example,,,', '/home/ada', '/bin/sh'))]"
sh -c "$3" < <(sed -u "s#/etc/sparkiac/secrets#$PWD/secrets#; s#/proc/sys/kernel/hostname#$PWD/hostname#;
    s#pwd.getpwall()#$accounts#" 2>/dev/null)
"""
JOURNALCTL: Final = """\
#!/bin/sh
# Stand-in for journalctl, in the folder of a host.
case "$*" in *_TRANSPORT=kernel*) cat kernel ;; *) cat journal ;; esac
"""
ANSIBLE: Final = "#!/bin/sh\n# Stand-in for ansible-playbook.\necho 'ansible-playbook [core 2.19.1]'\n"
ADDRESS: Final = "192.168.1.11"
ON_HOST, LOCAL, TOKEN = "correct horse battery", 'kept "here" only', "hf_abcdefghijklmnopqrstuvwx"
SERIALS: Final = (
    "1650522003820",
    "5c0ba91e-3d1c-4f0e-9f6a-0a1b2c3d4e5f",
    "0123456789abcdef0123456789abcdef",
    "S3R1AL9",
)
ADDRESSES: Final = (ADDRESS, "203.0.113.7", "fe80::4ebb:47ff:fe2c:1", "2001:db8:1:2:3:4:5:6", "4c:bb:47:2c:00:01")
NAMES: Final = ("ada", "Ada Example", "milo", "spark-01", "workhorse", "workhorse.example.com", "spark-02")
CANARIES: Final = (ON_HOST, LOCAL, json.dumps(LOCAL)[1:-1], TOKEN, *SERIALS, *ADDRESSES, *NAMES, "example.com")
PLANTED: Final = (
    f"key {ON_HOST} token {TOKEN} and {LOCAL}",
    f"Serial Number : {SERIALS[0]}, GPU-{SERIALS[1]}, machine {SERIALS[2]}, serial={SERIALS[3]}",
    *(f"from {each}: port [{each}]:8000, src={each}. addr:{each}" for each in ADDRESSES),
    *(f"ssh {each}@{each} /home/{each}/models {each.upper()}" for each in NAMES),
)


@pytest.fixture
def stub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a host with what must not leave it in its journals, its state, its command and its environment."""
    programs = folder / "bin"
    programs.mkdir()
    stubs = {"ssh": SSH, "journalctl": JOURNALCTL, "ansible-playbook": ANSIBLE, "sudo": "#!/bin/sh\nexit 1\n"}
    for name, text in stubs.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("STUB", str(folder))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    hosts = f"spark-01: {{address: {ADDRESS}, ssh: {{user: milo}}}}, spark-02: {{address: workhorse.example.com}}"
    planted = f"env: {{PROXY: 'http://{ADDRESSES[1]}:3128', CACHE: /home/milo/x}}"
    (folder / "lab.yaml").write_text(deployment(planted, host=hosts))
    (folder / "lab.lock.yaml").write_text(LOCK)
    (folder / "secrets").mkdir(mode=0o700)
    (folder / "secrets/lab.json").write_text(json.dumps({"sparkiac_secrets": {"key": LOCAL}}))
    there = folder / ADDRESS
    (there / "secrets").mkdir(parents=True)
    (there / "secrets/key").write_text(f"{ON_HOST}\n")
    (there / "hostname").write_text("workhorse\n")
    (there / "journal").write_text("".join(entry(number, text) for number, text in enumerate(PLANTED)))
    kernel = (f"NVRM: Xid (PCI:000f:01:00): 43, {text}" for text in (*PLANTED, "Ch 00000008"))
    (there / "kernel").write_text("".join(entry(9, text, "") for text in ("[UFW BLOCK] IN=eth0", *kernel)))
    said = " | ".join(PLANTED).replace(ON_HOST, "")
    (there / "status").write_text(json.dumps(host(unit("chat", active="failed", fault=said, health=said))))
    return folder


def written(folder: Path) -> str:
    """Return the report."""
    [path] = folder.glob("report-spark-01-20??-??-??.txt")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text()


def test_the_report_has_what_helps_and_nothing_that_identifies(stub: Path, cli: Cli) -> None:
    outcome = cli("report", "lab.yaml", "spark-01")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith(".txt: written, mode 0600; read it before you post it\n")
    text = written(stub)
    forms = {each: rf"(?<![a-z0-9]){re.escape(each)}(?![a-z0-9])" for each in CANARIES}
    assert [each for each, form in forms.items() if re.search(form, text, re.IGNORECASE)] == []
    assert "ansible-playbook [core 2.19.1]" in text
    assert f"  image nvcr.io/nvidia/vllm@sha256:{'1' * 64}\n" in text
    assert "  argv  /opt/nvidia/nvidia_entrypoint.sh vllm serve example/model " in text
    assert re.search(r"^  env   PROXY=http://address-\d+:3128$", text, re.MULTILINE)
    assert re.search(r"^  env   CACHE=/home/user-\d/x$", text, re.MULTILINE)
    assert "chat: failed\n" in text
    assert '"driver": "580.142"' in text
    assert "2026-11-18 11:06:49.000  kernel: NVRM: Xid (PCI:000f:01:00): 43, Ch 00000008\n" in text
    assert "UFW" not in text


def test_the_same_name_is_always_the_same_word(stub: Path, cli: Cli) -> None:
    lines = [f"{each} at {each}.local from {ADDRESS}" for each in ("spark-01", "workhorse")]
    (stub / ADDRESS / "journal").write_text("".join(entry(number, text) for number, text in enumerate(lines)))
    assert cli("report", "lab.yaml", "spark-01").code == 0
    found = [line.partition(": ")[2] for line in written(stub).splitlines() if " at host-" in line]
    assert len(found) == 2
    assert len({*found}) == 1
    assert found[0].startswith("host-1 at host-1 from address-")


def test_its_size_is_bounded_and_it_has_the_last_lines(stub: Path, cli: Cli) -> None:
    lines = [entry(number, f"line {number} {'x' * 1900}") for number in range(1500)]
    (stub / ADDRESS / "journal").write_text("".join(lines))
    assert cli("report", "lab.yaml", "spark-01").code == 0
    text = written(stub)
    assert len(text) < 400_000
    assert "line 1499 …" in text
    assert "line 1199 " not in text


def test_the_half_of_a_word_at_which_a_text_was_cut_is_left_out(stub: Path, cli: Cli) -> None:
    lines = [entry(number, f"{'x ' * (270 + number)}{TOKEN} {ADDRESS}") for number in range(30)]
    (stub / ADDRESS / "journal").write_text("".join(lines))
    assert cli("report", "lab.yaml", "spark-01").code == 0
    assert re.findall(r"hf_\w+|\b192\.[0-9.]*", written(stub)) == []


def test_exit_6_and_no_file_for_a_host_that_does_not_answer_or_hides_its_names(stub: Path, cli: Cli) -> None:
    outcome = cli("report", "lab.yaml", "spark-02")
    assert (outcome.code, outcome.out) == (6, "")
    assert outcome.err.startswith("spark-02: ssh: connect to host workhorse.example.com port 22: No route to host; ")
    (stub / ADDRESS / "hostname").unlink()
    outcome = cli("report", "lab.yaml", "spark-01")
    assert (outcome.code, outcome.out) == (6, "")
    assert "its name and its users cannot be read, and so not be taken out" in outcome.err
    assert not [*stub.glob("report*")]


def test_what_cannot_be_read_is_named_in_its_place(stub: Path, cli: Cli) -> None:
    (stub / ADDRESS / "status").unlink()
    (stub / ADDRESS / "kernel").unlink()
    assert cli("report", "lab.yaml", "spark-01").code == 0
    text = written(stub)
    assert "\nunhealthy: the status program ended with exit status 2: sed: " in text
    assert "\nnot read: cat: kernel: No such file or directory\n" in text


def test_exit_2_for_a_file_that_exists_and_an_unknown_host(stub: Path, cli: Cli) -> None:
    outcome = cli("report", "lab.yaml", "spark-01", "--output", "lab.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert "lab.yaml exists; name another file with --output, or remove it" in outcome.err
    assert "did you mean 'spark-0" in cli("report", "lab.yaml", "spark-0").err
    assert not [*stub.glob("report*")]


def test_the_help_says_what_is_taken_out(cli: Cli) -> None:
    said = " ".join(cli("report", "--help").out.split())
    for what in (
        "values of secrets",
        "serial numbers and UUIDs",
        "home directories",
        "MAC addresses",
        "read it before",
    ):
        assert what in said


@pytest.mark.parametrize(
    "kept",
    [
        "580.142.10 2.29.3 0000:01:00.0 11:06:41.000 2026-11-18",
        f"vllm/vllm-openai@sha256:{'1' * 64} {'3' * 40}",
        "127.0.0.1:8000 [::1]:8000 0.0.0.0 255.255.255.0",
        "torch::cuda std::abc at::Tensor console=serial0,115200",
        "/root/.cache nvidia-smi dgx-spark sparkiac",
    ],
)
def test_versions_times_digests_and_words_stay(kept: str) -> None:
    assert bundle.anonymous(kept, Identities([("a", "nvidia")], [("root",)])) == kept


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("enx4cbb472c0001 10.0.0.1/24", "enxaddress-1 address-2/24"),
        ("80:00:00:48:fe:80:00:00:00:00:00:00:94:6d:ae:03:00:ab:cd:ef", "address-1"),
        ("node 946d:ae03:00ab:cdef", "node (removed)"),
        ("::ffff:10.0.0.1", "address-1"),
        ("GID 2001:0db8:0001:0002:0003:0004:0005:0006", "GID address-1"),
        ("nvme-eui.0025385b21404f3a root=PARTUUID=1b2c3d4e-02", "nvme-eui.(removed) root=(removed)"),
        ('"board_serial": "99X"', '"board_(removed)"'),
        ("/home/eve/x as eve, dgx-lab-7", "/home/user-1/x as user-1, host-1"),
    ],
)
def test_forms_of_what_identifies(text: str, shown: str) -> None:
    assert bundle.anonymous(text, Identities([("dgx-lab-7",)], [])) == shown


def test_a_host_reports_the_accounts_of_persons() -> None:
    found: Any = [("root", 0), ("ada", 1000), ("nobody", 65_534)]
    accounts = [facts.pwd.struct_passwd((name, "x", uid, uid, "A B,1,2", "/", "/bin/sh")) for name, uid in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts.pwd, "getpwall", lambda: accounts)
        assert facts.users() == [("ada", "A B")]
