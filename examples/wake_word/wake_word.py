"""Hear a wake word in a recording, with a model of TensorFlow Lite that remembers what came before.

    pip install 'cvmgen[wake]'
    python examples/wake_word/wake_word.py [--word alexa] [recording.wav] [--targets numpy python]

The model, one of the four in the package `pymicro-wakeword`, takes 30 ms of sound at a time, as
features that the same package makes of it. It runs on the c target, on the targets that are named,
and as a C program without an allocation (stream.c); all give the same bytes. The recording beside
this file was spoken by a program, espeak-ng: "It is late. Okay Nabu." Others must have one channel
of 16 bits and 16,000 samples a second.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import wave
from pathlib import Path

import numpy as np
import pymicro_wakeword
from pymicro_features import MicroFrontend

from cvmgen.build import c_compiler, write_changed
from cvmgen.graph import Network, load
from cvmgen.graph.tflite.file import parse_file
from cvmgen.model.build import make_files

FOLDER = Path(__file__).resolve().parent
MODELS = Path(pymicro_wakeword.__file__).parent / "models"
RATE, CHUNK = 16000, 320  # samples a second, bytes that the features take at a time
STEP = 0.01  # seconds from one row of features to the next
SURE = 230  # of 255


def samples(path: Path) -> bytes:
    """The sound of a recording."""
    with wave.open(str(path)) as recording:
        kind = recording.getnchannels(), recording.getsampwidth(), recording.getframerate()
        if kind != (1, 2, RATE):
            raise SystemExit(f"{path} has {kind}: one channel of 2 bytes at {RATE} is needed")
        return recording.readframes(recording.getnframes())


def features(sound: bytes, model: Path) -> np.ndarray:
    """What the model takes for each of its runs: rows of features, quantized as it says."""
    graph = parse_file(model.read_bytes(), str(model))[0]
    given = graph.tensors[graph.inputs[0]]
    front, rows, at = MicroFrontend(), [], 0
    while at + CHUNK <= len(sound):
        made = front.process_samples(sound[at : at + CHUNK])
        at += 2 * max(made.samples_read, 1)
        rows += [made.features] if made.features else []
    scaled = np.round(np.array(rows, np.float32) / given.scales[0]) + given.zeros[0]
    frames = np.clip(scaled, -128, 127).astype(np.int8)
    runs = len(frames) // given.shape[1]
    return frames[: runs * given.shape[1]].reshape(runs, *given.shape)


def heard_by(network: Network, runs: np.ndarray) -> list[int]:
    """What a network gives for one run after the other, of 255."""
    network.reset()
    return [int(np.ravel(network(each))[0]) for each in runs]


def heard_by_program(model: Path, runs: np.ndarray) -> list[int]:
    """What the C program says."""
    with tempfile.TemporaryDirectory() as place:
        files = make_files(model, None, "wake")
        write_changed(Path(place), files.all())
        program, ((name, _),) = Path(place) / "stream", files.given()
        sources = [str(FOLDER / "stream.c"), *map(str, sorted(Path(place).glob("*.c")))]
        options = ["-O3", "-I", place, f"-DFEATURES=wake_{name}_size", "-pthread"]
        build = [*c_compiler().command, *options, *sources, "-lm", "-o", str(program)]
        subprocess.run(build, check=True)
        done = subprocess.run([program], input=runs.tobytes(), capture_output=True, check=True)
    return [int(line) for line in done.stdout.split()]


def main() -> None:
    known = argparse.ArgumentParser(description="Hear a wake word in a recording.")
    known.add_argument("recording", nargs="?", type=Path, default=FOLDER / "okay_nabu.wav")
    known.add_argument("--word", default="okay_nabu", help="a model of pymicro-wakeword")
    known.add_argument("--targets", nargs="*", default=["numpy"], help="to compare with")
    options = known.parse_args()
    model = MODELS / f"{options.word}.tflite"
    runs = features(samples(options.recording), model)
    heard = heard_by(load(model), runs)
    seconds = runs.shape[2] * STEP
    sure = [at for at, each in enumerate(heard) if each >= SURE]
    place = f"heard {sure[0] * seconds:.2f} s from its beginning" if sure else "not heard"
    print(f"{options.word} in {options.recording.name}: {place}")
    print(f"{len(runs)} runs, the surest of them {max(heard)} of 255")
    others = {each: heard_by(load(model, target=each), runs) for each in options.targets}
    for name, found in {**others, "the C program": heard_by_program(model, runs)}.items():
        print(f"{name}: {'the same' if found == heard else 'OTHERWISE'}")


if __name__ == "__main__":
    main()
