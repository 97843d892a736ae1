"""The blob bench: sizes, and encoding and decoding by turns, against QOI, libspng, zstd, Blosc, LZ4 and memcpy.

The pictures are blob_pictures.py's. `blob.py PROJECT [--quick] [--only PREFIX] [--json FILE]`, called by scripts/bench.
"""

import ctypes
import io
import math
import statistics

import blob_pictures
import common

PACKAGES = {"PIL": "pillow", "skimage": "scikit-image"}
LIBRARIES = ["cairo", "spng", "liblz4", "libxxhash", "libzstd", "blosc", "pangocairo", "pangoft2", "fontconfig", "freetype2"]


def load(library):
    c = ctypes.CDLL(str(library))
    c.blob_set.restype = ctypes.c_bool
    c.blob_set.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    c.blob_codec.restype = ctypes.c_char_p
    c.blob_size.restype = c.blob_raw_size.restype = ctypes.c_size_t
    c.blob_set_cell.restype = ctypes.c_bool
    c.blob_time.restype = c.blob_time_drawing.restype = ctypes.c_double
    c.blob_time.argtypes = [ctypes.c_int, ctypes.c_bool, ctypes.c_int]
    return c


def measure(c, codecs, encodes, repeats):
    return common.compare(
        {name: lambda count, index=index: c.blob_time(index, encodes, count) for index, name in enumerate(codecs)
         if not (encodes and name == "gesso-small")}, repeats)


def webp_size(png):
    from PIL import Image

    stream = io.BytesIO()
    Image.open(io.BytesIO(png)).save(stream, "webp", lossless=True, exact=True)
    return len(stream.getvalue())


def main():
    options = common.arguments("blob")
    common.with_peers(options.folder, PACKAGES)
    if not common.has(PACKAGES):
        common.fail("the pictures need pillow and scikit-image, which could not be installed")
    library = common.build(
        options.project, ["blob.c", "raster.c", "raster_text.c"], options.folder / "blob.so", LIBRARIES,
        ("CSources/CGesso", "CSources/CGessoText"))
    c = load(library)
    codecs = []
    while (name := c.blob_codec(len(codecs))) is not None:
        codecs.append(name.decode())
    table = common.Table("blob", options.json)
    for half, group, pictures in blob_pictures.all_pictures(options.project, options.folder):
        ratios = {}

        def add(name, what, unit, ours, peer, theirs):
            table.add(f"{name}/{what}", unit, ours, peer, theirs)
            ratios.setdefault((what, unit, peer), []).append((ours, theirs))

        for name, png in pictures.items():
            if not name.startswith(options.only):
                continue
            if not c.blob_set(png, len(png)):
                common.fail(f"{name} does not come back as it was")
            sizes = {codec: c.blob_size(index) for index, codec in enumerate(codecs)}
            for peer in ("gesso-small", "lz4", "qoi", "spng", "zstd-1", "blosc"):
                add(name, "size", "bytes", sizes["gesso"], peer, sizes[peer])
            add(name, "size", "bytes", sizes["gesso"], "webp-lossless", webp_size(png))
            add(name, "size-small", "bytes", sizes["gesso-small"], "zstd-1", sizes["zstd-1"])
            for what, encodes in (("decode", False), ("encode", True)):
                times = measure(c, codecs, encodes, 3 if options.quick else 9)
                for peer in ("lz4", "qoi", "spng", "zstd-1", "blosc", "memcpy"):
                    add(name, what, "us", times["gesso"], peer, times[peer])
        for (what, unit, peer), pairs in ratios.items():
            ours = math.exp(statistics.fmean(math.log(pair[0]) for pair in pairs))
            theirs = math.exp(statistics.fmean(math.log(pair[1]) for pair in pairs))
            mean = f"{group}-mean" if half == blob_pictures.TOLD else f"{group}-chosen-by-mean"
            table.add(f"{mean}/{what}", unit, ours, peer, theirs)
    if "classic-cell@2".startswith(options.only):
        icon = options.project / "Sources/GessoScenes/Resources/palette.png"
        if not c.blob_set_cell(str(icon).encode()):
            common.fail("the classic cell does not come back as it was")
        times = common.compare({"gesso": lambda n: c.blob_time(0, False, n), "drawing": c.blob_time_drawing},
                               9 if options.quick else 31)
        table.add("classic-cell@2/decode", "us", times["gesso"], "drawing", times["drawing"])
    table.finish()


if __name__ == "__main__":
    main()
