#!/usr/bin/python3
"""Trains a network on Fashion-MNIST and exports it to ONNX.

Not needed at run time: what ships, fashion_resnet.onnx, is committed beside this file; the other two
are made by benchmarks/compression. Needs Debian's python3-torch and dataset-fashion-mnist. Run from
anywhere:

    /usr/bin/python3 experiments/models/train_fashion.py --epochs 14 --seed 7
    /usr/bin/python3 experiments/models/train_fashion.py --net vgg --epochs 6
    /usr/bin/python3 experiments/models/train_fashion.py --net mobile --epochs 6

Everything random is seeded; the log of the committed run is train_fashion.log.
"""
import argparse
import gzip
import pathlib
import struct
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
HERE = pathlib.Path(__file__).resolve().parent
MEAN, STD = 0.2860, 0.3530  # of the 60,000 training images, pixels scaled to [0, 1]


def read_idx(path):
    """Reads a gzip IDX file of unsigned bytes (http://yann.lecun.com/exdb/mnist, file format)."""
    with gzip.open(path) as stream:
        zero, dtype, rank = struct.unpack(">HBB", stream.read(4))
        assert zero == 0 and dtype == 8, path
        shape = struct.unpack(f">{rank}I", stream.read(4 * rank))
        return np.frombuffer(stream.read(), dtype=np.uint8).reshape(shape)


def load(split):
    images = read_idx(DATA / f"{split}-images-idx3-ubyte.gz")
    labels = read_idx(DATA / f"{split}-labels-idx1-ubyte.gz")
    x = (torch.from_numpy(images.copy()).float() / 255 - MEAN) / STD
    return x.unsqueeze(1), torch.from_numpy(labels.astype(np.int64))


class Residual(nn.Module):
    """Two ordinary 3x3 convolutions and a shortcut."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(y)) + x)


class Inverted(nn.Module):
    """Pointwise expansion, depthwise 3x3, pointwise projection, shortcut (MobileNetV2's block)."""

    def __init__(self, channels, expansion):
        super().__init__()
        wide = channels * expansion
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU(),
            nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return x + self.body(x)


def down(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU())


class FashionResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.stage1 = nn.Sequential(down(32, 80), Residual(80), Inverted(80, 2))
        self.stage2 = nn.Sequential(down(80, 144), Residual(144), Inverted(144, 2))
        self.head = nn.Linear(144, 10)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = self.stage2(self.stage1(self.stem(x)))
        return self.head(self.drop(functional.adaptive_avg_pool2d(x, 1).flatten(1)))


# Channels of 3x3 convolutions; "pool" halves the image. Then the width of a linear layer.
VGG = [32, 32, "pool", 64, 64, "pool", 128, 128, "pool"]
VGG_HIDDEN = 128


def vgg():
    """Stacks of 3x3 convolutions and two linear layers."""
    layers, channels = [], 1
    for row in VGG:
        if row == "pool":
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, row, 3, padding=1, bias=False), nn.BatchNorm2d(row), nn.ReLU()]
        channels = row
    side = 28 // 2 ** VGG.count("pool")
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side * side, VGG_HIDDEN), nn.ReLU(),
                         nn.Dropout(0.3), nn.Linear(VGG_HIDDEN, 10))


# Expansion, channels, blocks, stride of the first one.
MOBILE = [(1, 32, 1, 1), (4, 32, 2, 1), (4, 64, 3, 2), (4, 96, 1, 1)]
MOBILE_STEM, MOBILE_HEAD = 32, 256


def unit(inputs, outputs, size, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU6()]


class Bottleneck(nn.Module):
    """MobileNetV2's inverted residual block, with a stride and ReLU6."""

    def __init__(self, inputs, outputs, expansion, stride):
        super().__init__()
        wide = inputs * expansion
        self.shortcut = stride == 1 and inputs == outputs
        self.body = nn.Sequential(*(unit(inputs, wide, 1) if expansion > 1 else []),
                                  *unit(wide, wide, 3, stride, groups=wide),
                                  *unit(wide, outputs, 1)[:-1])

    def forward(self, x):
        return x + self.body(x) if self.shortcut else self.body(x)


