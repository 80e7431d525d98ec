"""What operators are called in the libraries that most readers know: shown on their pages.

The words by which `cvmgen search` finds operators are others: those of any size and any library.
"""

from __future__ import annotations

LIBRARIES = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "tf": "TensorFlow",
    "onnx": "ONNX",
    "mxnet": "MXNet",
}
"""How libraries are called, by the word in front of the names that they give."""

CONVOLUTION = ("torch.nn.functional.conv2d", "tf.nn.conv2d", "onnx.Conv", "mxnet.nd.Convolution")
LARGEST_OF_WINDOW = ("torch.nn.functional.max_pool2d", "tf.nn.max_pool2d", "onnx.MaxPool")
MEAN_OF_WINDOW = ("torch.nn.functional.avg_pool2d", "tf.nn.avg_pool2d", "onnx.AveragePool")
TRANSPOSED = (
    "torch.nn.functional.conv_transpose2d",
    "tf.nn.conv2d_transpose",
    "onnx.ConvTranspose",
)
LINEAR = ("torch.nn.functional.linear", "onnx.Gemm", "mxnet.nd.FullyConnected")
CLIPPED = ("numpy.clip", "torch.clamp", "tf.clip_by_value", "onnx.Clip")
ADD = ("numpy.add", "torch.add", "tf.add", "onnx.Add")
SUBTRACT = ("numpy.subtract", "torch.sub", "tf.subtract", "onnx.Sub")
MULTIPLY = ("numpy.multiply", "torch.mul", "tf.multiply", "onnx.Mul")
ABSOLUTE = ("numpy.absolute", "torch.abs", "tf.abs", "onnx.Abs")
NEGATIVE = ("numpy.negative", "torch.neg", "tf.negative", "onnx.Neg")
LARGER = ("numpy.maximum", "torch.maximum", "tf.maximum", "onnx.Max")
SMALLER = ("numpy.minimum", "torch.minimum", "tf.minimum", "onnx.Min")
LARGEST = ("numpy.amax", "torch.amax", "tf.reduce_max", "onnx.ReduceMax")
LEAST = ("numpy.amin", "torch.amin", "tf.reduce_min", "onnx.ReduceMin")
SUM = ("numpy.sum", "torch.sum", "tf.reduce_sum", "onnx.ReduceSum")
JOINED = ("numpy.concatenate", "torch.cat", "tf.concat", "onnx.Concat")
RESHAPED = ("numpy.reshape", "torch.reshape", "tf.reshape", "onnx.Reshape")
PERMUTED = ("numpy.transpose", "torch.permute", "tf.transpose", "onnx.Transpose")
TAKEN = ("numpy.take", "torch.index_select", "tf.gather", "onnx.Gather")
SLICED = ("tf.strided_slice", "onnx.Slice", "mxnet.nd.slice")
EXPONENTIAL = ("numpy.exp", "torch.exp", "tf.exp", "onnx.Exp")
LOGISTIC = ("torch.sigmoid", "tf.sigmoid", "onnx.Sigmoid")
TANH = ("numpy.tanh", "torch.tanh", "tf.tanh", "onnx.Tanh")

