"""Models of PyTorch, torchvision, timm, transformers and ultralytics, with seeded random weights.

    python torch_models.py NAME FOLDER

`make` returns a module, a tuple of example inputs and, as a dict, more options for torch.onnx.export.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from model import SEED, Model, main, write_inputs, write_versions  # noqa: E402


def settle(module, *inputs):
    """Batch normalization gets the statistics of these inputs, so that values keep their size through deep networks."""
    import torch

    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum, norm.training = 1.0, True
        norm.weight.data.uniform_(0.5, 1.5)
        norm.bias.data.normal_(0, 0.2)
    with torch.no_grad():
        module(*inputs)
    for norm in norms:
        norm.training = False


def spread(module, deviation=0.05):
    """Layers that start with zeros or nearly so get larger weights: else outputs would hardly depend on the input."""
    import torch

    for part in module.modules():
        weight = getattr(part, "weight", None)
        if isinstance(part, (torch.nn.Linear, torch.nn.Conv2d)) and weight.std() < 0.02:
            torch.nn.init.normal_(weight, 0, max(deviation, (2 / weight[0].numel()) ** 0.5))
            if part.bias is not None:
                torch.nn.init.normal_(part.bias, 0, deviation)


def level(module, *inputs):
    """Each layer's weights are divided by the deviation of its outputs, so that the scores of a detector are no ties of
    0 or 1, whose order would be arbitrary."""
    import torch

    def divide(part, _, made):
        hooks.pop(part).remove()
        by = made.std().clamp(min=1e-6)
        part.weight.data /= by
        return made / by

    hooks = {}
    for part in module.modules():
        if isinstance(part, (torch.nn.Linear, torch.nn.Conv2d)):
            if part.bias is not None:
                part.bias.data.zero_()
            hooks[part] = part.register_forward_hook(divide)
    with torch.no_grad():
        module(*inputs)
    for hook in hooks.values():
        hook.remove()


# Classifiers


def torchvision_classifier(name, size=224, **options):
    def make():
        import torch
        import torchvision

        if name in ("inception_v3", "googlenet"):
            options.update(init_weights=False, aux_logits=False, transform_input=False)
        module = torchvision.models.get_model(name, weights=None, **options).eval()
        spread(module)
        settle(module, torch.randn(4, 3, size, size))
        return module, (torch.randn(1, 3, size, size),), {}
    return make


def timm_classifier(name, size=224):
    def make():
        import timm
        import torch

        module = timm.create_model(name, pretrained=False).eval()
        spread(module)
        settle(module, torch.randn(4, 3, size, size))
        return module, (torch.randn(1, 3, size, size),), {}
    return make


def open_batch(name):
    """A classifier whose batch is a dimension with a name."""
    def make():
        import torch

        module, inputs, _ = torchvision_classifier(name)()
        return module, (torch.cat([inputs[0], inputs[0] + 1]),), {"dynamic_shapes": ({0: torch.export.Dim("batch")},)}
    return make


def half(make):
    """The same module in 16-bit floats."""
    def made():
        module, inputs, options = make()
        return module.half(), tuple(x.half() if x.is_floating_point() else x for x in inputs), options
    return made


# Segmentation and detection


def segmentation(name, size=224):
    def make():
        import torch
        import torchvision

        module = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21).eval()
        spread(module)
        settle(module, torch.randn(2, 3, size, size))

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, image):
                return self.module(image)["out"]
        return Whole().eval(), (torch.randn(1, 3, size, size),), {}
    return make


def detector(name, size=320, **options):
    """A detector of torchvision, with everything behind its head: boxes, labels and scores are outputs."""
    def make():
        import torch
        import torchvision

        module = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=11, **options).eval()
        image = torch.rand(3, size, size)
        settle(module.backbone, torch.randn(2, 3, size, size))
        level(module, [image])

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, image):
                found = self.module([image])[0]
                return tuple(found[key] for key in ("boxes", "labels", "scores", "masks", "keypoints") if key in found)
        return Whole().eval(), (image,), {}
    return make


# Sequences


def tagger(kind, layers=2, bidirectional=True, opened=False):
    """A recurrent network that gives each of 40 tokens one of 9 tags."""
    def make():
        import torch

        class Tagger(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(1000, 64)
                self.layers = getattr(torch.nn, kind)(64, 96, layers, batch_first=True, bidirectional=bidirectional)
                self.tags = torch.nn.Linear(192 if bidirectional else 96, 9)

            def forward(self, tokens):
                return self.tags(self.layers(self.embed(tokens))[0]).log_softmax(-1)
        length = torch.export.Dim("length", min=2, max=512)
        options = {"dynamic_shapes": ({1: length},)} if opened else {}
        return Tagger().eval(), (torch.randint(0, 1000, (1, 40)),), options
    return make


def bert(opened=True):
    def make():
        import torch
        import transformers

        config = transformers.BertConfig(vocab_size=2000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                         intermediate_size=1024)
        module = transformers.BertModel(config).eval()

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, tokens, mask):
                found = self.module(input_ids=tokens, attention_mask=mask)
                return found.last_hidden_state, found.pooler_output
        tokens, mask = torch.randint(0, 2000, (2, 24)), torch.ones(2, 24, dtype=torch.int64)
        mask[1, 17:] = 0
        batch, length = torch.export.Dim("batch", max=64), torch.export.Dim("length", min=2, max=512)
        each = {0: batch, 1: length}
        return Whole().eval(), (tokens, mask), {"dynamic_shapes": (each, dict(each))} if opened else {}
    return make


def from_transformers(kind, opened=True, **sizes):
    """A model of the package transformers that takes tokens alone and returns logits or states."""
    def make():
        import torch
        import transformers

        config_of, model_of = kind
        config = getattr(transformers, config_of)(**sizes)
        module = getattr(transformers, model_of)(config).eval()

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, tokens):
                more = {"use_cache": False} if hasattr(config, "use_cache") else {}
                return self.module(tokens, **more)[0]
        tokens = torch.randint(5, config.vocab_size, (2, 24))
        each = {0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("length", min=2, max=512)}
        return Whole().eval(), (tokens,), {"dynamic_shapes": (each,)} if opened else {}
    return make


def vision_transformers(kind, size=224, **sizes):
    def make():
        import torch
        import transformers

        config_of, model_of = kind
        module = getattr(transformers, model_of)(getattr(transformers, config_of)(**sizes)).eval()
        spread(module)

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, image):
                return self.module(pixel_values=image)[0]
        settle(module, torch.randn(2, 3, size, size))
        return Whole().eval(), (torch.randn(1, 3, size, size),), {}
    return make


def attention(width, heads, queries, keys, values, causal=False):
    """Scaled dot products of [batch, length, width]."""
    import torch

    def split(x):
        return x.unflatten(-1, (heads, width // heads)).transpose(1, 2)
    found = torch.nn.functional.scaled_dot_product_attention(split(queries), split(keys), split(values), is_causal=causal)
    return found.transpose(1, 2).flatten(-2)


def whisper_encoder(width=384, heads=6, layers=4):
    """The shape of Whisper tiny: 80 mel bands of 30 s in, 1500 states out."""
    def make():
        import torch

        class Encoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Conv1d(80, width, 3, padding=1)
                self.second = torch.nn.Conv1d(width, width, 3, stride=2, padding=1)
                self.place = torch.nn.Parameter(torch.randn(1500, width) * 0.02)
                self.blocks = torch.nn.ModuleList([Block(width, heads, False) for _ in range(layers)])
                self.norm = torch.nn.LayerNorm(width)

            def forward(self, mel):
                gelu = torch.nn.functional.gelu
                x = gelu(self.second(gelu(self.first(mel)))).transpose(1, 2) + self.place
                for block in self.blocks:
                    x = block(x)
                return self.norm(x)
        Block = whisper_block()
        return Encoder().eval(), (torch.randn(1, 80, 3000),), {}
    return make


def whisper_block():
    import torch

    class Block(torch.nn.Module):
        def __init__(self, width, heads, crossed):
            super().__init__()
            self.width, self.heads, self.crossed = width, heads, crossed
            for name in ("own",) + (("cross",) if crossed else ()):
                for part in ("queries", "keys", "values", "out"):
                    setattr(self, f"{name}_{part}", torch.nn.Linear(width, width, bias=part != "keys"))
                setattr(self, f"{name}_norm", torch.nn.LayerNorm(width))
            self.norm = torch.nn.LayerNorm(width)
            self.layers = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                              torch.nn.Linear(4 * width, width))

        def forward(self, x, states=None, past=None):
            normed = self.own_norm(x)
            keys, values = self.own_keys(normed), self.own_values(normed)
            if past is not None:
                keys, values = torch.cat([past[0], keys], 1), torch.cat([past[1], values], 1)
            x = x + self.own_out(attention(self.width, self.heads, self.own_queries(normed), keys, values,
                                           self.crossed and past is None))
            if self.crossed:
                x = x + self.cross_out(attention(self.width, self.heads, self.cross_queries(self.cross_norm(x)),
                                                 self.cross_keys(states), self.cross_values(states)))
            x = x + self.layers(self.norm(x))
            return x if past is None else (x, keys, values)
    return Block


def whisper_decoder(cached, width=384, heads=6, layers=4, tokens=5000):
    """The shape of Whisper tiny: logits of the tokens so far, or of one more token and the keys and values so far."""
    def make():
        import torch

        Block = whisper_block()

        class Decoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(tokens, width)
                self.place = torch.nn.Parameter(torch.randn(448, width) * 0.02)
                self.blocks = torch.nn.ModuleList([Block(width, heads, True) for _ in range(layers)])
                self.norm = torch.nn.LayerNorm(width)

            def forward(self, words, states, *past):
                before = past[0].shape[1] if past else 0
                x = self.embed(words) + self.place[before:before + words.shape[1]]
                now = []
                for i, block in enumerate(self.blocks):
                    if past:
                        x, keys, values = block(x, states, past[2 * i:2 * i + 2])
                        now += [keys, values]
                    else:
                        x = block(x, states)
                return (self.norm(x) @ self.embed.weight.T, *now)
        length = torch.export.Dim("length", min=2, max=400)
        states = torch.randn(1, 1500, width)
        if not cached:
            return Decoder().eval(), (torch.randint(0, tokens, (1, 12)), states), {
                "dynamic_shapes": ({1: length}, None)}
        past = tuple(torch.randn(1, 11, width) for _ in range(2 * layers))
        return Decoder().eval(), (torch.randint(0, tokens, (1, 1)), states, *past), {
            "dynamic_shapes": (None, None, tuple({1: length} for _ in past))}
    return make


def whisper_of_transformers():
    def make():
        import torch
        import transformers

        config = transformers.WhisperConfig(
            vocab_size=5000, d_model=192, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=768, decoder_ffn_dim=768, pad_token_id=1, bos_token_id=2,
            eos_token_id=3, decoder_start_token_id=4)
        module = transformers.WhisperForConditionalGeneration(config).eval()

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, mel, tokens):
                return self.module(input_features=mel, decoder_input_ids=tokens, use_cache=False).logits
        return Whole().eval(), (torch.randn(1, 80, 3000), torch.randint(5, 5000, (1, 12))), {}
    return make


def encoder_layers(causal=False):
    """torch.nn.TransformerEncoder, post-norm, as PyTorch's own tutorials use it."""
    def make():
        import torch

        layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, activation="gelu", batch_first=True)
        module = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
        for parameter in module.parameters():
            if parameter.dim() > 1:
                torch.nn.init.xavier_uniform_(parameter)
        return module, (torch.randn(1, 64, 256),), {}
    return make


