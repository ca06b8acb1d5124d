"""Read secrets as data: from the variable `sparkiac_secrets`, and from the environment if it does not have them.

Ansible itself would evaluate a value such as `{{ … }}` as a template.

The result is a mapping of names to texts, which no later task evaluates. A value that is not text is refused, and the
message has its name only.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase
from ansible.utils.unsafe_proxy import wrap_var

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENTATION = """
name: sparkiac_secrets
short_description: read the variable sparkiac_secrets as data
description: >-
  A mapping of names to texts, which Ansible does not evaluate. A secret that
  the host reads may be in the environment instead, vllm_api_key as
  SPARKIAC_SECRET_VLLM_API_KEY.
"""
EXPECTED = "must be a mapping of names to values, sparkiac_secrets: {NAME: VALUE}"


class LookupModule(LookupBase):
    """Ansible finds the class by this name."""

    def run(
        self, _terms: list[str], variables: Mapping[str, Any] | None = None, **_options: object
    ) -> list[dict[str, str]]:
        """Return one mapping. It has no terms."""
        shutil.rmtree(Path(__file__).with_name("__pycache__"), ignore_errors=True)  # the tree is in Git
        known = variables or {}
        found = known.get("sparkiac_secrets", {})
        if not hasattr(found, "items"):
            message = f"sparkiac_secrets {EXPECTED}"
            raise AnsibleError(message)
        passed = {text(name, "name"): text(value, str(name)) for name, value in found.items()}
        return [wrap_var(of_environment(known.get("sparkiac", {}).get("secrets", [])) | passed)]


def of_environment(names: list[str]) -> dict[str, str]:
    """Return the secrets that are in the environment."""
    variables = {name: "SPARKIAC_SECRET_" + name.upper().replace("-", "_") for name in names}
    return {name: text(os.environ[key], name) for name, key in variables.items() if key in os.environ}


def text(value: object, name: str) -> str:
    """Return the text of a value, decrypted if Ansible has encrypted it; raise AnsibleError if it is not text."""
    if value is None or isinstance(value, (bool, int, float, dict, list, tuple)):
        message = f"the secret {name} is not text: put its value in quotes"
        raise AnsibleError(message)
    plain = "".join(map(str, str(value)))  # a plain text without the marks of Ansible, which allow templates
    try:
        plain.encode()
    except UnicodeEncodeError:
        message = f"the secret {name} is not UTF-8 text"
        raise AnsibleError(message) from None
    if "\0" in plain:
        message = f"the secret {name} contains a NUL character, which no environment variable can contain"
        raise AnsibleError(message)
    return plain
