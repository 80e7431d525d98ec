"""The version of this package, which pyproject.toml names too."""

__version__ = "0.1.0"
