"""The raster bench: ours and Cairo in C, in one process; Skia, Blend2D and Pillow by their Python packages, right after.

`raster.py PROJECT [--quick] [--json FILE]`, called by scripts/bench.
"""

import argparse
import json
import pathlib
import shutil
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


def build(project, folder):
    """Our bench, with the core compiled as a release is."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "cairo", "spng", "liblz4", "libxxhash"],
        check=True, capture_output=True, text=True).stdout.split()
    core = project / "CSources/CGesso"
    program = folder / "raster"
    sources = [str(project / "scripts/benches/raster.c"), *map(str, sorted(core.glob("*.c")))]
    command = ["clang", "-std=c11", "-O2", "-fuse-ld=lld", f"-I{core}/include", f"-I{core}", *sources, *flags, "-lm",
               "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        fail(f"the bench does not compile\n{result.stderr}")
    return program


def peers_python(folder):
    """A Python that has the peers, or None where they cannot be had."""
    home = folder / "venv"
    python = home / "bin/python"
    packages = ["skia-python", "blend2d-py", "pillow"]
    if not python.exists():
        print("installing peers…", file=sys.stderr)
        try:
            venv.create(home, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(home, ignore_errors=True)
            print(f"scripts/bench: without {', '.join(packages)}, which could not be installed: {error}", file=sys.stderr)
            return None
    return python


def run(command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        fail(f"{command[0]} failed\n{result.stderr}")
    return [line.split("\t") for line in result.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench raster")
    parser.add_argument("project", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows there, too")
    options = parser.parse_args()
    folder = options.project / ".build/bench"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [options.project / "Sources/GessoScenes/Resources/palette.png", *(["quick"] if options.quick else [])]
    program = build(options.project, folder)
    rows, ours = [], {}
    for name, unit, mine, peer, theirs in run([program, *arguments]):
        ours[name] = float(mine)
        if peer != "none":
            rows.append((name, unit, float(mine), peer, float(theirs)))
    python = peers_python(folder)
    if python:
        for name, theirs, peer in run([python, options.project / "scripts/benches/raster_peers.py", *arguments]):
            rows.append((name, "us", ours[name], peer, float(theirs)))
    rows.sort(key=lambda row: list(ours).index(row[0]))
    print(f"{'name':34} {'ours':>10} {'peer':15} {'theirs':>10} {'ratio':>7}")
    for name, unit, mine, peer, theirs in rows:
        print(f"{name:34} {mine:10.2f} {peer:15} {theirs:10.2f} {theirs / mine:7.2f}")
    if options.json:
        document = {
            "suite": "raster",
            "machine": processor(),
            "rows": [
                {"name": name, "unit": unit, "better": "lower", "ours": mine, "peer": peer, "theirs": theirs,
                 "ratio": theirs / mine}
                for name, unit, mine, peer, theirs in rows],
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
