// Masked graphs equal shrunken ones on random graphs of all the patterns that make pruning hard.

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "tests/compiler/compress/prune/support.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

using testing::MaskedEqualsShrunk;
using testing::Parse;
using testing::RandomPlan;

/// Writes a graph as text, block after block, on one feature map [1, channels, size, size].
class Writer {
 public:
  explicit Writer(std::uint64_t seed) : rng_(seed) {
    text_ = "graph main {\n  input %x : f32[n,4,6,6]\n";
  }

  [[nodiscard]] std::uint64_t Below(std::uint64_t bound) { return rng_.Below(bound); }
  [[nodiscard]] std::int64_t Between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(most - least + 1)));
  }

  std::string Const(const std::string& type) {
    const std::string name = Name("c");
    text_ += "  const " + name + " : " + type + " = random " + std::to_string(rng_.Below(1 << 20)) +
             "\n";
    return name;
  }
  std::string Ints(const std::vector<std::int64_t>& values) {
    const std::string name = Name("i");
    text_ += "  const " + name + " : i64[" + std::to_string(values.size()) + "] = " + List(values) +
             "\n";
    return name;
  }
  static std::string List(const std::vector<std::int64_t>& values) {
    std::string list = "[";
    for (const std::int64_t value : values) {
      list += (list.size() > 1 ? ", " : "") + std::to_string(value);
    }
    return list + "]";
  }
  /// One output; `attrs` as in the text form.
  std::string Node(const std::string& op, const std::string& inputs,
                   const std::string& attrs = "") {
    const std::string out = Name("v");
    text_ += "  " + out + " = " + op + "(" + inputs + ")" +
             (attrs.empty() ? "" : " {" + attrs + "}") + "\n";
    return out;
  }
  std::vector<std::string> Nodes(const std::string& op, const std::string& inputs,
                                 std::size_t outputs, const std::string& attrs) {
    std::vector<std::string> made;
    std::string list;
    for (std::size_t i = 0; i < outputs; ++i) {
      made.push_back(Name("v"));
      list += (i > 0 ? ", " : "") + made.back();
    }
    text_ += "  " + list + " = " + op + "(" + inputs + ") {" + attrs + "}\n";
    return made;
  }

  std::string Conv(const std::string& x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t group = 1) {
    const std::string k = std::to_string(kernel);
    const std::string w = Const("f32[" + std::to_string(out) + "," + std::to_string(in / group) +
                                "," + k + "," + k + "]");
    const std::string bias = Below(2) == 0 ? ", " + Const("f32[" + std::to_string(out) + "]") : "";
    const std::string pad = std::to_string(kernel / 2);
    return Node("Conv", x + ", " + w + bias,
                "group = " + std::to_string(group) + ", pads = [" + pad + ", " + pad + ", " + pad +
                    ", " + pad + "]");
  }
  std::string Activation(const std::string& x, std::int64_t channels) {
    switch (Below(5)) {
      case 0:
        return Node("Sigmoid", x);  // f(0) is not 0
      case 1:
        return Node("PRelu", x + ", " + Const("f32[" + std::to_string(channels) + ",1,1]"));
      case 2: {
        const std::string c = "f32[" + std::to_string(channels) + "]";
        const std::string var = Name("c");
        text_ += "  const " + var + " : " + c + " = splat 3\n";
        return Node("BatchNormalization",
                    x + ", " + Const(c) + ", " + Const(c) + ", " + Const(c) + ", " + var);
      }
      case 3:
        return Node("Add", Const("f32[1," + std::to_string(channels) + ",1,1]") + ", " + x);
      default:
        return Node("Relu", x);
    }
  }
  std::string Finish(const std::string& y) { return text_ + "  output " + y + "\n}"; }

 private:
  std::string Name(const char* stem) { return std::string("%") + stem + std::to_string(next_++); }

  Rng rng_;
  std::string text_;
  int next_ = 0;
};

struct Map {
  std::string value;
  std::int64_t channels = 0;
  std::int64_t size = 6;
};

Map Residual(Writer& w, const Map& x) {
  const std::int64_t wide = w.Between(3, 9);
  std::string y = w.Conv(x.value, x.channels, wide, 3);
  y = w.Conv(w.Activation(y, wide), wide, x.channels, 1);
  return {w.Node("Add", y + ", " + x.value), x.channels, x.size};
}

Map Dense(Writer& w, const Map& x) {
  const std::int64_t more = w.Between(2, 5);
  const std::string y = w.Conv(w.Activation(x.value, x.channels), x.channels, more, 3);
  const std::int64_t copies = w.Between(1, 2);
  const std::string parts = (copies == 1 ? "" : y + ", ") + x.value + ", " + y;
  return {w.Node("Concat", parts, "axis = 1"), x.channels + copies * more, x.size};
}

