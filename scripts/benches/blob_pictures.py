"""The blob bench's pictures, as PNGs, of two halves: thresholds were chosen by the first; means are told of the second.

What our scenes draw, pages of text, gradients, icons of the system's themes, screens of applications under Xvfb, and
photos that scikit-image ships.
"""

import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import common

CHOSEN, TOLD = 0, 1
FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
SCREENS = (
    {"widgets": ["gtk3-widget-factory"], "terminal": ["xterm", "-geometry", "150x50", "-e", "ls -l /usr/share/doc; sleep 60"]},
    {"demo": ["gtk3-demo"], "icons": ["gtk3-icon-browser"]},
)
PHOTOS = (("astronaut", "coffee", "hubble_deep_field", "retina"), ("chelsea", "rocket", "immunohistochemistry", "stereo_motorcycle"))


def png(image):
    stream = io.BytesIO()
    image.convert("RGBA").save(stream, "png", compress_level=1)
    return stream.getvalue()


def scenes(project, folder, half):
    """A page of each scene, and a cell of it: circles of 100 points, and packages as wide as the page, at scale 2."""
    from PIL import Image

    out = folder / "scenes"
    if not (out / "packages-cached-1.png").exists():
        command = [project / "scripts/profile", "--mode", "cached", "--seconds", "0.5", "--quick", "--out", out]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if result.returncode:
            common.fail(f"the scenes cannot be drawn\n{result.stderr}")
    circles, packages = (Image.open(out / f"{scene}-cached-{half}.png") for scene in ("circles", "packages"))
    return {
        f"circles-{half}": circles, f"packages-{half}": packages,
        f"cell-circle-{half}": circles.crop((0, 200 * half, 214, 200 * half + 200)),
        f"cell-package-{half}": packages.crop((0, 180 * half, 780, 180 * half + 180)),
    }


def text(project, half):
    """What the README says, in black on white, and in a colour on another one."""
    from PIL import Image, ImageDraw, ImageFont

    words = (project / "README.md").read_text().split()
    face, size = (("DejaVuSans.ttf", 22), ("DejaVuSerif.ttf", 18))[half]
    colours = {"light": ("white", "black"), "dark": (((24, 24, 28), (220, 225, 230)), ((0, 43, 54), (181, 137, 0)))[half]}
    pages = {}
    for name, (back, front) in colours.items():
        page = Image.new("RGBA", (780, 1200), back)
        draw, font, line, y = ImageDraw.Draw(page), ImageFont.truetype(str(FONTS / face), size), "", 10
        for word in words:
            if draw.textlength(line + word, font=font) > 740:
                draw.text((20, y), line, front, font=font)
                line, y = "", y + size * 4 // 3
            line += word + " "
        pages[f"text-{name}-{half}"] = page
    return pages


def gradients(half):
    from PIL import Image, ImageDraw

    size, pictures = (390, 240), {}
    at = [(x, y) for y in range(size[1]) for x in range(size[0])]
    if half == CHOSEN:
        pixels = {
            "slanted": [((x + y) * 255 // 630, x * 255 // 390, 255 - y, 255) for x, y in at],
            "fading": [(40, 90, 200, (x + y) * 255 // 630) for x, y in at],
        }
    else:
        pixels = {
            "round": [(255 - min(255, int(((x - 195) ** 2 + (y - 120) ** 2) ** 0.5)), 120, 60, 255) for x, y in at],
            "steep": [(x * 200 // 390, (2 * x + y) * 255 // 1020, 90, 255 - y // 2) for x, y in at],
        }
    for name, values in pixels.items():
        pictures[f"gradient-{name}"] = Image.new("RGBA", size)
        pictures[f"gradient-{name}"].putdata(values)
    # A card with round corners, on nothing, whose colour changes downwards.
    card, mask = Image.new("RGBA", (780, 320)), Image.new("L", (1560, 640))
    start, end = ((90, 120, 240), (200, 80, 160)), ((250, 200, 80), (40, 160, 120))
    (r, g, b), (r2, g2, b2) = start[half], end[half]
    draw = ImageDraw.Draw(card)
    for y in range(320):
        draw.line((0, y, 780, y), (r + (r2 - r) * y // 319, g + (g2 - g) * y // 319, b + (b2 - b) * y // 319, 255))
    ImageDraw.Draw(mask).rounded_rectangle((32, 32, 1528, 608), 64, 255)
    card.putalpha(mask.resize(card.size, Image.Resampling.LANCZOS))
    return pictures | {f"card-{half}": card}


def icons(half):
    """Of each size that a list shows, one from the middle of all names, and one from the last third."""
    from PIL import Image

    chosen = {}
    for size in (48, 64, 96, 256, 512):
        paths = sorted(pathlib.Path("/usr/share/icons").rglob(f"{size}x{size}/**/*.png"), key=lambda path: (path.name, path))
        for part, place in (("a", 0.3 + 0.2 * half), ("b", 0.7 + 0.2 * half)):
            if paths:
                chosen[f"icon-{size}{part}-{half}"] = Image.open(paths[int(place * (len(paths) - 1))])
    return chosen


def screens(half):
    from PIL import ImageGrab

    if any(shutil.which(command[0]) is None for command in SCREENS[half].values()) or shutil.which("Xvfb") is None:
        print("scripts/bench: without screens: Xvfb or an application is not installed", file=sys.stderr)
        return {}
    grabbed, display = {}, f":{70 + half}"
    environment = os.environ | {"DISPLAY": display, "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1"}
    server = subprocess.Popen(["Xvfb", display, "-screen", "0", "1280x800x24"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        for name, command in SCREENS[half].items():
            with tempfile.TemporaryDirectory() as home:
                application = subprocess.Popen(command, env=environment | {"HOME": home}, stderr=subprocess.DEVNULL)
                time.sleep(4)
                grabbed[f"screen-{name}"] = ImageGrab.grab(xdisplay=display)
                application.kill()
                application.wait()
    finally:
        server.kill()
        server.wait()
    return grabbed


def photos(half):
    from PIL import Image
    from skimage import data

    pictures = {}
    for name in PHOTOS[half]:
        pixels = getattr(data, name)()
        pictures[f"photo-{name}"] = Image.fromarray(pixels[0] if isinstance(pixels, tuple) else pixels)
    return pictures


def all_pictures(project, folder):
    """PNGs by names, of each half and group: kept in a folder, so that two runs measure the same."""
    home = folder / "pictures"
    for half in (CHOSEN, TOLD):
        groups = {
            "ui": lambda: scenes(project, folder, half) | text(project, half) | gradients(half) | icons(half) | screens(half),
            "photo": lambda: photos(half),
        }
        for group, draw in groups.items():
            place = home / f"{group}-{half}"
            if not place.exists():
                rest = place.with_suffix(".part")
                rest.mkdir(parents=True, exist_ok=True)
                for name, image in draw().items():
                    (rest / f"{name}.png").write_bytes(png(image))
                rest.rename(place)
            yield half, group, {path.stem: path.read_bytes() for path in sorted(place.glob("*.png"))}
