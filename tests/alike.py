"""Operators of the product whose kernels have the form of those of another one."""

# They differ in the arithmetic of an element alone, which conformance and C's sanitizers see.
ALIKE = frozenset(
    (
        *("cvm.broadcast_sub", "cvm.broadcast_mul", "cvm.broadcast_max", "cvm.broadcast_greater"),
        *("cvm.abs", "cvm.elemwise_sub", "cvm.negative", "cvm.clip", "cvm.cvm_left_shift"),
        *("cvm.flatten", "cvm.batch_flatten", "cvm.expand_dims", "cvm.slice_like", "cvm.max"),
        *("systemml.bias_multiply", "systemml.sub", "systemml.mul", "systemml.intdiv"),
        *("systemml.mod", "systemml.neg", "tosa.reduce_all", "tosa.reduce_min"),
        "tosa.reduce_product",
    )
)
