"""The program that builds an image; it stands alone in `builds/<name>/` of the generated tree."""