Map Inverted(Writer& w, const Map& x) {
  const std::int64_t wide = 2 * x.channels;
  const std::int64_t times = w.Between(1, 2);
  std::string y = w.Activation(w.Conv(x.value, x.channels, wide, 1), wide);
  y = w.Activation(w.Conv(y, wide, times * wide, 3, wide), times * wide);
  y = w.Conv(y, times * wide, x.channels, 1);
  return {w.Node("Add", x.value + ", " + y), x.channels, x.size};
}

Map Grouped(Writer& w, const Map& x) {
  const std::int64_t group = w.Between(2, 4);
  const std::int64_t in = group * w.Between(1, 4);
  const std::int64_t out = group * w.Between(1, 4);
  const std::string y = w.Activation(w.Conv(x.value, x.channels, in, 1), in);
  return {w.Conv(y, in, out, 3, group), out, x.size};
}

Map Shuffle(Writer& w, const Map& x) {
  const std::int64_t group = w.Between(2, 3);
  const std::int64_t channels = group * w.Between(2, 5);
  std::string y = w.Conv(x.value, x.channels, channels, 1);
  y = w.Node("Reshape", y + ", " + w.Ints({0, group, -1, x.size, x.size}));
  y = w.Node("Transpose", y, "perm = [0, 2, 1, 3, 4]");
  y = w.Node("Reshape", y + ", " + w.Ints({0, channels, x.size, -1}));
  return {y, channels, x.size};
}

Map SplitAndConcat(Writer& w, const Map& x) {
  const std::int64_t first = w.Between(1, x.channels - 1);
  const std::int64_t rest = x.channels - first;
  std::string low;
  std::string high;
  if (w.Below(2) == 0) {
    const auto parts = w.Nodes("Split", x.value + ", " + w.Ints({first, rest}), 2, "axis = 1");
    low = parts[0];
    high = parts[1];
  } else {
    low =
        w.Node("Slice", x.value + ", " + w.Ints({0}) + ", " + w.Ints({-rest}) + ", " + w.Ints({1}));
    high = w.Node("Slice", x.value + ", " + w.Ints({first}) + ", " + w.Ints({1 << 20}) + ", " +
                               w.Ints({-3}) + ", " + w.Ints({1}));
  }
  const std::int64_t wide = w.Between(2, 6);
  low = w.Conv(low, first, wide, 3);
  return {w.Node("Concat", low + ", " + high, "axis = 1"), wide + rest, x.size};
}

Map Halves(Writer& w, const Map& x) {
  const std::int64_t half = w.Between(2, 6);
  const std::string y = w.Conv(x.value, x.channels, 2 * half, 1);
  const auto parts = w.Nodes("Split", y, 2, "axis = 1");
  return {w.Node("Mul", parts[0] + ", " + w.Node("Sigmoid", parts[1])), half, x.size};
}

Map Excite(Writer& w, const Map& x) {
  const std::int64_t few = w.Between(2, 4);
  std::string y = w.Node("GlobalAveragePool", x.value);
  y = w.Conv(w.Activation(w.Conv(y, x.channels, few, 1), few), few, x.channels, 1);
  return {w.Node("Mul", x.value + ", " + w.Node("HardSigmoid", y)), x.channels, x.size};
}

Map Pick(Writer& w, const Map& x) {
  std::vector<std::int64_t> picks;
  for (std::int64_t i = w.Between(2, 6); i > 0; --i) {
    picks.push_back(w.Between(-x.channels, x.channels - 1));
  }
  return {w.Node("Gather", x.value + ", " + w.Ints(picks), "axis = 1"), std::ssize(picks), x.size};
}

/// Every n-th channel, from either end, beside the channels in between.
Map Strided(Writer& w, const Map& x) {
  const std::int64_t step = w.Between(2, 3);
  const std::int64_t first = w.Between(0, 1);
  const auto slice = [&](std::int64_t from, std::int64_t to, std::int64_t by) {
    return w.Node("Slice", x.value + ", " + w.Ints({from}) + ", " + w.Ints({to}) + ", " +
                               w.Ints({1}) + ", " + w.Ints({by}));
  };
  const std::int64_t some = (x.channels - first + step - 1) / step;
  const std::int64_t back = (x.channels + step - 1) / step;
  const std::int64_t wide = w.Between(2, 5);
  const std::string y = w.Conv(slice(first, 1 << 20, step), some, wide, 1);
  return {w.Node("Concat", y + ", " + slice(-1, -(1 << 20), -step), "axis = 1"), wide + back,
          x.size};
}

