"""Measure model servers: load clients, samples, records, comparisons, and the search for better options."""
