"""The switch from one generation to another, and everything that keeps it safe."""
