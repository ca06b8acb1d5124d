"""Findings as text and JSON. What a finding says is not decided here."""
