"""The raster bench: ours and each peer by turns, in one process.

Ours, Cairo and Pango are in C, in a library that is built here; Skia, Blend2D and Pillow come by their Python packages.
`raster.py PROJECT [--quick] [--json FILE]`, called by scripts/bench.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import venv

PACKAGES = {"skia": "skia-python", "blend2d": "blend2d-py", "PIL": "pillow"}


def fail(message):
    sys.exit(f"scripts/bench: {message}")


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def build(project, folder):
    """Our cases, with the core compiled as a release is."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "cairo", "spng", "liblz4", "libxxhash", "pangocairo", "pangoft2", "fontconfig", "freetype2"],
        check=True, capture_output=True, text=True).stdout.split()
    core, text = project / "CSources/CGesso", project / "CSources/CGessoText"
    library = folder / "raster.so"
    sources = [project / "scripts/benches/raster.c", *sorted(core.glob("*.c")), *sorted(text.glob("*.c"))]
    command = ["clang", "-std=c11", "-O2", "-fPIC", "-shared", "-fuse-ld=lld", f"-I{core}/include", f"-I{core}",
               f"-I{text}/include", f"-I{text}", *map(str, sources), *flags, "-lm", "-pthread", "-o", str(library)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        fail(f"the bench does not compile\n{result.stderr}")
    return library


def with_peers(folder):
    """Goes on in a Python that has the peers, where they can be had."""
    home = folder / "venv"
    python = home / "bin/python"
    if all(importlib.util.find_spec(name) for name in PACKAGES) or "GESSO_BENCH_PEERS" in os.environ:
        return
    if not python.exists():
        print("installing peers…", file=sys.stderr)
        try:
            venv.create(home, with_pip=True)
            subprocess.run(
                [python, "-m", "pip", "install", "-q", *PACKAGES.values()], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(home, ignore_errors=True)
            names = ", ".join(PACKAGES.values())
            print(f"scripts/bench: without {names}, which could not be installed: {error}", file=sys.stderr)
            return
    os.environ["GESSO_BENCH_PEERS"] = "1"  # not twice
    os.execv(python, [python, *sys.argv])


def load(library, icon):
    c = ctypes.CDLL(str(library))
    c.raster_begin.restype = ctypes.c_bool
    c.raster_name.restype = c.raster_peer.restype = ctypes.c_char_p
    c.raster_time.restype = c.raster_two_threads.restype = ctypes.c_double
    if not c.raster_begin(str(icon).encode()):
        fail(f"the cases cannot be set up with {icon}")
    return c


def contenders(c, index, peers):
    """By name: what gives the microseconds of so many drawings."""
    found = {}
    which = 0
    while (name := c.raster_peer(index, which)) is not None:
        found[name.decode()] = lambda count, which=which: c.raster_time(index, which, count)
        which += 1
    return found | peers.get(c.raster_name(index).decode(), {})


def compare(timers, repeats):
    """Microseconds of one drawing by each: medians of repeats by turns, each of some two milliseconds."""
    counts = {}
    for name, timer in timers.items():
        count, took = 1, timer(1)
        while took < 2000:
            count = max(count + 1, int(count * min(10, 2200 / max(took, 1))))
            took = timer(count)
        counts[name] = count
    samples = {name: [] for name in timers}
    for _ in range(repeats):
        for name, timer in timers.items():
            samples[name].append(timer(counts[name]) / counts[name])
    return {name: statistics.median(values) for name, values in samples.items()}


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench raster")
    parser.add_argument("project", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--only", default="", metavar="PREFIX", help="the cases whose names begin so")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows there, too")
    options = parser.parse_args()
    folder = options.project / ".build/bench"
    folder.mkdir(parents=True, exist_ok=True)
    with_peers(folder)
    icon = options.project / "Sources/GessoScenes/Resources/palette.png"
    c = load(build(options.project, folder), icon)
    peers = {}
    if all(importlib.util.find_spec(name) for name in PACKAGES):
        import raster_peers

        peers = raster_peers.all_cases(icon)
    rows = []
    print(f"{'name':34} {'ours':>10} {'peer':19} {'theirs':>10} {'ratio':>7}")

    def report(name, unit, mine, peer, theirs):
        rows.append({"name": name, "unit": unit, "better": "lower", "ours": mine, "peer": peer, "theirs": theirs,
                     "ratio": theirs / mine})
        print(f"{name:34} {mine:10.2f} {peer:19} {theirs:10.2f} {theirs / mine:7.2f}", flush=True)

    for index in range(c.raster_count()):
        name = c.raster_name(index).decode()
        if not name.startswith(options.only):
            continue
        times = compare(contenders(c, index, peers), 9 if options.quick else 31)
        for peer in times:
            if peer != "gesso":
                report(name, "us", times["gesso"], peer, times[peer])
    if "text-two-threads".startswith(options.only):
        report("text-two-threads", "times one thread's wall", c.raster_two_threads(), "one thread", 1.0)
    if options.json:
        document = {"suite": "raster", "machine": processor(), "rows": rows}
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
