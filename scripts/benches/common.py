"""What all benches have: peers from PyPI, timing by turns, and the table."""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import venv


def fail(message):
    sys.exit(f"scripts/bench: {message}")


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def build(project, bench_sources, library, packages, folders=("CSources/CGesso",)):
    """A library of one bench's cases, with the C targets compiled as a release is."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *packages], check=True, capture_output=True, text=True).stdout.split()
    sources, includes = [project / "scripts/benches" / name for name in bench_sources], []
    for folder in folders:
        sources += sorted((project / folder).glob("*.c"))
        includes += [f"-I{project / folder}", f"-I{project / folder}/include"]
    # Calls within it are direct, as they are in a release, where only the API is visible.
    command = ["clang", "-std=gnu11", "-O2", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-fuse-ld=lld", *includes,
               *map(str, sources), *flags, "-lm", "-pthread", "-o", str(library)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        fail(f"the bench does not compile\n{result.stderr}")
    return library


def swift_product(project, name):
    """An executable of the package, built as a release."""
    command = ["swift", "build", "-c", "release", "--product", name]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True)
    if result.returncode:
        fail(f"{name} does not compile\n{result.stdout}{result.stderr}")
    result = subprocess.run([*command, "--show-bin-path"], cwd=project, check=True, capture_output=True, text=True)
    return pathlib.Path(result.stdout.strip()) / name


def has(packages):
    """`packages`: names on PyPI by the names of modules."""
    return all(importlib.util.find_spec(name) for name in packages)


def has_all(python, packages):
    tried = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {list(packages)!r})))"
    return python.exists() and subprocess.run([python, "-c", tried]).returncode == 0


def with_peers(folder, packages):
    """Goes on in a Python that has the peers, where they can be had."""
    home = folder / "venv"
    python = home / "bin/python"
    if has(packages) or "GESSO_BENCH_PEERS" in os.environ:
        return
    if not has_all(python, packages):
        print("installing peers…", file=sys.stderr)
        try:
            if not python.exists():
                venv.create(home, with_pip=True)
            subprocess.run(
                [python, "-m", "pip", "install", "-q", *packages.values()], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(home, ignore_errors=True)
            names = ", ".join(packages.values())
            print(f"scripts/bench: without {names}, which could not be installed: {error}", file=sys.stderr)
            return
    os.environ["GESSO_BENCH_PEERS"] = "1"  # not twice
    os.execv(python, [python, *sys.argv])


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


class Table:
    """Rows as they are measured: printed, and written down at the end."""

    def __init__(self, suite, path):
        self.suite, self.path, self.rows = suite, path, []
        print(f"{'name':38} {'ours':>10} {'peer':19} {'theirs':>10} {'ratio':>7}")

    def add(self, name, unit, ours, peer, theirs, better="lower"):
        ratio = theirs / ours if better == "lower" else ours / theirs
        self.rows.append({"name": name, "unit": unit, "better": better, "ours": ours, "peer": peer, "theirs": theirs,
                          "ratio": ratio})
        print(f"{name:38} {ours:10.4g} {peer:19} {theirs:10.4g} {ratio:7.2f}", flush=True)

    def finish(self):
        if self.path:
            document = {"suite": self.suite, "machine": processor(), "rows": self.rows}
            self.path.write_text(json.dumps(document, indent=1) + "\n")


def arguments(suite, add=None):
    """`add` is given the parser, for what only that suite has."""
    parser = argparse.ArgumentParser(prog=f"scripts/bench {suite}")
    parser.add_argument("project", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--only", default="", metavar="PREFIX", help="the cases whose names begin so")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows there, too")
    if add:
        add(parser)
    options = parser.parse_args()
    options.folder = options.project / ".build/bench"
    options.folder.mkdir(parents=True, exist_ok=True)
    return options
