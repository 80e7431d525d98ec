"""The workloads, with their sizes and their goals."""

from __future__ import annotations

import re

import numpy as np

from benchmarks.cases import Array, Input, OfPeers, OfProbe, Within, Workload

MATRIX_LIBRARIES = ("oneDNN", "onnxruntime", "torch")

# Shares of the probe. A reduction over an axis, or a result that is larger than its input, has
# a part that is not a plain stream.
PLAIN = OfProbe(0.85)
MIXED = OfProbe(0.80)
WINDOWED = OfProbe(0.75)

SIXTEEN_MILLION = Input((1 << 24,), bits=16)
SUMMED = Input((16, 64, 128, 128), bits=6)
PICTURES = Input((16, 64, 112, 112))
FOUR = Input((32, 64, 48, 40))
SMALL_PICTURES = Input((4, 64, 56, 56))


def boxes(inputs: tuple[Input, ...], random: np.random.Generator) -> list[Array]:
    """Rows of a class, a score and two corners, no two of one score; and how many rows count."""
    batches, count, _ = inputs[0].shape
    corners = random.integers(0, 1000, (batches, count, 2))
    sides = random.integers(10, 100, (batches, count, 2))
    rows = np.empty(inputs[0].shape, np.int32)
    rows[..., 0] = random.integers(0, 20, (batches, count))
    rows[..., 1] = random.permuted(np.tile(np.arange(1, count + 1), (batches, 1)), axis=1)
    rows[..., 2:4] = corners
    rows[..., 4:6] = corners + sides
    return [rows, np.full(batches, count, np.int32)]


def convolution(
    name: str,
    image: tuple[int, ...],
    filters: tuple[int, ...],
    *goals: OfPeers | OfProbe,
    tiny: tuple[tuple[int, ...], ...],
    **attributes: int | tuple[int, int],
) -> Workload:
    inputs = (Input(image, "int8"), Input(filters, "int8", constant=True))
    return Workload(f"conv2d {name}", "cvm.conv2d", inputs, attributes, "dot", goals, tiny)


def dense(m: int, k: int, n: int, *goals: OfPeers | OfProbe) -> Workload:
    inputs = (Input((m, k), "int8"), Input((n, k), "int8", constant=True))
    tiny = ((min(m, 3), 24), (17, 24))
    return Workload(f"dense {m}x{k}x{n}", "cvm.dense", inputs, {}, "dot", goals, tiny)


AHEAD = OfPeers(1.0, MATRIX_LIBRARIES)

PRODUCTS = (
    convolution(
        "3x3, 64 to 64 of 56x56", (1, 64, 56, 56), (64, 64, 3, 3), AHEAD, OfProbe(0.70),
        tiny=((1, 4, 7, 6), (8, 4, 3, 3)), padding=(1, 1),
    ),
    convolution(
        "1x1, 256 to 1024 of 14x14", (1, 256, 14, 14), (1024, 256, 1, 1), AHEAD,
        tiny=((1, 8, 5, 4), (9, 8, 1, 1)),
    ),
    convolution(
        "7x7 by 2, 3 to 64 of 224x224", (1, 3, 224, 224), (64, 3, 7, 7), AHEAD,
        tiny=((1, 3, 14, 13), (5, 3, 7, 7)), padding=(3, 3), stride=(2, 2),
    ),
    convolution(
        "3x3 depthwise, 128 of 56x56", (1, 128, 56, 56), (128, 1, 3, 3), OfPeers(1.1, ("oneDNN",)),
        tiny=((1, 128, 7, 5), (128, 1, 3, 3)), padding=(1, 1), groups=128,
    ),
    dense(1, 2048, 1000, AHEAD),
    dense(64, 1024, 1024, AHEAD, OfProbe(0.70)),
)  # fmt: skip

