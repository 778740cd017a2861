"""The version of cseb, said once: the package, its records and its wheel take it from here."""

__version__ = "0.1.0"
