"""Read the logs of a server: known symptoms, healthy markers, unknown errors, and steps to narrow a failure.

All of it is pure but `journal`, which reads the logs of a deployment over SSH.
"""
