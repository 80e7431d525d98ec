"""SVDF: a layer that remembers what it made of the last inputs. Kernels of int8 fuse no activation,
whatever the file says, and neither do these steps."""

from __future__ import annotations

from cvmgen.graph.tflite.node import Node
from cvmgen.graph.tflite.scales import multiplier_of, single

STATE = 4


def svdf(node: Node) -> int:
    """The state after the input, and what the filters of times make of it."""
    x, features, times, state = (node.given(at) for at in (0, 1, 2, STATE))
    shapes = [node.shape(each) for each in (x, features, times)]
    if any(len(each) != 2 for each in shapes):
        node.refuse(f"input and weights must be matrices, not {shapes}")
    (sx, zx), (sf, zf), (st, zt) = (node.scale(node.input(at)) for at in (0, 1, 2))
    (ss, zs), (sy, zy) = node.scale(node.input(STATE)), node.scale(node.result())
    if zf or zt:
        node.refuse("the zero points of weights must be 0")
    m, s = multiplier_of(single(single(single(sx) * single(sf)) / single(ss)))
    kept = node.shaped(state, (shapes[0][0], *shapes[2]))
    new = node.step("svdf_state", kept, x, features, zx=zx, zs=zs, m=m, s=s)
    node.store(STATE, node.shaped(new, node.shape(state)))
    m, s = multiplier_of(single(single(single(ss) * single(st)) / single(sy)))
    bias = node.given(3) if node.has(3) else None
    rank = node.option("SVDFOptions", "Rank")
    return node.step("svdf", new, times, bias, rank=rank, zs=zs, zy=zy, m=m, s=s)
