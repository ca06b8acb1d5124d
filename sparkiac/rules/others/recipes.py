"""Pages of RCP codes: files of recipes in the user's repository."""

from __future__ import annotations

from typing import Final

from sparkiac.rules.others.other import Other, other

OTHERS: Final[tuple[Other, ...]] = (
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
)
