"""Models of scikit-learn, trained on small made-up data, by skl2onnx.

    python sklearn_models.py NAME FOLDER

`make` returns a fitted estimator and its example inputs.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from model import SEED, Model, main, write_inputs, write_versions  # noqa: E402


def estimator(build, classes):
    def make():
        import numpy

        rng = numpy.random.default_rng(SEED)
        x = rng.normal(size=(400, 12)).astype("float32")
        value = x[:, :6].sum(1) + numpy.sin(x[:, 6:]).prod(1)
        y = numpy.digitize(value, [-1, 1]) if classes else value
        return build().fit(x, y), [rng.normal(size=(5, 12)).astype("float32")]
    return make


def mlp(kind):
    def build():
        import sklearn.neural_network
        return getattr(sklearn.neural_network, kind)(hidden_layer_sizes=(32, 16), max_iter=300, random_state=SEED)
    return build


def pipeline():
    from sklearn.decomposition import PCA
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    return make_pipeline(StandardScaler(), PCA(8), MLPRegressor(hidden_layer_sizes=(32,), max_iter=300, random_state=SEED))


def linear(kind):
    def build():
        import sklearn.linear_model
        return getattr(sklearn.linear_model, kind)()
    return build


def forest():
    from sklearn.ensemble import RandomForestClassifier
    return RandomForestClassifier(5, max_depth=4, random_state=SEED)


MODELS = {
    "sklearn_mlp_regressor": Model("scikit-learn MLPRegressor", estimator(mlp("MLPRegressor"), False)),
    "sklearn_mlp_classifier": Model("scikit-learn MLPClassifier", estimator(mlp("MLPClassifier"), True)),
    "sklearn_pipeline": Model("scikit-learn scaler, PCA and MLPRegressor", estimator(pipeline, False)),
    "sklearn_ridge": Model("scikit-learn Ridge", estimator(linear("Ridge"), False)),
    "sklearn_logistic": Model("scikit-learn LogisticRegression", estimator(linear("LogisticRegression"), True)),
    "sklearn_forest": Model("scikit-learn RandomForestClassifier", estimator(forest, True), refusal="ai.onnx.ml"),
}


def write(model, folder):
    import skl2onnx

    fitted, inputs = model.make()
    options = {id(fitted): {"zipmap": False}} if hasattr(fitted, "classes_") else None
    made = skl2onnx.to_onnx(fitted, inputs[0], target_opset=18, options=options)
    (folder / "model.onnx").write_bytes(made.SerializeToString())
    write_inputs(folder, inputs)
    write_versions(folder, "skl2onnx", 18, ["scikit-learn", "skl2onnx"])


if __name__ == "__main__":
    main(MODELS, write)
