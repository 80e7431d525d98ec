"""The actions: small rewrites of a nest, each legal by itself or refused.

A schedule is a list of them: `tile rows, columns`, `vectorise inner`. Each module has one, a
function from a Subject (a typed nest and what is known of it) and the line of the schedule to the
Subject that it leaves. Its docstring says when that keeps the meaning; where it would not, the line
is refused by its place. `ACTIONS` is the table of all, with the forms that a line may have and the
targets.
"""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.schedule.actions.base import base
from cvmgen.schedule.actions.batch import batch
from cvmgen.schedule.actions.clip import clip
from cvmgen.schedule.actions.copy import copy
from cvmgen.schedule.actions.distribute import distribute
from cvmgen.schedule.actions.divide import divide
from cvmgen.schedule.actions.enumerate import enumerated
from cvmgen.schedule.actions.expand import expand
from cvmgen.schedule.actions.hoist import hoist, quotients
from cvmgen.schedule.actions.jam import jam
from cvmgen.schedule.actions.lists import append, cut
from cvmgen.schedule.actions.locate import locate
from cvmgen.schedule.actions.merge import merge
from cvmgen.schedule.actions.move import move
from cvmgen.schedule.actions.multiply import multiply
from cvmgen.schedule.actions.narrow import narrow
from cvmgen.schedule.actions.overlap import overlap
from cvmgen.schedule.actions.parallelise import parallelise
from cvmgen.schedule.actions.peel import peel
from cvmgen.schedule.actions.pieces import pieces
from cvmgen.schedule.actions.reorder import reorder
from cvmgen.schedule.actions.separate import separate
from cvmgen.schedule.actions.specialise import beside, specialise, unswitch, version
from cvmgen.schedule.actions.split import split
from cvmgen.schedule.actions.stage import stage
from cvmgen.schedule.actions.streams import streams
from cvmgen.schedule.actions.tile import tile
from cvmgen.schedule.actions.turn import abreast, turn
from cvmgen.schedule.actions.unroll import unroll
from cvmgen.schedule.actions.use import fuse, mapped
from cvmgen.schedule.actions.vectorise import vectorise
from cvmgen.schedule.forms import ActionKind

C_AND_MODELS = ("c", "model")

