#include "tests/compiler/targets/generated_cases.h"

#include <functional>
#include <map>

#include "compiler/base/rng.h"

namespace msc {
namespace {

using Sizes = std::vector<std::int64_t>;

std::string Text(const Sizes& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(list[i]);
  }
  return text + "]";
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}
  /// In [least, most].
  std::int64_t From(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool OneIn(std::int64_t n) { return From(1, n) == 1; }
  template <class T>
  const T& Of(const std::vector<T>& list) {
    return list[rng_.Below(list.size())];
  }
  /// A size of a dimension; 0 once in a while.
  std::int64_t Size(std::int64_t most) { return OneIn(12) ? 0 : From(1, most); }

 private:
  Rng rng_;
};

struct WindowText {
  Sizes kernel;
  Sizes x;  // spatial sizes that the window fits into
  std::string attrs;
};

WindowText MakeWindow(Dice& dice, bool dilate) {
  WindowText window;
  Sizes strides;
  Sizes dilations;
  Sizes begin;
  Sizes end;
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t kernel = dice.From(1, 4);
    const std::int64_t dilation = dilate ? dice.From(1, 3) : 1;
    window.kernel.push_back(kernel);
    dilations.push_back(dilation);
    strides.push_back(dice.From(1, 3));
    begin.push_back(dice.From(0, kernel - 1));
    end.push_back(dice.From(0, kernel - 1));
    window.x.push_back((kernel - 1) * dilation + dice.From(1, 9));
  }
  begin.insert(begin.end(), end.begin(), end.end());
  window.attrs = "kernel_shape = " + Text(window.kernel) + ", strides = " + Text(strides) +
                 ", pads = " + Text(begin);
  if (dilate) window.attrs += ", dilations = " + Text(dilations);
  return window;
}

/// Channels and weights of a convolution: plain, grouped or depthwise.
struct ConvSizes {
  std::int64_t group = 1;
  Sizes x;
  Sizes w;
};

ConvSizes MakeConv(Dice& dice, const WindowText& window, std::int64_t batch) {
  ConvSizes conv;
  conv.group = dice.OneIn(2) ? 1 : dice.From(1, 9);
  const std::int64_t in = conv.group > 1 && dice.OneIn(2) ? 1 : dice.From(1, 9);
  const std::int64_t out = dice.From(1, 5);
  conv.x = {batch, conv.group * in, window.x[0], window.x[1]};
  conv.w = {conv.group * out, in, window.kernel[0], window.kernel[1]};
  return conv;
}

std::string Conv(Dice& dice) {
  const WindowText window = MakeWindow(dice, true);
  const ConvSizes conv = MakeConv(dice, window, dice.Size(3));
  const bool bias = dice.OneIn(2);
  return "graph g {\n  input %x : f32" + Text(conv.x) + "\n  const %w : f32" + Text(conv.w) +
         " = random 3\n" +
         (bias ? "  const %b : f32[" + std::to_string(conv.w[0]) + "] = random 4\n" : "") +
         "  %y = Conv(%x, %w" + (bias ? ", %b" : "") + ") {" + window.attrs +
         ", group = " + std::to_string(conv.group) + "}\n  output %y\n}";
}

std::string FusedConv(Dice& dice) {
  const WindowText window = MakeWindow(dice, true);
  const ConvSizes conv = MakeConv(dice, window, dice.From(1, 3));
  const std::string type = dice.Of<std::string>({"f32", "bf16", "u8", "i8"});
  const bool integer = type == "u8" || type == "i8";
  const std::string m = std::to_string(conv.w[0]);
  const std::string activation =
      dice.Of<std::string>({"", ", activation = \"Relu\"", ", activation = \"HardSwish\"",
                            ", activation = \"Clip\", alpha = -0.5, beta = 1.5"});
  std::string text = "graph g {\n  input %x : " + type + Text(conv.x) +
                     "\n  const %w : " + (integer ? "i8" : type) + Text(conv.w) +
                     " = random 3\n  const %b : f32[" + m + "] = random 4\n";
  if (integer) text += "  const %s : f32[" + m + "] = splat 0.003\n";
  const std::string y = type == "f32" ? "1" : type == "bf16" ? "16" : type == "u8" ? "2" : "3";
  text += "  %y = msc.Conv(%x, %w, %b, _, " + std::string(integer ? "%s" : "_") + ", _) {" +
          window.attrs + ", group = " + std::to_string(conv.group) + ", y_type = " + y + activation;
  if (integer) text += ", x_scale = 0.02, y_scale = 0.05";
  return text + "}\n  output %y\n}";
}

