"""Machine types: each intermediate in the narrowest type that holds every value it can take.

`typed_values.py` and `typed_calls.py` type expressions and tell what they can be,
`typed_statements.py` says what locals and elements are stored as, what a sum comes to and how far
a recurrence gets (`reach`); `types.py` does a nest and says what memory holds (`elements_of`),
`decided_tests.py` takes out what types decide, `choices.py` has the element types that a nest is
compiled for.
"""
