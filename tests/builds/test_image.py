"""What the build script asks docker for, and what it tries in the image that comes out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.builds.toys import fleet

if TYPE_CHECKING:
    from tests.builds.toys import Bench, Toy

RUN = "#!/bin/sh\necho fixed\n"
PROGRAM = """\
#!/bin/sh
# The repository's own way to build: it takes a name for its image, and whatever else it likes.
printf 'FROM scratch\\n' >Own.Dockerfile
docker build --file Own.Dockerfile --tag "$2" .
"""


def source(toy: Toy, *lines: str) -> str:
    return fleet(f"repository: {toy.address}", f"commit: '{toy.git('rev-parse', 'HEAD')}'", *lines)


def program(toy: Toy, *lines: str, words: str = "[make.sh, --tag, '{image}', --rebuild-vllm]") -> str:
    commit = toy.git("rev-parse", "HEAD")
    given = (f"repository: {toy.address}", f"commit: '{commit}'", f"program: {words}", *lines)
    return fleet(*given, install="", base="")


def with_program(toy: Toy, text: str = PROGRAM) -> None:
    (toy.path / "make.sh").write_text(text)
    (toy.path / "make.sh").chmod(0o755)
    toy.commit("mods/fix-cache/run.sh", RUN, subject="build program and mod")


def test_the_image_is_built_from_the_rendered_file_and_labelled_with_the_spec(toy: Toy, bench: Bench) -> None:
    """The record names what ran: image ID and hash of the spec."""
    record = bench.made(source(toy))
    [built, *_] = [words for words in bench.asked() if words[0] == "build"]
    assert f"sparkiac.spec={record['spec']}" in built
    assert built[built.index("--file") + 1] == str(bench.build / "Dockerfile")
    assert record["id"] == bench.image(f"sparkiac/engine:{record['spec'][7:19]}")["Id"]
    assert record["spec"] == json.loads((bench.build / "spec.json").read_text())["spec"]


def test_a_build_that_only_adds_packages_needs_no_repository(bench: Bench) -> None:
    record = bench.made(fleet("pip: ['ray==2.60.0']", install=""))
    assert (record["commit"], record["tree"], record["picked"]) == (None, None, [])
    assert 'RUN ["python3","-m","pip","install","ray==2.60.0"]' in (bench.build / "Dockerfile").read_text()
    assert bench.image(record["id"])


def test_arguments_and_environment_reach_docker_word_by_word(toy: Toy, bench: Bench) -> None:
    """No shell reads them."""
    hostile = """a "b" 'c' $HOME `id` \\\\ #"""
    written = hostile.replace("'", "''")
    lines = (f"arguments: {{JOBS: 16, FLAGS: '{written}'}}", f"environment: {{TORCH_CUDA_ARCH_LIST: '{written}'}}")
    record = bench.made(source(toy, *lines))
    expected = {"JOBS": "16", "FLAGS": hostile, "sparkiac_TORCH_CUDA_ARCH_LIST": hostile}
    assert bench.image(record["id"])["arguments"] == expected


def test_a_mod_of_the_source_and_one_of_another_repository_are_staged(toy: Toy, bench: Bench) -> None:
    """A directory with its script, and a file that is the script."""
    toy.commit("mods/fix-cache/run.sh", RUN, subject="mod")
    toy.commit("mods/fix-cache/fix.patch", "patch\n", subject="patch")
    other = type(toy)(toy.path.with_name("other"))
    reviewed = other.commit("single.sh", "#!/bin/sh\n", subject="a mod in one file")
    other.commit("single.sh", "#!/bin/sh\nsomething else\n", subject="later")
    mods = f"{{path: single.sh, repository: {other.address}, commit: '{reviewed}'}}"
    record = bench.made(source(toy, f"mods: [{{path: mods/fix-cache}}, {mods}]"))
    files = bench.image(record["id"])["files"]
    staged = {path: text for path, text in files.items() if path.startswith("sparkiac-mods/")}
    assert staged == {
        "sparkiac-mods/0/fix.patch": "patch\n",
        "sparkiac-mods/0/run.sh": f"x {RUN}",
        "sparkiac-mods/1/run.sh": "x #!/bin/sh\n",
    }
    assert record["commit"] == toy.git("rev-parse", "HEAD")


