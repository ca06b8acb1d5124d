"""Download, verification, sharing and removal of models, files and images."""
