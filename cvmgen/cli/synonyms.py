"""What others call our operators: names in ONNX, NumPy, PyTorch, TensorFlow and MXNet.

Words are compared without their case and without what is no letter and no digit, so
`reduce_sum` stands for ReduceSum too.
"""

from __future__ import annotations

import re

SYNONYMS: dict[str, tuple[str, ...]] = {
    "cvm.abs": ("absolute", "fabs", "magnitude"),
    "cvm.batch_flatten": ("Flatten", "flatten_batch"),
    "cvm.broadcast_add": ("Add", "plus", "bias_add", "broadcast_plus"),
    "cvm.broadcast_div": ("Div", "divide", "quotient", "tdiv", "floor_divide"),
    "cvm.broadcast_greater": ("Greater", "gt", "compare", "greater_than"),
    "cvm.broadcast_max": ("maximum", "elementwise_max", "fmax"),
    "cvm.broadcast_mul": ("Mul", "multiply", "times", "product", "scale"),
    "cvm.broadcast_sub": ("Sub", "subtract", "minus", "difference"),
    "cvm.clip": ("clamp", "hardtanh", "relu6", "limit", "bound"),
    "cvm.concatenate": ("cat", "concat", "hstack", "vstack", "dstack", "stack", "append", "join"),
    "cvm.conv2d": ("Conv", "convolution", "depthwise_conv2d", "group_conv", "convolve"),
    "cvm.cvm_clip": ("clamp", "saturate", "narrow_precision"),
    "cvm.cvm_left_shift": ("left_shift", "lshift", "BitShift", "shift"),
    "cvm.cvm_lut": ("lut", "lookup", "lookup_table", "embedding", "table_lookup"),
    "cvm.cvm_precision": ("bit_length", "bit_width", "bit_count", "number_of_bits"),
    "cvm.cvm_right_shift": ("right_shift", "rshift", "BitShift", "shift", "requantize", "rescale"),
    "cvm.dense": (
        *("matmul", "linear", "Gemm", "fc", "fully_connected", "inner_product"),
        *("mm", "addmm", "dot", "perceptron"),
    ),
    "cvm.elemwise_add": ("Add", "plus", "residual", "elementwise_add"),
    "cvm.elemwise_sub": ("Sub", "subtract", "minus", "difference", "elementwise_sub"),
    "cvm.expand_dims": ("unsqueeze", "newaxis", "stack", "add_axis", "atleast_2d"),
    "cvm.flatten": ("ravel", "view", "vec"),
    "cvm.get_valid_count": ("box_filter", "score_filter", "filter_boxes"),
    "cvm.max": ("amax", "reduce_max", "max_axis"),
    "cvm.max_pool2d": ("MaxPool", "pool", "pooling", "max_pooling", "MaxPooling2D"),
    "cvm.negative": ("neg", "negate", "minus", "opposite"),
    "cvm.non_max_suppression": ("nms", "box_nms", "batched_nms", "multibox_detection"),
    "cvm.relu": ("rectifier", "rectify", "activation", "LeakyRelu"),
    "cvm.repeat": ("repeat_interleave", "duplicate"),
    "cvm.reshape": ("view", "resize_as", "unflatten", "shape"),
    "cvm.slice": ("narrow", "crop", "split", "chunk", "slice_axis", "flip", "reverse", "subarray"),
    "cvm.slice_like": ("crop_like", "center_crop"),
    "cvm.squeeze": ("drop_axis", "remove_axis"),
    "cvm.sum": ("reduce_sum", "sum_axis", "total", "add_reduce"),
    "cvm.take": (
        *("gather", "index_select", "embedding", "lookup", "gather_elements", "gather_nd"),
        *("take_along_axis", "fancy_indexing"),
    ),
    "cvm.tile": ("broadcast_to", "broadcast_like", "expand", "repmat"),
    "cvm.transpose": ("permute", "swapaxes", "moveaxis", "movedim", "rollaxis", "T"),
    "cvm.upsampling": ("Resize", "interpolate", "upsample", "nearest", "zoom", "UpSampling2D"),
    "cvm.where": ("select", "cond", "masked_fill", "mux", "choose", "switch"),
    "mxnet.index_array": ("meshgrid", "indices", "mgrid", "ogrid", "argwhere", "arange_like"),
    "systemml.add": ("plus", "broadcast_add"),
    "systemml.avg_pool": ("AveragePool", "avg_pool2d", "mean_pool", "Pooling"),
    "systemml.avg_pool_backward": ("avg_pool_grad", "AveragePoolGrad", "unpool"),
    "systemml.bias_add": ("add_bias", "bias"),
    "systemml.bias_multiply": ("scale", "multiply_bias", "channel_scale"),
    "systemml.conv2d": ("Conv", "Convolution", "convolve"),
    "systemml.conv2d_backward_data": (
        *("ConvTranspose", "conv_transpose2d", "deconvolution", "conv2d_transpose"),
        *("conv2d_input", "conv2d_backprop_input", "conv_grad"),
    ),
    "systemml.conv2d_backward_filter": ("conv2d_weight", "conv2d_backprop_filter", "conv_grad"),
    "systemml.div": ("divide", "true_divide", "quotient", "broadcast_div"),
    "systemml.intdiv": ("floor_divide", "FloorDiv", "integer_division"),
    "systemml.max_pool": ("MaxPool2d", "max_pooling", "Pooling"),
    "systemml.max_pool_backward": ("MaxPoolGrad", "MaxUnpool"),
    "systemml.mod": ("remainder", "fmod", "modulo", "FloorMod", "broadcast_mod"),
    "systemml.mul": ("multiply", "times", "product", "broadcast_mul"),
    "systemml.neg": ("negative", "negate", "minus"),
    "systemml.pow": ("power", "float_power", "exponent", "broadcast_power"),
    "systemml.rep": ("repmat", "tile", "cbind", "repeat"),
    "systemml.sub": ("subtract", "minus", "difference", "broadcast_sub"),
    "tosa.reduce_all": ("all", "logical_and", "alltrue", "conjunction"),
    "tosa.reduce_any": ("any", "logical_or", "sometrue", "disjunction"),
    "tosa.reduce_max": ("max", "amax", "nanmax", "fmax"),
    "tosa.reduce_min": ("min", "amin", "nanmin", "fmin"),
    "tosa.reduce_product": ("prod", "product", "ReduceProd"),
    "tosa.reduce_sum": ("sum", "add_reduce", "total"),
}


def compared_word(word: str) -> str:
    """A word as it is compared: small letters and digits alone."""
    return re.sub(r"[\W_]", "", word).lower()
