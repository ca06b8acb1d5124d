#!/usr/bin/env python3
"""Build the image that spec.json in this directory describes, and record the result.

build RECORD [--cache DIR]

RECORD is the file to write for `sparkiac lock INVENTORY --record RECORD`; it must be outside the generated tree.
Needs git, docker, Python 3.10 or newer, and network access to everything that the build downloads.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).resolve().parent
FETCHED = "refs/sparkiac/fetched"
MODS = "sparkiac-mods"
say = functools.partial(print, file=sys.stderr, flush=True)
# Git ignores the user's configuration, which must not affect the result, and never prompts for a password.
GIT_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "https:file",
    "GIT_COMMITTER_NAME": "sparkiac",
    "GIT_COMMITTER_EMAIL": "sparkiac@localhost",
    "LC_ALL": "C",
}


def refuse(text: str) -> NoReturn:
    """Stop the build with a message; no record is written."""
    sys.exit(f"build: {text}")


class Repository:
    """A Git repository in the cache, into which single commits are fetched."""

    def __init__(self, path: Path) -> None:
        """Create the repository, or reuse that of an earlier run."""
        self.path = path
        if not (path / ".git").is_dir():
            path.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--template=")
        with contextlib.suppress(FileNotFoundError):
            (path / ".git" / "index.lock").unlink()  # left by a killed run; a lock excludes other runs

    def attempt(self, *words: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        """Run git; the caller checks the exit status."""
        settings = (f"core.hooksPath={os.devnull}", f"core.attributesFile={os.devnull}", "gc.auto=0")
        argv = ["git", "-C", str(self.path), *(word for each in settings for word in ("-c", each)), *words]
        return subprocess.run(argv, env={**GIT_ENVIRONMENT, **more}, capture_output=True, check=False)  # noqa: S603

    def git(self, *words: str) -> str:
        """Run git and return its output; a failure stops the build."""
        done = self.attempt(*words)
        if done.returncode:
            refuse(f"git {words[0]} failed: {last_line(done.stderr)}")
        return done.stdout.decode(errors="replace").strip()

    def has(self, commit: str) -> bool:
        """Return whether the repository contains the commit."""
        return self.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0

    def fetch(self, address: str, commit: str, ref: str = "") -> str:
        """Fetch a commit, alone or with a branch; return the error message, or an empty text on success."""
        failure = ""
        for wanted in [commit, ref] if ref else [commit]:
            if self.has(commit):
                return ""
            say(f"fetching {wanted} from {address}")
            failure = last_line(self.attempt("fetch", "--quiet", "--no-tags", address, wanted).stderr)
        return "" if self.has(commit) else failure or f"{address} has no such commit"

    def require(self, address: str, commit: str, ref: str = "") -> None:
        """Fetch a commit that the build needs; a failure stops the build."""
        failure = self.fetch(address, commit, ref)
        if failure:
            refuse(f"cannot fetch the commit {commit} from {address}: {failure}")

    def reset(self, commit: str) -> None:
        """Check out the commit and discard all leftovers of earlier runs."""
        self.attempt("cherry-pick", "--quit")
        self.git("checkout", "--quiet", "--force", "--detach", commit)
        self.git("clean", "--quiet", "-ffdx")

    def pick(self, commit: str, what: str) -> None:
        """Cherry-pick a commit. The committer date is that of the original, so that the hash is always the same."""
        date = self.git("show", "--no-patch", "--format=%ct", commit)
        say(f"picking {what}")
        done = self.attempt("cherry-pick", "-x", commit, GIT_COMMITTER_DATE=f"{date} +0000")
        if done.returncode == 0:
            return
        if unmerged := self.git("diff", "--name-only", "--diff-filter=U"):
            refuse(f"{what} conflicts in {', '.join(unmerged.split())}; nothing was built")
        if b"is now empty" in done.stdout + done.stderr:
            refuse(f"{what} changes nothing because the source already contains it; remove it from the inventory")
        refuse(f"{what} cannot be cherry-picked: {last_line(done.stderr)}")


def last_line(raw: bytes) -> str:
    """Return the last line of a program's output."""
    return (raw.decode(errors="replace").strip() or "no output").split("\n")[-1]


