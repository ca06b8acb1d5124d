"""Pages of the codes for imports, internal errors, waivers, recipes and literal secrets."""

from __future__ import annotations

from typing import Final

from sparkiac.report import Severity
from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
    other(
        "IMP001",
        "unreadable",
        """\
An imported file cannot be read.

It has another format, is larger than an importer reads, or starts no container. Nothing is written. Correct the line in
the message, or name the format with `--from`.
""",
    ),
    other(
        "INT001",
        "internal-error",
        """\
A rule failed with an internal error.

The result of the rule is unknown, so nothing is generated. This is a defect of sparkiac, not of the file: please report
it, with the message.
""",
    ),
    other(
        "WVR001",
        "unused-waiver",
        """\
A waiver waives nothing.

No rule has its code, the rule cannot be waived, or the rule reports nothing in the scope of the waiver. A waiver that
is left behind would hide the next real finding. Remove it.

Bad:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
allow: [{code: NET005, reason: the old gateway wanted it}]
```

Good:

```yaml
name: lab
hosts: {spark-01: {address: 192.168.1.11}}
```
""",
        severity=Severity.WARNING,
    ),
    other(
        "MN104",
        "slower-link",
        """\
A link was slower than before.

The last run of `sparkiac fabric verify` measured less than nine tenths of the best speed in the record beside the
inventory (`lab.links.json`). A half-plugged cable, a port that fell back to a lower speed and a busy link do this. Run
`sparkiac fabric verify` again while nothing else uses the link. If the slower speed is right, such as after a change of
cable, remove the entry from the record.
""",
        severity=Severity.WARNING,
    ),
    other(
        "RCP001",
        "recipe-path",
        """\
The path of a file below `recipes` is not the name of a recipe.

A recipe is `recipes/VENDOR/NAME.yaml`; its variants are `recipes/VENDOR/NAME/VARIANT.yaml`. An inventory uses it as
`recipe: VENDOR/NAME`. Names consist of lower-case letters, digits and `. _ -`; the name of a variant has no `.` or `_`.
Rename the file, or move what is not a recipe to another folder.
""",
    ),
    other(
        "RCP002",
        "recipe-name-taken",
        """\
Two recipes, or two variants of one recipe, have the same name.

A recipe of your repository never replaces one of sparkiac's catalog: an inventory would mean another recipe on each
machine. Use a vendor of your own, such as the name of your organisation. To change a few values of a recipe of the
catalog, add a variant: `recipes/VENDOR/NAME/VARIANT.yaml` with the differences.
""",
    ),
    other(
        "RCP003",
        "variant-without-recipe",
        """\
A file is a variant of a recipe that does not exist.

`recipes/VENDOR/NAME/VARIANT.yaml` contains the differences from the recipe `VENDOR/NAME`, which is a file
`recipes/VENDOR/NAME.yaml` or a recipe of the catalog. Correct the name of the folder, or add the recipe.
""",
    ),
    other(
        "RCP004",
        "source-not-fetched",
        """\
The lock does not pin a source of recipes, or pins it from another place.

`sources:` names a Git repository or an OCI artifact. `sparkiac recipes fetch INVENTORY` reads its recipes at one commit
or digest, writes them below `sources/NAME` and pins the commit or digest and the hashes in the lock. Run it after each
change of `sources:`, and commit the files.
""",
    ),
    other(
        "RCP005",
        "source-changed",
        """\
The files below `sources/NAME` are not those that the lock pins.

A file was edited, added or removed, so the recipes are no longer those of the pinned commit or digest. `sparkiac
recipes fetch INVENTORY` restores them. To change a recipe, copy it to `recipes` under a vendor of your own, or add a
variant there.
""",
    ),
    other(
        "SEC003",
        "literal-secret",
        """\
The file contains a secret.

The file is reviewed and kept in a repository, and the files generated from it are copied to hosts: everyone who can
read either can read a token in it. Values that have the form of a token or a private key are refused everywhere, and so
are passwords in URLs and the values, other than true, false and null, of what is called a key, a token or a password.
The value is never shown. A deployment gets its key from `api_key: {secret: NAME}`; a login for the model hub is needed
only where weights are staged, and no container gets it. If the secret was real, change it: it stays in the history.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    port: 8001
    env: {VLLM_API_KEY: not-to-be-shown}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    port: 8001
    api_key: {secret: vllm_api_key}
```
""",
        "Spark guide L52, L72, L634, L722-723, L739, L741",
        "dual-Spark post L121",
    ),
)