def mobile():
    """Depthwise separable convolutions in inverted residual blocks."""
    layers, channels = unit(1, MOBILE_STEM, 3, stride=2), MOBILE_STEM
    for expansion, outputs, blocks, stride in MOBILE:
        for block in range(blocks):
            layers.append(Bottleneck(channels, outputs, expansion, stride if block == 0 else 1))
            channels = outputs
    return nn.Sequential(*layers, *unit(channels, MOBILE_HEAD, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Dropout(0.2), nn.Linear(MOBILE_HEAD, 10))


NETS = {"resnet": FashionResNet, "vgg": vgg, "mobile": mobile}


def augment(x, generator):
    """Random horizontal flip and a shift of up to 2 pixels, a batch at a time."""
    flip = torch.rand(x.shape[0], generator=generator) < 0.5
    x = torch.where(flip.view(-1, 1, 1, 1), x.flip(3), x)
    padded = functional.pad(x, (2, 2, 2, 2), value=-MEAN / STD)
    dy, dx = torch.randint(0, 5, (2, x.shape[0]), generator=generator)
    rows = dy.view(-1, 1) + torch.arange(28)
    cols = dx.view(-1, 1) + torch.arange(28)
    index = torch.arange(x.shape[0]).view(-1, 1, 1)
    return padded[index, 0, rows.unsqueeze(2), cols.unsqueeze(1)].unsqueeze(1)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    right = sum((model(a).argmax(1) == b).sum().item() for a, b in zip(x.split(500), y.split(500)))
    return right / len(y)


def count_mflop(model):
    """Multiply and add counted apart, convolutions and the linear layer, one image."""
    total = [0]

    def hook(layer, inputs, output):
        if isinstance(layer, nn.Conv2d):
            total[0] += 2 * output.numel() * layer.weight[0].numel()
        elif isinstance(layer, nn.Linear):
            total[0] += 2 * layer.weight.numel()

    handles = [m.register_forward_hook(hook) for m in model.modules()]
    with torch.no_grad():
        model.eval()(torch.zeros(1, 1, 28, 28))
    for handle in handles:
        handle.remove()
    return total[0] / 1e6


def multiplies_bf16():
    """Has the processor instructions for it? Without, it takes longer than f32."""
    return "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=NETS, default="resnet")
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.2, help="peak learning rate of the one-cycle schedule")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path, help="fashion_NET.onnx beside this file by default")
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (timing only)")
    parser.add_argument("--threads", type=int, default=0, help="0 = as many as torch likes")
    args = parser.parse_args()
    args.out = args.out or HERE / f"fashion_{args.net}.onnx"

    if args.threads:
        torch.set_num_threads(args.threads)
    # Of a network this small much becomes denormal, which processors compute a hundred times slower.
    torch.set_flush_denormal(True)
    # torch 1.13 has no gradient of ReLU6 in bf16.
    bf16 = args.net != "mobile" and multiplies_bf16()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train_x, train_y = load("train")
    test_x, test_y = load("t10k")
    model = NETS[args.net]().to(memory_format=torch.channels_last)
    params = sum(p.numel() for p in model.parameters())
    print(f"torch {torch.__version__}, seed {args.seed}, batch {args.batch}, epochs {args.epochs}, "
          f"peak rate {args.rate}; {params} parameters, {count_mflop(model):.1f} MFLOP an image", flush=True)

    optimizer = torch.optim.SGD(model.parameters(), lr=args.rate, momentum=0.9, weight_decay=5e-4, nesterov=True)
    steps = args.epochs * (len(train_y) // args.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.rate, total_steps=steps, pct_start=0.25)
    began = time.time()
    done = 0
    for epoch in range(args.epochs):
        model.train()
        order = torch.randperm(len(train_y), generator=generator)
        total = 0.0
        for batch in order.split(args.batch)[:len(train_y) // args.batch]:
            x = augment(train_x[batch], generator).to(memory_format=torch.channels_last)
            with torch.cpu.amp.autocast(enabled=bf16, dtype=torch.bfloat16):
                logits = model(x)
            loss = functional.cross_entropy(logits.float(), train_y[batch], label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
            done += 1
            if args.steps and done == args.steps:
                print(f"{done} steps in {time.time() - began:.1f} s, loss {loss.item():.3f}")
                return
        print(f"epoch {epoch + 1:2d}: mean loss {total / (len(train_y) // args.batch):.4f}, "
              f"test accuracy {100 * accuracy(model, test_x, test_y):.2f} %, {time.time() - began:.0f} s", flush=True)

    final = accuracy(model, test_x, test_y)
    print(f"final test accuracy {100 * final:.2f} % on {len(test_y)} images")
    model = model.to(memory_format=torch.contiguous_format).eval()
    torch.onnx.export(model, torch.zeros(1, 1, 28, 28), str(args.out), opset_version=13,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}})
    print(f"wrote {args.out.name}, {args.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