def seq2seq():
    """torch.nn.Transformer with a causal mask for the target."""
    def make():
        import torch

        module = torch.nn.Transformer(128, 4, 2, 2, 512, batch_first=True).eval()

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, source, target):
                mask = torch.nn.Transformer.generate_square_subsequent_mask(target.shape[1])
                return self.module(source, target, tgt_mask=mask, tgt_is_causal=True)
        return Whole().eval(), (torch.randn(2, 20, 128), torch.randn(2, 12, 128)), {}
    return make


# Images to images, and boxes


def unet():
    """Three levels with GroupNorm and SiLU, as in diffusion models, and upsampling by nearest neighbours."""
    def make():
        import torch
        from torch import nn

        class Step(nn.Module):
            def __init__(self, channels, out):
                super().__init__()
                self.layers = nn.Sequential(nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, out, 3, padding=1),
                                            nn.GroupNorm(8, out), nn.SiLU(), nn.Conv2d(out, out, 3, padding=1))
                self.skip = nn.Conv2d(channels, out, 1)

            def forward(self, x):
                return self.layers(x) + self.skip(x)

        class UNet(nn.Module):
            def __init__(self):
                super().__init__()
                self.begin = nn.Conv2d(3, 32, 3, padding=1)
                self.down = nn.ModuleList([Step(32, 64), Step(64, 96)])
                self.middle = Step(96, 96)
                self.up = nn.ModuleList([Step(192, 64), Step(128, 32)])
                self.end = nn.Conv2d(32, 3, 3, padding=1)

            def forward(self, x):
                x, kept = self.begin(x), []
                for step in self.down:
                    x = step(x)
                    kept.append(x)
                    x = nn.functional.avg_pool2d(x, 2)
                x = self.middle(x)
                for step in self.up:
                    x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
                    x = step(torch.cat([x, kept.pop()], 1))
                return self.end(x)
        return UNet().eval(), (torch.randn(1, 3, 64, 64),), {}
    return make