std::string Pool(Dice& dice) {
  const bool max = dice.OneIn(2);
  const WindowText window = MakeWindow(dice, max && dice.OneIn(2));
  std::string attrs = window.attrs;
  if (dice.OneIn(3)) attrs += ", ceil_mode = 1";
  if (!max && dice.OneIn(2)) attrs += ", count_include_pad = 1";
  return "graph g {\n  input %x : f32" +
         Text({dice.Size(3), dice.From(1, 20), window.x[0], window.x[1]}) +
         "\n  %y = " + (max ? "MaxPool" : "AveragePool") + "(%x) {" + attrs + "}\n  output %y\n}";
}

// To integers, something that computes without rounding, and back: what targets move between their
// layouts has zero points here. A scale that is a power of two leaves no ties to argue about.
std::string Quantized(Dice& dice) {
  const bool is_unsigned = dice.OneIn(2);
  const std::int64_t zero = is_unsigned ? dice.From(0, 255) : dice.From(-128, 127);
  const std::int64_t channels = dice.Of<std::int64_t>({3, 20, 64, 128});
  const Sizes image = dice.Of<Sizes>({{7, 7}, {1, 8}, {5, 9}});
  const Sizes x = {dice.From(1, 2), channels, image[0], image[1]};
  std::string text = "graph g {\n  input %x : f32" + Text(x) +
                     "\n  const %s : f32[] = [0.03125]\n" +
                     "  const %z : " + (is_unsigned ? "u8" : "i8") + "[] = [" +
                     std::to_string(zero) + "]\n  %q = QuantizeLinear(%x, %s, %z)\n";
  if (dice.OneIn(2)) {
    return text +
           "  %p = MaxPool(%q) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n"
           "  %y = DequantizeLinear(%p, %s, %z)\n  output %y\n}";
  }
  const std::string m = std::to_string(channels);
  return text + "  const %w : i8[" + m + ",1,3,3] = random 3\n  const %ws : f32[" + m +
         "] = splat 0.003\n  %y = msc.Conv(%q, %w, _, _, %ws, _) {kernel_shape = [3, 3], " +
         "strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = " + m +
         ", x_scale = 0.03125, x_zero_point = " + std::to_string(zero) +
         ", y_type = 1}\n  output %y\n}";
}

std::string Gemm(Dice& dice) {
  const std::int64_t m = dice.Size(9);
  const std::int64_t n = dice.Size(40);
  const std::int64_t k = dice.From(1, 70);
  const bool a = dice.OneIn(3);
  const bool b = dice.OneIn(2);
  const Sizes c = dice.Of<Sizes>({{}, {1}, {n}, {1, n}, {m, 1}, {m, n}, {1, 1}});
  std::string attrs = "transA = " + std::to_string(a ? 1 : 0) + ", transB = " + (b ? "1" : "0");
  if (dice.OneIn(3)) attrs += ", alpha = 0.5, beta = 2.0";
  const std::string weights =
      dice.OneIn(2) ? "  const %w : f32" + Text(b ? Sizes{n, k} : Sizes{k, n}) + " = random 3\n"
                    : "  input %w : f32" + Text(b ? Sizes{n, k} : Sizes{k, n}) + "\n";
  return "graph g {\n  input %x : f32" + Text(a ? Sizes{k, m} : Sizes{m, k}) + "\n" + weights +
         (c.empty() ? "" : "  const %c : f32" + Text(c) + " = random 4\n") + "  %y = Gemm(%x, %w" +
         (c.empty() ? "" : ", %c") + ") {" + attrs + "}\n  output %y\n}";
}

/// One operand of a broadcast to `out`: some of its dimensions are 1, leading ones may be missing.
Sizes Narrowed(Dice& dice, Sizes out) {
  for (std::int64_t& size : out) {
    if (dice.OneIn(3)) size = 1;
  }
  const auto missing = dice.OneIn(3) ? dice.From(0, static_cast<std::int64_t>(out.size())) : 0;
  return {out.begin() + missing, out.end()};
}

