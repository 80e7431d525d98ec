"""Calls of our operators of TOSA as its graphs of one operator, in JSON, and back.

The JSON is that of `flatc` with Arm's schema, which the reference model reads too.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Graph = dict[str, Any]

TYPES = {
    "bool": "BOOL",
    "int8": "INT8",
    "uint8": "INT8",
    "int16": "INT16",
    "uint16": "INT16",
    "int32": "INT32",
    "int64": "INT48",
}
DTYPES = {"BOOL": "bool", "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT48": "int64"}
# What the graph hands over as tensors of shapes, and where they stand among its inputs.
SHAPES = {
    "PAD": {1: "padding"},
    "RESHAPE": {1: "shape"},
    "SLICE": {1: "start", 2: "size"},
    "TILE": {1: "multiples"},
    "RESIZE": {1: "scale", 2: "offset", 3: "border"},
}
NAMES = {"INTDIV": "IntDiv", "ARGMAX": "ArgMax", "MATMUL": "MatMul"}
WITH_NAN = ("ARGMAX", "MAX_POOL2D", "MAXIMUM", "MINIMUM", "CLAMP", "REDUCE_MAX", "REDUCE_MIN")
WITH_ACCUMULATOR = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D", "AVG_POOL2D")


@dataclass(frozen=True)
class Call:
    """A call of one of our operators; `result` is its declared element type and shape."""

    name: str
    inputs: list[Any]
    attributes: dict[str, Any]
    result: tuple[str, tuple[int, ...]] | None = None


def operator_of(name: str) -> str:
    """`CAST` of `tosa.cast_int8`."""
    plain = name.removeprefix("tosa.")
    first = plain.partition("_")[0]
    return (first if first in ("cast", "table", "resize") else plain).upper()


def attribute_type(operator: str) -> str:
    name = NAMES.get(operator) or "".join(part.capitalize() for part in operator.split("_"))
    return name.replace("2D", "2d").replace("3D", "3d") + "Attribute"


def bytes_of(array: Array) -> list[int]:
    """As a constant has them: little-endian, six bytes of what has 48 bits."""
    data = array.astype(array.dtype.newbyteorder("<"))
    if array.dtype == np.int64:
        return list(data.reshape(-1, 1).view(np.uint8)[:, :6].tobytes())
    return list(data.tobytes())


def elements_of(tensor: Graph) -> Array:
    """The array that a constant's bytes are."""
    dtype, data = np.dtype(DTYPES[tensor["type"]]), np.array(tensor["data"], np.uint8)
    if tensor["type"] == "INT48":
        rows = data.reshape(-1, 6)
        signs = np.where(rows[:, 5:] >= 128, 255, 0).astype(np.uint8)
        data = np.concatenate([rows, signs, signs], axis=1).ravel()
    size = int(np.prod(tensor["shape"], dtype=np.int64))
    return data[: size * dtype.itemsize].view(dtype).reshape(tensor["shape"])


# ---------------------------------------------------------------- there


def graph_of(name: str, inputs: list[Any], attributes: dict[str, Any], result: Array) -> Graph:
    """The graph of a call that gives such a result; all inputs are its constants."""
    operator = operator_of(name)
    arrays = [each for part in inputs for each in (part if isinstance(part, list) else [part])]
    if operator == "RESCALE" and not attributes["scale32"]:
        arrays[1] = arrays[1].astype(np.int16)
    operators, tensors, shapes, names = [], [], [], []
    others = dict(attributes)
    for place, array in enumerate(arrays):
        names.append(f"input-{place}")
        tensors.append(tensor(names[-1], array.dtype, array.shape, bytes_of(array)))
        operators.append(node("CONST", [], names[-1:], {}))
    for place, key in SHAPES.get(operator, {}).items():
        names.insert(place, key)
        values = np.array(others.pop(key), np.int64)
        data = list(values.astype("<i8").tobytes())
        shapes.append({"name": key, "rank": len(values), "data": data})
        operators.append(node("CONST_SHAPE", [], [key], {}))
    tensors.append(tensor("result-0", result.dtype, result.shape, []))
    written = attributes_of(name, operator, arrays, others, result)
    operators.append(node(operator, names, ["result-0"], written))
    block = {"name": "main", "operators": operators, "tensors": tensors, "shapes": shapes}
    block |= {"inputs": [], "outputs": ["result-0"]}
    version = {"_major": 1, "_minor": 0, "_patch": 2, "_draft": True}
    return {"version": version, "regions": [{"name": "main", "blocks": [block]}]}


def tensor(name: str, dtype: Any, shape: tuple[int, ...], data: list[int]) -> Graph:
    return {"name": name, "shape": list(shape), "type": TYPES[str(dtype)], "data": data}


def node(operator: str, inputs: list[str], outputs: list[str], attribute: Graph) -> Graph:
    kind = attribute_type(operator)
    sides = {"inputs": inputs, "outputs": outputs}
    return {"op": operator, "attribute_type": kind, "attribute": attribute, **sides}


