"""The networks that benchmarks/quantizers/compare is about, and where their files lie.

Kinds of metric, which truth.py computes:

    classes     one row of scores: the largest counts, against f32 and against labels
    ctc         [N, steps, characters]: the decoded line, against f32 and against what was drawn
    text_map    [N, 1, H, W] probability of text: boxes of its connected parts
    boxes       [N, candidates, 4 + 1 + classes]: centre, size, objectness, scores of classes
    ssd         scores [N, candidates, 2] and corners [N, candidates, 4] from 0 to 1
    embedding   [N, numbers]: cosine, and which other sample is nearest
    sentences   the same, and the rank correlation of the cosines of all pairs
    angles      three outputs [N, 66]: scores of bins of 3 degrees from -99 on
    labels_map  [N, classes, H, W]: the class of each pixel
"""
import dataclasses
import importlib.machinery
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 36


@dataclasses.dataclass(frozen=True)
class Network:
    title: str
    kind: str
    calibration: int  # samples
    test: int
    tree: str = ""  # file of the tree or of scripts/setup; else models.py makes it
    shape: str = ""  # of one sample, for mscgym, where the file leaves more open than the batch
    fixed: bool = False  # the file takes one sample a call
    form: str = ""  # what an output is, for mscgym, where the file does not tell: docs/quality.md
    archive: bool = False  # it has several inputs: samples are an .npz with an array for each


FACES = "third_party/models/fr_"
OCR = "third_party/models/ppocr_"

# Cheapest first.
NETWORKS = {
    "fashion_resnet": Network("Fashion-MNIST ResNet", "classes", 300, 10000, "experiments/models/fashion_resnet.onnx"),
    "fashion_mobile": Network("Fashion-MNIST MobileNet-like", "classes", 300, 10000),
    "fashion_vgg": Network("Fashion-MNIST VGG-like", "classes", 300, 10000),
    "ppocr_cls": Network("PP-OCR cls (MobileNetV3-like)", "classes", 100, 600, OCR + "cls.onnx", "x=1x3x48x192"),
    "fr_detect": Network("face detection (RFB-320)", "ssd", 100, 300, FACES + "detect.onnx", fixed=True),
    "fr_feature": Network("face embedding (MobileFaceNet)", "embedding", 100, 300, FACES + "feature.onnx", fixed=True),
    "fr_pose": Network("head pose (ShuffleNetV2)", "angles", 100, 300, FACES + "pose.onnx", fixed=True),
    "ppocr_rec": Network("PP-OCRv4 rec", "ctc", 100, 320, OCR + "rec.onnx", "x=1x3x48x320"),
    "unet": Network("U-Net", "labels_map", 100, 300),
    "encoder": Network("sentence encoder (MiniLM, 6 layers)", "sentences", 300, 300, archive=True),
    "efficientnet": Network("EfficientNet-Lite0", "classes", 100, 400),
    "fr_expression": Network("expression (DenseNet-121)", "classes", 100, 300, FACES + "expression.onnx", fixed=True),
    "ppocr_det": Network("PP-OCRv4 det", "text_map", 40, 40, OCR + "det.onnx", "x=1x3x640x640"),
    "yolo": Network("YOLOX-like detector", "boxes", 100, 300, fixed=True,
                    form="output=boxes:axis=2,objectness=true"),
}


def load(name):
    """Another script of benchmarks/, for what it shares."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "benchmarks" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def model_file(folder, name):
    """The model as users have it."""
    tree = NETWORKS[name].tree
    return ROOT / tree if tree else pathlib.Path(folder) / "models" / f"{name}.onnx"


def samples_file(folder, name, part):
    """`part` is calibration or test: [N, ...] of a network's one input, or an array for each by its name."""
    return pathlib.Path(folder) / name / (part + (".npz" if NETWORKS[name].archive else ".npy"))
