"""The state of a host as JSON and as metrics."""
