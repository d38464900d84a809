#include "compiler/targets/native/recurrent.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <utility>

#include "compiler/ops/lstm.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

// Positions of the inputs that all three operators have in common. H0 and C0 are those of LSTM;
// GRU and RNN have no C0.
constexpr std::size_t kX = kLstmX;
constexpr std::size_t kW = kLstmW;
constexpr std::size_t kR = kLstmR;
constexpr std::size_t kB = kLstmB;
constexpr std::size_t kLengths = kLstmLengths;
constexpr std::size_t kH0 = kLstmH;

/// Largest number of samples that one thread takes through the steps together. With more, the
/// state would leave the L1 cache.
constexpr std::int64_t kMostRows = 16;

bool IsGiven(const std::vector<ValueId>& values, std::size_t index) {
  return index < values.size() && values[index] != kNoValue;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Returns whether every activation that a node names is the one of this position, repeated for
/// each direction.
bool Activates(const Node& node, const std::vector<std::string>& plain) {
  const auto names = AttrOr(node, "activations", std::vector<std::string>{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (Lower(names[i]) != plain[i % plain.size()]) return false;
  }
  return true;
}

/// Reads the operator and its attributes.
std::optional<Recurrent> ReadCell(const Node& node) {
  Recurrent recurrent;
  if (AttrOr(node, "clip", 0.0F) != 0.0F) return std::nullopt;
  recurrent.reverse = AttrOr(node, "direction", std::string("forward")) == "reverse";
  recurrent.directions = LstmDirections(node);
  if (node.Is("LSTM")) {
    recurrent.cell = RecurrentCell::kLstm;
    recurrent.gates = kLstmGates;
    return recurrent;
  }
  if (node.Is("GRU")) {
    const bool late = AttrOr<std::int64_t>(node, "linear_before_reset", 0) != 0;
    recurrent.cell = late ? RecurrentCell::kLateGru : RecurrentCell::kGru;
    recurrent.gates = 3;
    return Activates(node, {"sigmoid", "tanh"}) ? std::optional(recurrent) : std::nullopt;
  }
  if (!node.Is("RNN")) return std::nullopt;
  const auto names = AttrOr(node, "activations", std::vector<std::string>{});
  const auto fewest = static_cast<std::size_t>(recurrent.directions);
  recurrent.relu = names.size() >= fewest && Activates(node, {"relu"});
  return recurrent.relu || Activates(node, {"tanh"}) ? std::optional(recurrent) : std::nullopt;
}

/// Returns whether the sequences of a node are all as long as X.
bool HasFullLengths(const Graph& graph, const Node& node, std::int64_t steps) {
  if (!IsGiven(node.inputs, kLengths)) return true;
  const TensorPtr lengths = graph.constant(node.inputs[kLengths]);
  if (lengths == nullptr) return false;
  const auto values = lengths->Values<std::int32_t>();
  return std::all_of(values.begin(), values.end(), [&](auto length) { return length == steps; });
}

std::int64_t Padded(const Lowering& lowering, const Recurrent& recurrent) {
  const std::int64_t lanes = lowering.unit().lanes;
  return (recurrent.hidden + lanes - 1) / lanes * lanes;
}

/// Returns [..., columns] as a product's n, group, channels, height, width with all rows along the
/// width.
std::optional<View> AsImage(const View& view, std::int64_t rows) {
  const std::optional<View> matrix = Reshape(view, {rows, view.dims.back()});
  if (!matrix) return std::nullopt;
  View image = *matrix;
  image.dims = {1, 1, matrix->dims[1], 1, rows};
  image.strides = {0, 0, matrix->strides[1], 0, matrix->strides[0]};
  image.halo = Halo(image.dims.size());
  return image;
}

/// Adds the product of the inputs of all steps with W, which does not depend on the state, and adds
/// the biases. Returns StepMemory::sums.
View AddInputProduct(Lowering& lowering, const Recurrent& recurrent, const Node& node,
                     const Label& label) {
  const std::int64_t padded = Padded(lowering, recurrent);
  const std::int64_t rows = recurrent.steps * recurrent.batch;
  const std::int64_t channels = recurrent.directions * recurrent.gates * padded;
  std::optional<View> x = AsImage(lowering.WhereUnit(node.inputs[kX], 2, Halo(3)), rows);
  if (!x) x = AsImage(lowering.WhereDense(node.inputs[kX]), rows);

  // Calls visit(channel, direction, gate, unit) for every unit that exists.
  const auto each = [&](const auto& visit) {
    for (std::int64_t d = 0; d < recurrent.directions; ++d) {
      for (std::int64_t gate = 0; gate < recurrent.gates; ++gate) {
        const std::int64_t first = (d * recurrent.gates + gate) * padded;
        for (std::int64_t k = 0; k < recurrent.hidden; ++k) visit(first + k, d, gate, k);
      }
    }
  };
  View bias = lowering.Constant(DType::kF32, channels, [&](Tensor& tensor) {
    const auto values = tensor.MutableValues<float>();
    each([&](std::int64_t c, std::int64_t d, std::int64_t gate, std::int64_t k) {
      // The last gate of a late GRU keeps the bias of the state apart, because r scales it.
      const bool apart = recurrent.cell == RecurrentCell::kLateGru && gate == 2;
      values[static_cast<std::size_t>(c)] =
          recurrent.Bias(d, gate, k, false) + (apart ? 0.0F : recurrent.Bias(d, gate, k, true));
    });
  });
  // Rows a multiple of 1 KiB apart would compete for few sets of the cache.
  const std::int64_t row = channels % 256 == 0 ? channels + 16 : channels;
  const View memory = lowering.Scratch(DType::kF32, rows * row);
  View sums = memory;
  sums.dims = {1, 1, channels, 1, rows};
  sums.strides = {0, 0, 1, 0, row};
  sums.halo = Halo(sums.dims.size());
  bias.dims = sums.dims;
  bias.strides = {0, 0, 1, 0, 0};
  bias.halo = Halo(bias.dims.size());

  const Product product{.x = *x, .start = bias, .channels = channels};
  const ProductShape shape{.rows = rows, .channels = channels, .depth = recurrent.inputs};
  const TileSchedule tile = DefaultGemm(shape, lowering.unit()).tile;
  const PackedWeights packed =
      PackWeights(lowering, product, tile,
                  [&](std::int64_t /*g*/, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
                      std::span<float> out) {
                    const std::int64_t unit = c % padded;
                    if (unit >= recurrent.hidden) {
                      std::fill(out.begin(), out.end(), 0.0F);
                      return;
                    }
                    const std::int64_t first = c / padded * recurrent.hidden + unit;
                    ReadWeightsAt(*recurrent.w, first * recurrent.inputs, 1, out);
                  });
  KernelWriter writer = lowering.Writer("recurrent_inputs");
  Body body =
      ProductBody(writer, lowering.unit(), product, tile, packed, Epilogue(lowering.graph(), sums));
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(recurrent.inputs) *
                       static_cast<double>(recurrent.gates * recurrent.hidden) *
                       static_cast<double>(recurrent.directions);
  lowering.AddCall(std::move(writer), std::move(body), flops, label);
  View view = memory;
  view.dims = {recurrent.steps, recurrent.batch, recurrent.directions, recurrent.gates, padded};
  view.strides = {recurrent.batch * row, row, recurrent.gates * padded, padded, 1};
  view.halo = Halo(view.dims.size());
  return view;
}

View LateBias(Lowering& lowering, const Recurrent& recurrent) {
  const std::int64_t padded = Padded(lowering, recurrent);
  return lowering.Constant(DType::kF32, recurrent.directions * padded, [&](Tensor& tensor) {
    const auto values = tensor.MutableValues<float>();
    for (std::int64_t d = 0; d < recurrent.directions; ++d) {
      for (std::int64_t k = 0; k < recurrent.hidden; ++k) {
        values[static_cast<std::size_t>(d * padded + k)] = recurrent.Bias(d, 2, k, true);
      }
    }
  });
}

/// Returns memory for an output; nullopt if nothing reads it.
std::optional<View> OutputOf(Lowering& lowering, const Node& node, std::size_t index) {
  if (!IsGiven(node.outputs, index)) return std::nullopt;
  const ValueId value = node.outputs[index];
  const Graph& graph = lowering.graph();
  if (graph.uses(value).empty() && !graph.IsOutput(value)) return std::nullopt;
  const Dims dims = lowering.DimsOf(value);
  if (dims.size() == 4 && dims[1] > 1 && !lowering.LeavesRegion(value)) {
    // Readers within the region want the directions of a step side by side, as one row.
    View view = lowering.Scratch(DType::kF32, ElementCount(dims));
    view.dims = dims;
    view.strides = {dims[1] * dims[2] * dims[3], dims[3], dims[1] * dims[3], 1};
    view.halo = Halo(dims.size());
    lowering.Alias(value, view);
    return view;
  }
  return lowering.Out(value, RowMajor(dims.size()));
}

}  // namespace

float Recurrent::Bias(std::int64_t direction, std::int64_t gate, std::int64_t unit,
                      bool of_state) const {
  if (b == nullptr) return 0;
  const std::int64_t block = (2 * direction + (of_state ? 1 : 0)) * gates + gate;
  return b->Values<float>()[static_cast<std::size_t>(block * hidden + unit)];
}

std::optional<Recurrent> ReadRecurrent(const Lowering& lowering, const Node& node) {
  if (!node.Is("LSTM") && !node.Is("GRU") && !node.Is("RNN")) return std::nullopt;
  const Graph& graph = lowering.graph();
  const auto is_f32 = [&](ValueId value) { return graph.type(value).dtype == DType::kF32; };
  if (!is_f32(node.inputs[kX]) || IsGiven(node.inputs, kLstmP)) return std::nullopt;
  std::optional<Recurrent> recurrent = ReadCell(node);
  if (!recurrent) return std::nullopt;
  recurrent->w = graph.constant(node.inputs[kW]);
  recurrent->r = graph.constant(node.inputs[kR]);
  if (recurrent->w == nullptr || recurrent->r == nullptr) return std::nullopt;
  if (IsGiven(node.inputs, kB)) {
    recurrent->b = graph.constant(node.inputs[kB]);
    if (recurrent->b == nullptr) return std::nullopt;
  }
  const Dims x = lowering.DimsOf(node.inputs[kX]);
  if (x.size() != 3) return std::nullopt;
  recurrent->steps = x[0];
  recurrent->batch = x[1];
  recurrent->inputs = x[2];
  recurrent->hidden = recurrent->r->dims()[2];
  if (ElementCount(x) == 0 || recurrent->hidden == 0) return std::nullopt;
  return HasFullLengths(graph, node, recurrent->steps) ? recurrent : std::nullopt;
}

bool LowerRecurrent(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const std::optional<Recurrent> recurrent = ReadRecurrent(lowering, node);
  if (!recurrent) return false;
  const Label label = lowering.LabelOf(group.nodes(), "f32");
  const std::int64_t count = (recurrent->batch + kMostRows - 1) / kMostRows;
  const std::int64_t rows = (recurrent->batch + count - 1) / count;
  StepMemory memory{.sums = AddInputProduct(lowering, *recurrent, node, label),
                    .passes = PackPasses(lowering, *recurrent, rows)};
  if (recurrent->cell == RecurrentCell::kLateGru) {
    memory.late_bias = LateBias(lowering, *recurrent);
  }
  const auto state = [&](std::size_t input) -> std::optional<View> {
    if (!IsGiven(node.inputs, input)) return std::nullopt;
    return lowering.WhereUnit(node.inputs[input], 2, Halo(3));
  };
  memory.h0 = state(kH0);
  memory.c0 = state(kLstmC);
  memory.y = OutputOf(lowering, node, 0);
  memory.y_h = OutputOf(lowering, node, 1);
  memory.y_c = OutputOf(lowering, node, 2);
  const std::int64_t whole = recurrent->batch / rows;
  AddSteps(lowering, *recurrent, memory, {.first = 0, .rows = rows, .count = whole}, label);
  if (const std::int64_t rest = recurrent->batch % rows; rest > 0) {
    AddSteps(lowering, *recurrent, memory, {.first = whole * rows, .rows = rest, .count = 1},
             label);
  }
  for (const ValueId output : node.outputs) {
    if (output != kNoValue && lowering.Placed(output) != nullptr) lowering.Finish(output);
  }
  return true;
}

}  // namespace msc::native
