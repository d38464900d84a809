"""Models of PaddlePaddle with seeded random weights, by paddle2onnx.

    python paddle_models.py NAME FOLDER

`make` returns a layer and a list of example inputs. A model's first dimension is open, as in PaddleOCR's exports.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from model import SEED, Model, main, write_inputs, write_versions  # noqa: E402


def settle(layer, *inputs):
    """Batch normalization gets the statistics of these inputs, so that values keep their size through deep networks."""
    import paddle

    for part in layer.sublayers():
        if isinstance(part, (paddle.nn.BatchNorm2D, paddle.nn.BatchNorm)):
            part._momentum = 0.0
    layer.train()
    with paddle.no_grad():
        layer(*inputs)
    layer.eval()


def vision(name):
    def make():
        import paddle

        layer = getattr(paddle.vision.models, name)(pretrained=False)
        settle(layer, paddle.randn([2, 3, 224, 224]))
        return layer, [paddle.randn([1, 3, 224, 224])]
    return make


def recognizer():
    """Convolutions over a line of text and an LSTM of both directions over its columns, as PaddleOCR's CRNN."""
    import paddle
    from paddle import nn

    class Recognizer(nn.Layer):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Conv2D(3, 24, 3, 2, 1), nn.BatchNorm2D(24), nn.Hardswish(),
                                        nn.Conv2D(24, 48, 3, (2, 1), 1), nn.BatchNorm2D(48), nn.Hardswish())
            self.lstm = nn.LSTM(48, 48, 2, direction="bidirectional")
            self.out = nn.Linear(96, 100)

        def forward(self, image):
            x = self.layers(image).mean(2).transpose([0, 2, 1])
            return nn.functional.softmax(self.out(self.lstm(x)[0]), -1)
    layer = Recognizer()
    settle(layer.layers, paddle.randn([2, 3, 32, 120]))
    layer.eval()
    return layer, [paddle.randn([1, 3, 32, 120])]


def gru():
    import paddle
    from paddle import nn

    class Tagger(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(1000, 48)
            self.gru = nn.GRU(48, 64)
            self.out = nn.Linear(64, 9)

        def forward(self, tokens):
            return self.out(self.gru(self.embed(tokens))[0])
    layer = Tagger()
    layer.eval()
    return layer, [paddle.randint(0, 1000, [1, 40])]


def encoder():
    import paddle
    from paddle import nn

    layer = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 256, activation="gelu"), 2)
    layer.eval()
    return layer, [paddle.randn([1, 50, 128])]


def detector():
    """A feature pyramid with enlargements by nearest neighbours and bilinear ones, as PaddleOCR's DB head."""
    import paddle
    from paddle import nn

    class Detector(nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2D(3, 24, 3, 2, 1), nn.BatchNorm2D(24), nn.ReLU())
            self.second = nn.Sequential(nn.Conv2D(24, 48, 3, 2, 1), nn.BatchNorm2D(48), nn.Hardsigmoid())
            self.side = nn.Conv2D(24, 48, 1)
            self.head = nn.Sequential(nn.Conv2D(96, 24, 3, padding=1), nn.BatchNorm2D(24), nn.ReLU(),
                                      nn.Conv2DTranspose(24, 1, 2, 2), nn.Sigmoid())

        def forward(self, image):
            one = self.first(image)
            two = self.second(one)
            joined = self.side(one) + nn.functional.interpolate(two, scale_factor=2.0, mode="nearest")
            wide = nn.functional.interpolate(two, scale_factor=2.0, mode="bilinear", align_corners=False)
            return self.head(paddle.concat([joined, wide], 1))
    layer = Detector()
    settle(layer, paddle.randn([2, 3, 64, 96]))
    return layer, [paddle.randn([1, 3, 64, 96])]


MODELS = {f"paddle_{name}": Model(f"Paddle {name}", vision(name), {"opset": 17})
          for name in ("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "resnet18", "resnet50", "shufflenet_v2_x1_0",
                       "squeezenet1_1", "densenet121")}
for name, make in (("recognizer", recognizer), ("gru", gru), ("encoder", encoder), ("detector", detector)):
    MODELS[f"paddle_{name}"] = Model(f"Paddle {name}", make, {"opset": 17})


def write(model, folder):
    import paddle

    paddle.seed(SEED)
    layer, inputs = model.make()
    spec = [paddle.static.InputSpec([None, *x.shape[1:]], x.dtype, f"x{i}") for i, x in enumerate(inputs)]
    paddle.onnx.export(layer, str(folder / "model"), input_spec=spec, opset_version=model.export["opset"])
    write_inputs(folder, [x.numpy() for x in inputs])
    write_versions(folder, "paddle2onnx", model.export["opset"], ["paddlepaddle", "paddle2onnx"])


if __name__ == "__main__":
    main(MODELS, write)
