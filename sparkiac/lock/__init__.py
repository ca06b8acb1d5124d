"""Compute the text of the new lock from the required pins, the current lock and the responses from upstream.

Reads and writes no file and sends no request.
"""
