"""Machine types: each intermediate in the narrowest type that holds every value it can take.

`ranges.py` has the intervals, `typed_values.py` and `typed_calls.py` those of expressions,
`typed_statements.py` what locals and elements are stored as; `types.py` does a nest, and
`decided_tests.py` takes out what its types decide.
"""
