"""Calls that an operator refuses: the exact words, which all targets share."""

from __future__ import annotations

from typing import Any

import pytest

from cvmgen.dtypes import MAX_LIST, MAX_RANK
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.spec.formula import Operator
from tests.reference.calls import operators, written

TWO = written(
    """operator two {
      input  X : cvm[N, K]
      input  Z : cvm[K, 3]
      output Y : cvm[N] precision 32
      Y[i] = X[i, 0] + Z[0, 0]
    }"""
)
SAME = written(
    """operator same {
      input  A : cvm[n...]
      input  B : cvm[n..., 2]
      output Y : cvm[n...] precision 32
      Y[d...] = A[d...]
    }"""
)
MANY = written(
    """operator many {
      input  each i < M : X[i] : cvm[n[i]...]
      attr   axes : int list = () in [0, M)
      attr   size (A, B) in [1, 9]
      attr   free = 0
      output Y : cvm[M - 1] precision free + 1
      Y[i] = 0
    }"""
)


def of_shape(*extents: int, precision: int = 8) -> Tensor:
    """A tensor of which only the shape and the precision matter."""
    return Tensor(extents, [], precision)


X, Z = of_shape(2, 4), of_shape(4, 3)
PAIR = [of_shape(1), of_shape(1)]
SIZE = {"size": (1, 1)}
ROWS: list[tuple[Operator, dict[str, Any], dict[str, Any], str]] = [
    # ------------------------------------------------------------ inputs
    (TWO, {"Z": Z}, {}, ".two: X: this input is missing"),
    (TWO, {"X": of_shape(2), "Z": Z}, {}, ".two: X = shape (2,): 2 dimensions needed"),
    (TWO, {"X": of_shape(2, 4, 1), "Z": Z}, {}, ".two: X = shape (2, 4, 1): 2 dimensions needed"),
    (TWO, {"X": X, "Z": of_shape(5, 3)}, {}, ".two: Z = shape (5, 3): extent 0 must be K = 4"),
    (TWO, {"X": X, "Z": of_shape(4, 2)}, {}, ".two: Z = shape (4, 2): extent 1 must be 3"),
    (TWO, {"X": of_shape(2, 0), "Z": Z}, {},
     ".two: X = shape (2, 0): every extent must be at least 1"),
    (TWO, {"X": of_shape(2**20, 2**20), "Z": Z}, {},
     ".two: X = shape (1048576, 1048576): a tensor has less than 2^40 elements"),
    (TWO, {"X": of_shape(2, 4, precision=33), "Z": Z}, {},
     ".two: X = precision 33: a precision is in [1, 32]"),
    (TWO, {"X": of_shape(), "Z": Z}, {}, ".two: X = shape (): a tensor has 1 to 16 dimensions"),
    (SAME, {"A": of_shape(*[1] * (MAX_RANK + 1)), "B": Z}, {},
     f".same: A = shape ({'1, ' * MAX_RANK}1): a tensor has 1 to 16 dimensions"),
    (SAME, {"A": of_shape(2, 3), "B": of_shape(2, 3)}, {},
     ".same: B = shape (2, 3): 3 dimensions needed"),
    (SAME, {"A": of_shape(2), "B": of_shape(3, 2)}, {},
     ".same: B = shape (3, 2): the extents from 0 on must be (2,)"),
    (operators()["elemwise_add"], {"A": of_shape(2, 3), "B": of_shape(2, 4)}, {},
     "cvm.elemwise_add: B = shape (2, 4): the shape must be (2, 3)"),
    (operators()["elemwise_add"], {"A": of_shape(2, 3), "B": of_shape(6)}, {},
     "cvm.elemwise_add: B = shape (6,): the shape must be (2, 3)"),
    (operators()["batch_flatten"], {"X": None}, {}, "cvm.batch_flatten: X: this input is missing"),
    (MANY, {"X": []}, SIZE, ".many: X: at least one input is needed"),
    (MANY, {"X": [of_shape(1), of_shape(0)]}, SIZE,
     ".many: X[1] = shape (0,): every extent must be at least 1"),
    # ------------------------------------------------------------ attributes
    (MANY, {"X": PAIR}, {}, ".many: size: this attribute is missing"),
    (MANY, {"X": PAIR}, {"size": (1, 2, 3)}, ".many: size = (1, 2, 3): 2 entries needed"),
    (MANY, {"X": PAIR}, {"size": (1, 10)}, ".many: size = (1, 10): must be in [1, 9]"),
    (MANY, {"X": PAIR}, {"size": (0, 1)}, ".many: size = (0, 1): must be in [1, 9]"),
    (MANY, {"X": PAIR}, {**SIZE, "axes": (0, 2)},
     ".many: axes = (0, 2): must be in [0, M) (M = 2)"),
    (MANY, {"X": PAIR}, {**SIZE, "axes": (0,) * (MAX_LIST + 1)},
     f".many: axes = {MAX_LIST + 1} entries: at most {MAX_LIST} entries"),
    (MANY, {"X": PAIR}, {**SIZE, "free": 2**31},
     ".many: free = 2147483648: must be in [-2147483648, 2147483648)"),
    (operators()["max_pool2d"], {"X": of_shape(1, 1, 4, 4)}, {},
     "cvm.max_pool2d: pool_size: this attribute is missing"),
    (operators()["sum"], {"X": of_shape(2, 3)}, {"axes": (2,)},
     "cvm.sum: axes = (2,): must be in [-N, N) (N = 2)"),
    (operators()["clip"], {"X": of_shape(2)}, {"a_min": -(2**31), "a_max": 1},
     "cvm.clip: a_min = -2147483648: must be in (-2147483648, 2147483648)"),
    # ------------------------------------------------------------ requirements
    (operators()["sum"], {"X": of_shape(2, 3)}, {"axes": (1, -1)},
     "cvm.sum: axes must be different (axes = (1, -1))"),
    (operators()["clip"], {"X": of_shape(2)}, {"a_min": 3, "a_max": 3},
     "cvm.clip: a_min must be below a_max (a_min = 3, a_max = 3)"),
    (operators()["conv2d"], {"X": of_shape(1, 3, 4, 4), "W": of_shape(4, 2, 1, 1)}, {},
     "cvm.conv2d: the channels must split into the groups (C = 3, IC = 2, groups = 1, OC = 4)"),
    (operators()["conv2d"], {"X": of_shape(1, 1, 2, 2), "W": of_shape(1, 1, 3, 3)}, {},
     "cvm.conv2d: the kernel is larger than the padded input (YH = 0, YW = 0)"),
    (operators()["cvm_left_shift"], {"X": of_shape(2)}, {"precision": 8, "shift_bit": 25},
     "cvm.cvm_left_shift: the shifted value must fit 32 bits (p(X) = 8, shift_bit = 25)"),
    (operators()["broadcast_add"], {"A": of_shape(2), "B": of_shape(3)}, {},
     "cvm.broadcast_add: the shapes do not broadcast (Q = 1, em = (2,), en = (3,))"),
    # ------------------------------------------------------------ outputs
    (MANY, {"X": [of_shape(1)]}, SIZE, ".many: Y = shape (0,): the result would be empty"),
    (MANY, {"X": PAIR}, {**SIZE, "free": 32},
     ".many: Y = precision 33 (free = 32): its precision free + 1 must be in [1, 32]"),
    (MANY, {"X": PAIR}, {**SIZE, "free": -1},
     ".many: Y = precision 0 (free = -1): its precision free + 1 must be in [1, 32]"),
    (operators()["broadcast_mul"],
     {"A": of_shape(2, precision=16), "B": of_shape(2, precision=17)}, {},
     "cvm.broadcast_mul: Y = precision 33 (p(A) = 16, p(B) = 17): "
     "its precision product_precision(p(A), p(B)) must be in [1, 32]"),
    (operators()["upsampling"], {"X": of_shape(1, 1, 2**19, 2**19)}, {"scale": 2},
     "cvm.upsampling: Y = shape (1, 1, 1048576, 1048576): a tensor has less than 2^40 elements"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "message"), ROWS, ids=[row[3][:70] for row in ROWS]
)
def test_refusal(
    operator: Operator, inputs: dict[str, Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(OperatorError) as caught:
        Reference(operator).infer(inputs, attributes)
    assert str(caught.value) == message


def test_fields_of_a_refusal() -> None:
    with pytest.raises(OperatorError) as caught:
        Reference(operators()["sum"]).infer({"X": of_shape(2, 3)}, {"axes": (2,)})
    error = caught.value
    assert (error.operator, error.argument, error.value) == ("cvm.sum", "axes", "(2,)")
    assert error.rule == "must be in [-N, N) (N = 2)"


def test_infer_needs_no_elements() -> None:
    result = Reference(operators()["dense"]).infer({"X": of_shape(2, 5), "W": of_shape(3, 5)})
    output = result.outputs["Y"]
    assert (output.shape, output.precision, output.values) == ((2, 3), 19, [])


def test_the_environment_holds_every_named_value() -> None:
    inputs = {"X": of_shape(1, 1, 5, 5), "W": of_shape(1, 1, 3, 3)}
    env = Reference(operators()["conv2d"]).infer(inputs, {"padding": (1, 2)}).env
    named = {
        name: env[name] for name in ("N", "XH", "KH", "PH", "PW", "padding", "OPG", "YH", "YW")
    }
    assert named == {
        "N": 1,
        "XH": 5,
        "KH": 3,
        "PH": 1,
        "PW": 2,
        "padding": (1, 2),
        "OPG": 1,
        "YH": 5,
        "YW": 7,
    }
    assert env["$given B"] is False
