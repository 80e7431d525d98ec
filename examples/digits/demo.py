"""Read handwritten digits with the integer network that train.py made.

    python examples/digits/demo.py [--target python]

needs nothing but cvmgen and numpy. The pictures are ones that training never saw. Every target
gives the same integers; only the time differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import zip_longest
from pathlib import Path

import numpy as np

from cvmgen.graph import Network, load

FOLDER = Path(__file__).resolve().parent
GREY_LEVELS = " ░▒▓█"
ASCII_LEVELS = " .+*#"
BRIGHTEST = 16
SHOWN = 4
COLUMNS = 2


def grey_levels() -> str:
    """Characters from dark to bright that the terminal can print."""
    try:
        GREY_LEVELS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII_LEVELS
    return GREY_LEVELS


def picture_lines(image: np.ndarray, levels: str) -> list[str]:
    """The picture as text, two characters wide for each pixel."""
    shades = image.astype(int) * len(levels) // (BRIGHTEST + 1)
    return ["".join(levels[shade] * 2 for shade in row) for row in shades]


def answer_lines(scores: np.ndarray, label: int) -> list[str]:
    """What the network says about a picture, and how sure it is."""
    first, second = np.argsort(-scores)[:2]
    verdict = "right" if first == label else f"wrong, it is {label}"
    scored = [f"score {scores[first]}", f"then {second}: {scores[second]}"]
    return ["", "", f"reads {first}: {verdict}", "", *scored]


def beside(image: np.ndarray, label: int, scores: np.ndarray, levels: str) -> list[str]:
    """A picture with the answer to its right, all lines equally wide."""
    pairs = zip_longest(picture_lines(image, levels), answer_lines(scores, label), fillvalue="")
    return [f"{picture}  {answer:<20}" for picture, answer in pairs]


def show(images: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> None:
    """Print pictures with the answers beside them, COLUMNS in a row."""
    levels = grey_levels()
    blocks = [
        beside(image, int(label), score, levels)
        for image, label, score in zip(images, labels, scores, strict=True)
    ]
    for start in range(0, len(blocks), COLUMNS):
        for line in zip(*blocks[start : start + COLUMNS], strict=True):
            print("".join(line).rstrip())
        print()


def classify(network: Network, images: np.ndarray) -> tuple[np.ndarray, float]:
    """Ten scores for each picture, and the seconds that one picture takes."""
    batches = images[:, np.newaxis, np.newaxis]
    start = time.perf_counter()
    scores = [network(batch) for batch in batches]
    seconds = time.perf_counter() - start
    return np.concatenate(scores), seconds / len(images)


def main() -> None:
    parser = argparse.ArgumentParser(description="Read handwritten digits.")
    parser.add_argument("--target", default="c", choices=["c", "python", "numpy", "cuda-cpu"])
    target = parser.parse_args().target

    network = load(FOLDER / "digits.json", FOLDER / "digits.bin", target=target)
    with np.load(FOLDER / "digits_test.npz") as test:
        images, labels = test["images"], test["labels"]
    scores, seconds = classify(network, images)
    right = scores.argmax(1) == labels

    # The first mistake is more telling than one more success.
    chosen = [*np.flatnonzero(right)[: SHOWN - 1], *np.flatnonzero(~right)[:1]]
    show(images[chosen], labels[chosen], scores[chosen])
    share = f"{right.sum()} of {len(labels)} right ({right.mean():.1%})"
    print(f"{share} on the {target} target, {seconds * 1e3:.3g} ms a picture")
    print(f"{len(network.nodes)} operators, {network.peak_bytes:,} bytes between them")


if __name__ == "__main__":
    main()
