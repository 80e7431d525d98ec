"""Bugs that are put into CUDA text, each with the step that must catch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STEPS = ("compile", "forward", "reverse", "random", "sanitizers", "races", "machine code")


@dataclass(frozen=True)
class Mutant:
    """`old` stands exactly once in `file`, or there in the function `within`, and becomes `new`.
    `step` must catch what the calls of `operator` then do."""

    name: str
    operator: str
    step: str
    file: str
    old: str
    new: str
    within: str = ""

    def applied(self, sources: Mapping[str, str]) -> dict[str, str]:
        """The sources with the bug; ValueError where its place is gone."""
        text = sources[self.file]
        begin, end = scope(text, self.within)
        if text.count(self.old, begin, end) != 1:
            found = text.count(self.old, begin, end)
            raise ValueError(f"{self.name}: {self.file} has {self.old!r} {found} times")
        changed = text[begin:end].replace(self.old, self.new)
        return {**sources, self.file: text[:begin] + changed + text[end:]}


def scope(text: str, function: str) -> tuple[int, int]:
    """Where a function begins and ends: all of the text for no function."""
    if not function:
        return 0, len(text)
    begin = text.find(f"{function}(")
    if begin < 0:
        raise ValueError(f"there is no function {function}")
    return begin, text.index("\n}", begin)


RELU, SHIFT, ADD = "cvm/relu.cu", "cvm/cvm_right_shift.cu", "cvm/broadcast_add.cu"
SUM, MAX, POOL = "cvm/sum.cu", "cvm/max.cu", "cvm/max_pool2d.cu"
DENSE, CONV, VALID = "cvm/dense.cu", "cvm/conv2d.cu", "cvm/get_valid_count.cu"
NMS = "cvm/non_max_suppression.cu"
COMMON, VECTOR, REDUCE = "cvmgen_cuda.h", "cvmgen_vector.h", "cvmgen_reduce.h"
WINDOW, TILES, BLOCK = "cvmgen_window.h", "cvmgen_tiles.h", "cvmgen_block.h"
SYNC = "__syncthreads();"

MUTANTS = (
    # -------------------------------------------------------------- streams
    Mutant(
        "a tail as long as a vector",
        "cvm.relu",
        "sanitizers",
        RELU,
        "cvmgen_min_i64(n_size - d, 16)",
        "16",
        "relu_Y_body",
    ),
    Mutant(
        "vectors that overlap",
        "cvm.relu",
        "races",
        RELU,
        "d = at * 16",
        "d = at * 15",
        "relu_Y_body",
    ),
    Mutant(
        "the wrong constant",
        "cvm.relu",
        "forward",
        RELU,
        "cvmgen_max_i32(0,",
        "cvmgen_max_i32(-1,",
        "relu_Y_body",
    ),
    Mutant(
        "the kernel for other element types",
        "cvm.relu",
        "compile",
        RELU,
        "cvm_relu_Y_int8_int8,\n",
        "cvm_relu_Y_int8_int32,\n",
    ),
    Mutant(
        "vectors at any address",
        "cvm.relu",
        "sanitizers",
        VECTOR,
        "(size_t)first % bytes == 0",
        "(size_t)first % sizeof(T) == 0",
    ),
    Mutant(
        "the last vector is lost",
        "cvm.relu",
        "forward",
        VECTOR,
        "(elements + lanes - 1) / lanes",
        "elements / lanes",
    ),
    Mutant(
        "lanes that are not in use read on",
        "cvm.relu",
        "sanitizers",
        VECTOR,
        "if (lane + 1 < lanes) from += step;",
        "from += step;",
    ),
    Mutant(
        "vectors aligned as their elements are",
        "cvm.relu",
        "machine code",
        VECTOR,
        "alignas(bytes)",
        "alignas(sizeof(T))",
    ),
    Mutant(
        "threads begin before the last one ends",
        "cvm.relu",
        "races",
        COMMON,
        "return (int64_t)gridDim.x * blockDim.x;",
        "return (int64_t)gridDim.x * blockDim.x - 1;",
    ),
    Mutant(
        "the last block is not launched",
        "cvm.relu",
        "forward",
        COMMON,
        "(elements + CVMGEN_BLOCK - 1) / CVMGEN_BLOCK",
        "elements / CVMGEN_BLOCK",
    ),
    Mutant(
        "steps of the other input",
        "cvm.broadcast_add",
        "forward",
        ADD,
        "d * B_step], B_step",
        "d * B_step], A_step",
        "broadcast_add_Y_body",
    ),
    Mutant(
        "a stride that is left out",
        "cvm.transpose",
        "forward",
        "cvm/transpose.cu",
        "d_start + d * d_step",
        "d_start + d",
        "transpose_Y_body",
    ),
    Mutant(
        "an index that may be one too great",
        "cvm.take",
        "sanitizers",
        "cvm/take.cu",
        "n_size - 1",
        "n_size",
        "take_Y_0_body",
    ),
    Mutant(
        "a shift by one more",
        "cvm.cvm_right_shift",
        "forward",
        SHIFT,
        ">> (shift_bit - 1)",
        ">> shift_bit",
        "cvm_right_shift_Y_body",
    ),
    Mutant(
        "rounding that overflows",
        "cvm.cvm_right_shift",
        "sanitizers",
        SHIFT,
        "((int64_t)(X_vector.at[lane] >> (shift_bit - 1)) + 1) >> 1",
        "(int64_t)(X_vector.at[lane] + (1 << (shift_bit - 1))) >> shift_bit",
        "cvm_cvm_right_shift_Y_int32_int32",
    ),
    # -------------------------------------------------------------- reductions
    Mutant(
        "an accumulator without a beginning",
        "cvm.sum",
        "compile",
        SUM,
        "uint32_t total = 0;",
        "uint32_t total;",
        "sum_Y_0_body",
    ),
    Mutant(
        "the least for the greatest",
        "cvm.max",
        "forward",
        REDUCE,
        "{ return a > b ? a : b; }",
        "{ return a < b ? a : b; }",
    ),
    Mutant(
        "teams without a result store",
        "cvm.sum",
        "races",
        REDUCE,
        "return team.lane == 0 && team.counts;",
        "return team.lane == 0;",
    ),
    Mutant(
        "values of warps are read at once",
        "cvm.sum",
        "forward",
        REDUCE,
        "kept[warp * width + lane] = value;\n    __syncthreads();",
        "kept[warp * width + lane] = value;",
    ),
    Mutant(
        "values of warps are written again at once",
        "cvm.sum",
        "races",
        REDUCE,
        "__syncthreads(); /* the next call writes anew */",
        "",
    ),
    Mutant(
        "one part less",
        "cvm.sum",
        "forward",
        REDUCE,
        "part < combined;",
        "part < combined - 1;",
    ),
    Mutant(
        "memory for one result",
        "cvm.sum",
        "sanitizers",
        REDUCE,
        "entries * teams.results * parts",
        "entries",
    ),
    Mutant(
        "an addition that is not atomic",
        "tosa.reduce_sum",
        "races",
        COMMON,
        "atomicMin((unsigned long long *)first, (unsigned long long)at);",
        "if (at < *first) *first = at;",
    ),
    # -------------------------------------------------------------- windows
    Mutant(
        "0 for the greatest of nothing",
        "cvm.max_pool2d",
        "forward",
        POOL,
        "largest = INT32_MIN;",
        "largest = 0;",
        "max_pool2d_Y_body",
    ),
    Mutant(
        "the box is read before it is there",
        "cvm.max_pool2d",
        "random",
        POOL,
        "        __syncthreads();\n",
        "",
        "max_pool2d_Y_body",
    ),
    Mutant(
        "the box is written while it is read",
        "cvm.max_pool2d",
        "races",
        POOL,
        "__syncthreads(); /* the next tile writes the box anew */",
        "",
        "max_pool2d_Y_body",
    ),
    Mutant(
        "a box without its last row",
        "cvm.max_pool2d",
        "forward",
        POOL,
        "* SH + PSH, H)",
        "* SH + PSH - 1, H)",
        "max_pool2d_Y_body",
    ),
    Mutant(
        "half of the shared memory",
        "cvm.max_pool2d",
        "sanitizers",
        WINDOW,
        "tiling.box * (int)sizeof(Element)",
        "tiling.box / 2 * (int)sizeof(Element)",
    ),
    Mutant(
        "padding is not left out",
        "cvm.conv2d",
        "sanitizers",
        CONV,
        "0 <= w && w < XW",
        "w < XW",
        "conv2d_Y_body",
    ),
    # -------------------------------------------------------------- contractions
    Mutant(
        "a slice is read before it is there",
        "cvm.dense",
        "races",
        TILES,
        "__syncthreads(); /* all have this slice, and are done with the one before */",
        "",
    ),
    Mutant(
        "a tile takes memory that is in use",
        "cvm.dense",
        "races",
        TILES,
        "    } else {\n        __syncthreads();\n    }",
        "    }",
    ),
    Mutant(
        "an element that does not fit is cut unseen",
        "cvm.dense",
        "forward",
        TILES,
        "beyond |= (uint32_t)(element ^ (int8_t)element);",
        "(void)beyond;",
    ),
    Mutant(
        "copies are not waited for",
        "cvm.dense",
        "forward",
        TILES,
        "cvmgen_copies_wait<AHEAD - 1>();",
        "",
    ),
    Mutant(
        "one slice too many ahead",
        "cvm.dense",
        "races",
        TILES,
        "AHEAD = CVMGEN_SLICES - 1,",
        "AHEAD = CVMGEN_SLICES,",
    ),
    Mutant(
        "chunks beyond their line",
        "cvm.dense",
        "random",
        TILES,
        "(line / 2 % 4)",
        "(line / 2 % 8)",
    ),
    Mutant(
        "16 bytes where fewer are left",
        "cvm.dense",
        "sanitizers",
        TILES,
        "(depth - k() + CVMGEN_SLICE - 16)",
        "(depth - k() + CVMGEN_SLICE - 1)",
    ),
    Mutant(
        "words of a matrix from another of its lines",
        "cvm.dense",
        "forward",
        TILES,
        "halves[0], 8 * matrix + lane / 4",
        "halves[0], 8 * matrix + lane % 8",
    ),
    Mutant(
        "a lane has the line of another matrix",
        "cvm.dense",
        "forward",
        TILES,
        "first_row() + lane % 16, lane / 16)",
        "first_row() + lane % 16, lane / 8 % 2)",
    ),
    Mutant(
        "totals are read before they are there",
        "cvm.dense",
        "races",
        TILES,
        "        __syncthreads();\n        CVMGEN_OVERLAP",
        "        CVMGEN_OVERLAP",
    ),
    Mutant(
        "totals are written while they are read",
        "cvm.dense",
        "races",
        TILES,
        "__syncthreads(); /* the next pass, or the next tile, takes the memory */",
        "",
    ),
    Mutant(
        "rows of the other warps",
        "cvm.dense",
        "forward",
        TILES,
        "at / ROWS * part::ROWS + first",
        "at / ROWS * ROWS + first",
    ),
    Mutant(
        "a result as int16",
        "cvm.dense",
        "forward",
        DENSE,
        "(result_t)(total",
        "(int16_t)(total",
        "dense_Y_body",
    ),
    Mutant(
        "a product that is not widened",
        "cvm.dense",
        "sanitizers",
        DENSE,
        "(wide_t)X[i * K + k] * (wide_t)W[j * K + k]",
        "X[i * K + k] * W[j * K + k]",
        "dense_Y_direct_body",
    ),
    Mutant(
        "a copy that no device has",
        "cvm.dense",
        "machine code",
        TILES,
        '[%0], [%1], 16;"',
        '[%0], [%1], 8;"',
    ),
    Mutant(
        "a product that no device has",
        "cvm.dense",
        "machine code",
        TILES,
        "m16n8k32.row.col",
        "m16n8k64.row.col",
    ),
    Mutant(
        "matrices that no device has",
        "cvm.dense",
        "machine code",
        TILES,
        "m8n8.x4",
        "m8n8.x3",
    ),
    Mutant(
        "fewer registers than sums",
        "cvm.dense",
        "machine code",
        TILES,
        "CVMGEN_TILE_RESIDENT = 2,",
        "CVMGEN_TILE_RESIDENT = 4,",
    ),
    # -------------------------------------------------------------- lists
    Mutant(
        "counts are read before they are there",
        "cvm.get_valid_count",
        "reverse",
        BLOCK,
        "    __syncthreads();\n    for (uint32_t i = 0; i < warps; ++i) {",
        "    for (uint32_t i = 0; i < warps; ++i) {",
    ),
    Mutant(
        "counts are written while they are read",
        "cvm.get_valid_count",
        "races",
        BLOCK,
        "__syncthreads(); /* the next call writes the counts anew */",
        "",
    ),
    Mutant(
        "a thread counts itself",
        "cvm.get_valid_count",
        "forward",
        BLOCK,
        "((1u << lane) - 1)",
        "((2u << lane) - 1)",
        "cvmgen_block_rank",
    ),
    Mutant(
        "half of the lanes vote",
        "cvm.get_valid_count",
        "forward",
        BLOCK,
        "__ballot_sync(0xffffffffu,",
        "__ballot_sync(0x0000ffffu,",
    ),
    Mutant(
        "all threads store a count",
        "cvm.get_valid_count",
        "races",
        VALID,
        "if (threadIdx.x == 0) V_length",
        "V_length",
        "get_valid_count_V_body",
    ),
    Mutant(
        "runs are merged before they are sorted",
        "cvm.non_max_suppression",
        "races",
        BLOCK,
        "        __syncthreads();\n        cvmgen_merge_part(",
        "        cvmgen_merge_part(",
    ),
    Mutant(
        "a run beyond the list",
        "cvm.non_max_suppression",
        "sanitizers",
        BLOCK,
        "cvmgen_min_i64(left + run, count)",
        "left + run",
    ),
)
