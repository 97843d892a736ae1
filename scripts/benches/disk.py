"""The disk bench: a disk cache's puts, gets, deletes and opens, against a file for each key, SQLite, LMDB and RocksDB.

Ours is measured by `gesso-bench disk`, the peers by disk_peers.c, with the same entries.
`disk.py PROJECT [--quick] [--only PREFIX] [--json FILE]`, called by scripts/bench.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys

import common

LIBRARIES = ["rocksdb", "lmdb", "sqlite3", "libxxhash"]
PEERS = ("file", "sqlite", "sqlite-tuned", "lmdb", "rocksdb", "rocksdb-tuned")
SEED = 1
IMAGE_BYTES, LEAST_ROOM, WARMED_BYTES = 12 << 30, 1 << 30, 512 << 20
SMALL, SMALLER = ("500", "4000"), ("100", "300")  # the least and the most bytes of entries


def build(project, program):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *LIBRARIES], capture_output=True, text=True)
    if flags.returncode:
        common.fail(f"the peers are not installed\n{flags.stderr}")
    sources = [project / "scripts/benches" / name for name in ("disk_peers.c", "disk_peers_stores.c")]
    command = ["clang", "-std=gnu11", "-O2", "-fuse-ld=lld", *sources, *flags.stdout.split(), "-lm", "-pthread",
               "-o", program]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        common.fail(f"the peers do not compile\n{result.stderr}")
    return program


# MARK: Where it is measured


def call(*command):
    """A system administrator's command; its output."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if result.returncode:
        raise OSError(f"{command[0]}: {result.stderr.strip()}")
    return result.stdout.strip()


def remove_all(home, image):
    """What this run or one before it has left."""
    if os.path.ismount(home):
        call("umount", home)
    shutil.rmtree(home, ignore_errors=True)
    image.unlink(missing_ok=True)


def mount_new(home, image):
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)  # sparse
    # All of it is made now, and not in the background while something is timed.
    call("mkfs.ext4", "-q", "-m", "0", "-i", "8192", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(image))
    # Direct: otherwise each block is cached twice, and written back when something else is timed.
    device = call("losetup", "--find", "--show", "--direct-io=on", str(image))
    try:
        call("mount", device, str(home))
    finally:
        call("losetup", "--detach", device)  # as soon as it is unmounted


@contextlib.contextmanager
def file_system(folder):
    """A folder in a new file system, where that can be made.

    Creating files just after a big removal is slow on some file systems, which would make a file for each key look
    worse than it is. Nothing is removed from this one before the end.
    """
    home, image = folder / "disk", folder / "disk.img"
    try:
        remove_all(home, image)
    except OSError as error:
        common.fail(f"is another run going on? {error}")
    home.mkdir()
    try:
        try:
            if os.geteuid():
                raise OSError("that takes root")
            mount_new(home, image)
        except OSError as error:
            print(f"scripts/bench: in a plain folder, not in a file system of its own: {error}", file=sys.stderr)
        yield home
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would leave the rest
        remove_all(home, image)


class Bench:
    """Runs programs in fresh folders, and tells their figures by name."""

    def __init__(self, options, home, ours, peers):
        self.folder, self.home, self.ours, self.peers = options.folder, home, ours, peers
        self.rounds = 3 if options.quick else 5
        self.folders = 0

    def fresh_folder(self):
        for place in (self.folder, self.home):
            if shutil.disk_usage(place).free < LEAST_ROOM:
                common.fail(f"{place} has less than {LEAST_ROOM >> 30} GB left")
        self.folders += 1
        return self.home / str(self.folders)  # the programs make it

    def settle(self):
        """What was written before is on the disk, and there is memory to write to.

        A virtual machine's memory is slow at its first use, and that is whoever comes by just then: puts took four
        times as long. So as much as any of them needs is used before, by a file that is gone before it is written.
        """
        os.sync()
        path, megabyte = self.home / "warm", os.urandom(1 << 20)
        with path.open("wb", buffering=0) as file:
            for _ in range(WARMED_BYTES >> 20):
                file.write(megabyte)
        path.unlink()

    def run(self, program, operation, folder, count, sizes=(), prepare=None):
        """`program`: ours or a peer's name. `prepare` is called just before."""
        command = [self.ours, "disk"] if program == "ours" else [self.peers, program]
        command += [operation, folder, str(count), str(SEED), *sizes]
        self.settle()
        if prepare:
            prepare()
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            common.fail(f"{program} fails to {operation}\n{result.stderr}")
        return {name: float(value) for name, value in map(str.split, result.stdout.splitlines())}

    def by_turns(self, programs, operations, count, sizes=()):
        """Medians by the names of programs and of figures. Each round, all operations of a program have one folder."""
        samples = {program: [] for program in programs}
        for turn in range(self.rounds):
            first = turn % len(programs)
            for program in [*programs[first:], *programs[:first]]:
                folder, figures = self.fresh_folder(), {}
                for operation in operations:
                    figures.update(self.run(program, operation, folder, count, sizes))
                samples[program].append(figures)
        return {program: medians(figures) for program, figures in samples.items()}


