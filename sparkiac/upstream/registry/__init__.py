"""The client of the OCI distribution API: the digests and the configuration of images, and their signatures."""
