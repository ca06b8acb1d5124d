"""Pages of LCK codes: findings of `sparkiac lock` about upstream requests, or about a lock and its inventory."""

from __future__ import annotations

from functools import partial
from typing import Final

from sparkiac.rules.others.other import Other, other

_other: Final = partial(other, phase="lock")

OTHERS: Final[tuple[Other, ...]] = (
    _other(
        "LCK001",
        "no-such-image",
        """\
The registry has no such image.

It has no repository of that name, or the repository has no such tag or digest. Check the spelling; the hint has the
nearest tag, if there is one. If the owner has deleted the digest that the lock records, no host can pull it again:
`sparkiac lock --upgrade` records the current digest of the tag.
""",
        "OCI distribution specification 1.1, error codes",
    ),
    _other(
        "LCK002",
        "image-without-architecture",
        """\
An image is not built for the hosts' architecture.

A DGX Spark is linux/arm64. An image for amd64 alone can be pulled, but exits with `exec format error` when it starts.
The message lists the architectures of the image. Use a tag that is built for arm64, or build the image from source.
""",
        "Spark guide L19, L25, L114",
        "dual-Spark post L85, L99",
    ),
    _other(
        "LCK003",
        "registry-refuses",
        """\
A registry denies access to an image, or the login for it cannot be read.

Log in where `sparkiac lock` runs: `docker login nvcr.io --username '$oauthtoken'`, with an NGC API key as password, for
NVIDIA's images. Logins are read from the configuration files of Docker and Podman and from the credential helpers that
they name; none is ever printed or written. The hosts need their own login: see HST003.
""",
        "Spark guide L72",
    ),
    _other(
        "LCK004",
        "registry-silent",
        """\
A registry does not respond.

Several requests failed: there is no route, a certificate is not trusted, a proxy is in the way, or there were too many
requests. The message names the reason. The lock is unchanged. A complete lock needs no network, so `check`, `plan` and
`generate` still work. Docker Hub has higher limits for users who log in.
""",
    ),
    _other(
        "LCK005",
        "registry-false",
        """\
The content from a registry does not match its digest or type.

Every response is hashed and compared with the requested digest. If they differ, something between this machine and the
registry changes the content, or the registry is damaged: none of it is written to the lock. A response of another type
is often a login page or the page of a proxy.
""",
        "OCI distribution specification 1.1",
    ),
    _other(
        "LCK010",
        "no-such-model",
        """\
The model hub has no such repository, or it is private.

The hub gives the same response for both. Check the spelling of organisation and name, including capitals. For a private
repository, set `HF_TOKEN` to a token that can read it, or run `hf auth login`.
""",
    ),
    _other(
        "LCK011",
        "gated-model",
        """\
A model is gated, and the token has no access to it.

Its publisher grants access to those who accepted its terms. Accept them on the model's page, and set `HF_TOKEN` to a
token of that account. The hosts that stage the weights need one as well: see HST004.
""",
        "Spark guide L52, L71, L229",
    ),
    _other(
        "LCK012",
        "no-such-revision",
        """\
A repository on the model hub has no such branch, tag or commit.

The revision comes from `revisions` of the inventory, or from the catalog if a source ran a certain commit. The branch
may have been deleted, and a commit is gone if its history was rewritten. Set another one under `revisions`.
""",
    ),
    _other(
        "LCK013",
        "hub-silent",
        """\
The model hub does not respond, or its settings prevent requests.

Several requests failed, or `HF_HUB_OFFLINE` is set, or `HF_ENDPOINT` is not an address. The lock is unchanged. A
complete lock needs no network, so `check`, `plan` and `generate` still work.
""",
    ),
    _other(
        "LCK014",
        "hub-false",
        """\
A file on the model hub differs from the hub's own listing.

A file has another size or hash than the listing, a safetensors file is incomplete, or a path cannot be staged. None of
it is written to the lock. Often an upload was interrupted: the publisher can repair it, and until then an earlier
commit under `revisions` may work.
""",
    ),
    _other(
        "LCK015",
        "no-such-model-file",
        """\
A repository on the model hub has no such file.

`model_file` names one file of many, such as one quantisation of a GGUF. Check the spelling of its name, including
capitals. If a repository contains several GGUF files and no safetensors, name one of them: together they are many times
the size of the model.
""",
    ),
    _other(
        "LCK020",
        "no-such-file",
        """\
There is no file at this address.

The server does not have it, or requires a login: hosts fetch files without credentials. A `file:///` address is read on
the machine that runs `sparkiac lock` and on each host, so the file must exist on both. A file on the model hub that is
pinned without a commit may have changed since: `sparkiac lock --upgrade` pins the current one.
""",
    ),
    _other(
        "LCK021",
        "file-silent",
        """\
The server of a file does not respond.

Several requests failed. The lock is unchanged.
""",
    ),
    _other(
        "LCK022",
        "file-unfit",
        """\
A file is larger than the limit for extra files, or the download was incomplete.

Extra files are loaders, parsers and templates of a few kilobytes. Weights are models: name them by their handle, so
that they are downloaded once, to the model store.
""",
    ),
    _other(
        "LCK030",
        "two-architectures",
        """\
Hosts of two architectures use one image under the same name.

For each image the lock records the manifest that its hosts run, how it starts and how large it is, and these differ
between architectures. Give the image its own reference for one of them: its repository with the digest of that manifest
after @.
""",
    ),
    _other(
        "LCK031",
        "stale-lock",
        """\
The lock does not match the inventory.

The lock lacks an image, a model or a file, or has incomplete data for one; the inventory requests another revision than
the locked one; a build was changed since; or a pin is no longer used. `sparkiac lock` repairs all of this and moves no
other pin. `sparkiac lock --check` checks it without network, also in CI. For a model and the files in its repository
the lock records one commit: if they differ, the files follow the model.
""",
    ),
    _other(
        "LCK032",
        "stale-interface",
        """\
A captured interface belongs to another image than the lock pins.

`sparkiac images capture` read the image that the lock pinned then, and the file in `interfaces` records its digests.
The lock pins another digest now, so the file is not used: options are checked against the nearest known release again.
Pull the image where it was captured before, and capture it again; or remove the file.
""",
    ),
    _other(
        "LCK033",
        "example-lock",
        """\
The lock is an example: its pins are made up.

`example: true` marks a lock whose digests, commits and hashes refer to nothing real, such as one for a demonstration.
`check` refuses it with this one error, whatever else the lock contains. `generate` writes the files, warns, and marks
them: the playbook stops in its first task, before it connects to any host. `sparkiac lock` replaces all pins and
removes the mark. Pins that are missing (IMG003, MDL001, FIL001) and are rendered with `--allow-unlocked` stop the
playbook as well.
""",
    ),
    _other(
        "LCK034",
        "pin-differs",
        """\
A pin in the lock differs from what its server has.

`sparkiac lock --check --online` requests each locked tag, branch and URL, and the pinned digest or commit if the name
refers to another version now. It compares digest, manifest of the architecture, commit, sizes, hashes and config.json,
and writes nothing. If a tag or branch moved and the pinned version still exists, hosts can pull it:
`sparkiac lock --upgrade NAME` pins the current version when you want it. If the pinned version is missing, a host
without it cannot pull it. If another value differs, the lock was changed by hand or a server returns other content for
the same version: find out which before you apply it.
""",
    ),
)
