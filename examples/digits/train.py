"""Train a small network on scikit-learn's digits and write it as an integer CVM model.

    python examples/digits/train.py

needs scikit-learn for the pictures (1797 of 8x8 pixels, grey levels 0 to 16). The network is
trained in float with plain numpy, rounded to 8-bit integers, and written beside this file:

    digits.json      the graph
    digits.bin       its parameters
    digits_test.npz  pictures that training never saw, with their labels

Two blocks of conv2d, requantisation, relu and max_pool2d, then one dense layer. Requantisation
brings the wide sums of conv2d back to 8 bits the way that published CVM models do: shift to 16
bits, multiply by an integer for each channel, shift to 8 bits.

The pictures: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine
Learning Repository, 1998, CC BY 4.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from cvmgen.graph import load, write_parameters, write_symbol
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, SymbolNode
from cvmgen.graph.values import Value

FOLDER = Path(__file__).resolve().parent
SEED = 20
HELD_BACK = 360
CHANNELS = (16, 32)
EPOCHS = 20
BATCH = 32
PEAK_RATE = 0.004

Array = np.ndarray


# The network in float. Tensors are (picture, channel, row, column); a block is a 3x3 convolution
# with a border of zeros, relu, and 2x2 maximum pooling.


def windows(x: Array) -> Array:
    """The 3x3 surroundings of every pixel, as rows of a matrix."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = sliding_window_view(padded, (3, 3), axis=(2, 3))
    return patches.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * 9)


def convolve(x: Array, weight: Array, bias: Array) -> Array:
    pictures, _, height, width = x.shape
    sums = windows(x) @ weight.reshape(len(weight), -1).T + bias
    return sums.reshape(pictures, height, width, -1).transpose(0, 3, 1, 2)


def convolve_back(x: Array, weight: Array, gradient: Array) -> tuple[Array, Array, Array]:
    """Gradients of the weight, the bias and the input of `convolve`."""
    rows = gradient.transpose(0, 2, 3, 1).reshape(-1, len(weight))
    of_weight = (rows.T @ windows(x)).reshape(weight.shape)
    turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return of_weight, rows.sum(0), convolve(gradient, turned, np.zeros(x.shape[1]))


def pool(x: Array) -> Array:
    return x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2).max((3, 5))


def pool_back(x: Array, gradient: Array) -> Array:
    def enlarged(small: Array) -> Array:
        return small.repeat(2, axis=2).repeat(2, axis=3)

    largest = x == enlarged(pool(x))
    equals = largest.reshape(*gradient.shape[:3], 2, gradient.shape[3], 2).sum((3, 5))
    return largest * enlarged(gradient / equals)


def sums_of_blocks(parameters: list[Array], x: Array) -> list[tuple[Array, Array]]:
    """Input and convolution sums of each block, then the input and the sums of the last layer."""
    result = []
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        sums = convolve(x, weight, bias)
        result.append((x, sums))
        x = pool(np.maximum(sums, 0))
    flat = x.reshape(len(x), -1)
    return [*result, (flat, flat @ parameters[-2].T + parameters[-1])]