def test_a_mod_that_is_not_there(toy: Toy, bench: Bench) -> None:
    """A wrong path, a directory without its script, and a commit that nobody has."""
    toy.commit("mods/empty/readme", "no script\n", subject="mod")
    assert bench.refused(source(toy, "mods: [{path: mods/none}]")).startswith("there is no mods/none in ")
    assert bench.refused(source(toy, "mods: [{path: mods/empty}]")) == "the mod mods/empty has no run.sh"
    gone = f"{{path: mods/empty, repository: {toy.address}, commit: '{'1' * 40}'}}"
    assert f"cannot fetch the commit {'1' * 40}" in bench.refused(source(toy, f"mods: [{gone}]"))


def test_the_check_runs_in_the_built_image(toy: Toy, bench: Bench) -> None:
    """A package that has the name, as nvidia-cutlass-dsl 4.5.0 has."""
    package = bench.folder / "stub/site/cutlass/cute/arch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("fmin = min\n")
    record = bench.made(source(toy, "check: from cutlass.cute.arch import fmin"))
    last = bench.asked()[-1]
    assert (last[0], last[-3:]) == ("run", [record["id"], "-c", "from cutlass.cute.arch import fmin"])


def test_an_import_that_fails_leaves_no_record(toy: Toy, bench: Bench) -> None:
    """A package without the name, as nvidia-cutlass-dsl 4.5.1 is."""
    package = bench.folder / "stub/site/cutlass/cute/arch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    sentence = bench.refused(source(toy, "check: from cutlass.cute.arch import fmin"))
    assert sentence == "the check `from cutlass.cute.arch import fmin` failed; see its output above"


def test_a_build_that_fails_keeps_the_former_record(toy: Toy, bench: Bench) -> None:
    before = bench.made(source(toy))
    (bench.folder / "stub/broken").touch()
    done = bench.run()
    assert (done.code, done.err.strip().split("\n")[-1]) == (1, "build: docker build failed; see its output above")
    assert json.loads(bench.record.read_text()) == before


def test_the_repositorys_own_program_builds_and_the_mods_go_on_top(toy: Toy, bench: Bench) -> None:
    """As eugr/spark-vllm-docker does it."""
    with_program(toy)
    record = bench.made(program(toy, "mods: [{path: mods/fix-cache}]"))
    name = f"sparkiac/engine:{record['spec'][7:19]}-program"
    own, ours = [words for words in bench.asked() if words[0] == "build"]
    assert own == ["build", "--file", "Own.Dockerfile", "--tag", name, "."]
    assert f"SPARKIAC_BASE={name}" in ours
    assert "sparkiac-mods/0/run.sh" in bench.image(record["id"])["files"]
    assert record["id"] != bench.image(name)["Id"]


def test_a_program_that_fails_or_makes_no_image(toy: Toy, bench: Bench) -> None:
    """Its exit code is not all that counts."""
    with_program(toy, "#!/bin/sh\nexit 3\n")
    assert bench.refused(program(toy)) == "make.sh failed; see its output above"
    with_program(toy, "#!/bin/sh\nexit 0\n")
    assert bench.refused(program(toy)).startswith("docker has no image sparkiac/engine:")


def test_a_pull_request_that_moves_while_the_program_runs(toy: Toy, bench: Bench) -> None:
    """The program fetches it by itself: the head is looked at before and after."""
    move = f"git -C {toy.path} update-ref refs/pull/41834/head {toy.base}\n"
    with_program(toy, PROGRAM + move)
    head = toy.git("rev-parse", "HEAD")
    toy.head_of_pull_request(41834, head)
    text = program(toy, f"pull_requests: [{{number: 41834, commit: '{head}'}}]")
    sentence = bench.refused(text)
    assert sentence.startswith(f"pull request 41834 of {toy.address} has moved from {head}: its head is now {toy.base}")
    with_program(toy)
    head = toy.git("rev-parse", "HEAD")
    toy.head_of_pull_request(41834, head)
    record = bench.made(program(toy, f"pull_requests: [{{number: 41834, commit: '{head}'}}]"))
    assert record["picked"] == []
