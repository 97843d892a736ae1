"""Peers of the raster bench that have Python bindings: Skia, Blend2D and Pillow.

Prints `name<TAB>microseconds<TAB>peer` lines: medians of repeats in each of which many drawings go through one call of
the binding, so that the binding does not count. `raster_peers.py ICON.png [quick]`
"""

import math
import statistics
import sys
import time

import blend2d
import skia
from PIL import Image

repeats = 7 if "quick" in sys.argv else 25
BATCH = 50


def measure(name, peer, work, drawings):
    """`work` makes so many drawings."""
    work()
    samples = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        samples.append((time.perf_counter() - begin) * 1e6 / drawings)
    print(f"{name}\t{statistics.median(samples):.4f}\t{peer}", flush=True)


# ---- Skia: a picture holds the drawings, and is played back by one call ----

surface = skia.Surface.MakeRaster(skia.ImageInfo.MakeN32Premul(1024, 1024))
canvas = surface.getCanvas()
icon = skia.Image.open(sys.argv[1])


def recorded(draw):
    recorder = skia.PictureRecorder()
    draw(recorder.beginRecording(skia.Rect.MakeWH(1024, 1024)))
    return recorder.finishRecordingAsPicture()


def skia_bench(name, draw):
    def all_of_them(target):
        for _ in range(BATCH):
            draw(target)

    picture = recorded(all_of_them)
    measure(name, "skia", lambda: canvas.drawPicture(picture), BATCH)


def paint(color, alpha=1.0, **more):
    return skia.Paint(AntiAlias=True, Color4f=skia.Color4f(*color, alpha), **more)


BLUE = (0.2, 0.5, 0.9)
sampling = skia.SamplingOptions(skia.FilterMode.kLinear, skia.MipmapMode.kNone)


def classic_cell(target, scale):
    """All of a cell: background, clipped circle with icon, ring with a hard shadow."""
    target.save()
    target.scale(scale, scale)
    target.clipRect(skia.Rect.MakeWH(107, 100))
    target.drawRect(skia.Rect.MakeWH(107, 100), skia.Paint(Color4f=skia.Color4f(2 / 3, 2 / 3, 2 / 3, 1)))
    target.save()
    target.clipRRect(skia.RRect.MakeOval(skia.Rect.MakeXYWH(6.5, 3, 94, 94)), skia.ClipOp.kIntersect, True)
    target.drawRect(skia.Rect.MakeXYWH(6.5, 3, 94, 94), paint((0.4, 0.3, 0.2)))
    width, height = 84.6, 84.6 * icon.height() / icon.width()
    target.drawImageRect(icon, skia.Rect.MakeXYWH(53.5 - width / 2, 50 - height / 2, width, height), sampling)
    target.restore()
    ring = dict(Style=skia.Paint.kStroke_Style, StrokeWidth=2)
    target.drawCircle(53.5, 51, 47, paint((0, 0, 0), 0.6, **ring))
    target.drawCircle(53.5, 50, 47, paint((1, 1, 1), **ring))
    target.restore()


for scale in (1, 2, 3):
    skia_bench(f"classic-cell@{scale}", lambda target: classic_cell(target, scale))
for alpha, suffix in ((1.0, ""), (0.5, "-translucent")):
    for d in (16, 64, 94, 256, 512):
        fill = paint(BLUE, alpha)
        ring = paint(BLUE, alpha, Style=skia.Paint.kStroke_Style, StrokeWidth=2)
        box = skia.Rect.MakeXYWH(3.25, 4.5, d, d)
        skia_bench(f"circle-{d}{suffix}", lambda target: target.drawOval(box, fill))
        skia_bench(f"rounded-rect-{d}{suffix}", lambda target: target.drawRoundRect(box, d / 8, d / 8, fill))
        skia_bench(f"ring-{d}{suffix}", lambda target: target.drawOval(skia.Rect.MakeXYWH(5.25, 6.5, d, d), ring))

card = skia.RRect.MakeRectXY(skia.Rect.MakeXYWH(60, 60, 196, 180), 20, 20)
for sigma in (2, 6, 16):
    # By a mask filter, which Skia has nine parts for: far faster than its drop shadow filter.
    shadow = paint((0, 0, 0), 0.5, MaskFilter=skia.MaskFilter.MakeBlur(skia.BlurStyle.kNormal_BlurStyle, sigma))

    def shadowed_card(target):
        target.drawRRect(card.makeOffset(0, 4), shadow)
        target.drawRRect(card, paint((1, 1, 1)))

    skia_bench(f"shadow-card-{sigma}", shadowed_card)
gradient = skia.GradientShader.MakeLinear(
    [(8, 8), (264, 8 + 256 / 3)], [skia.Color(26, 51, 204), skia.Color(230, 77, 26), skia.Color(255, 255, 153)], [0, 0.4, 1])
skia_bench(
    "gradient-256",
    lambda target: target.drawRect(skia.Rect.MakeXYWH(8, 8, 256, 256), skia.Paint(Shader=gradient)))

# ---- Blend2D: the binding costs about a microsecond a call, which is told by filling nothing ----

image = blend2d.Image(600, 600)
context = blend2d.Context(image)
context.set_fill_style_rgba(*[round(255 * component) for component in BLUE], 255)


def blend2d_time(work):
    samples = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(BATCH):
            work()
        samples.append((time.perf_counter() - begin) * 1e6 / BATCH)
    return statistics.median(samples)


empty = blend2d_time(lambda: context.fill_circle(-500, -500, 1))
for d in (16, 64, 94, 256, 512):
    took = blend2d_time(lambda: context.fill_circle(3.25 + d / 2, 4.5 + d / 2, d / 2)) - empty
    print(f"circle-{d}\t{max(took, 0.0001):.4f}\tblend2d", flush=True)

# ---- Pillow: resampling ----

picture = Image.open(sys.argv[1]).convert("RGBa")  # premultiplied, as ours
size = (math.ceil(200 * 0.43), math.ceil(160 * 0.43))
measure("downscale-0.43", "pillow", lambda: [picture.resize(size, Image.Resampling.BOX) for _ in range(BATCH)], BATCH)
