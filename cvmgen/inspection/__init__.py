"""What people look at: the stages of the compiler as text, and pages on which formulas, code and
data belong together."""