/// A pixel shuffle, and back.
Map Blocks(Writer& w, const Map& x) {
  const std::int64_t wide = w.Between(2, 4);
  const std::string mode = w.Below(2) == 0 ? "CRD" : "DCR";
  std::string y = w.Conv(x.value, x.channels, 4 * wide, 1);
  y = w.Node("DepthToSpace", y, "blocksize = 2, mode = \"" + mode + "\"");
  y = w.Activation(y, wide);
  return {w.Node("SpaceToDepth", y, "blocksize = 2"), 4 * wide, x.size};
}

/// Two layers with one bias.
Map SharedBias(Writer& w, const Map& x) {
  const std::string n = std::to_string(w.Between(3, 6));
  const std::string bias = w.Const("f32[" + n + "]");
  const std::string c = std::to_string(x.channels);
  const std::string y =
      w.Node("Conv", x.value + ", " + w.Const("f32[" + n + "," + c + ",1,1]") + ", " + bias);
  return {w.Node("Conv", y + ", " + w.Const("f32[" + n + "," + n + ",1,1]") + ", " + bias),
          std::stoll(n), x.size};
}

Map Smaller(Writer& w, const Map& x) {
  if (x.size < 4) return x;
  return {w.Node(w.Below(2) == 0 ? "MaxPool" : "AveragePool", x.value,
                 "kernel_shape = [2, 2], strides = [2, 2]"),
          x.channels, x.size / 2};
}

