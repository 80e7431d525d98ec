"""The loop-nest IR: nodes, their text, and the verifier that runs between stages."""