ELEMENTWISE = (
    Workload("abs, 16 M", "cvm.abs", (SIXTEEN_MILLION,), {}, "stream", (PLAIN,), ((37,),)),
    Workload(
        "clip, 16 M", "cvm.clip", (SIXTEEN_MILLION,), {"a_min": -127, "a_max": 127},
        "stream", (PLAIN,), ((37,),),
    ),
    Workload(
        "cvm_right_shift, 16 M", "cvm.cvm_right_shift", (SIXTEEN_MILLION,),
        {"precision": 8, "shift_bit": 5}, "stream", (PLAIN,), ((37,),),
    ),
    Workload(
        "cvm_precision, 16 M", "cvm.cvm_precision", (SIXTEEN_MILLION,), {},
        "stream", (PLAIN,), ((37,),),
    ),
    Workload(
        "elemwise_add, 16 M", "cvm.elemwise_add", (SIXTEEN_MILLION, SIXTEEN_MILLION), {},
        "stream", (PLAIN,), ((37,), (37,)),
    ),
    Workload(
        "broadcast_add, (16,64,128,128) + (64,1,1)", "cvm.broadcast_add",
        (Input((16, 64, 128, 128)), Input((64, 1, 1))), {},
        "stream", (PLAIN,), ((2, 4, 3, 5), (4, 1, 1)),
    ),
    Workload(
        "broadcast_add, (1,64,56,56) + (1,64,1,1)", "cvm.broadcast_add",
        (Input((1, 64, 56, 56)), Input((1, 64, 1, 1))), {},
        "stream", (PLAIN,), ((1, 4, 3, 5), (1, 4, 1, 1)),
    ),
)  # fmt: skip

ROWS = Input((1 << 17, 128), bits=6)

REDUCTIONS = (
    Workload(
        "sum over axis 1 of (16,64,128,128)", "cvm.sum", (SUMMED,), {"axes": (1,)},
        "stream", (MIXED,), ((2, 5, 3, 4),),
    ),
    Workload(
        "max over axis 1 of (16,64,128,128)", "cvm.max", (SUMMED,), {"axes": (1,)},
        "stream", (MIXED,), ((2, 5, 3, 4),),
    ),
    Workload("sum of rows of 128", "cvm.sum", (ROWS,), {"axes": (1,)},
             "stream", (MIXED,), ((5, 9),)),
    Workload("max of rows of 128", "cvm.max", (ROWS,), {"axes": (1,)},
             "stream", (MIXED,), ((5, 9),)),
    Workload("sum of all, 16 M", "cvm.sum", (ROWS,), {"axes": (0, 1)},
             "stream", (PLAIN,), ((5, 9),)),
    Workload("max of all, 16 M", "cvm.max", (ROWS,), {"axes": (0, 1)},
             "stream", (PLAIN,), ((5, 9),)),
    Workload(
        "max_pool2d 3x3 by 2, 64 of 112x112", "cvm.max_pool2d", (Input((1, 64, 112, 112)),),
        {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)},
        "stream", (WINDOWED,), ((1, 3, 8, 7),),
    ),
)  # fmt: skip

