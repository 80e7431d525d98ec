"""Speed of the C target beside other libraries and beside what the machine can do.

`python -m benchmarks` measures; `make bench` runs it. `benchmarks/gpu.py` is about the CUDA target.
"""