def attributes_of(
    name: str, operator: str, arrays: list[Array], others: dict[str, Any], result: Array
) -> Graph:
    """What the graph writes down as attributes."""
    found = {
        key: list(value) if isinstance(value, tuple) else value for key, value in others.items()
    }
    if operator == "CLAMP":
        for key in ("min_val", "max_val"):
            found[key] = bytes_of(np.array([found[key]], arrays[0].dtype))
    if operator in WITH_NAN:
        found.setdefault("nan_mode", "PROPAGATE")
    if operator in WITH_ACCUMULATOR:
        wide = operator != "AVG_POOL2D" and result.dtype == np.int64
        found["acc_type"] = "INT48" if wide else "INT32"
    if operator == "RESIZE":
        found["mode"] = name.rpartition("_")[2].upper()
    if operator == "RESCALE":
        found["input_unsigned"] = arrays[0].dtype.kind == "u"
        found["output_unsigned"] = result.dtype.kind == "u"
    return found


# ---------------------------------------------------------------- and back


def call_of(graph: Graph, given: dict[str, Array]) -> Call:
    """The call that a graph makes, of tensors that are constants or `given` by their names."""
    block = graph["regions"][0]["blocks"][0]
    tensors = {each["name"]: each for each in block["tensors"]}
    shapes = {each["name"]: each for each in block.get("shapes", [])}
    (step,) = [each for each in block["operators"] if not each["op"].startswith("CONST")]
    if len(step["outputs"]) != 1:
        raise ValueError("there is not one result")
    operator, written = step["op"], dict(step["attribute"])
    inputs: list[Any] = []
    attributes: dict[str, Any] = {}
    for place, name in enumerate(step["inputs"]):
        key = SHAPES.get(operator, {}).get(place)
        if name in shapes:
            values = np.array(shapes[name]["data"], np.uint8).view("<i8")[: shapes[name]["rank"]]
            attributes[key or f"shape {place}"] = tuple(int(each) for each in values)
        else:
            inputs.append(given[name] if name in given else elements_of(tensors[name]))
    result = tensors[step["outputs"][0]]
    declared = (DTYPES.get(result["type"], result["type"]), tuple(result["shape"]))
    for key in ("nan_mode", "acc_type", "local_bound"):
        written.pop(key, None)
    if operator == "RESCALE":
        inputs, declared = unsigned(inputs, written, declared)
    if operator == "CLAMP":
        for key in ("min_val", "max_val"):
            raw = np.array(written[key], np.uint8)
            written[key] = int(raw[: inputs[0].itemsize].view(inputs[0].dtype)[0])
    if operator == "CONCAT":
        inputs = [inputs]
    name = our_name(operator, inputs, written, declared)
    for key, value in written.items():
        attributes[key] = tuple(value) if isinstance(value, list) else value
    return Call(name, inputs, attributes, declared)


def unsigned(
    inputs: list[Any], written: Graph, declared: tuple[str, tuple[int, ...]]
) -> tuple[list[Any], tuple[str, tuple[int, ...]]]:
    """Elements of rescale in the types that they stand for, multipliers in the one of ours."""
    done = list(inputs)
    for flag, place in (("input_unsigned", 3), ("output_unsigned", 4)):
        if not written.pop(flag, False) or len(done) <= place:
            continue
        done[place] = as_unsigned(done[place])
        if flag == "input_unsigned":
            done[0] = as_unsigned(done[0])
        else:
            declared = (f"u{declared[0]}", declared[1])
    if len(done) > 1 and (done[1].dtype == np.int16) == (not written.get("scale32", False)):
        done[1] = done[1].astype(np.int32)
    return done, declared


def as_unsigned(array: Array) -> Array:
    return array.view(f"u{array.dtype}") if array.dtype.kind == "i" else array


def our_name(
    operator: str, inputs: list[Any], written: Graph, declared: tuple[str, tuple[int, ...]]
) -> str:
    """The formula that a graph's operator means: by its mode or a type, where these tell."""
    plain = operator.lower()
    match operator:
        case "CAST":
            return f"tosa.cast_{declared[0]}"
        case "TABLE" if inputs and inputs[0].dtype == np.int16:
            return "tosa.table_int16"
        case "RESIZE":
            return f"tosa.resize_{written.pop('mode').lower()}"
        case _:
            return f"tosa.{plain}"


@dataclass(frozen=True)
class Tools:
    """Arm's programs in an environment of Python that has the package tosa-tools."""

    folder: Path

    @classmethod
    def of(cls, environment: Path) -> Tools:
        (found,) = environment.glob("lib/python3*/site-packages/bin")
        return cls(found)

    def read(self, file: Path, into: Path) -> Path:
        """A binary graph as JSON."""
        schema = self.folder / "tosa.fbs"
        command = [self.folder / "flatc", "-o", into, "--json", "--strict-json", "--defaults-json"]
        subprocess.run([*command, "--raw-binary", schema, "--", file], check=True)
        return into / f"{file.stem}.json"

    def run(self, graph: Path, given: dict[str, Path] | None = None) -> Array | None:
        """The reference model's result of a graph; nothing where it refuses or finds a fault."""
        result = graph.parent / "result-0.npy"
        result.unlink(missing_ok=True)
        given = given or {}
        description = {
            "tosa_file": graph.name,
            "ifm_name": [*given],
            "ifm_file": [str(each) for each in given.values()],
            "ofm_name": ["result-0"],
            "ofm_file": [result.name],
            "expected_failure": False,
        }
        written = graph.parent / "run.json"
        written.write_text(json.dumps(description))
        command = [self.folder / "tosa_reference_model", "--operator_fbs", self.folder / "tosa.fbs"]
        command += [f"--test_desc={written}", "--tosa_level=EIGHTK", "--terminate_early"]
        done = subprocess.run(command, capture_output=True, check=False)
        return np.load(result) if done.returncode == 0 and result.exists() else None
