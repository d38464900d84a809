#!/usr/bin/python3
"""Writes torchvision networks with seeded random weights as ONNX models, for import tests and benchmarks.

    scripts/export_torchvision.py [FOLDER] [NAME ...]

FOLDER is third_party/models unless given; names default to those below. Needs Debian's
python3-torchvision and python3-onnx. The models are not committed (resnet50 alone has 102 MB).
Random weights keep activations in a sane range through the networks' own initialisation; batch
normalisation gets random statistics, so that folding it is not a no-op. Networks are exported
unfolded, with a symbolic batch dimension.
"""
import os
import sys

import torch
import torchvision

NAMES = ["resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0"]


def randomize_batch_norm(model):
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.5, 1.0)
            module.bias.data.normal_(0, 0.1)


def export(name, folder):
    torch.manual_seed(7)
    model = getattr(torchvision.models, name)(weights=None)
    randomize_batch_norm(model)
    model.eval()
    path = os.path.join(folder, name + ".onnx")
    torch.onnx.export(model, torch.zeros(1, 3, 224, 224), path + ".part", opset_version=14,
                      input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    os.replace(path + ".part", path)
    print(path)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "third_party/models"
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or NAMES:
        export(name, folder)


if __name__ == "__main__":
    main()
