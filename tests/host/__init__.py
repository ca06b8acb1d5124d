"""Tests of what runs on a host: the static scripts and the playbooks."""
