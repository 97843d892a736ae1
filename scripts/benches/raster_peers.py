"""Peers of the raster bench that have Python bindings: Skia, Blend2D and Pillow.

Many drawings go through one call of a binding, so that the binding does not count, or what it costs is taken off.
"""

import math
import time

import blend2d
import skia
from PIL import Image

BLUE = (0.2, 0.5, 0.9)
SIZES = (16, 64, 94, 256, 512)


def microseconds(work, count):
    begin = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - begin) * 1e6


# ---- Skia: a picture holds drawings, and is played back by one call ----

surface = skia.Surface.MakeRaster(skia.ImageInfo.MakeN32Premul(1024, 1024))
canvas = surface.getCanvas()
sampling = skia.SamplingOptions(skia.FilterMode.kLinear, skia.MipmapMode.kNone)
BATCH = 20


def by_skia(draw):
    recorder = skia.PictureRecorder()
    target = recorder.beginRecording(skia.Rect.MakeWH(1024, 1024))
    for _ in range(BATCH):
        draw(target)
    picture = recorder.finishRecordingAsPicture()

    def timer(count):
        calls = math.ceil(count / BATCH)
        return microseconds(lambda: canvas.drawPicture(picture), calls) * count / (calls * BATCH)

    return {"skia": timer}


def paint(color, alpha=1.0, **more):
    return skia.Paint(AntiAlias=True, Color4f=skia.Color4f(*color, alpha), **more)


def classic_cell(icon, target, scale):
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


def skia_shapes():
    cases = {}
    for alpha, suffix in ((1.0, ""), (0.5, "-translucent")):
        fill = paint(BLUE, alpha)
        ring = paint(BLUE, alpha, Style=skia.Paint.kStroke_Style, StrokeWidth=2)
        for d in SIZES:
            box, place = skia.Rect.MakeXYWH(3.25, 4.5, d, d), skia.Rect.MakeXYWH(5.25, 6.5, d, d)
            for kept in ("", "-remembered"):
                cases[f"circle-{d}{suffix}{kept}"] = by_skia(lambda target: target.drawOval(box, fill))
                cases[f"rounded-rect-{d}{suffix}{kept}"] = by_skia(
                    lambda target: target.drawRoundRect(box, d / 8, d / 8, fill))
                cases[f"ring-{d}{suffix}{kept}"] = by_skia(lambda target: target.drawOval(place, ring))
    return cases


def skia_shadows():
    cases = {}
    card = skia.RRect.MakeRectXY(skia.Rect.MakeXYWH(60, 60, 196, 180), 20, 20)
    for sigma in (2, 6, 16):
        # By a mask filter, which Skia has nine parts for: far faster than its drop shadow filter.
        shadow = paint((0, 0, 0), 0.5, MaskFilter=skia.MaskFilter.MakeBlur(skia.BlurStyle.kNormal_BlurStyle, sigma))

        def shadowed_card(target):
            target.drawRRect(card.makeOffset(0, 4), shadow)
            target.drawRRect(card, paint((1, 1, 1)))

        cases[f"shadow-card-{sigma}"] = by_skia(shadowed_card)
    return cases


def skia_gradients():
    colors = [skia.Color(26, 51, 204), skia.Color(230, 77, 26), skia.Color(255, 255, 153)]
    linear = skia.GradientShader.MakeLinear([(8, 8), (264, 8 + 256 / 3)], colors, [0, 0.4, 1])
    radial = skia.GradientShader.MakeTwoPointConical((128, 128), 0, (136, 136), 160, colors, [0, 0.4, 1])
    square = skia.Rect.MakeXYWH(8, 8, 256, 256)
    return {
        "gradient-256": by_skia(lambda target: target.drawRect(square, skia.Paint(Shader=linear))),
        "radial-256": by_skia(lambda target: target.drawRect(square, skia.Paint(Shader=radial))),
    }


# ---- Blend2D: the binding costs about a microsecond a call, which is told by filling nothing ----


def blend2d_circles():
    image = blend2d.Image(600, 600)
    context = blend2d.Context(image)
    context.set_fill_style_rgba(*[round(255 * component) for component in BLUE], 255)

    def by_blend2d(d):
        def timer(count):
            nothing = microseconds(lambda: context.fill_circle(-500, -500, 1), count)
            took = microseconds(lambda: context.fill_circle(3.25 + d / 2, 4.5 + d / 2, d / 2), count)
            return max(took - nothing, took / 20)

        return {"blend2d": timer}

    return {f"circle-{d}{kept}": by_blend2d(d) for d in SIZES for kept in ("", "-remembered")}


# ---- Pillow: resampling ----


def pillow_resampling(icon_path):
    picture = Image.open(icon_path).convert("RGBa")  # premultiplied, as ours
    cases = {}
    for factor, name in ((0.43, "downscale-0.43"), (0.43, "downscale-0.43-repeated")):
        size = (math.ceil(200 * factor), math.ceil(160 * factor))
        cases[name] = {
            "pillow": lambda count, size=size: microseconds(
                lambda: picture.resize(size, Image.Resampling.BOX), count)}
    return cases


def all_cases(icon_path):
    """By case and peer: what gives the microseconds of so many drawings."""
    icon = skia.Image.open(str(icon_path))
    cells = {
        f"classic-cell@{scale}": by_skia(lambda target: classic_cell(icon, target, scale)) for scale in (1, 2, 3)}
    cases = cells | skia_shapes() | skia_shadows() | skia_gradients()
    for others in (blend2d_circles(), pillow_resampling(icon_path)):
        for name, peer in others.items():
            cases[name] = cases.get(name, {}) | peer
    return cases
