"""Try another kernel once, and make it the default only if the models of this host answer well with it."""