def read_spec() -> dict[str, Any]:
    """Read spec.json and check its hash."""
    data = dict(json.loads((HERE / "spec.json").read_text(encoding="utf-8")))
    canonical = json.dumps(data["build"], sort_keys=True, separators=(",", ":"))
    if data["spec"] != "sha256:" + hashlib.sha256(canonical.encode()).hexdigest():
        refuse("spec.json was edited; change the inventory and generate it again")
    base = data["build"].get("base", {"digest": "none is needed"})
    if not base["digest"]:
        refuse(f"the lock does not pin the base image {base['reference']}; run sparkiac lock and generate first")
    return data


def source_of(build: dict[str, Any], cache: Path) -> tuple[Repository, list[dict[str, str]]]:
    """Check out the commit and cherry-pick onto it; return the checkout and the picked commits."""
    if "repository" not in build:
        return Repository(cache / "nothing"), []
    repository = Repository(cache / "source")
    repository.require(build["repository"], build["commit"], build.get("fetch", ""))
    repository.reset(build["commit"])
    picked = []
    for pick in build.get("cherry_picks", []):
        commit = commit_of(repository, build, pick)
        repository.pick(commit, f"the commit {commit}")
        picked.append({"asked": pick["commit"], "picked": commit})
    for request in build.get("pull_requests", []) if "program" not in build else []:
        for commit in commits_of(repository, build, request):
            repository.pick(commit, f"the commit {commit} of pull request {request['number']}")
            picked.append({"asked": f"#{request['number']}", "picked": commit})
    return repository, picked


def commit_of(repository: Repository, build: dict[str, Any], pick: dict[str, str]) -> str:
    """Return the commit to pick: the requested one or, if that is allowed, the one that now has its subject."""
    address, branch, commit = build["repository"], build.get("fetch", ""), pick["commit"]
    failure = repository.fetch(address, commit, branch)
    if not failure:
        return commit
    gone = f"cannot fetch the commit {commit} from {address} ({failure})"
    if not (branch and pick.get("subject")):
        refuse(f"{gone}; set its `subject`, and the branch in `fetch`, to search for it")
    repository.git("fetch", "--quiet", "--no-tags", address, f"+{branch}:{FETCHED}")
    listed = (line.partition(" ") for line in repository.git("log", "--format=%H %s", FETCHED).split("\n"))
    same = [name for name, _, subject in listed if subject == pick["subject"]]
    if len(same) != 1:
        refuse(
            f"{gone}; {len(same)} commits of {branch} have the subject {pick['subject']!r}: {', '.join(same) or 'none'}"
        )
    if not build["allow_subject_match"]:
        hint = "review it and set it as the commit, or set allow_subject_match: true"
        refuse(f"{gone}; {same[0]} of {branch} has the subject {pick['subject']!r}: {hint}")
    say(f"{gone}; using {same[0]} of {branch}, which has the subject {pick['subject']!r}")
    return same[0]


def commits_of(repository: Repository, build: dict[str, Any], request: dict[str, Any]) -> list[str]:
    """Return the commits of a pull request, oldest first, without commits that it merged from other branches."""
    address, head = request.get("repository", build["repository"]), request["commit"]
    repository.require(address, head, f"refs/pull/{request['number']}/head")
    base = request.get("base") or repository.git("merge-base", "HEAD", head)
    if repository.attempt("merge-base", "--is-ancestor", base, head).returncode:
        refuse(f"pull request {request['number']} of {address} does not start from its base {base}")
    words = ("rev-list", "--reverse", "--no-merges", "--first-parent", f"{base}..{head}")
    commits = repository.git(*words).split()
    if not commits:
        refuse(f"pull request {request['number']} of {address} adds no commits; remove it from the inventory")
    return commits


def check_heads(build: dict[str, Any], repository: Repository) -> None:
    """Stop the build if the head of a pull request is not the reviewed commit."""
    for request in build.get("pull_requests", []):
        address, number = request.get("repository", build["repository"]), request["number"]
        head = repository.git("ls-remote", address, f"refs/pull/{number}/head").partition("\t")[0]
        if head != request["commit"]:
            state = f"its head is now {head}" if head else "it no longer exists"
            refuse(f"pull request {number} of {address} has moved from {request['commit']}: {state}; review it again")


