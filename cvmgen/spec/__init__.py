"""Specs: from text to checked formulas."""