MOVES = (
    Workload("transpose NCHW to NHWC, (16,64,112,112)", "cvm.transpose", (PICTURES,),
             {"axes": (0, 2, 3, 1)}, "stream", (OfProbe(0.60),), ((2, 3, 4, 5),)),
    Workload("transpose (2,0,3,1), (32,64,48,40)", "cvm.transpose", (FOUR,),
             {"axes": (2, 0, 3, 1)}, "stream", (OfProbe(0.45),), ((2, 3, 4, 5),)),
    Workload("transpose (3,2,1,0), (32,64,48,40)", "cvm.transpose", (FOUR,),
             {"axes": (3, 2, 1, 0)}, "stream", (OfProbe(0.33),), ((2, 3, 4, 5),)),
    Workload(
        "cvm_lut, 16 M of 256", "cvm.cvm_lut",
        (Input((1 << 24,), bits=9, low=0), Input((256,), constant=True)), {},
        "copy", (OfProbe(0.65),), ((19,), (256,)),
    ),
    Workload(
        "take 16384 rows of 256", "cvm.take",
        (Input((4096, 256), constant=True), Input((16384,), bits=13, low=0)), {"axis": 0},
        "copy", (), ((4096, 3), (7,)),
    ),
    Workload("tile (1,1,2,2) of (4,64,56,56)", "cvm.tile", (SMALL_PICTURES,),
             {"reps": (1, 1, 2, 2)}, "stream", (MIXED,), ((2, 3, 4, 5),)),
    Workload("repeat by 2, axis 3 of (4,64,112,56)", "cvm.repeat", (Input((4, 64, 112, 56)),),
             {"axis": 3, "repeats": 2}, "stream", (MIXED,), ((2, 3, 4, 5),)),
    Workload("upsampling by 2, (4,64,56,56)", "cvm.upsampling", (SMALL_PICTURES,),
             {"scale": 2}, "stream", (MIXED,), ((2, 3, 4, 5),)),
    Workload(
        "concatenate 4 of (8,64,56,56), axis 1", "cvm.concatenate",
        (Input((8, 64, 56, 56)),) * 4, {"axis": 1},
        "stream", (WINDOWED,), ((2, 3, 4, 5), (2, 1, 4, 5), (2, 2, 4, 5), (2, 3, 4, 5)),
    ),
    Workload(
        "slice [:,:,1:-1,1:-1] of (8,64,112,112)", "cvm.slice", (Input((8, 64, 112, 112)),),
        {"begin": (0, 0, 1, 1), "end": (8, 64, -1, -1)},
        "copy", (PLAIN,), ((2, 3, 5, 6),),
    ),
)  # fmt: skip

LISTS = (
    Workload("get_valid_count, 8x20000x6", "cvm.get_valid_count", (Input((8, 20_000, 6), bits=16),),
             {}, "stream", (MIXED,), ((2, 9, 6),)),
    Workload(
        "non_max_suppression, 5000 boxes", "cvm.non_max_suppression",
        (Input((1, 5000, 6), bits=16), Input((1,), bits=16)),
        {"iou_threshold": 50, "force_suppress": True},
        None, (OfPeers(0.3, ("onnxruntime",)),), ((1, 40, 6), (1,)), boxes,
    ),
)  # fmt: skip

WIDE = Input((1024, 4096), "float32")
SQUARE = Input((1024, 1024), "float64")

# Summed in the order of the formula and in 64 bits, which the others do not do.
REAL = (
    Workload("tosa.reduce_sum of rows, 4 M float32", "tosa.reduce_sum", (WIDE,), {"axis": 1},
             "stream", (), ((3, 4),)),
    Workload("tosa.reduce_sum of columns, 4 M float32", "tosa.reduce_sum", (WIDE,), {"axis": 0},
             "stream", (), ((3, 4),)),
    Workload("tosa.reduce_max of rows, 4 M float32", "tosa.reduce_max", (WIDE,), {"axis": 1},
             "stream", (), ((3, 4),)),
    Workload("systemml.mul, 1 M float64", "systemml.mul", (SQUARE, SQUARE), {},
             "stream", (), ((3, 4), (3, 4))),
)  # fmt: skip

NUMPY = ("numpy",)
HIDDEN, GATES = 256, 1024

