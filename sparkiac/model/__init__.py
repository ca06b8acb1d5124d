"""Frozen models of everything that a file may say: types and bounds of single fields.

What needs two fields, a version or a judgement is a rule, not a validator.
"""
