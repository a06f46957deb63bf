"""What is measured: one file per family of works, each with a tuple ``WORKS``."""
