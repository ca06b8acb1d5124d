"""The shape of etc/sparkiac/generation.json."""

from __future__ import annotations

GATE = {
    "url": str,
    "health": (str, None),
    "models": [str],
    "api_key": (str, None),
    "answer": bool,
    "tools": bool,
    "within_s": int,
}
UNIT = {
    "name": str,
    "files": [str],
    "secrets": [str],
    "memory_bytes": (int, None),
    "listen": (str, None),
    "group": bool,
    "ready_timeout_s": int,
    "drain_s": int,
    "gate": (GATE, None),
}
STORE = {"path": str, "models": [{"model": str, "commit": str, "layout": str, "manifest": str}]}
GENERATION = {
    "host": str,
    "memory_bytes": (int, None),
    "units": [UNIT],
    "sysctls": [{"key": str, "value": str}],
    "group": ({"members": [str], "coordinator": str, "address": str, "port": int}, None),
    "needs": {"images": [str], "stores": [STORE], "extra_files": [str], "caches": [str]},
}
