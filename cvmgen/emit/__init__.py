"""IR to text: printers for what depends on the IR, templates for what a reader sees as a file.

- C and CUDA share `c_spelling.py`, `c_like.py` (expressions, statements) and `c_kernels.py`; `c.py`
  and `cuda.py` assemble a file, `c_nests.py` its kernels, `c_parts.py` functions for threads,
  `c_tiles.py` what goes with the register tile, `cuda_kernels.py` what is CUDA's alone
- the host's part of a call: `host_printer.py` and `prepare.py` for C and CUDA, `python_host.py`
  and `python_calls.py` for Python and numpy
- `python_printer.py` prints plain loops, `numpy_printer.py` operations on whole arrays
- `interface.py`: what callers see of an operator; `c_support.py`: what all operators include
- `render.py`: the only one that knows jinja2; `lines.py`: where long lines go on
"""