def medians(samples):
    return {name: statistics.median(sample[name] for sample in samples) for name in samples[0]}


class Table(common.Table):
    def __init__(self, options):
        super().__init__("disk", options.json)
        self.prefix = options.only

    def wants(self, *names):
        return any(name.startswith(self.prefix) for name in names)

    def compare(self, name, figures, figure, peers):
        if self.wants(name):
            for peer in peers:
                self.add(name, "us", figures["ours"][figure], peer, figures[peer][figure])

    def add_alone(self, name, unit, value):
        """Where there is no peer the figure is compared with itself, which 0 cannot be."""
        if not self.wants(name):
            return
        if value:
            self.add(name, unit, value, "-", value)
        else:
            self.rows.append({"name": name, "unit": unit, "better": "lower", "ours": 0, "peer": "-", "theirs": 0,
                              "ratio": 1})
            print(f"{name:38} {0:10.4g} {'-':19} {0:10.4g} {1:7.2f}", flush=True)


# MARK: Rows


def submit(bench, table, count):
    names = ["submit-p50", "submit-asleep-p50"]
    if table.wants(*names):
        figures = bench.by_turns(["ours"], ["submit"], count)["ours"]
        for name in names:
            table.add_alone(name, "us", figures[name])


def put_and_get(bench, table, count):
    if not table.wants("put", "put-batch-p99", "get"):
        return
    figures = bench.by_turns(["ours", *PEERS], ["put", "get"] if table.wants("get") else ["put"], count)
    table.compare("put", figures, "put", PEERS)
    table.add_alone("put-batch-p99", "ms", figures["ours"]["batch-p99"])
    table.compare("get", figures, "get", PEERS)


def delete(bench, table, count):
    if table.wants("delete-half"):
        figures = bench.by_turns(["ours", "file"], ["put", "delete"], count, SMALL)
        table.compare("delete-half", figures, "delete", ["file"])


def durable(bench, table, count):
    for name, operation in (("durable", "durable"), ("durable-batch-32", "durable-batch")):
        if not table.wants(name):
            continue
        samples = {"ours": [], "naive": []}
        for turn in range(3 * bench.rounds):  # what a disk takes for a sync varies more than the rest
            for program in ["naive", "ours"] if turn % 2 else ["ours", "naive"]:
                done = operation if program == "ours" else "durable"
                samples[program].append(bench.run(program, done, bench.fresh_folder(), count)[done])
        table.add(name, "us", statistics.median(samples["ours"]), "naive", statistics.median(samples["naive"]))


def drop_caches():
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def can_drop_caches():
    try:
        drop_caches()
    except OSError as error:
        print(f"scripts/bench: without opening cold, as files stay cached: {error}", file=sys.stderr)
        return False
    return True


def opening(bench, table, count, power):
    warm, cold = f"open-{power}", f"open-{power}-cold"
    if not table.wants(warm, cold):
        return
    folder = bench.fresh_folder()
    bench.run("ours", "fill", folder, count, SMALLER)

    def median(prepare=None):
        opened = [bench.run("ours", "open", folder, count, SMALLER, prepare)["open"] for _ in range(bench.rounds)]
        return statistics.median(opened)

    if table.wants(warm):
        median()  # what is read is cached then
        table.add_alone(warm, "ms", median())
    if table.wants(cold) and can_drop_caches():
        table.add_alone(cold, "ms", median(drop_caches))


def growth(bench, table, count, power):
    name = f"growth-1e4-{power}"
    if table.wants(name):
        figures = bench.by_turns(["ours"], ["growth"], count, SMALLER)
        table.add_alone(name, "times the cost among 10,000", figures["ours"]["growth"])


def space(bench, table, count):
    """Counted, not timed: once is enough."""
    if table.wants("space", "over-quota"):
        figures = bench.run("ours", "space", bench.fresh_folder(), count)
        table.add_alone("space", "times the bytes of entries", figures["space"])
        table.add_alone("over-quota", "bytes", figures["over-quota"])


def measure(bench, table, quick):
    count, many, power = (1000, 100_000, "1e5") if quick else (3000, 1_000_000, "1e6")
    submit(bench, table, count)
    put_and_get(bench, table, count)
    delete(bench, table, 20_000 if quick else 100_000)
    durable(bench, table, 96 if quick else 320)
    opening(bench, table, many, power)
    growth(bench, table, many, power)
    space(bench, table, 10_000 if quick else 40_000)


def main():
    options = common.arguments("disk")
    ours = common.swift_product(options.project, "gesso-bench")
    peers = build(options.project, options.folder / "disk_peers")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the file system is unmounted then, too
    with file_system(options.folder) as home:
        table = Table(options)
        measure(Bench(options, home, ours, peers), table, options.quick)
        table.finish()


if __name__ == "__main__":
    main()
