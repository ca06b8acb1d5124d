"""What asks running hosts and servers, over SSH and HTTP, and what judges their responses."""
