"""`cvmgen lsp`: formulas and schedules in editors, by the Language Server Protocol.

`server.py` speaks the protocol, with pygls; `answers.py` knows what to say of a place in a file;
`project.py` and `documents.py` hold what the editor has and check what changed; `symbols.py` says
which name means what; `words.py` what the words of the language are for.
"""
