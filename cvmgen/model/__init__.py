"""Whole models as C: the nests of all steps for known shapes, fused and placed in one file."""
