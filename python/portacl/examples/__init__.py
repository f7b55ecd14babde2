"""The example programs, for ``python -m portacl.examples NAME``."""
