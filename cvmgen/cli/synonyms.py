"""What others call our operators: names in ONNX, NumPy, PyTorch, TensorFlow and MXNet.

Words are compared without their case and without what is no letter and no digit, so
`reduce_sum` stands for ReduceSum too.
"""

from __future__ import annotations

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
}
