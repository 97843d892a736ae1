"""The raster bench: ours and each peer by turns, in one process.

Ours, Cairo and Pango are in C, in a library that is built here; Skia, Blend2D and Pillow come by their Python packages.
`raster.py PROJECT [--quick] [--only PREFIX] [--json FILE]`, called by scripts/bench.
"""

import ctypes

import common

PACKAGES = {"skia": "skia-python", "blend2d": "blend2d-py", "PIL": "pillow"}
LIBRARIES = ["cairo", "spng", "liblz4", "libxxhash", "pangocairo", "pangoft2", "fontconfig", "freetype2"]


def load(library, icon):
    c = ctypes.CDLL(str(library))
    c.raster_begin.restype = ctypes.c_bool
    c.raster_name.restype = c.raster_peer.restype = ctypes.c_char_p
    c.raster_time.restype = c.raster_two_threads.restype = ctypes.c_double
    if not c.raster_begin(str(icon).encode()):
        common.fail(f"the cases cannot be set up with {icon}")
    return c


def contenders(c, index, peers):
    """By name: what gives the microseconds of so many drawings."""
    found = {}
    which = 0
    while (name := c.raster_peer(index, which)) is not None:
        found[name.decode()] = lambda count, which=which: c.raster_time(index, which, count)
        which += 1
    return found | peers.get(c.raster_name(index).decode(), {})


def main():
    options = common.arguments("raster")
    common.with_peers(options.folder, PACKAGES)
    icon = options.project / "Sources/GessoScenes/Resources/palette.png"
    library = common.build(
        options.project, ["raster.c", "raster_text.c"], options.folder / "raster.so", LIBRARIES,
        ("CSources/CGesso", "CSources/CGessoText"))
    c = load(library, icon)
    peers = {}
    if common.has(PACKAGES):
        import raster_peers

        peers = raster_peers.all_cases(icon)
    table = common.Table("raster", options.json)
    for index in range(c.raster_count()):
        name = c.raster_name(index).decode()
        if not name.startswith(options.only):
            continue
        times = common.compare(contenders(c, index, peers), 9 if options.quick else 31)
        for peer in times:
            if peer != "gesso":
                table.add(name, "us", times["gesso"], peer, times[peer])
    if "text-two-threads".startswith(options.only):
        table.add("text-two-threads", "times one thread's wall", c.raster_two_threads(), "one thread", 1.0)
    table.finish()


if __name__ == "__main__":
    main()
