"""The client of the model hub: the commit of a repository, its files with hashes, and facts for the memory check.

Weights are not downloaded. The hub lists the sha256 of each LFS file, and of a safetensors file only the header is
read. Small files are in Git, which has no sha256 of them: they are read, checked against Git's hash, and hashed.
"""
