"""Frozen pydantic models of the inventory, the lock and the catalog: the type and the bounds of each field.

A validator checks one field. A check that needs several fields, a version or a judgement is a rule.
"""
