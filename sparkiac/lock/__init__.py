"""What a build recorded → the text of the lock that holds it. Reads and writes no file."""

from sparkiac.lock.record import Record, Refused, read
from sparkiac.lock.text import patched, whole, with_record

__all__ = ["Record", "Refused", "patched", "read", "whole", "with_record"]
