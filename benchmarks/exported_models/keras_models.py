"""Models of Keras with seeded random weights, by tf2onnx and by Keras' own export to ONNX.

    python keras_models.py NAME FOLDER

`make` returns a Keras model and a list of example inputs.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from model import SEED, Model, main, write_inputs, write_versions  # noqa: E402


def settle(model, inputs):
    """Batch normalization gets the statistics of these inputs, so that values keep their size through deep networks."""
    import keras

    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    model(inputs, training=True)


def application(name, size=224, **options):
    def make():
        import keras
        import numpy

        model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), **options)
        rng = numpy.random.default_rng(SEED)
        settle(model, rng.normal(size=(2, size, size, 3)).astype("float32"))
        return model, [rng.normal(size=(1, size, size, 3)).astype("float32")]
    return make


def recurrent(kind):
    """A tagger of 40 tokens with two layers, the first in both directions, padding left out by a mask."""
    def make():
        import keras
        import numpy

        layer = getattr(keras.layers, kind)
        tokens = keras.Input((40,), dtype="int32")
        x = keras.layers.Embedding(1000, 48)(tokens)
        x = keras.layers.Bidirectional(layer(64, return_sequences=True))(x)
        x = layer(64, return_sequences=True)(x)
        model = keras.Model(tokens, keras.layers.Dense(9, activation="softmax")(x))
        return model, [numpy.random.default_rng(SEED).integers(0, 1000, (1, 40)).astype("int32")]
    return make


def masked_lstm():
    """A classifier of sentences whose tokens 0 are padding."""
    import keras
    import numpy

    tokens = keras.Input((40,), dtype="int32")
    x = keras.layers.Embedding(1000, 48, mask_zero=True)(tokens)
    x = keras.layers.LSTM(64)(x)
    model = keras.Model(tokens, keras.layers.Dense(3, activation="softmax")(x))
    given = numpy.random.default_rng(SEED).integers(1, 1000, (1, 40)).astype("int32")
    given[:, 29:] = 0
    return model, [given]


def transformer():
    """A block of attention over tokens, as in Keras' example for the classification of texts."""
    import keras
    import numpy

    tokens = keras.Input((60,), dtype="int32")
    x = keras.layers.Embedding(2000, 64)(tokens)
    y = keras.layers.MultiHeadAttention(4, 16)(x, x)
    x = keras.layers.LayerNormalization(epsilon=1e-6)(x + y)
    y = keras.layers.Dense(64)(keras.layers.Dense(128, activation="relu")(x))
    x = keras.layers.LayerNormalization(epsilon=1e-6)(x + y)
    x = keras.layers.GlobalAveragePooling1D()(x)
    model = keras.Model(tokens, keras.layers.Dense(2, activation="softmax")(x))
    return model, [numpy.random.default_rng(SEED).integers(0, 2000, (1, 60)).astype("int32")]


def autoencoder():
    """Strides down, transposed convolutions and upsampling up, with the padding 'same' of Keras."""
    import keras
    import numpy

    layers = keras.layers
    image = keras.Input((65, 49, 3))
    x = layers.Conv2D(16, 3, 2, "same", activation="relu")(image)
    x = layers.DepthwiseConv2D(3, 2, "same", activation="relu6")(x)
    x = layers.SeparableConv2D(32, 3, padding="same", activation="swish")(x)
    x = layers.Conv2DTranspose(16, 3, 2, "same", activation="leaky_relu")(x)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = layers.GroupNormalization(4)(x)
    x = layers.ZeroPadding2D(((1, 0), (0, 2)))(x)
    model = keras.Model(image, layers.Conv2D(3, 1, activation="sigmoid")(x))
    return model, [numpy.random.default_rng(SEED).random((1, 65, 49, 3)).astype("float32")]


def wave():
    """One-dimensional convolutions that see only the past, with growing dilations."""
    import keras
    import numpy

    layers = keras.layers
    sound = keras.Input((256, 4))
    x = sound
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(24, 3, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        x = y if x is sound else layers.Add()([x, y])
    x = layers.MaxPooling1D(2)(x)
    model = keras.Model(sound, layers.Dense(5)(layers.Flatten()(x)))
    return model, [numpy.random.default_rng(SEED).normal(size=(1, 256, 4)).astype("float32")]


MODELS = {}
for name, size in (("MobileNetV2", 224), ("MobileNetV3Small", 224), ("EfficientNetB0", 224), ("EfficientNetV2B0", 224),
                   ("ResNet50", 224), ("DenseNet121", 224), ("InceptionV3", 299), ("Xception", 299), ("NASNetMobile", 224),
                   ("ResNet50V2", 224)):
    MODELS[f"keras_{name}"] = Model(f"Keras {name}", application(name, size), {"by": "tf2onnx"})
for name, make in (("lstm", recurrent("LSTM")), ("gru", recurrent("GRU")), ("rnn", recurrent("SimpleRNN")),
                   ("masked_lstm", masked_lstm), ("transformer", transformer), ("autoencoder", autoencoder), ("wave", wave)):
    MODELS[f"keras_{name}"] = Model(f"Keras {name.replace('_', ' ')}", make, {"by": "tf2onnx"})
for name in ("MobileNetV2", "lstm", "transformer", "autoencoder"):
    MODELS[f"keras_{name}_own"] = Model(MODELS[f"keras_{name}"].title, MODELS[f"keras_{name}"].make, {"by": "keras"})


def write(model, folder):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    keras.utils.set_random_seed(SEED)
    network, inputs = model.make()
    network(inputs if len(inputs) > 1 else inputs[0])  # else Keras does not know the inputs of its own export
    path, opset = str(folder / "model.onnx"), 18
    if model.export["by"] == "keras":
        network.export(path, format="onnx", opset_version=opset, verbose=False)
    else:
        with tempfile.TemporaryDirectory() as saved:
            network.export(saved, format="tf_saved_model", verbose=False)
            subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", saved, "--opset", str(opset), "--output", path],
                           check=True)
    write_inputs(folder, inputs)
    exporter = "keras.Model.export" if model.export["by"] == "keras" else "tf2onnx.convert"
    write_versions(folder, exporter, opset, ["keras", "tensorflow-cpu", "tf2onnx", "onnx"])


if __name__ == "__main__":
    main(MODELS, write)
