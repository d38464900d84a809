#!/usr/bin/python3
"""Writes torchvision networks, and a transformer encoder, with seeded random weights as ONNX models,
for import tests and benchmarks.

    scripts/export_torchvision.py [FOLDER] [NAME ...]

FOLDER is third_party/models unless given; names default to those below. Needs Debian's
python3-torchvision and python3-onnx. The models are not committed (vit_b_16 alone has 350 MB).
Random weights keep activations in a sane range through the networks' own initialisation; batch
normalisation gets random statistics, so that folding it is not a no-op. Networks are exported
unfolded, with a symbolic batch dimension.
"""
import os
import sys

import torch
import torchvision

NAMES = ["resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vit_b_16", "encoder",
         "densenet121", "mobilenet_v3_small", "shufflenet_v2_x1_0", "squeezenet1_1"]
WIDTH, HEADS, TOKENS, LAYERS = 768, 12, 128, 12


def randomize_batch_norm(model):
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.5, 1.0)
            module.bias.data.normal_(0, 0.1)


def randomize_head(model):
    """torchvision starts the last layer of its vision transformers at zero: every output would be 0."""
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            module.weight.data.normal_(0, 0.02)


def encoder():
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, activation="gelu",
                                             batch_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    # The layers start as copies of one: the file would hold the weights once.
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.weight.data.uniform_(0.5, 1.0)
            module.bias.data.normal_(0, 0.1)
        elif isinstance(module, (torch.nn.Linear, torch.nn.MultiheadAttention)):
            for parameter in module.parameters(recurse=False):
                if parameter.dim() > 1:
                    torch.nn.init.xavier_uniform_(parameter)
                else:
                    torch.nn.init.normal_(parameter, 0, 0.02)
    return model


def refuse_fast_path(model):
    """The fused attention that encoders take in inference has no ONNX form: these modules count as
    training, with nothing random left in them."""
    for module in model.modules():
        if isinstance(module, (torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)):
            module.training = True
        if isinstance(module, torch.nn.MultiheadAttention):
            module.dropout = 0.0


def export(name, folder):
    torch.manual_seed(7)
    if name == "encoder":
        model, example = encoder(), torch.zeros(1, TOKENS, WIDTH)
        names = {"input_names": ["tokens"], "output_names": ["encoded"]}
    else:
        model, example = getattr(torchvision.models, name)(weights=None), torch.zeros(1, 3, 224, 224)
        names = {"input_names": ["image"], "output_names": ["logits"]}
    randomize_batch_norm(model)
    randomize_head(model)
    model.eval()
    refuse_fast_path(model)
    path = os.path.join(folder, name + ".onnx")
    batch = {value[0]: {0: "batch"} for value in names.values()}
    torch.onnx.export(model, example, path + ".part", opset_version=14, dynamic_axes=batch,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, **names)
    os.replace(path + ".part", path)
    print(path)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "third_party/models"
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or NAMES:
        export(name, folder)


if __name__ == "__main__":
    main()
