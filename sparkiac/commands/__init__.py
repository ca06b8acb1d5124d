"""One file per command: parse options, call the pipeline, print the result, return the exit code."""
