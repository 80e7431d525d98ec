"""IR to text: one module a target, printers for what depends on the IR, templates for files."""