std::string MatMul(Dice& dice) {
  const Sizes batch = dice.Of<Sizes>({{}, {2}, {3, 2}, {1, 4}});
  const std::int64_t m = dice.Size(9);
  const std::int64_t n = dice.From(1, 40);
  const std::int64_t k = dice.From(1, 30);
  Sizes a = batch;
  a.insert(a.end(), {m, k});
  Sizes b = dice.OneIn(2) ? Sizes{} : Narrowed(dice, batch);
  b.insert(b.end(), {k, n});
  return "graph g {\n  input %a : f32" + Text(a) + "\n  " +
         (dice.OneIn(2) ? "input %b : f32" + Text(b) : "const %b : f32" + Text(b) + " = random 3") +
         "\n  %y = MatMul(%a, %b)\n  output %y\n}";
}

Sizes AnyShape(Dice& dice) {
  Sizes shape(static_cast<std::size_t>(dice.From(1, 5)));
  for (std::int64_t& size : shape) size = dice.Size(6);
  return shape;
}

std::string Binary(Dice& dice) {
  const std::string op = dice.Of<std::string>({"Add", "Sub", "Mul", "Max", "Min"});
  const Sizes shape = AnyShape(dice);
  const Sizes other = Narrowed(dice, shape);
  const bool swapped = dice.OneIn(2);
  const bool constant = dice.OneIn(2);
  return "graph g {\n  input %a : f32" + Text(shape) + "\n  " +
         (constant ? "const %b : f32" + Text(other) + " = random 3"
                   : "input %b : f32" + Text(other)) +
         "\n  %y = " + op + (swapped ? "(%b, %a)" : "(%a, %b)") + "\n  output %y\n}";
}

std::string Unary(Dice& dice) {
  const std::string op = dice.Of<std::string>({"Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu",
                                               "Abs", "Neg", "Exp", "GlobalAveragePool"});
  const Sizes shape = op == "GlobalAveragePool"
                          ? Sizes{dice.Size(3), dice.From(1, 20), dice.From(1, 9), dice.From(1, 9)}
                          : AnyShape(dice);
  return "graph g {\n  input %x : f32" + Text(shape) + "\n  %y = " + op + "(%x)\n  output %y\n}";
}

std::string Concat(Dice& dice) {
  Sizes shape = AnyShape(dice);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = dice.From(-rank, rank - 1);
  std::string text = "graph g {\n";
  std::string operands;
  const std::int64_t count = dice.From(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = dice.From(1, 5);
    const std::string name = "%x" + std::to_string(i);
    text += (i > 0 && dice.OneIn(4) ? "  const " + name + " : f32" + Text(shape) + " = random 3\n"
                                    : "  input " + name + " : f32" + Text(shape) + "\n");
    operands += (i > 0 ? ", " : "") + name;
  }
  return text + "  %y = Concat(" + operands + ") {axis = " + std::to_string(axis) +
         "}\n  output %y\n}";
}

std::string Softmax(Dice& dice) {
  const Sizes shape = AnyShape(dice);
  const auto rank = static_cast<std::int64_t>(shape.size());
  return "graph g {\n  input %x : f32" + Text(shape) +
         "\n  %y = Softmax(%x) {axis = " + std::to_string(dice.From(-rank, rank - 1)) +
         "}\n  output %y\n}";
}

const std::map<std::string, std::string (*)(Dice&)>& Makers() {
  static const std::map<std::string, std::string (*)(Dice&)> makers = {
      {"conv", Conv},       {"fused_conv", FusedConv}, {"pool", Pool},     {"gemm", Gemm},
      {"concat", Concat},   {"matmul", MatMul},        {"binary", Binary}, {"unary", Unary},
      {"softmax", Softmax}, {"quantized", Quantized},
  };
  return makers;
}

}  // namespace

std::vector<GraphCase> GenerateCases(const std::string& kind, std::uint64_t seed, int count) {
  Dice dice(seed);
  std::vector<GraphCase> cases;
  for (int i = 0; i < count; ++i) {
    cases.push_back({"generated_" + kind + "_" + std::to_string(i), Makers().at(kind)(dice)});
  }
  return cases;
}

std::vector<std::string> GeneratedKinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, unused] : Makers()) kinds.push_back(kind);
  return kinds;
}

}  // namespace msc
