"""The Ansible callback that all playbook runs of the tests use."""

from pathlib import Path
from typing import Final

LESS_WORK: Final = {"ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent)}
"""The variable with which Ansible finds it."""
