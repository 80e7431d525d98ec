"""Schedules: how nests are rewritten for a target, by the class of the nest and never by name."""