/// Tokens of positions: attention with heads, and an MLP, under layer normalisation.
std::string Attend(Writer& w, const Map& x) {
  const std::int64_t heads = w.Between(2, 3);
  const std::int64_t width = heads * w.Between(1, 3);
  const auto f32 = [](std::int64_t rows, std::int64_t columns) {
    return "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  std::string t = w.Node("Reshape", x.value + ", " + w.Ints({0, 0, -1}));
  t = w.Node("Transpose", t, "perm = [0, 2, 1]");
  const std::string n =
      w.Node("LayerNormalization", t + ", " + w.Const("f32[" + std::to_string(x.channels) + "]"));
  const auto project = [&](const char* perm) {
    std::string p = w.Node("MatMul", n + ", " + w.Const(f32(x.channels, width)));
    if (w.Below(2) == 0)
      p = w.Node("Add", p + ", " + w.Const("f32[" + std::to_string(width) + "]"));
    p = w.Node("Reshape", p + ", " + w.Ints({0, 0, heads, width / heads}));
    return w.Node("Transpose", p, std::string("perm = ") + perm);
  };
  const std::string q = project("[0, 2, 1, 3]");
  const std::string k = project("[0, 2, 3, 1]");
  const std::string v = project("[0, 2, 1, 3]");
  std::string a = w.Node("MatMul", w.Node("Softmax", w.Node("MatMul", q + ", " + k)) + ", " + v);
  a = w.Node("Reshape",
             w.Node("Transpose", a, "perm = [0, 2, 1, 3]") + ", " + w.Ints({0, 0, width}));
  a = w.Node("Add", t + ", " + w.Node("MatMul", a + ", " + w.Const(f32(width, x.channels))));
  const std::int64_t wide = w.Between(3, 9);
  std::string m = w.Node("Relu", w.Node("MatMul", a + ", " + w.Const(f32(x.channels, wide))));
  m = w.Node("MatMul", m + ", " + w.Const(f32(wide, x.channels)));
  return w.Node("ReduceMean", w.Node("Add", m + ", " + a), "axes = [1], keepdims = 0");
}

/// Positions as steps of one or two LSTM layers, either way or both: the mean over all steps, or
/// the last state. Gives the number of features.
std::string Recur(Writer& w, const Map& x, std::int64_t& features) {
  std::string t = w.Node("Reshape", x.value + ", " + w.Ints({0, 0, -1}));
  t = w.Node("Transpose", t, "perm = [2, 0, 1]");
  features = x.channels;
  for (std::uint64_t layers = 1 + w.Below(2); layers > 0; --layers) {
    const std::int64_t hidden = w.Between(2, 6);
    const std::int64_t d = w.Between(1, 2);
    const auto tensor = [&](std::int64_t rows, std::int64_t columns) {
      return w.Const("f32[" + std::to_string(d) + "," + std::to_string(rows * hidden) +
                     (columns > 0 ? "," + std::to_string(columns) : "") + "]");
    };
    std::string inputs = t + ", " + tensor(4, features) + ", " + tensor(4, hidden) + ", ";
    inputs += w.Below(2) == 0 ? tensor(8, 0) : "_";
    if (w.Below(4) == 0) inputs += ", _, _, _, " + tensor(3, 0);
    const std::string attrs = d == 2            ? "direction = \"bidirectional\""
                              : w.Below(2) == 0 ? "direction = \"reverse\""
                                                : "hidden_size = " + std::to_string(hidden);
    const std::vector<std::string> made = w.Nodes("LSTM", inputs, 2, attrs);
    features = d * hidden;
    if (layers == 1 && w.Below(2) == 0) {
      return w.Node("Reshape", w.Node("Transpose", made[1], "perm = [1, 0, 2]") + ", " +
                                   w.Ints({0, features}));
    }
    t = d == 1 ? w.Node("Squeeze", made[0] + ", " + w.Ints({1}))
               : w.Node("Reshape", w.Node("Transpose", made[0], "perm = [0, 2, 1, 3]") + ", " +
                                       w.Ints({0, 0, features}));
  }
  return w.Node("ReduceMean", t, "axes = [0], keepdims = 0");
}

std::string Classify(Writer& w, const Map& x) {
  std::string f;
  std::int64_t features = x.channels;
  switch (w.Below(4)) {
    case 0:
      f = w.Node("Flatten", x.value);
      features *= x.size * x.size;
      break;
    case 1:
      f = Attend(w, x);
      break;
    case 2:
      f = Recur(w, x, features);
      break;
    default:
      f = w.Node("Reshape", w.Node("GlobalAveragePool", x.value) + ", " + w.Ints({0, -1}));
  }
  const std::int64_t wide = w.Between(3, 8);
  f = w.Node("Gemm",
             f + ", " +
                 w.Const("f32[" + std::to_string(wide) + "," + std::to_string(features) + "]") +
                 ", " + w.Const("f32[" + std::to_string(wide) + "]"),
             "transB = 1");
  return w.Node("MatMul",
                w.Node("Tanh", f) + ", " + w.Const("f32[" + std::to_string(wide) + ",3]"));
}

using Block = Map (*)(Writer&, const Map&);
constexpr Block kBlocks[] = {Residual, Dense, Inverted, Grouped, Shuffle, SplitAndConcat, Halves,
                             Excite,   Pick,  Smaller,  Strided, Blocks,  SharedBias};

Graph RandomNet(std::uint64_t seed) {
  Writer w(seed);
  Map x{w.Conv("%x", 4, 6, 3), 6, 6};
  for (std::uint64_t blocks = 2 + w.Below(4); blocks > 0; --blocks) {
    x = kBlocks[w.Below(std::size(kBlocks))](w, x);
  }
  return Parse(w.Finish(Classify(w, x)));
}

TEST(PruneRandomGraphs, MaskedEqualsShrunkInEveryBit) {
  std::uint64_t exact = 0;
  std::uint64_t smaller = 0;
  std::uint64_t groups = 0;
  const std::uint64_t kSeeds = Seeds(500);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = RandomNet(seed);
    const PruneSpace space(graph);
    Rng rng(seed);
    PrunePlan plan;
    for (int draw = 0; draw < 20; ++draw) {
      plan = RandomPlan(space, rng, 0.8);
      try {
        (void)KeptUnits(space, plan);
        break;
      } catch (const UserError&) {
        plan.groups.clear();  // a branch without channels: draw again
      }
    }
    ASSERT_TRUE(MaskedEqualsShrunk(graph, plan, seed)) << "seed " << seed;
    ++exact;
    groups += plan.groups.size();
    Graph shrunk = graph;
    ApplyPrunePlan(plan, shrunk);
    smaller += CountContents(shrunk).parameters < CountContents(graph).parameters ? 1U : 0U;
  }
  EXPECT_EQ(exact, kSeeds);
  // The test would say nothing if there were little to cut.
  EXPECT_GT(smaller, kSeeds * 9 / 10);
  EXPECT_GT(groups, 3 * kSeeds);
}

TEST(PruneFamilies, MobileNetsAndDenseNetsAreExact) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const Block block : {Block{Inverted}, Block{Dense}}) {
      Writer w(seed);
      Map x{w.Conv("%x", 4, 8, 3), 8, 6};
      for (int i = 0; i < 5; ++i) x = block(w, x);
      x = Smaller(w, x);
      x = {w.Conv(x.value, x.channels, 10, 1), 10, x.size};
      for (int i = 0; i < 3; ++i) x = block(w, x);
      const Graph graph = Parse(w.Finish(Classify(w, x)));
      const PruneSpace space(graph);
      EXPECT_GE(space.groups().size(), 9U);
      Rng rng(seed);
      EXPECT_TRUE(MaskedEqualsShrunk(graph, RandomPlan(space, rng, 1.0), seed));
    }
  }
}

}  // namespace
}  // namespace msc