ACTIONS: Mapping[str, ActionKind] = {
    "copy": ActionKind(("copy",), "loops that only move elements become copies and fills", copy),
    "clip": ActionKind(
        ("clip LOOPS",), "loops leave out what fails the guard in them", clip, C_AND_MODELS
    ),
    "separate": ActionKind(
        (
            "separate LOOP over LOOP, LOOP by NUMBER into NEW, NEW",
            "separate LOOP over LOOP, LOOP by NUMBER into NEW, NEW, NEW, NEW",
        ),
        "the columns of windows are combined first, and then what came out",
        separate,
    ),
    "split": ActionKind(
        ("split LOOP by NUMBER into NEW, NEW",),
        "blocks, and a loop over each",
        split,
        C_AND_MODELS,
    ),
    "merge": ActionKind(
        ("merge LOOPS",), "loops that walk memory without a gap become one", merge, C_AND_MODELS
    ),
    "fuse": ActionKind(("fuse",), "a nest joins the one that makes its elements", fuse, ("model",)),
    "unroll": ActionKind(
        ("unroll LOOPS by NUMBER",), "iterations are written out", unroll, C_AND_MODELS
    ),
    "expand": ActionKind(
        ("expand LOCAL over LOOPS",), "accumulators become arrays over a loop", expand, C_AND_MODELS
    ),
    "distribute": ActionKind(
        ("distribute LOOPS",), "a loop for each of the steps in a loop", distribute, C_AND_MODELS
    ),
    "quotients": ActionKind(
        ("quotients LOOPS",), "divisions by what a loop alone decides are made once", quotients
    ),
    "reorder": ActionKind(
        ("reorder LOOP, LOOP",), "the second loop goes inside the first", reorder, C_AND_MODELS
    ),
    "hoist": ActionKind(("hoist LOOPS",), "what does not vary goes in front of loops", hoist),
    "base": ActionKind(
        ("base LOOPS",), "what places have in common is computed in front of loops", base
    ),
    "jam": ActionKind(
        ("jam LOOP by NUMBER over LOOP",),
        "several iterations at once in each pass over the loop inside",
        jam,
    ),
    "streams": ActionKind(
        ("streams LOOP by NUMBER into NEW",),
        "sums read at several places of memory at a time",
        streams,
    ),
    "move": ActionKind(
        ("move LOOPS",), "loops that only move the elements of a box become one call", move
    ),
    "pieces": ActionKind(
        ("pieces LOOPS by NUMBER into NEW",),
        "loops go by pieces of one length, of which the last ones may overlap",
        pieces,
    ),
    "peel": ActionKind(
        ("peel LOOP into NEW, NEW, NEW",), "the middle of a loop gets rid of guards", peel
    ),
    "specialise": ActionKind(
        ("specialise LOOPS", "specialise LOOPS by NUMBER"),
        "copies of loops for the steps 1 and 0, or for another one",
        specialise,
    ),
    "beside": ActionKind(
        ("beside LOOP into NEW when MEASURE >= NUMBER",),
        "a copy of a loop whose iterations read beside each other",
        beside,
        C_AND_MODELS,
    ),
    "abreast": ActionKind(
        ("abreast LOOP into NEW when MEASURE >= NUMBER",),
        "a copy of a loop whose iterations read runs, each its own",
        abreast,
    ),
    "turn": ActionKind(
        ("turn LOOP over LOOP by NUMBER into NEW, NEW",),
        "runs that are combined for results lie side by side before",
        turn,
    ),
    "narrow": ActionKind(
        ("narrow LOCAL over LOOP",), "a copy of a loop whose totals have 32 bits", narrow
    ),
    "version": ActionKind(
        ("version LOOP into NEW when MEASURE >= NUMBER",),
        "a copy of loops that runs where there is enough to do",
        version,
    ),
    "enumerate": ActionKind(
        (
            "enumerate LOOP by NUMBER over LOOP into NEW",
            "enumerate LOOP by NUMBER over LOOP into NEW, NEW",
        ),
        "copies of loops for a few iterations of the loop in them",
        enumerated,
    ),
    "unswitch": ActionKind(
        ("unswitch LOOPS",), "a choice in loops goes around them", unswitch, C_AND_MODELS
    ),
    "use": ActionKind(
        ("use MAPPING", "use MAPPING with SETTINGS"),
        "a mapping of iterations to threads of a GPU",
        mapped,
        ("cuda",),
    ),
    "divide": ActionKind(
        ("divide LOOPS",),
        "quotients of integers through real numbers, which have vector instructions",
        divide,
    ),
    "multiply": ActionKind(
        ("multiply LOOP, LOOP into NEW, NEW, NEW when MEASURE >= NUMBER",),
        "blocks of sums of products of real numbers, each in its order, grow in registers",
        multiply,
    ),
    "batch": ActionKind(
        ("batch LOOPS by NUMBER into NEW, NEW, NEW",),
        "blocks of iterations, of which functions of real numbers are made all at once",
        batch,
    ),
    "vectorise": ActionKind(
        ("vectorise LOOPS", "vectorise LOOPS by NUMBER"),
        "innermost loops by vector instructions",
        vectorise,
        C_AND_MODELS,
    ),
    "tile": ActionKind(
        ("tile LOOPS by INTRINSIC when MEASURE >= NUMBER", "tile LOOPS by INTRINSIC"),
        "blocks of totals are made by an intrinsic where they are worth it",
        tile,
        C_AND_MODELS,
    ),
    "parallelise": ActionKind(
        ("parallelise LOOPS when MEASURE >= NUMBER", "parallelise LOOPS"),
        "the loops run in several threads where there is enough to do",
        parallelise,
        C_AND_MODELS,
    ),
    "stage": ActionKind(
        ("stage LOOP by NUMBER into NEW", "stage LOOP over LOOP by NUMBER into NEW, NEW, NEW, NEW"),
        "what is asked of the entries of a list so far, or what windows read, lies side by side",
        stage,
    ),
    "append": ActionKind(
        ("append LOOP",), "entries are stored always, and counted where they pass", append
    ),
    "overlap": ActionKind(
        ("overlap LOOP by NUMBER, NUMBER into NEW",),
        "short rows are stored by whole vectors, over what comes behind",
        overlap,
    ),
    "locate": ActionKind(
        ("locate LOOP",), "the places that elements name are found before what lies there", locate
    ),
    "cut": ActionKind(
        ("cut LOOP",), "a loop up to the length of a list, and one from there on", cut
    ),
}