# Formulas of benchmarks/spec.
OWN = (
    Workload("running sums, 8x20000", "own.running_sums", (Input((8, 20_000), bits=16),), {},
             "stream", (OfPeers(1.0, NUMPY),), ((3, 17),)),
    Workload(
        "reflecting pad by 3 of (4,16,56,56)", "own.reflecting_pad", (Input((4, 16, 56, 56)),),
        {"before": (0, 0, 3, 3), "behind": (0, 0, 3, 3)},
        "stream", (OfPeers(1.0, NUMPY),), ((2, 2, 5, 4),),
    ),
    Workload(
        "gather_nd, 100000 of (512,512)", "own.gather_nd",
        (Input((512, 512)), Input((2, 100_000), bits=10, low=0)), {},
        None, (OfPeers(1.0, NUMPY),), ((512, 512), (2, 9)),
    ),
    Workload(
        "gather_nd, 10000 rows of (64,64,32)", "own.gather_nd",
        (Input((64, 64, 32)), Input((2, 10_000), bits=7, low=0)), {},
        None, (OfPeers(1.5, NUMPY),), ((64, 64, 3), (2, 9)),
    ),
    Workload(
        "LSTM cell of int8, 16x256", "own.lstm_cell",
        (Input((16, HIDDEN), "int8"), Input((16, HIDDEN), "int8"),
         Input((16, HIDDEN), "int16", bits=12), Input((GATES, HIDDEN), "int8", constant=True),
         Input((GATES, HIDDEN), "int8", constant=True), Input((GATES,), bits=16, constant=True)),
        {}, None, (OfPeers(0.2, NUMPY),), ((2, 5), (2, 3), (2, 3), (12, 5), (12, 3), (12,)),
    ),
    Workload(
        "dense of int8 with zero points, 64x1024x1024", "own.quantised_dense",
        (Input((64, 1024), "int8"), Input((1024, 1024), "int8", constant=True),
         Input((1024,), bits=16, constant=True)),
        {"zx": 3, "zy": -5, "scale": 1_300_000}, None, (OfPeers(1.0, NUMPY),),
        ((3, 24), (17, 24), (17,)),
    ),
    Workload(
        "causal attention of float32, 256x32", "own.causal_attention",
        (Input((256, 32), "float32"),) * 3, {}, None, (OfPeers(1.5, NUMPY),), ((9, 4),) * 3,
    ),
    Workload(
        "LSTM cell of float32, 16x256", "own.real_lstm_cell",
        (Input((16, HIDDEN), "float32"), Input((16, HIDDEN), "float32"),
         Input((16, HIDDEN), "float32"), Input((GATES, HIDDEN), "float32", constant=True),
         Input((GATES, HIDDEN), "float32", constant=True),
         Input((GATES,), "float32", constant=True)),
        {}, None, (OfPeers(1.5, NUMPY),), ((2, 5), (2, 3), (2, 3), (12, 5), (12, 3), (12,)),
    ),
    Workload("softmax of 256 rows of 1024 float32", "own.softmax",
             (Input((256, 1024), "float32"),), {}, None, (), ((3, 7),)),
    Workload(
        "layer norm of 256 rows of 1024 int8", "own.layer_norm",
        (Input((256, 1024), "int8"), Input((1024,), "int8"), Input((1024,), bits=8)), {},
        None, (OfPeers(1.0, NUMPY),), ((3, 7), (7,), (7,)),
    ),
    Workload("top 10 of each of 64 rows of 4096", "own.top_k", (Input((64, 4096), bits=20),),
             {"k": 10}, None, (OfPeers(1.0, NUMPY),), ((3, 40),)),
)  # fmt: skip

# The scales of input, weights and result of quantized layers, and the zero points of both ends.
SCALES = (0.05, 0.01, 0.3)
ZEROS = {"zx": 3, "zy": -5}
SHORT = 24  # the reduction of layers in tests


def factors(inputs: tuple[Input, ...], random: np.random.Generator) -> list[Array]:
    """Input, weights, what the scales come to for each channel, and a bias."""
    sx, sw, sy = map(np.float32, SCALES)
    arrays = [each.array(random) for each in inputs]
    arrays[2] = np.full(inputs[2].shape, sx * sw / sy, np.float32)
    return arrays


