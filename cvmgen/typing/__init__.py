"""Machine types: each intermediate in the narrowest type that holds every value it can take.

`typed_values.py` and `typed_calls.py` type expressions and tell what they can be,
`typed_statements.py` says what locals and elements are stored as; `types.py` does a nest, and
`decided_tests.py` takes out what its types decide.
"""
