"""The drawer bench: what a cached drawer costs apart from the drawing, with NSCache and a dictionary behind mutexes as peers.

It is measured in Swift, by gesso-bench. `drawer.py PROJECT [--quick] [--only PREFIX] [--json FILE]`, called by scripts/bench.
"""

import subprocess

import common

UNITS = {
    "hit-p50": ("ns", "lower"), "hit-two-threads": ("times one thread's throughput", "higher"),
    "hit-two-threads-same": ("times one thread's throughput", "higher"),
    "miss-overhead-p50": ("us", "lower"), "submit-p50": ("us", "lower"), "round-trip-p50": ("us", "lower"),
    "submit-asleep-p50": ("us", "lower"), "coalesce-1000-draws": ("draws", "lower"), "cancel-100000": ("ms", "lower"),
    "growth-1e3-1e6": ("times a hit among 1,000", "lower"),
}


def main():
    options = common.arguments("drawer")
    command = [common.swift_product(options.project, "gesso-bench"), "drawer"]
    if options.quick:
        command.append("--quick")
    result = subprocess.run([*command, "--only", options.only] if options.only else command, capture_output=True, text=True)
    if result.returncode:
        common.fail(f"gesso-bench failed\n{result.stderr}")
    table = common.Table("drawer", options.json)
    for line in result.stdout.splitlines():
        name, ours, peer, theirs = line.split()
        if name.startswith(options.only):
            # Where there is no peer the figure is compared with itself.
            table.add(name, UNITS[name][0], float(ours), peer, float(theirs) if peer != "-" else float(ours), UNITS[name][1])
    table.finish()


if __name__ == "__main__":
    main()