def stage_mods(build: dict[str, Any], source: Repository, cache: Path) -> None:
    """Copy the mods into the checkout, from where the Dockerfile copies them into the image."""
    for index, mod in enumerate(build.get("mods", [])):
        repository, commit = source, "HEAD"
        if "repository" in mod:
            repository, commit = Repository(cache / "mods"), mod["commit"]
            repository.require(mod["repository"], commit)
        target, script = source.path / MODS / str(index), mod.get("run", "run.sh")
        target.mkdir(parents=True)
        where = f"{commit}:{mod['path']}"
        kind = repository.attempt("cat-file", "-t", where).stdout.strip()
        if kind == b"blob":
            (target / script).write_bytes(repository.attempt("cat-file", "blob", where).stdout)
        elif kind == b"tree":
            archive = repository.attempt("archive", "--format=tar", where).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # rejects paths outside the target
                tar.extractall(target)  # noqa: S202
        else:
            refuse(f"there is no {mod['path']} in {mod.get('repository', build['repository'])} at {commit}")
        if not (target / script).is_file():
            refuse(f"the mod {mod['path']} has no {script}")
        (target / script).chmod(0o755)


def show(what: str, argv: list[str], folder: Path = HERE) -> None:
    """Run a program and show its output; a failure stops the build."""
    if subprocess.run(argv, cwd=folder, stdout=sys.stderr, check=False).returncode:  # noqa: S603
        refuse(f"{what} failed; see its output above")


def inspect(image: str) -> dict[str, Any]:
    """Return the output of `docker image inspect` for an image."""
    done = subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        refuse(f"docker has no image {image}: {last_line(done.stderr)}")
    return dict(json.loads(done.stdout)[0])


def build_image(data: dict[str, Any], source: Repository, cache: Path) -> dict[str, Any]:
    """Build the image, run its check, and return the output of `docker image inspect`."""
    build, short = data["build"], data["spec"].partition(":")[2][:12]
    tag = f"sparkiac/{data['name']}:{short}"
    arguments = dict(build.get("arguments", {}))
    arguments.update({f"sparkiac_{name}": value for name, value in build.get("environment", {}).items()})
    if "program" in build:
        arguments["SPARKIAC_BASE"] = f"sparkiac/{data['name']}:{short}-program"
        program, *words = (word.replace("{image}", arguments["SPARKIAC_BASE"]) for word in build["program"])
        say(f"running {program} of the repository")
        show(program, [f"./{program}", *words], source.path)
        inspect(arguments["SPARKIAC_BASE"])
        check_heads(build, source)  # again, because the program has fetched the pull requests itself
    stage_mods(build, source, cache)
    words = ["--file", str(HERE / "Dockerfile"), "--tag", tag, "--label", f"sparkiac.spec={data['spec']}"]
    words += [word for name in sorted(arguments) for word in ("--build-arg", f"{name}={arguments[name]}")]
    show("docker build", ["docker", "build", *words, str(source.path)])
    image = inspect(tag)
    if "check" in build:
        alone = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "python3"]
        show(f"the check `{build['check']}`", [*alone, image["Id"], "-c", build["check"]])
    return image


def run(record: Path, cache: Path) -> None:
    """Build the image and write the record."""
    tree = HERE.parent.parent if (HERE.parent.parent / ".sparkiac-manifest.json").is_file() else HERE
    for path in (record, cache):
        if tree in (path, *path.parents):
            refuse(f"{path} is in the generated tree, which may contain generated files only; choose another path")
    if not record.parent.is_dir():
        refuse(f"the directory {record.parent} does not exist")
    data = read_spec()
    cache = cache / data["name"]
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits here
        check_heads(data["build"], Repository(cache / "source"))
        source, picked = source_of(data["build"], cache)
        names = source.git("rev-parse", "HEAD", "HEAD^{tree}").split() if "repository" in data["build"] else [None] * 2
        image = build_image(data, source, cache)
    config = image.get("Config") or {}
    result = {"name": data["name"], "id": image["Id"], "spec": data["spec"], "commit": names[0], "tree": names[1]}
    result.update(picked=picked, entrypoint=config.get("Entrypoint"), command=config.get("Cmd"))
    new = record.with_name(f".{record.name}.new")  # renamed, so that the record is never incomplete
    new.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(record)
    say(f"built {image['Id']}; next: sparkiac lock INVENTORY --record {record}")


def main(argv: list[str]) -> None:
    """Run the build script."""
    parser = argparse.ArgumentParser(prog="build", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("record", metavar="RECORD", help="file to write for `sparkiac lock --record`")
    parser.add_argument("--cache", metavar="DIR", help="directory that keeps checkouts between runs")
    arguments = parser.parse_args(argv)
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparkiac" / "builds"
    try:
        run(Path(arguments.record).resolve(), Path(arguments.cache or usual).resolve())
    except OSError as error:
        refuse(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
