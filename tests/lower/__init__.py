"""Tests of the lowering."""