def yolo(suppressed):
    """A head on three scales: raw predictions, or boxes behind non-maximum suppression."""
    def make():
        import torch
        import torchvision
        from torch import nn

        def layer(channels, out, stride=1):
            return nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.SiLU())

        class Yolo(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Sequential(layer(3, 16, 2), layer(16, 32, 2), layer(32, 64, 2))
                self.deeper = nn.ModuleList([layer(64, 128, 2), layer(128, 128, 2)])
                self.heads = nn.ModuleList([nn.Conv2d(c, 4 + 6, 1) for c in (64, 128, 128)])

            def forward(self, image):
                scales = [self.stem(image)]
                for step in self.deeper:
                    scales.append(step(scales[-1]))
                found = []
                for head, scale, stride in zip(self.heads, scales, (8, 16, 32)):
                    height, width = scale.shape[2:]
                    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
                    centre = (torch.stack([x, y]).flatten(1) + 0.5) * stride
                    raw = head(scale).flatten(2)
                    size = raw[:, 2:4].clamp(-4, 4).exp() * stride
                    middle = centre + raw[:, :2].tanh() * stride
                    found.append(torch.cat([middle - size / 2, middle + size / 2, raw[:, 4:].sigmoid()], 1))
                found = torch.cat(found, 2).transpose(1, 2)
                if not suppressed:
                    return found
                boxes, scores = found[0, :, :4], found[0, :, 4:]
                best, labels = scores.max(1)
                kept = best > 0.6
                boxes, best, labels = boxes[kept], best[kept], labels[kept]
                order = torchvision.ops.nms(boxes, best, 0.5)
                return boxes[order], best[order], labels[order]
        module = Yolo().eval()
        settle(module.stem, torch.rand(2, 3, 256, 256))
        return module, (torch.rand(1, 3, 256, 256),), {}
    return make


def diffusers_like_attention():
    """Attention with a window of sums, cumulative sums, sorting and gathering: operators that exporters write for
    everyday tensor code."""
    def make():
        import torch

        class Mixed(torch.nn.Module):
            def forward(self, x, index):
                order = x.sort(-1, descending=True)
                picked = torch.gather(x, 1, index)
                rolled = torch.roll(x, 2, 1).cumsum(-1)
                masked = torch.where(x > 0, rolled, order.values).masked_fill(x < -2, 0.5)
                summed = torch.einsum("bij,bkj->bik", masked, x)
                blocks = torch.nn.functional.pad(summed, (1, 2), value=1.5).unfold(2, 4, 2)
                return summed.tril(), picked.std(1), blocks.amax(-1), order.indices.float().mean(-1), x.topk(3).values
        return Mixed().eval(), (torch.randn(2, 12, 16), torch.randint(0, 12, (2, 5, 16))), {}
    return make


def super_resolution():
    """Efficient sub-pixel convolution: PixelShuffle, and a bicubic enlargement beside it."""
    def make():
        import torch
        from torch import nn

        class Enlarge(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(nn.Conv2d(3, 32, 5, padding=2), nn.PReLU(32), nn.Conv2d(32, 32, 3, padding=1),
                                            nn.PReLU(), nn.Conv2d(32, 12, 3, padding=1), nn.PixelShuffle(2))

            def forward(self, image):
                plain = nn.functional.interpolate(image, scale_factor=2.0, mode="bicubic", align_corners=False)
                return self.layers(image) + plain
        return Enlarge().eval(), (torch.rand(1, 3, 48, 64),), {}
    return make


def ultralytics(config, size=320):
    """A YOLO of ultralytics with the decoding that its own exporter adds (boxes and scores, no suppression)."""
    def make():
        import torch
        from ultralytics import YOLO

        module = YOLO(config).model.float().eval()
        settle(module, torch.rand(2, 3, size, size))
        module = module.fuse()
        for part in module.modules():
            if hasattr(part, "export"):
                part.export, part.format = True, "onnx"
        return module, (torch.rand(1, 3, size, size),), {}
    return make


# Export


def dynamo(opset, **more):
    return {"opset_version": opset, "dynamo": True, **more}


def traced(opset, **more):
    """By the older exporter, for what the newer refuses."""
    return {"opset_version": opset, "dynamo": False, **more}


def f16(model, title):
    return Model(title, half(model.make), model.export, model.options, 0.02)


MODELS = {}
for name in ("alexnet", "vgg11_bn", "resnet18", "resnet50", "wide_resnet50_2", "resnext50_32x4d", "densenet121", "googlenet",
             "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "shufflenet_v2_x1_0",
             "squeezenet1_1", "regnet_y_400mf", "regnet_x_400mf", "efficientnet_b0", "efficientnet_v2_s", "convnext_tiny",
             "swin_t", "swin_v2_t", "vit_b_16", "maxvit_t"):
    MODELS[name] = Model(f"torchvision {name}", torchvision_classifier(name), dynamo(18))
MODELS["inception_v3"] = Model("torchvision inception_v3", torchvision_classifier("inception_v3", 299), dynamo(18))
for name in ("resnet18", "mobilenet_v2", "swin_t", "vit_b_16"):
    for opset in (20, 23):
        MODELS[f"{name}@{opset}"] = Model(f"torchvision {name}", torchvision_classifier(name), dynamo(opset))
MODELS["resnet18_open"] = Model("torchvision resnet18, open batch", open_batch("resnet18"), dynamo(18))
MODELS["vit_b_16_open"] = Model("torchvision vit_b_16, open batch", open_batch("vit_b_16"), dynamo(18))
for name in ("resnet50", "mobilenet_v2", "vit_b_16"):
    MODELS[f"{name}_f16"] = f16(MODELS[name], f"torchvision {name}, f16")
for name in ("deit_tiny_patch16_224", "mixer_s32_224", "mobilevit_s", "efficientformer_l1", "ghostnet_100", "repvgg_a0",
             "hardcorenas_a", "edgenext_xx_small", "poolformer_s12", "coat_tiny", "mobilenetv4_conv_small",
             "fastvit_t8", "resnetv2_50"):
    MODELS[f"timm_{name}"] = Model(f"timm {name}", timm_classifier(name), dynamo(18))

for name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
    MODELS[name] = Model(f"torchvision {name}", segmentation(name), dynamo(18))
for name, size in (("ssdlite320_mobilenet_v3_large", 320), ("ssd300_vgg16", 300), ("retinanet_resnet50_fpn", 320),
                   ("retinanet_resnet50_fpn_v2", 320), ("fcos_resnet50_fpn", 320), ("fasterrcnn_mobilenet_v3_large_320_fpn", 320),
                   ("fasterrcnn_resnet50_fpn", 320), ("maskrcnn_resnet50_fpn", 320), ("keypointrcnn_resnet50_fpn", 320)):
    small = {} if name.startswith("ssd") else {"min_size": size, "max_size": size}
    for exporter, export in (("", dynamo(18)), ("_traced", traced(18))):
        MODELS[name + exporter] = Model(f"torchvision {name}", detector(name, size, **small), export, rows=True, timed=False)

for kind in ("RNN", "GRU", "LSTM"):
    MODELS[f"{kind.lower()}_tagger"] = Model(f"tagger, {kind}", tagger(kind), dynamo(18))
    MODELS[f"{kind.lower()}_tagger_open"] = Model(f"tagger, {kind}, open length", tagger(kind, opened=True), dynamo(20))
MODELS["lstm_tagger_one_way"] = Model("tagger, LSTM of one direction", tagger("LSTM", 1, False), dynamo(18))
MODELS["encoder_layers"] = Model("torch.nn.TransformerEncoder", encoder_layers(), dynamo(18))
MODELS["encoder_layers@23"] = Model("torch.nn.TransformerEncoder", encoder_layers(), dynamo(23))
MODELS["encoder_layers_f16"] = f16(MODELS["encoder_layers"], "torch.nn.TransformerEncoder, f16")
MODELS["seq2seq"] = Model("torch.nn.Transformer", seq2seq(), dynamo(18))
MODELS["whisper_encoder"] = Model("shape of Whisper tiny's encoder", whisper_encoder(), dynamo(18))
MODELS["whisper_encoder@23"] = Model("shape of Whisper tiny's encoder", whisper_encoder(), dynamo(23))
MODELS["whisper_encoder_f16"] = f16(MODELS["whisper_encoder"], "shape of Whisper tiny's encoder, f16")
MODELS["whisper_decoder"] = Model("shape of Whisper tiny's decoder", whisper_decoder(False), dynamo(18))
MODELS["whisper_decoder@23"] = Model("shape of Whisper tiny's decoder", whisper_decoder(False), dynamo(23))
MODELS["whisper_decoder_cached"] = Model("the same, one token and its cache", whisper_decoder(True), dynamo(18))
MODELS["whisper_hf"] = Model("transformers Whisper", whisper_of_transformers(), dynamo(18))

small = dict(vocab_size=2000, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)
MODELS["bert"] = Model("transformers BERT, open sizes", bert(), dynamo(18))
MODELS["bert@23"] = Model("transformers BERT, open sizes", bert(), dynamo(23))
MODELS["bert_traced"] = Model("transformers BERT", bert(False), traced(17))
for name, kind, sizes in (
        ("gpt2", ("GPT2Config", "GPT2LMHeadModel"), dict(vocab_size=2000, n_embd=128, n_layer=2, n_head=4)),
        ("llama", ("LlamaConfig", "LlamaForCausalLM"), dict(**small, num_key_value_heads=2)),
        ("qwen2", ("Qwen2Config", "Qwen2ForCausalLM"), dict(**small, num_key_value_heads=2)),
        ("gemma", ("GemmaConfig", "GemmaForCausalLM"), dict(**small, num_key_value_heads=1, head_dim=32)),
        ("mistral", ("MistralConfig", "MistralForCausalLM"), dict(**small, num_key_value_heads=2, sliding_window=8)),
        ("distilbert", ("DistilBertConfig", "DistilBertModel"), dict(vocab_size=2000, dim=128, n_layers=2, n_heads=4, hidden_dim=256)),
        ("roberta", ("RobertaConfig", "RobertaModel"), small),
        ("albert", ("AlbertConfig", "AlbertModel"), dict(**small, embedding_size=64)),
        ("electra", ("ElectraConfig", "ElectraModel"), dict(**small, embedding_size=64)),
        ("mpnet", ("MPNetConfig", "MPNetModel"), small),
        ("deberta", ("DebertaV2Config", "DebertaV2Model"), dict(**small, relative_attention=True, pos_att_type=["p2c", "c2p"])),
        ("t5_encoder", ("T5Config", "T5EncoderModel"), dict(vocab_size=2000, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4))):
    MODELS[f"hf_{name}"] = Model(f"transformers {name}, open sizes", from_transformers(kind, **sizes), dynamo(18))
MODELS["hf_gpt2@23"] = Model("transformers gpt2, open sizes", MODELS["hf_gpt2"].make, dynamo(23))
MODELS["hf_llama@23"] = Model("transformers llama, open sizes", MODELS["hf_llama"].make, dynamo(23))
MODELS["hf_segformer"] = Model("transformers Segformer", vision_transformers(
    ("SegformerConfig", "SegformerForSemanticSegmentation"), 128, num_labels=19), dynamo(18))
MODELS["hf_mobilevit"] = Model("transformers MobileViT", vision_transformers(
    ("MobileViTConfig", "MobileViTForImageClassification"), 256), dynamo(18))
MODELS["hf_dinov2"] = Model("transformers DINOv2", vision_transformers(
    ("Dinov2Config", "Dinov2Model"), 224, hidden_size=192, num_hidden_layers=4, num_attention_heads=3, image_size=224), dynamo(18))

MODELS["unet"] = Model("U-Net with GroupNorm", unet(), dynamo(18))
MODELS["unet@21"] = Model("U-Net with GroupNorm", unet(), dynamo(21))
MODELS["unet_f16"] = f16(MODELS["unet"], "U-Net with GroupNorm, f16")
MODELS["yolo_raw"] = Model("YOLO-like, raw head", yolo(False), dynamo(18))
MODELS["yolo_nms"] = Model("YOLO-like, suppressed", yolo(True), dynamo(18), rows=True, timed=False)
MODELS["yolo_nms_traced"] = Model("YOLO-like, suppressed", yolo(True), traced(18), rows=True, timed=False)
for name in ("yolov8n", "yolo11n", "yolov5n", "yolov8n-seg", "yolov8n-pose"):
    MODELS[f"ultralytics_{name}"] = Model(f"ultralytics {name}", ultralytics(f"{name}.yaml"), dynamo(18))
MODELS["super_resolution"] = Model("sub-pixel convolution beside bicubic", super_resolution(), dynamo(18))
MODELS["tensor_code"] = Model("everyday tensor code", diffusers_like_attention(), dynamo(18))


def flat(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from flat(value)
        elif value is not None:
            yield value


def write(model, folder):
    import torch

    torch.manual_seed(SEED)
    module, inputs, options = model.make()
    path = str(folder / "model.onnx")
    with torch.no_grad():
        program = torch.onnx.export(module, inputs, path, **({"external_data": False} if model.export["dynamo"] else {}),
                                    **model.export, **options)
    if program is not None:
        program.save(path, external_data=False)
    write_inputs(folder, [x.detach().numpy() for x in flat(inputs)])
    used = module_packages(model.title)
    write_versions(folder, "torch.onnx.export" + (" (dynamo)" if model.export["dynamo"] else " (torchscript)"),
                   model.export["opset_version"], used)


def module_packages(title):
    package = title.split(" ")[0]
    known = ("torchvision", "timm", "transformers", "ultralytics")
    return ["torch", "onnxscript", "onnx"] + ([package] if package in known else [])


if __name__ == "__main__":
    main(MODELS, write)
