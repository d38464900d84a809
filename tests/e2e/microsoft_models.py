"""Small models with operators of the domain com.microsoft, and what ONNX Runtime computes for them.

    PYTHON microsoft_models.py write FOLDER             models of one operator
    PYTHON microsoft_models.py write-optimized FOLDER   networks of ONNX Runtime's optimizer and quantizer
    PYTHON microsoft_models.py write-blocked FOLDER     one that only this CPU can run
    PYTHON microsoft_models.py compare FOLDER           how FOLDER/NAME/out/*.npy differ from the expected outputs

PYTHON has onnx and onnxruntime: `scripts/peers python peers` names it. It writes FOLDER/NAME/model.onnx, input_N.npy
and expected_N.npy, and prints JSON by NAME: the operators of com.microsoft, or of each output what it holds and the
largest difference. That of floats is a share of the largest expected value if this is above 1.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 17
F32, I8, U8, I32 = np.float32, np.int8, np.uint8, np.int32
CASES = {}
random = np.random.default_rng(7)


def floats(*shape, scale=1.0):
    return (scale * random.standard_normal(shape)).astype(F32)


def integers(dtype, *shape):
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def weights(*shape):
    """Of 7 bits: with more, CPUs without VNNI let sums of 16 bits saturate in ONNX Runtime."""
    return integers(I8, *shape) // 2


def case(name, op, inputs, outputs=("y",), types=(F32,), attrs=None, dims=None, domain="com.microsoft", opset=OPSET):
    """A model of one node. Inputs are (name, array); one whose name ends in _ is a constant, None is absent.
    `dims` gives inputs symbolic sizes."""
    assert name not in CASES, name
    node = helper.make_node(op, ["" if one is None else one[0] for one in inputs], list(outputs), domain=domain,
                            **(attrs or {}))
    given = [one for one in inputs if one is not None]
    feeds = {key: np.asarray(value) for key, value in given if not key.endswith("_")}
    constants = [numpy_helper.from_array(np.asarray(value), key) for key, value in given if key.endswith("_")]
    CASES[name] = (graph_model([node], feeds, {out: kind for out, kind in zip(filter(None, outputs), types)},
                               constants, dims, opset), feeds)


def graph_model(nodes, feeds, outputs, constants=(), dims=None, opset=OPSET):
    def kind(dtype):
        return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    inputs = [helper.make_tensor_value_info(name, kind(value.dtype), (dims or {}).get(name, list(value.shape)))
              for name, value in feeds.items()]
    made = [helper.make_tensor_value_info(name, kind(dtype), None) for name, dtype in outputs.items()]
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph(nodes, "main", inputs, made, list(constants)), opset_imports=imports,
                             ir_version=8)


def fused_layers():
    x, w, b = floats(1, 3, 8, 8), floats(4, 3, 3, 3), floats(4)
    for name, params in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.2]),
                         ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.1, 0.4])):
        attrs = {"activation": name, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
        if params:
            attrs["activation_params"] = params
        case(f"fused_conv_{name}", "FusedConv", [("x", x), ("w_", w), ("b_", b)], attrs=attrs)
    case("fused_conv_sum", "FusedConv", [("x", x), ("w_", w), ("b_", b), ("z", floats(1, 4, 6, 6))],
         attrs={"activation": "Relu"})
    case("fused_conv_sum_without_bias", "FusedConv", [("x", x), ("w_", w), None, ("z", floats(1, 4, 3, 3))],
         attrs={"activation": "Relu", "strides": [2, 2]})
    case("fused_conv_no_activation", "FusedConv", [("x", x), ("w_", floats(6, 1, 3, 3))],
         attrs={"group": 3, "auto_pad": "SAME_UPPER"})
    case("fused_conv_batch", "FusedConv", [("x", floats(2, 3, 8, 8)), ("w_", w)], attrs={"activation": "Relu"},
         dims={"x": ["N", 3, "H", "W"]})

    a, b, c = floats(3, 5), floats(5, 4), floats(4)
    for name, params in (("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", {"alpha": 0.3}),
                         ("Elu", {"alpha": 0.7}), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
                         ("Selu", {"alpha": 1.6, "gamma": 1.1}), ("Softplus", {}), ("Softsign", {}),
                         ("ThresholdedRelu", {"alpha": 0.4})):
        case(f"fused_gemm_{name}", "FusedGemm", [("a", a), ("b_", b), ("c_", c)],
             attrs={"activation": name} | {f"activation_{key}": value for key, value in params.items()})
    case("fused_gemm_turned", "FusedGemm", [("a", floats(5, 3)), ("b_", floats(4, 5)), ("c_", floats(3, 1))],
         attrs={"activation": "Relu", "transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0})
    case("fused_gemm_without_c", "FusedGemm", [("a", a), ("b", b)], attrs={"activation": "Relu"})

    case("fused_matmul", "FusedMatMul", [("a", floats(2, 3, 5)), ("b_", b)], attrs={"alpha": 0.25})
    case("fused_matmul_turned", "FusedMatMul", [("a", floats(2, 5, 3)), ("b", floats(2, 4, 5))],
         attrs={"transA": 1, "transB": 1, "alpha": 0.125})
    case("fused_matmul_plain", "FusedMatMul", [("a", floats(5)), ("b", b)])
    case("fused_matmul_batch", "FusedMatMul", [("a", floats(3, 2, 7, 5)), ("b", floats(2, 7, 5, 4))],
         attrs={"transBatchA": 1})
    case("fused_matmul_batches", "FusedMatMul", [("a", floats(5, 2, 7, 3)), ("b", floats(4, 2, 7, 5))],
         attrs={"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1, "alpha": 2.0})
    case("transpose_matmul", "TransposeMatMul", [("a", floats(5, 3)), ("b", floats(5, 4))], attrs={"transA": 1})
    case("fused_matmul_double", "FusedMatMul", [("a", a.astype(np.float64)), ("b", b.astype(np.float64))],
         types=(np.float64,), attrs={"alpha": 0.3})


def activations():
    x = floats(2, 3, 8, scale=2.0)
    case("gelu", "Gelu", [("x", x)])
    case("bias_gelu", "BiasGelu", [("x", x), ("b_", floats(8))])
    case("fast_gelu", "FastGelu", [("x", x)])
    case("fast_gelu_bias", "FastGelu", [("x", x), ("b", floats(8))], dims={"x": ["B", "S", 8]})
    case("quick_gelu", "QuickGelu", [("x", x)])
    case("quick_gelu_alpha", "QuickGelu", [("x", x)], attrs={"alpha": 1.0})
    pads = np.array([0, 0, 1, 0, 2, 1], np.int64)
    case("pad", "Pad", [("x", x), ("pads_", pads), ("value_", F32(1.5))], attrs={"mode": "constant"})
    case("pad_reflect", "Pad", [("x", x), ("pads_", pads)], attrs={"mode": "reflect"})
    case("trilu", "Trilu", [("x", x), ("k_", np.int64(1))], attrs={"upper": 0})


def norms():
    x, skip, gamma, beta, bias = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
    base = [("x", x), ("skip", skip), ("gamma_", gamma)]
    epsilon = {"epsilon": 1e-5}
    case("skip_norm", "SkipLayerNormalization", [*base, ("beta_", beta)], attrs=epsilon)
    case("skip_norm_bias", "SkipLayerNormalization", [*base, ("beta_", beta), ("bias_", bias)], attrs=epsilon,
         dims={"x": ["B", "S", 8], "skip": ["B", "S", 8]})
    case("skip_norm_without_beta", "SkipLayerNormalization", [*base, None, ("bias_", bias)])
    case("skip_norm_sum", "SkipLayerNormalization", [*base, ("beta_", beta), ("bias_", bias)], ("y", "", "", "sum"),
         (F32, F32), attrs=epsilon)
    case("skip_norm_broadcast", "SkipLayerNormalization", [("x", x), ("skip_", floats(3, 8)), ("gamma_", gamma)],
         ("y", "", "", "sum"), (F32, F32))
    case("skip_norm_2d", "SkipLayerNormalization",
         [("x", floats(6, 8)), ("skip", floats(6, 8)), ("gamma_", gamma), ("beta_", beta)])
    case("skip_rms", "SkipSimplifiedLayerNormalization", base, attrs={"epsilon": 1e-6})
    case("skip_rms_sum", "SkipSimplifiedLayerNormalization", base, ("y", "", "", "sum"), (F32, F32), attrs=epsilon)
    case("skip_rms_bias", "SkipSimplifiedLayerNormalization", [*base, ("bias_", bias)], ("y", "", "", "sum"),
         (F32, F32), attrs=epsilon, dims={"x": ["B", "S", 8], "skip": ["B", "S", 8]})
    case("rms", "SimplifiedLayerNormalization", [("x", x), ("gamma_", gamma)], domain="", attrs=epsilon)
    case("rms_inverse", "SimplifiedLayerNormalization", [("x", x), ("gamma_", floats(3, 8))], ("y", "inverse"),
         (F32, F32), domain="", attrs={"axis": 1, "stash_type": 1})
    case("layer_norm_of_set_13", "LayerNormalization", [("x", x), ("gamma_", gamma), ("beta_", beta)], domain="",
         attrs=epsilon, opset=13)
    case("layer_norm_statistics", "LayerNormalization", [("x", x), ("gamma_", gamma), ("beta_", beta)],
         ("y", "mean", "inverse"), (F32, F32, F32), domain="", opset=13)

    ids, segments = integers(U8, 2, 5).astype(I32) % 30, integers(U8, 2, 5).astype(I32) % 2
    tables = [("words_", floats(30, 8)), ("places_", floats(16, 8)), ("kinds_", floats(2, 8))]
    ends = [("gamma_", gamma), ("beta_", beta)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], I32)
    case("embed", "EmbedLayerNormalization", [("ids", ids), ("segments", segments), *tables, *ends], ("y", "index"),
         (F32, I32), attrs=epsilon)
    case("embed_mask", "EmbedLayerNormalization",
         [("ids", ids), ("segments", segments), *tables, *ends, ("mask", mask)], ("y", "index", "sum"),
         (F32, I32, F32), dims={"ids": ["B", "S"], "segments": ["B", "S"], "mask": ["B", "S"]})
    case("embed_without_segments", "EmbedLayerNormalization", [("ids", ids), None, *tables[:2], None, *ends],
         ("y", "index"), (F32, I32), attrs={"mask_index_type": 1})
    case("embed_places", "EmbedLayerNormalization",
         [("ids", ids), ("segments", segments), *tables, *ends, None, ("at", ids[:, ::-1] % 16)], ("y", "", "sum"),
         (F32, F32))
    case("embed_places_of_one", "EmbedLayerNormalization",
         [("ids", ids), None, *tables[:2], None, *ends, None, ("at", np.array([[4, 3, 2, 1, 0]], I32))], ("y", ""))


def attention():
    x, w, b = floats(2, 5, 12), floats(12, 24), floats(24)
    base = [("x", x), ("w_", w), ("b_", b)]
    heads = {"num_heads": 2}
    symbolic = {"x": ["B", "S", 12]}
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], I32)
    case("attention", "Attention", base, attrs=heads, dims=symbolic)
    # Without its optional bias, the kernel of ONNX Runtime 1.31 reads a null pointer.
    case("attention_scale", "Attention", base, attrs=heads | {"scale": 0.3})
    case("attention_raw_mask", "Attention", [*base, ("mask", mask)], attrs=heads, dims=symbolic | {"mask": ["B", "S"]})
    case("attention_mask_of_queries", "Attention", [*base, ("mask", np.tril(np.ones((2, 5, 5), I32)))], attrs=heads)
    case("attention_filter", "Attention", [*base, ("mask", mask)], attrs=heads | {"mask_filter_value": -2.0})
    case("attention_ends", "Attention", [*base, ("ends", np.array([3, 5], I32))], attrs=heads,
         dims=symbolic | {"ends": ["B"]})
    case("attention_ends_and_starts", "Attention", [*base, ("bounds", np.array([4, 5, 1, 2], I32))], attrs=heads)
    case("attention_causal", "Attention", base, attrs=heads | {"unidirectional": 1}, dims=symbolic)
    case("attention_causal_mask", "Attention", [*base, ("mask", mask)], attrs=heads | {"unidirectional": 1})
    case("attention_score_bias", "Attention", [*base, ("mask", mask), None, ("bias", floats(1, 2, 5, 5))], attrs=heads)
    case("attention_other_values", "Attention", [("x", x), ("w_", floats(12, 22)), ("b_", floats(22))],
         attrs=heads | {"qkv_hidden_sizes": [8, 8, 6]})
    past = floats(2, 2, 2, 3, 4)
    case("attention_past", "Attention", [*base, None, ("past", past)], ("y", "present"), (F32, F32),
         attrs=heads | {"unidirectional": 1}, dims=symbolic | {"past": [2, "B", 2, "P", 4]})
    case("attention_past_mask", "Attention", [*base, ("mask", np.pad(mask, ((0, 0), (3, 0)), constant_values=1)),
                                              ("past", past)], ("y", "present"), (F32, F32), attrs=heads)
    case("attention_present", "Attention", base, ("y", "present"), (F32, F32), attrs=heads | {"unidirectional": 1})

    q, k, v = floats(2, 5, 8), floats(2, 7, 8), floats(2, 7, 6)
    long_mask = np.array([[1, 1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 1, 1]], I32)
    op = "MultiHeadAttention"
    case("multi_head", op, [("q", q), ("k", k), ("v", v)], attrs=heads, dims={"q": ["B", "S", 8], "k": ["B", "L", 8]})
    case("multi_head_bias", op, [("q", q), ("k", k), ("v", v), ("b_", floats(22))], attrs=heads | {"scale": 0.2})
    case("multi_head_mask", op, [("q", q), ("k", k), ("v", v), None, ("mask", long_mask)], attrs=heads)
    case("multi_head_ends", op, [("q", q), ("k", k), ("v", v), None, ("ends", np.array([6, 2], I32))], attrs=heads,
         dims={"q": ["B", "S", 8], "ends": ["B"]})
    case("multi_head_score_bias", op, [("q", q), ("k", k), ("v", v), None, None, ("bias", floats(2, 2, 5, 7))],
         attrs=heads)
    case("multi_head_causal", op, [("q", q), ("k", q[::-1]), ("v", q * 2)], attrs=heads | {"unidirectional": 1})
    case("multi_head_one_causal_query", op, [("q", q[:, :1]), ("k", k), ("v", v)], attrs=heads | {"unidirectional": 1})
    case("multi_head_past", op, [("q", q), ("k", q[::-1]), ("v", q * 2), None, None, None, ("pk", floats(2, 2, 3, 4)),
                                 ("pv", floats(2, 2, 3, 4))], ("y", "k2", "v2"), (F32, F32, F32),
         attrs=heads | {"unidirectional": 1})
    case("multi_head_four_axes", op, [("q", q), ("k", floats(2, 2, 7, 4)), ("v", floats(2, 2, 7, 4))], attrs=heads)


def scaled(name, array, scale, zero):
    return [(name, array), (name + "_scale_", F32(scale)), (name + "_zero_", array.dtype.type(zero))]


def quantized():
    for dtype in (U8, I8):
        short = np.dtype(dtype).name
        zero = 128 if dtype == U8 else 3
        a, b = scaled("a", integers(dtype, 2, 3, 6), 0.02, zero), scaled("b", integers(dtype, 3, 6), 0.03, zero - 9)
        out = [("scale_", F32(0.05)), ("zero_", dtype(zero - 2))]
        kind = (dtype,)
        for op in ("QLinearAdd", "QLinearMul"):
            case(f"{op}_{short}", op, [*a, *b, *out], types=kind)
        case(f"QLinearConcat_{short}", "QLinearConcat",
             [*out, *a, *scaled("c", integers(dtype, 2, 1, 6), 0.07, zero)], types=kind, attrs={"axis": 1})
        image = scaled("x", integers(dtype, 1, 4, 7, 7), 0.04, zero)
        case(f"QLinearSigmoid_{short}", "QLinearSigmoid", [*a, ("scale_", F32(1 / 256)), ("zero_", dtype(zero - 128))],
             types=kind)
        case(f"QLinearSigmoid_{short}_of_zero_points_0", "QLinearSigmoid",
             [*a[:2], None, ("scale_", F32(1 / 128)), None], types=kind)
        case(f"QLinearLeakyRelu_{short}", "QLinearLeakyRelu", [*a, *out], types=kind, attrs={"alpha": 0.2})
        for opset, axis in ((13, -1), (13, 1), (12, 1), (11, 2)):
            case(f"QLinearSoftmax_{short}_{opset}_{axis}", "QLinearSoftmax",
                 [*a, ("scale_", F32(1 / 256)), ("zero_", dtype(zero - 128))], types=kind,
                 attrs={"axis": axis, "opset": opset})
        pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        case(f"QLinearAveragePool_{short}", "QLinearAveragePool", [*image, *out], types=kind, attrs=pool)
        case(f"QLinearAveragePool_{short}_padding_counts", "QLinearAveragePool", [*image, *out], types=kind,
             attrs=pool | {"count_include_pad": 1})
        last = scaled("x", integers(dtype, 1, 7, 6, 4), 0.04, zero)
        case(f"QLinearAveragePool_{short}_channels_last", "QLinearAveragePool", [*last, *out], types=kind,
             attrs=pool | {"channels_last": 1})
        case(f"QLinearGlobalAveragePool_{short}", "QLinearGlobalAveragePool", [*image, *out], types=kind)
        case(f"QLinearGlobalAveragePool_{short}_channels_last", "QLinearGlobalAveragePool", [*last, *out], types=kind,
             attrs={"channels_last": 1})
        case(f"QLinearWhere_{short}", "QLinearWhere",
             [("c", random.random((2, 3, 6)) > 0.5), *a, *b, *out], types=kind)
        case(f"NhwcMaxPool_{short}", "NhwcMaxPool", [("x", integers(dtype, 2, 7, 6, 4))], types=kind, attrs=pool)
        case(f"QuantizeLinear_{short}", "QuantizeLinear", [("x", floats(2, 3, 4)), *out], types=kind)
        case(f"QuantizeLinear_{short}_channels", "QuantizeLinear",
             [("x", floats(2, 3, 4)), ("s_", np.array([0.01, 0.02, 0.03], F32)), ("z_", np.array([1, 2, 3], dtype))],
             types=kind, attrs={"axis": 1})
        case(f"DequantizeLinear_{short}", "DequantizeLinear", a)
        kernel = weights(5, 4, 3, 3)
        case(f"QLinearConv_{short}", "QLinearConv",
             [*image, ("w_", kernel), ("ws_", F32(0.01)), ("wz_", I8(0)), *out], types=kind)
        case(f"QLinearConv_{short}_channels_last", "QLinearConv",
             [*last, ("w_", kernel), ("ws_", np.linspace(0.01, 0.03, 5, dtype=F32)), ("wz_", np.zeros(5, I8)), *out,
              ("b_", integers(I8, 5).astype(I32) * 9)], types=kind,
             attrs={"channels_last": 1, "pads": [1, 1, 1, 1], "strides": [2, 2]})
    case("DequantizeLinear_int32", "DequantizeLinear", [("x", integers(I8, 2, 3).astype(I32)), ("s_", F32(0.1))])
    products()


def products():
    a, w = integers(U8, 4, 6), weights(6, 5)
    scales, zeros = np.linspace(0.01, 0.03, 5, dtype=F32), integers(I8, 5)
    bias, turned = integers(I8, 5).astype(I32) * 20, np.ascontiguousarray(w.T)
    left = scaled("a", a, 0.02, 120)
    out = [("scale_", F32(0.3)), ("zero_", U8(100))]
    case("QGemm", "QGemm", [*left, *scaled("w_", w, 0.03, 2)[:1], ("ws_", F32(0.03)), ("wz_", I8(2)), None, *out],
         types=(U8,))
    case("QGemm_bias", "QGemm", [*left, ("w_", turned), ("ws_", scales), ("wz_", np.zeros(5, I8)), ("b_", bias), *out],
         types=(U8,), attrs={"transB": 1})
    case("QGemm_alpha", "QGemm", [*left, ("w_", w), ("ws_", F32(0.03)), ("wz_", I8(0)), ("b_", bias), *out],
         types=(U8,), attrs={"alpha": 0.5})
    case("QGemm_floats", "QGemm", [("a", np.ascontiguousarray(a.T)), *left[1:], ("w_", w), ("ws_", scales),
                                   ("wz_", np.zeros(5, I8)), ("b_", bias[None])], attrs={"transA": 1})
    x = floats(2, 4, 6)
    for name, rest in (("", [("ws_", F32(0.03))]), ("_zero", [("ws_", F32(0.03)), ("wz_", I8(-4))]),
                       ("_columns", [("ws_", scales), ("wz_", zeros), ("bias_", floats(5))]),
                       ("_scales", [("ws_", scales), ("wz_", I8(0))])):
        case(f"DynamicQuantizeMatMul{name}", "DynamicQuantizeMatMul", [("x", x), ("w_", w), *rest])
    scale = ("as_", F32(0.02))
    case("MatMulIntegerToFloat", "MatMulIntegerToFloat", [("a", a), ("w_", w), scale, ("ws_", F32(0.03))])
    case("MatMulIntegerToFloat_columns", "MatMulIntegerToFloat",
         [("a", a), ("w_", w), scale, ("ws_", scales), ("az_", U8(7)), ("wz_", zeros), ("bias_", floats(5))])
    case("MatMulIntegerToFloat_batch", "MatMulIntegerToFloat",
         [("a", integers(I8, 2, 4, 6)), ("w_", w), scale, ("ws_", F32(0.03)), ("az_", I8(7)), None,
          ("bias_", floats(5))])


def write_case(folder, model, feeds, expected):
    folder.mkdir(parents=True)
    onnx.save(model, str(folder / "model.onnx"))
    for number, value in enumerate(feeds.values()):
        np.save(folder / f"input_{number}.npy", value)
    for number, value in enumerate(expected):
        np.save(folder / f"expected_{number}.npy", value)


def session_of(model, level, saved=None):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    settings.graph_optimization_level = level
    # As in weights(), for those of the quantizer.
    settings.add_session_config_entry("session.x64quantprecision", "1")
    if saved is not None:
        settings.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


LEVELS = onnxruntime.GraphOptimizationLevel


def microsoft_operators(model):
    return sorted({node.op_type for node in model.graph.node if node.domain.startswith("com.microsoft")})


def write(folder):
    for make in (fused_layers, activations, norms, attention, quantized):
        make()
    for name, (model, feeds) in CASES.items():
        write_case(folder / name, model, feeds, session_of(model, LEVELS.ORT_DISABLE_ALL).run(None, feeds))
    return {name: microsoft_operators(model) for name, (model, _) in CASES.items()}


class Network:
    """Builds a model of several nodes of ai.onnx, with random weights."""

    def __init__(self):
        self.nodes, self.constants, self.values = [], [], 0

    def add(self, op, *inputs, **attrs):
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.values += 1
        self.nodes.append(helper.make_node(op, names, [f"v{self.values}"], name=f"{op}_{self.values}", **attrs))
        return f"v{self.values}"

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def conv(self, x, channels_in, channels, **attrs):
        w = floats(channels, channels_in, 3, 3, scale=(9 * channels_in) ** -0.5)
        return self.add("Conv", x, w, floats(channels, scale=0.1), pads=[1, 1, 1, 1], **attrs)

    def linear(self, x, size_in, size):
        return self.add("Add", self.add("MatMul", x, floats(size_in, size, scale=size_in ** -0.5)), floats(size))

    def norm(self, x, size):
        return self.add("LayerNormalization", x, 1 + floats(size, scale=0.1), floats(size, scale=0.1), axis=-1,
                        epsilon=1e-5)

    def model(self, feeds, output, opset=OPSET):
        return graph_model(self.nodes, feeds, {output: F32}, self.constants,
                           {name: ["N", *value.shape[1:]] for name, value in feeds.items()}, opset)


def cnn():
    net, feeds = Network(), {"x": floats(2, 3, 16, 16)}
    x = net.conv("x", 3, 8, strides=[2, 2])
    x = net.add("Mul", x, net.add("Sigmoid", x))
    y = net.add("LeakyRelu", net.conv(x, 8, 8), alpha=0.1)
    x = net.add("Relu", net.add("Add", net.conv(y, 8, 8), x))
    x = net.add("Clip", net.conv(x, 8, 8), F32(0), F32(6))
    x = net.add("Concat", x, net.add("Sigmoid", net.conv(x, 8, 4)), axis=1)
    x = net.add("AveragePool", net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), kernel_shape=[2, 2])
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    x = net.add("Relu", net.add("Gemm", x, floats(12, 16, scale=0.3), floats(16)))
    return net.model(feeds, net.add("Gemm", x, floats(16, 10, scale=0.3), floats(10))), feeds


def transformer(opset, tokens=6, size=16, heads=2):
    """As BERT. Below set 17, LayerNormalization is ONNX Runtime's own."""
    net = Network()
    feeds = {"ids": random.integers(0, 30, (2, tokens)).astype(np.int64),
             "segments": random.integers(0, 2, (2, tokens)).astype(np.int64),
             "mask": np.array([[1] * tokens, [1] * (tokens - 2) + [0] * 2], np.int64)}
    spread = net.add("Unsqueeze", net.add("Unsqueeze", "mask", np.array([1])), np.array([2]))
    mask = net.add("Mul", net.add("Sub", F32(1), net.add("Cast", spread, to=1)), F32(-10000))
    words = net.add("Gather", floats(30, size), "ids", axis=0)
    placed = net.add("Add", words, net.add("Gather", floats(16, size), np.arange(tokens)[None], axis=0))
    x = net.norm(net.add("Add", placed, net.add("Gather", floats(2, size), "segments", axis=0)), size)
    for _ in range(2):
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            part = net.add("Reshape", net.linear(x, size, size), np.array([0, 0, heads, size // heads], np.int64))
            parts.append(net.add("Transpose", part, perm=perm))
        scores = net.add("Div", net.add("MatMul", parts[0], parts[1]), F32((size / heads) ** 0.5))
        mixed = net.add("MatMul", net.add("Softmax", net.add("Add", scores, mask), axis=-1), parts[2])
        mixed = net.add("Reshape", net.add("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([0, 0, size], np.int64))
        x = net.norm(net.add("Add", net.linear(mixed, size, size), x), size)
        wide = net.linear(x, size, 4 * size)
        gate = net.add("Add", net.add("Erf", net.add("Div", wide, F32(2 ** 0.5))), F32(1))
        gelu = net.add("Mul", net.add("Mul", wide, gate), F32(0.5))
        x = net.norm(net.add("Add", net.linear(gelu, 4 * size, size), x), size)
    return net.model(feeds, net.linear(x, size, 5), opset), feeds


def optimized(folder, model, level=LEVELS.ORT_ENABLE_EXTENDED):
    path = folder / "optimized.onnx"
    session_of(model, level, path)
    return onnx.load(str(path))


def statically_quantized(folder, model, feeds, form):
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [feeds]

        def get_next(self):
            return self.left.pop() if self.left else None

    onnx.save(model, str(folder / "floats.onnx"))
    quantization.quantize_static(str(folder / "floats.onnx"), str(folder / "integers.onnx"), Reader(),
                                 quant_format=form, activation_type=quantization.QuantType.QUInt8, per_channel=True,
                                 reduce_range=True)
    return onnx.load(str(folder / "integers.onnx"))


def dynamically_quantized(folder, model):
    from onnxruntime import quantization
    onnx.save(model, str(folder / "floats.onnx"))
    quantization.quantize_dynamic(str(folder / "floats.onnx"), str(folder / "integers.onnx"), per_channel=True,
                                  reduce_range=True)
    return onnx.load(str(folder / "integers.onnx"))


def write_optimized(folder):
    from onnxruntime.quantization import QuantFormat
    images, words, newer = cnn(), transformer(13), transformer(17)
    models = {
        "cnn": (optimized(folder, images[0]), images[1]),
        "transformer": (optimized(folder, words[0]), words[1]),
        "quantized": (statically_quantized(folder, *images, QuantFormat.QOperator), images[1]),
        "quantized_and_optimized":
            (optimized(folder, statically_quantized(folder, *images, QuantFormat.QDQ)), images[1]),
        "dynamic": (optimized(folder, dynamically_quantized(folder, newer[0])), newer[1]),
    }
    for name, (model, feeds) in models.items():
        write_case(folder / name, model, feeds, session_of(model, LEVELS.ORT_DISABLE_ALL).run(None, feeds))
    return {name: microsoft_operators(model) for name, (model, _) in models.items()}


def write_blocked(folder):
    model, feeds = cnn()
    model = optimized(folder, model, LEVELS.ORT_ENABLE_ALL)
    write_case(folder / "blocked", model, feeds, [])
    return {"blocked": microsoft_operators(model)}


def difference(got, expected):
    """The kind of the values and how far they are apart."""
    kind = "floats" if np.issubdtype(expected.dtype, np.floating) else "integers"
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return kind, float("inf")
    if got.size == 0:
        return kind, 0.0
    apart = float(np.abs(got.astype(np.float64) - expected.astype(np.float64)).max())
    return kind, apart / max(1.0, float(np.abs(expected).max())) if kind == "floats" else apart


def compare(folder):
    found = {}
    for case_folder in sorted(path.parent for path in folder.glob("*/out")):
        made = sorted(case_folder.glob("out/*.npy"))
        expected = sorted(case_folder.glob("expected_*.npy"))
        found[case_folder.name] = [difference(np.load(ours), np.load(theirs))
                                   for ours, theirs in zip(made, expected, strict=True)]
    return found


COMMANDS = {"write": write, "write-optimized": write_optimized, "write-blocked": write_blocked, "compare": compare}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    print(json.dumps(COMMANDS[sys.argv[1]](pathlib.Path(sys.argv[2]))))
