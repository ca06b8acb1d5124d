"""One file per command: parse, call the pipeline, format, exit code."""
