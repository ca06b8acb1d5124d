"""Links between hosts: found, checked and measured over SSH."""