LIBRARY_NAMES: dict[str, tuple[str, ...]] = {
    "cvm.abs": ABSOLUTE,
    "cvm.batch_flatten": ("torch.nn.Flatten", "onnx.Flatten", "mxnet.nd.flatten"),
    "cvm.broadcast_add": (*ADD, "mxnet.nd.broadcast_add"),
    "cvm.broadcast_div": ("torch.div", "onnx.Div", "mxnet.nd.broadcast_div"),
    "cvm.broadcast_greater": ("numpy.greater", "torch.gt", "tf.greater", "onnx.Greater"),
    "cvm.broadcast_max": (*LARGER, "mxnet.nd.broadcast_maximum"),
    "cvm.broadcast_mul": (*MULTIPLY, "mxnet.nd.broadcast_mul"),
    "cvm.broadcast_sub": (*SUBTRACT, "mxnet.nd.broadcast_sub"),
    "cvm.clip": CLIPPED,
    "cvm.concatenate": JOINED,
    "cvm.conv2d": CONVOLUTION,
    "cvm.cvm_left_shift": ("numpy.left_shift", "torch.bitwise_left_shift", "onnx.BitShift"),
    "cvm.cvm_right_shift": ("numpy.right_shift", "torch.bitwise_right_shift", "onnx.BitShift"),
    "cvm.cvm_lut": ("torch.nn.functional.embedding", "tf.nn.embedding_lookup", "onnx.Gather"),
    "cvm.dense": LINEAR,
    "cvm.elemwise_add": (*ADD, "mxnet.nd.elemwise_add"),
    "cvm.elemwise_sub": (*SUBTRACT, "mxnet.nd.elemwise_sub"),
    "cvm.expand_dims": ("numpy.expand_dims", "torch.unsqueeze", "tf.expand_dims", "onnx.Unsqueeze"),
    "cvm.flatten": ("numpy.ravel", "torch.ravel"),
    "cvm.max": LARGEST,
    "cvm.max_pool2d": LARGEST_OF_WINDOW,
    "cvm.negative": NEGATIVE,
    "cvm.non_max_suppression": ("tf.image.non_max_suppression", "onnx.NonMaxSuppression"),
    "cvm.relu": ("torch.relu", "tf.nn.relu", "onnx.Relu"),
    "cvm.repeat": ("numpy.repeat", "torch.repeat_interleave", "tf.repeat", "mxnet.nd.repeat"),
    "cvm.reshape": RESHAPED,
    "cvm.slice": SLICED,
    "cvm.slice_like": ("mxnet.nd.slice_like",),
    "cvm.squeeze": ("numpy.squeeze", "torch.squeeze", "tf.squeeze", "onnx.Squeeze"),
    "cvm.sum": SUM,
    "cvm.take": TAKEN,
    "cvm.tile": ("numpy.tile", "torch.tile", "tf.tile", "onnx.Tile"),
    "cvm.transpose": PERMUTED,
    "cvm.upsampling": ("torch.nn.Upsample", "onnx.Resize", "mxnet.nd.UpSampling"),
    "cvm.where": ("numpy.where", "torch.where", "tf.where", "onnx.Where"),
    "mxnet.index_array": ("numpy.indices", "mxnet.contrib.nd.index_array"),
    "systemml.add": ADD,
    "systemml.avg_pool": MEAN_OF_WINDOW,
    "systemml.conv2d": CONVOLUTION,
    "systemml.conv2d_backward_data": ("torch.nn.grad.conv2d_input",),
    "systemml.conv2d_backward_filter": ("torch.nn.grad.conv2d_weight",),
    "systemml.div": ("numpy.true_divide", "torch.true_divide", "tf.divide", "onnx.Div"),
    "systemml.intdiv": ("numpy.floor_divide", "torch.floor_divide", "tf.math.floordiv"),
    "systemml.max_pool": LARGEST_OF_WINDOW,
    "systemml.mod": ("numpy.mod", "torch.remainder", "tf.math.floormod"),
    "systemml.mul": MULTIPLY,
    "systemml.neg": NEGATIVE,
    "systemml.pow": ("numpy.power", "torch.pow", "tf.pow", "onnx.Pow"),
    "systemml.sub": SUBTRACT,
    "tflite.abs": ABSOLUTE,
    "tflite.add": ADD,
    "tflite.arg_max": ("numpy.argmax", "torch.argmax", "tf.argmax", "onnx.ArgMax"),
    "tflite.arg_min": ("numpy.argmin", "torch.argmin", "tf.argmin", "onnx.ArgMin"),
    "tflite.average_pool_2d": MEAN_OF_WINDOW,
    "tflite.batch_matmul": ("numpy.matmul", "torch.matmul", "tf.linalg.matmul", "onnx.MatMul"),
    "tflite.batch_to_space_nd": ("tf.batch_to_space",),
    "tflite.broadcast_to": ("numpy.broadcast_to", "torch.broadcast_to", "onnx.Expand"),
    "tflite.clamp": CLIPPED,
    "tflite.concatenation": JOINED,
    "tflite.conv_2d": (*CONVOLUTION[:2], "onnx.QLinearConv"),
    "tflite.cumsum": ("numpy.cumsum", "torch.cumsum", "tf.cumsum", "onnx.CumSum"),
    "tflite.depth_to_space": ("torch.pixel_shuffle", "tf.nn.depth_to_space", "onnx.DepthToSpace"),
    "tflite.depthwise_conv_2d": ("tf.nn.depthwise_conv2d",),
    "tflite.dequantize": ("onnx.DequantizeLinear",),
    "tflite.equal": ("numpy.equal", "torch.eq", "tf.equal", "onnx.Equal"),
    "tflite.fully_connected": LINEAR,
    "tflite.gather": TAKEN,
    "tflite.hard_swish": ("torch.nn.functional.hardswish", "onnx.HardSwish"),
    "tflite.leaky_relu": ("torch.nn.functional.leaky_relu", "tf.nn.leaky_relu", "onnx.LeakyRelu"),
    "tflite.less": ("numpy.less", "torch.lt", "tf.less", "onnx.Less"),
    "tflite.less_equal": ("numpy.less_equal", "torch.le", "tf.less_equal", "onnx.LessOrEqual"),
    "tflite.logistic": LOGISTIC,
    "tflite.max_pool_2d": LARGEST_OF_WINDOW,
    "tflite.maximum": LARGER,
    "tflite.mean": ("numpy.mean", "torch.mean", "tf.reduce_mean", "onnx.ReduceMean"),
    "tflite.minimum": SMALLER,
    "tflite.mirror_pad": ("numpy.pad", "tf.pad", "onnx.Pad"),
    "tflite.mul": MULTIPLY,
    "tflite.pack": ("numpy.stack", "torch.stack", "tf.stack"),
    "tflite.pad": ("numpy.pad", "torch.nn.functional.pad", "tf.pad", "onnx.Pad"),
    "tflite.prelu": ("torch.nn.functional.prelu", "onnx.PRelu"),
    "tflite.quantize": ("onnx.QuantizeLinear",),
    "tflite.reduce_max": LARGEST,
    "tflite.reduce_min": LEAST,
    "tflite.reshape": RESHAPED,
    "tflite.softmax": ("torch.softmax", "tf.nn.softmax", "onnx.Softmax"),
    "tflite.space_to_batch_nd": ("tf.space_to_batch",),
    "tflite.space_to_depth": ("torch.pixel_unshuffle", "tf.nn.space_to_depth", "onnx.SpaceToDepth"),
    "tflite.split": ("numpy.split", "torch.chunk", "tf.split", "onnx.Split"),
    "tflite.squared_difference": ("tf.math.squared_difference",),
    "tflite.strided_slice": SLICED[:2],
    "tflite.sub": SUBTRACT,
    "tflite.tanh": TANH,
    "tflite.transpose": PERMUTED,
    "tflite.transpose_conv": TRANSPOSED,
    "tflite.unpack": ("torch.unbind", "tf.unstack"),
    "tflite.xnnpack_add": ADD,
    "tflite.xnnpack_conv_2d": (*CONVOLUTION[:2], "onnx.QLinearConv"),
    "tflite.xnnpack_depthwise_conv_2d": ("tf.nn.depthwise_conv2d",),
    "tflite.xnnpack_fully_connected": LINEAR,
    "tflite.xnnpack_leaky_relu": (
        "torch.nn.functional.leaky_relu",
        "tf.nn.leaky_relu",
        "onnx.LeakyRelu",
    ),
    "tflite.xnnpack_mean": ("numpy.mean", "torch.mean", "tf.reduce_mean", "onnx.ReduceMean"),
    "tflite.xnnpack_mul": MULTIPLY,
    "tflite.xnnpack_sub": SUBTRACT,
    "tflite.xnnpack_transpose_conv": TRANSPOSED,
    "tosa.exp": EXPONENTIAL,
    "tosa.reduce_all": ("numpy.all", "torch.all", "tf.reduce_all"),
    "tosa.reduce_any": ("numpy.any", "torch.any", "tf.reduce_any"),
    "tosa.reduce_max": LARGEST,
    "tosa.reduce_min": LEAST,
    "tosa.reduce_product": ("numpy.prod", "torch.prod", "tf.reduce_prod", "onnx.ReduceProd"),
    "tosa.reduce_sum": SUM,
    "tosa.sigmoid": LOGISTIC,
    "tosa.tanh": TANH,
}


def library_names(operator: str) -> str:
    """NumPy `numpy.clip`, ONNX `Clip`, as Markdown; empty for an operator that has no such name."""
    told = []
    for name in LIBRARY_NAMES.get(operator, ()):
        library, _, own = name.partition(".")
        told.append(f"{LIBRARIES[library]} `{own if library == 'onnx' else name}`")
    return ", ".join(told)
