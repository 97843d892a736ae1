"""The blob bench: sizes, and encoding and decoding by turns, against QOI, libspng, zstd, Blosc, LZ4 and memcpy.

The pictures: what our scenes draw, icons of the system's theme, gradients and text that are drawn here, and photos that
scikit-image ships. `blob.py PROJECT [--quick] [--only PREFIX] [--json FILE]`, called by scripts/bench.
"""

import ctypes
import io
import math
import pathlib
import statistics
import subprocess

import common

PACKAGES = {"PIL": "pillow", "skimage": "scikit-image"}
LIBRARIES = ["cairo", "spng", "liblz4", "libxxhash", "libzstd", "blosc"]
PHOTOS = ("astronaut", "chelsea", "coffee", "rocket")


def png(image):
    stream = io.BytesIO()
    image.convert("RGBA").save(stream, "png", compress_level=1)
    return stream.getvalue()


def gradients():
    """A slanted one, and one whose alpha fades."""
    from PIL import Image

    slanted, fading = Image.new("RGBA", (390, 240)), Image.new("RGBA", (390, 240))
    slanted.putdata([((x + y) * 255 // 630, x * 255 // 390, 255 - y, 255) for y in range(240) for x in range(390)])
    fading.putdata([(40, 90, 200, (x + y) * 255 // 630) for y in range(240) for x in range(390)])
    return {"gradient-slanted": slanted, "gradient-fading": fading}


def scene_pictures(project, folder):
    """Pages of the scenes, and the cell that they begin with."""
    from PIL import Image

    out = folder / "scenes"
    if not (out / "packages-cached-1.png").exists():
        command = [project / "scripts/profile", "--mode", "cached", "--seconds", "0.5", "--quick", "--out", out]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if result.returncode:
            common.fail(f"the scenes cannot be drawn\n{result.stderr}")
    pages = {path.stem.replace("-cached", ""): Image.open(path) for path in sorted(out.glob("*-cached-*.png"))}
    cells = {
        "cell-circle": pages["circles-0"].crop((0, 0, 214, 200)),
        "cell-package": pages["packages-0"].crop((0, 0, 780, 180)),
    }
    return pages | cells


def icons():
    """Large ones of the theme, every so many, so that it does not matter which."""
    from PIL import Image

    paths = [path for path in sorted(pathlib.Path("/usr/share/icons").rglob("*.png")) if path.stat().st_size > 2000]
    chosen = {}
    for path in paths[:: max(1, len(paths) // 12)]:
        chosen.setdefault(f"icon-{path.stem}", Image.open(path))
    return chosen


def photos():
    from PIL import Image
    from skimage import data

    return {f"photo-{name}": Image.fromarray(getattr(data, name)()) for name in PHOTOS}


def load(library):
    c = ctypes.CDLL(str(library))
    c.blob_set.restype = ctypes.c_bool
    c.blob_set.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    c.blob_codec.restype = ctypes.c_char_p
    c.blob_size.restype = c.blob_raw_size.restype = ctypes.c_size_t
    c.blob_time.restype = ctypes.c_double
    c.blob_time.argtypes = [ctypes.c_int, ctypes.c_bool, ctypes.c_int]
    return c


def measure(c, codecs, encodes, repeats):
    return common.compare(
        {name: lambda count, index=index: c.blob_time(index, encodes, count) for index, name in enumerate(codecs)
         if not (encodes and name == "gesso-small")}, repeats)


def webp_size(image):
    stream = io.BytesIO()
    image.convert("RGBA").save(stream, "webp", lossless=True, exact=True)
    return len(stream.getvalue())


def main():
    options = common.arguments("blob")
    common.with_peers(options.folder, PACKAGES)
    if not common.has(PACKAGES):
        common.fail("the pictures need pillow and scikit-image, which could not be installed")
    library = common.build(
        options.project, ["blob.c"], options.folder / "blob.so", LIBRARIES)
    c = load(library)
    codecs = []
    while (name := c.blob_codec(len(codecs))) is not None:
        codecs.append(name.decode())
    table = common.Table("blob", options.json)
    groups = {
        "ui": scene_pictures(options.project, options.folder) | gradients() | icons(),
        "photo": photos(),
    }
    for group, images in groups.items():
        ratios = {}

        def add(name, what, unit, ours, peer, theirs):
            table.add(f"{name}/{what}", unit, ours, peer, theirs)
            ratios.setdefault((what, unit, peer), []).append((ours, theirs))

        for name, image in images.items():
            if not name.startswith(options.only):
                continue
            bytes_ = png(image)
            if not c.blob_set(bytes_, len(bytes_)):
                common.fail(f"{name} does not come back as it was")
            sizes = {codec: c.blob_size(index) for index, codec in enumerate(codecs)}
            for peer in ("gesso-small", "lz4", "qoi", "spng", "zstd-1", "blosc"):
                add(name, "size", "bytes", sizes["gesso"], peer, sizes[peer])
            add(name, "size", "bytes", sizes["gesso"], "webp-lossless", webp_size(image))
            add(name, "size-small", "bytes", sizes["gesso-small"], "zstd-1", sizes["zstd-1"])
            for what, encodes in (("decode", False), ("encode", True)):
                times = measure(c, codecs, encodes, 3 if options.quick else 9)
                for peer in ("lz4", "qoi", "spng", "zstd-1", "blosc", "memcpy"):
                    add(name, what, "us", times["gesso"], peer, times[peer])
        for (what, unit, peer), pairs in ratios.items():
            ours = math.exp(statistics.fmean(math.log(pair[0]) for pair in pairs))
            theirs = math.exp(statistics.fmean(math.log(pair[1]) for pair in pairs))
            table.add(f"{group}-mean/{what}", unit, ours, peer, theirs)
    table.finish()


if __name__ == "__main__":
    main()