def quantized(
    name: str,
    operator: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    *,
    tiny: tuple[tuple[int, ...], ...],
    **attributes: int | tuple[int, ...],
) -> Workload:
    """A layer of int8 as XNNPACK rounds it, which gives the same bytes; its channels stand first
    among the extents of the weights, and last of a depthwise convolution."""
    depthwise = "depthwise" in operator
    channels = w[-1] if depthwise else w[0]
    inputs = (
        Input(x, "int8"),
        Input(w, "int8", constant=True),
        Input((channels,), "float32", constant=True),
        Input((channels,), bits=11, constant=True),
    )
    few = (tiny[1][-1 if depthwise else 0],)
    return Workload(
        name, f"tflite.xnnpack_{operator}", inputs, {**ZEROS, **attributes}, None,
        (OfPeers(1.0, ("LiteRT",)),), (*tiny, few, few), factors,
    )  # fmt: skip


AROUND = (1, 1, 1, 1)

QUANTIZED = (
    quantized("quantized conv 3x3, 64 to 64 of 56x56", "conv_2d", (1, 56, 56, 64),
              (64, 3, 3, 64), tiny=((1, 7, 6, 4), (8, 3, 3, 4)), padding=AROUND),
    quantized("quantized conv 1x1, 128 to 128 of 28x28", "conv_2d", (1, 28, 28, 128),
              (128, 1, 1, 128), tiny=((1, 5, 4, 8), (9, 1, 1, 8))),
    quantized("quantized conv 3x3 depthwise, 128 of 56x56", "depthwise_conv_2d",
              (1, 56, 56, 128), (1, 3, 3, 128), tiny=((1, 7, 5, 128), (1, 3, 3, 128)),
              padding=AROUND),
    quantized("quantized dense 64x1024x1024", "fully_connected", (64, 1024), (1024, 1024),
              tiny=((3, SHORT), (17, SHORT))),
    quantized("quantized dense 1x1024x1024", "fully_connected", (1, 1024), (1024, 1024),
              tiny=((1, SHORT), (17, SHORT))),
)  # fmt: skip

FOUR_ELEMENTS = Input((4,))

OVERHEAD = (
    Workload("a bound call, relu of 4 elements", "bound call", (FOUR_ELEMENTS,), {}, None,
             (Within(1.0),), ((4,),)),
    Workload("a free call, relu of 4 elements", "free call", (FOUR_ELEMENTS,), {}, None,
             (), ((4,),)),
    Workload("loading the library", "load", goals=(Within(150_000.0),)),
)  # fmt: skip

# Of the convolutions and the dense layer of the published model, for one picture.
RESNET_PRODUCTS = 41_344_640

# Of `benchmarks/nets.py`, for one picture.
NET_PRODUCTS = {"ResNet-50": 4_089_184_256, "MobileNetV2": 300_774_272}

MODELS = (
    Workload("ResNet-20, graph runtime", "graph", limit="dot", products=RESNET_PRODUCTS),
    Workload("ResNet-20, generated model", "model", limit="dot", products=RESNET_PRODUCTS,
             goals=(Within(400.0, threads=2), OfPeers(1.0, ("onnxruntime",)))),
    *(
        Workload(f"{net} of ONNX, generated model", "onnx model", (), {"net": net}, "dot",
                 (OfPeers(0.85, ("onnxruntime",)),), products=products)
        for net, products in NET_PRODUCTS.items()
    ),
)  # fmt: skip

WORKLOADS = (
    *PRODUCTS, *ELEMENTWISE, *REDUCTIONS, *MOVES, *LISTS, *REAL, *OWN, *QUANTIZED, *OVERHEAD,
    *MODELS,
)  # fmt: skip


def chosen(pattern: str | None) -> list[Workload]:
    """The workloads whose names contain `pattern`, a regular expression; all without one."""
    if pattern is None:
        return list(WORKLOADS)
    return [each for each in WORKLOADS if re.search(pattern, each.name)]


def by_name(name: str) -> Workload | None:
    return next((each for each in WORKLOADS if each.name == name), None)
