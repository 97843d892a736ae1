"""The cache bench: hit ratios of ours and of libCacheSim's policies on the same traces, with objects of one size.

Ours is measured by `gesso-bench trace`, which is built here; the traces are scroll_traces.py's.
`cache.py PROJECT [--quick] [--only PREFIX] [--json FILE] [--seed N]`, called by scripts/bench. Nothing is timed, so
--quick changes nothing.
"""

import multiprocessing
import statistics
import subprocess
import sys

import common
import scroll_traces

PACKAGES = {"libcachesim": "libcachesim"}
CAPACITIES = (5, 20, 50)  # percent of a trace's objects
POLICIES = {"lru": "LRU", "arc": "ARC", "s3-fifo": "S3FIFO", "sieve": "Sieve", "w-tinylfu": "WTinyLFU", "lirs": "LIRS",
            "gdsf": "GDSF", "cacheus": "Cacheus"}
# The first queue's share of the capacity, and the least that it holds. Shares are rounded down, and the library lets
# nothing in that does not fit: with its default shares, small caches would stay empty.
FIRST_QUEUES = {"s3-fifo": ("small_size_ratio", 0.1, 2), "w-tinylfu": ("window_size", 0.01, 1)}
MEAN = "hit-ratio-mean/all"
# Of one seed, what a hint gains is a matter of a few flings: the optimum itself is 1.3 points over LRU or 5.
HINTED_SEEDS = 10


class Trace:
    def __init__(self, name, seed, folder):
        self.name = name
        requests = scroll_traces.MAKERS[name](seed)
        numbers = {}
        self.keys = [numbers.setdefault(request.key, len(numbers)) for request in requests]
        self.objects = len(numbers)
        self.path = folder / f"{name}-{seed}.tsv"
        with self.path.open("w") as file:
            for request in requests:
                about_row = request[2:] if request.list else [""] * 4
                print(request.key, 1, *about_row, sep="\t", file=file)

    def capacity(self, percent):
        return max(1, round(self.objects * percent / 100))


def our_ratio(executable, trace, capacity, *flags):
    command = [executable, "trace", trace.path, str(capacity), *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        common.fail(f"gesso-bench does not run {trace.path}\n{result.stderr}")
    hits, requests = map(int, result.stdout.split())
    if requests != len(trace.keys):
        common.fail(f"gesso-bench saw {requests} of the {len(trace.keys)} requests of {trace.path}")
    return hits / requests


def policy_hits(peer, keys, capacity):
    import libcachesim

    shares = {}
    if peer in FIRST_QUEUES:
        option, share, least = FIRST_QUEUES[peer]
        shares[option] = max(share, (least + 0.5) / capacity)  # the half keeps it from being rounded below that
    cache = getattr(libcachesim, POLICIES[peer])(capacity, **shares)
    return sum(cache.get(libcachesim.Request(obj_id=key, obj_size=1)) for key in keys)


def peer_ratio(peer, trace, capacity):
    """None where there is none."""
    if peer == "optimum":
        return scroll_traces.optimum(trace.keys, capacity) / len(trace.keys)
    if not common.has(PACKAGES):
        return None
    # In a process of its own: the library may abort, and its random numbers go on from one cache to the next.
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    process = fork.Process(target=lambda: sending.send(policy_hits(peer, trace.keys, capacity)))
    process.start()
    sending.close()
    try:
        hits = receiving.recv()
    except EOFError:
        hits = None
    process.join()
    if not hits:
        how = "has no hits" if hits == 0 else "does not run"
        print(f"scripts/bench: without {peer}, which {how} with {trace.name} and {capacity} objects", file=sys.stderr)
        return None
    return hits / len(trace.keys)


def main():
    options = common.arguments(
        "cache", lambda parser: parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the traces"))
    common.with_peers(options.folder, PACKAGES)
    executable = common.swift_product(options.project, "gesso-bench")
    traces = {name: Trace(name, options.seed, options.folder) for name in scroll_traces.MAKERS}
    table = common.Table("cache", options.json)

    def wanted(name):
        return name.startswith(options.only)

    def compare(name, trace, percent, peers, *flags):
        """Ours and the best policy's."""
        capacity = trace.capacity(percent)
        ours = our_ratio(executable, trace, capacity, *flags)
        policies = []
        for peer in peers:
            theirs = peer_ratio(peer, trace, capacity)
            if theirs is None:
                continue
            if wanted(name):
                table.add(name, "ratio", ours, peer, theirs, better="higher")
            if peer != "optimum":
                policies.append(theirs)
        return ours, max(policies, default=None)

    pairs = []
    for trace in traces.values():
        for percent in CAPACITIES:
            name = f"hit-ratio/{trace.name}/{percent}"
            if wanted(name) or wanted(MEAN):  # the mean needs them all
                pairs.append(compare(name, trace, percent, [*POLICIES, "optimum"]))
    for percent in CAPACITIES:
        name = f"hit-ratio-hinted/scroll/{percent}"
        if wanted(name):
            compare(name, traces["scroll"], percent, ["lru", "optimum"], "--hinted")
    means = {percent: f"hit-ratio-hinted-mean/scroll/{percent}" for percent in CAPACITIES}
    if any(map(wanted, means.values())):
        seeds = [Trace("scroll", seed, options.folder) for seed in range(options.seed, options.seed + HINTED_SEEDS)]
    for percent, name in means.items():
        if not wanted(name):
            continue
        ours = statistics.fmean(our_ratio(executable, trace, trace.capacity(percent), "--hinted") for trace in seeds)
        for peer in ("lru", "optimum"):
            theirs = [peer_ratio(peer, trace, trace.capacity(percent)) for trace in seeds]
            if all(theirs):
                table.add(name, "ratio", ours, peer, statistics.fmean(theirs), better="higher")
    if wanted(MEAN) and all(best for _, best in pairs):
        ours, theirs = (statistics.fmean(values) for values in zip(*pairs))
        table.add(MEAN, "ratio", ours, "best-peer", theirs, better="higher")
    table.finish()


if __name__ == "__main__":
    main()