def gradients(parameters: list[Array], x: Array, labels: Array) -> list[Array]:
    """Of the cross entropy between the softmax of the last sums and the labels."""
    *blocks, (flat, sums) = sums_of_blocks(parameters, x)
    exponents = np.exp(sums - sums.max(1, keepdims=True))
    error = exponents / exponents.sum(1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    result = [error.T @ flat, error.sum(0)]
    error = error @ parameters[-2]
    for index in reversed(range(len(blocks))):
        inputs, sums = blocks[index]
        pooled = error.reshape(len(x), sums.shape[1], sums.shape[2] // 2, sums.shape[3] // 2)
        error = pool_back(np.maximum(sums, 0), pooled) * (sums > 0)
        of_weight, of_bias, error = convolve_back(inputs, parameters[2 * index], error)
        result = [of_weight, of_bias, *result]
    return result


def train(x: Array, labels: Array, rng: np.random.Generator) -> list[Array]:
    """Weights and biases after Adam with a learning rate that falls to zero."""
    shapes = [(CHANNELS[0], 1, 3, 3), (CHANNELS[1], CHANNELS[0], 3, 3), (10, CHANNELS[1] * 4)]
    parameters: list[Array] = []
    for shape in shapes:
        parameters.append(rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape))
        parameters.append(np.zeros(shape[0]))
    means = [np.zeros_like(one) for one in parameters]
    squares = [np.zeros_like(one) for one in parameters]
    steps = EPOCHS * (len(x) // BATCH)
    for step in range(steps):
        chosen = rng.choice(len(x), BATCH, replace=False)
        found = gradients(parameters, x[chosen], labels[chosen])
        rate = PEAK_RATE * (1 - step / steps)
        warm = 1 - 0.9 ** (step + 1), 1 - 0.99 ** (step + 1)
        for one, mean, square, gradient in zip(parameters, means, squares, found, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.01 * (gradient**2 - square)
            one -= rate * (mean / warm[0]) / (np.sqrt(square / warm[1]) + 1e-8)
    return parameters


# The network in integers. Each tensor of integers stands for reals: real = scale * integer.


@dataclass
class Model:
    """A graph that grows node by node, and its parameters."""

    nodes: list[SymbolNode] = field(default_factory=list)
    parameters: dict[str, Array] = field(default_factory=dict)

    def variable(self, name: str, shape: tuple[int, ...], precision: int) -> int:
        self.nodes.append(SymbolNode(name, (NodeOutput(shape, precision),)))
        return len(self.nodes) - 1

    def parameter(self, name: str, values: Array) -> int:
        """A variable with the smallest precision that holds `values`."""
        integers = np.rint(values).astype(np.int32)
        precision = int(np.abs(integers).max()).bit_length() + 1
        self.parameters[name] = integers.astype(np.int8) if precision <= 8 else integers
        return self.variable(name, integers.shape, precision)

    def use(
        self,
        operator: str,
        name: str,
        inputs: list[int],
        shape: tuple[int, ...],
        **attributes: Value,
    ) -> int:
        sources = tuple(OutputReference(index) for index in inputs)
        node = SymbolNode(name, (NodeOutput(shape),), operator, sources, tuple(attributes.items()))
        self.nodes.append(node)
        return len(self.nodes) - 1

    def symbol(self) -> SymbolGraph:
        return SymbolGraph(tuple(self.nodes), heads=(OutputReference(len(self.nodes) - 1),))


def requantise(model: Model, index: int, node: int, factor: Array, largest_sum: float) -> int:
    """Multiply the sums of `node` by one real `factor` for each channel, in 8 bits.

    `largest_sum` says how many bits the sums really take; rare larger ones are clipped.
    """
    shape = model.nodes[node].outputs[0].shape
    to_16_bits = max(1, int(largest_sum).bit_length() - 15)
    rest = factor * 2.0**to_16_bits
    to_8_bits = int(np.log2(32767 / rest.max()))
    factors = model.parameter(f"factor{index}", (rest * 2.0**to_8_bits).reshape(-1, 1, 1))
    narrowed = {"precision": 16, "shift_bit": to_16_bits}
    node = model.use("cvm_right_shift", f"narrowed{index}", [node], shape, **narrowed)
    node = model.use("broadcast_mul", f"scaled{index}", [node, factors], shape)
    rounded = {"precision": 8, "shift_bit": to_8_bits}
    return model.use("cvm_right_shift", f"rounded{index}", [node], shape, **rounded)


def add_block(
    model: Model, index: int, source: int, scale: float, layer: tuple[Array, Array], sums: Array
) -> tuple[int, float]:
    """Add a block that reads node `source` of scale `scale`; its output node and scale.

    `layer` is its weight and bias in float, `sums` the convolution sums of the training pictures,
    which say how large they get.
    """
    weight, bias = layer
    channels, size = sums.shape[1:3]
    wide, pooled = (1, channels, size, size), (1, channels, size // 2, size // 2)
    # Each channel uses the whole range of 8 bits for its weights, the output for its values.
    weight_scale = np.abs(weight).max((1, 2, 3), keepdims=True) / 127
    sum_scale = scale * weight_scale.ravel()
    out_scale = sums.max() / 127
    largest_sum = (np.abs(sums).max((0, 2, 3)) / sum_scale).max()
    w = model.parameter(f"weight{index}", weight / weight_scale)
    b = model.parameter(f"bias{index}", bias / sum_scale)
    kernel = {"channels": channels, "kernel_size": (3, 3), "padding": (1, 1)}
    node = model.use("conv2d", f"conv{index}", [source, w, b], wide, **kernel)
    node = requantise(model, index, node, sum_scale / out_scale, largest_sum)
    node = model.use("relu", f"relu{index}", [node], wide)
    window = {"pool_size": (2, 2), "strides": (2, 2)}
    return model.use("max_pool2d", f"pool{index}", [node], pooled, **window), out_scale


def quantise(parameters: list[Array], x: Array) -> Model:
    """The integer model; its answer is the largest of ten sums.

    Pixels go in as they are, 0 to 16, which 6 bits hold.
    """
    model = Model()
    node, scale = model.variable("data", (1, *x.shape[1:]), 6), 1 / 16
    *blocks, (flat, _) = sums_of_blocks(parameters, x)
    for index, (_, sums) in enumerate(blocks):
        layer = parameters[2 * index], parameters[2 * index + 1]
        node, scale = add_block(model, index, node, scale, layer, sums)
    node = model.use("flatten", "flat", [node], (1, flat.shape[1]))
    # One scale for all ten sums, so that they can be compared.
    weight, bias = parameters[-2:]
    weight_scale = np.abs(weight).max() / 127
    w = model.parameter("weight_last", weight / weight_scale)
    b = model.parameter("bias_last", bias / (scale * weight_scale))
    model.use("dense", "sums", [node, w, b], (1, 10), units=10)
    return model


def main() -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(digits.images))
    pictures, labels = digits.images[order][:, np.newaxis], digits.target[order]
    test, rest = slice(HELD_BACK), slice(HELD_BACK, None)

    print(f"training on {len(labels[rest])} pictures, {EPOCHS} epochs")
    x = pictures[rest] / 16
    parameters = train(x, labels[rest], rng)
    model = quantise(parameters, x)
    write_symbol(FOLDER / "digits.json", model.symbol())
    write_parameters(FOLDER / "digits.bin", model.parameters)
    images = pictures[test, 0].astype(np.uint8)
    np.savez_compressed(
        FOLDER / "digits_test.npz", images=images, labels=labels[test].astype(np.uint8)
    )

    _, last = sums_of_blocks(parameters, pictures[test] / 16)[-1]
    print(f"held-back pictures, float:    {(last.argmax(1) == labels[test]).mean():.1%}")
    network = load(FOLDER / "digits.json", FOLDER / "digits.bin")
    answers = [network(image[np.newaxis, np.newaxis]) for image in images]
    right = np.concatenate(answers).argmax(1) == labels[test]
    print(f"held-back pictures, integers: {right.mean():.1%}")


if __name__ == "__main__":
    main()
