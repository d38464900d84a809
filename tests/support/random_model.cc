#include "tests/support/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/model_writer.h"
#include "tests/support/random_blocks.h"

namespace msc {
namespace {

/// Grows a graph by adding one operator at a time to the existing values.
class Grower : ModelWriter {
 public:
  using ModelWriter::ModelWriter;

  Graph Grow(const RandomModelOptions& options) {
    AddInputs();
    const std::int64_t nodes = From(options.least_nodes, options.most_nodes);
    // Most operators do not fit most values, so tries repeatedly.
    for (int tries = 0; std::ssize(graph().order()) < nodes && tries < 1000; ++tries) AddSome();
    for (const ValueId value : graph().values()) {
      const bool made = graph().producer(value) != kNoNode;
      if (made && (graph().uses(value).empty() || OneIn(12))) graph().AddOutput(value);
    }
    return std::move(graph());
  }

 private:
  static std::int64_t Product(const Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  }

  void AddInputs() {
    const std::int64_t count = OneIn(4) ? 2 : 1;
    Dims dims = {From(1, 2), Of<std::int64_t>({1, 3, 4, 8, 16, 17, 20}), From(3, 14), From(3, 14)};
    if (OneIn(4)) dims = {From(1, 3), From(2, 9), Of<std::int64_t>({4, 8, 12, 17, 32})};
    if (OneIn(8)) dims = {From(1, 5), From(3, 40)};
    for (std::int64_t i = 0; i < count; ++i) {
      ValueType type;
      type.dtype = DType::kF32;
      type.shape = ToShape(dims);
      live().push_back(graph().AddInput("in" + std::to_string(i), std::move(type)));
    }
  }

  /// Returns one of the values, more often the newest, because fusion works on chains.
  ValueId Pick() { return OneIn(2) ? live().back() : Of(live()); }
  /// Returns a value other than `other` with these dims, if there is one.
  std::optional<ValueId> PickLike(const Dims& dims, ValueId other) {
    std::vector<ValueId> fitting;
    for (const ValueId value : live()) {
      if (value != other && DimsOf(value) == dims) fitting.push_back(value);
    }
    if (fitting.empty()) return std::nullopt;
    return Of(fitting);
  }

  void AddSome() {
    const ValueId x = Pick();
    const Dims dims = DimsOf(x);
    const bool image = dims.size() == 4;
    switch (From(0, 27)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return image ? AddConv(x, dims) : AddProduct(x, dims);
      case 4:
        return image && OneIn(2) ? AddConvTranspose(x, dims) : AddUnary(x);
      case 5:
        return image ? AddBatchNorm(x, dims) : AddLayerNorm(x, dims);
      case 6:
      case 7:
        return image ? AddPool(x, dims) : AddProduct(x, dims);
      case 8:
        return image ? AddGlobalPool(x) : AddSoftmax(x, dims);
      case 9:
        return image ? AddResize(x, dims) : AddLayerNorm(x, dims);
      case 10:
      case 11:
      case 12:
        return AddUnary(x);
      case 13:
        return AddPRelu(x, dims);
      case 14:
      case 15:
      case 16:
        return AddBinary(x, dims);
      case 17:
        return AddConcat(x, dims);
      case 18:
        return AddSplit(x, dims);
      case 19:
        return AddSlice(x, dims);
      case 20:
        return AddTranspose(x, dims);
      case 21:
        return AddReshape(x, dims);
      case 22:
        return OneIn(2) ? AddReduce(x, dims) : AddSoftmax(x, dims);
      case 23:
        return AddLstm(x, dims);
      case 24:
        return AddGelu(*this, x);
      case 25:
      case 26:
        return dims.size() == 3 && Product(dims) <= 4000 ? AddAttention(*this, x)
                                                         : AddReduce(x, dims);
      default:
        return AddPad(x, dims);
    }
  }

  struct Window {
    Ints kernel, strides, dilations, pads;
  };
  /// Returns a window that fits into the image, or nullopt.
  std::optional<Window> MakeWindow(const Dims& dims, bool dilate) {
    Window window;
    Ints end;
    for (std::size_t axis = 2; axis < 4; ++axis) {
      const std::int64_t kernel = Of<std::int64_t>({1, 1, 2, 3, 3, 3, 5});
      const std::int64_t dilation = dilate && OneIn(5) ? 2 : 1;
      const std::int64_t begin = From(0, kernel / 2);
      end.push_back(From(0, kernel / 2));
      if ((kernel - 1) * dilation + 1 > dims[axis] + begin + end.back()) return std::nullopt;
      window.kernel.push_back(kernel);
      window.dilations.push_back(dilation);
      window.strides.push_back(OneIn(3) ? 2 : 1);
      window.pads.push_back(begin);
    }
    window.pads.insert(window.pads.end(), end.begin(), end.end());
    return window;
  }

  void AddConv(ValueId x, const Dims& dims) {
    const auto window = MakeWindow(dims, true);
    if (!window) return;
    const std::int64_t in = dims[1];
    std::int64_t group = 1;
    if (OneIn(3)) group = in;
    if (OneIn(6) && in % 2 == 0) group = 2;
    std::int64_t out = Of<std::int64_t>({1, 3, 8, 16, 17, 24, 32});
    if (group > 1) out = group * (OneIn(4) ? 2 : 1);
    const std::int64_t fan_in = in / group * window->kernel[0] * window->kernel[1];
    std::vector<ValueId> inputs = {x,
                                   Constant({out, in / group, window->kernel[0], window->kernel[1]},
                                            1 / std::sqrt(static_cast<double>(fan_in)))};
    if (OneIn(2)) inputs.push_back(Constant({out}, 0.3));
    Add("Conv", std::move(inputs),
        {{"kernel_shape", window->kernel},
         {"strides", window->strides},
         {"pads", window->pads},
         {"dilations", window->dilations},
         {"group", group}});
  }

  void AddConvTranspose(ValueId x, const Dims& dims) {
    if (dims[2] * dims[3] > 100) return;
    const std::int64_t kernel = From(1, 3);
    const std::int64_t stride = From(1, 2);
    const std::int64_t out = From(1, 9);
    const std::int64_t group = dims[1] % 2 == 0 && OneIn(3) ? 2 : 1;
    std::vector<ValueId> inputs = {
        x, Constant({dims[1], out, kernel, kernel}, 1 / std::sqrt(static_cast<double>(dims[1])))};
    if (OneIn(2)) inputs.push_back(Constant({out * group}, 0.3));
    const Ints pads = kernel > 1 && OneIn(2) ? Ints{1, 0, 0, 1} : Ints{0, 0, 0, 0};
    Add("ConvTranspose", std::move(inputs),
        {{"kernel_shape", Ints{kernel, kernel}},
         {"strides", Ints{stride, stride}},
         {"pads", pads},
         {"group", group}});
  }

  void AddBatchNorm(ValueId x, const Dims& dims) {
    const Dims channels = {dims[1]};
    Add("BatchNormalization", {x, Positive(channels), Constant(channels, 0.3),
                               Constant(channels, 0.3), Positive(channels)});
  }

  void AddLayerNorm(ValueId x, const Dims& dims) {
    if (dims.back() < 4) return;
    if (OneIn(2)) return AddWrittenLayerNorm(*this, x);
    Add("LayerNormalization", {x, Positive({dims.back()}), Constant({dims.back()}, 0.3)},
        {{"axis", std::int64_t{-1}}, {"epsilon", 0.1F}});
  }

  void AddPool(ValueId x, const Dims& dims) {
    const auto window = MakeWindow(dims, false);
    if (!window) return;
    AttrMap attrs = {
        {"kernel_shape", window->kernel}, {"strides", window->strides}, {"pads", window->pads}};
    const bool average = OneIn(2);
    if (average && OneIn(2)) attrs["count_include_pad"] = std::int64_t{1};
    Add(average ? "AveragePool" : "MaxPool", {x}, std::move(attrs));
  }

  void AddGlobalPool(ValueId x) { Add(OneIn(3) ? "GlobalMaxPool" : "GlobalAveragePool", {x}); }

  void AddResize(ValueId x, const Dims& dims) {
    if (dims[2] * dims[3] > 100) return;
    Tensor scales(DType::kF32, {4});
    const bool smaller = dims[2] > 3 && dims[3] > 3 && OneIn(4);
    const float factor = smaller ? 0.5F : static_cast<float>(From(2, 3));
    std::ranges::copy(std::vector<float>{1, 1, factor, OneIn(3) ? 1 : factor},
                      scales.MutableValues<float>().begin());
    const ValueId constant = graph().AddConstant(graph().FreeValueName("f"), std::move(scales));
    if (OneIn(2)) {
      Add("Resize", {x, kNoValue, constant},
          {{"mode", std::string("nearest")},
           {"coordinate_transformation_mode", std::string("asymmetric")},
           {"nearest_mode", std::string("floor")}});
    } else {
      Add("Resize", {x, kNoValue, constant},
          {{"mode", std::string(OneIn(4) ? "cubic" : "linear")},
           {"coordinate_transformation_mode",
            std::string(OneIn(2) ? "half_pixel" : "align_corners")}});
    }
  }

  /// Adds x * gate(x), which passes recognise as one operator.
  void AddGate(ValueId x, const std::string& gate) {
    Add(gate, {x});
    Add("Mul", {x, live().back()});
  }

  void AddUnary(ValueId x) {
    switch (From(0, 11)) {
      case 0:
      case 1:
      case 2:
        return Add("Relu", {x});
      case 3:
        return Add("Clip", {x, Scalar(-Uniform()), Scalar(1 + 5 * Uniform())});
      case 4:
        return Add("Sigmoid", {x});
      case 5:
        return Add("Tanh", {x});
      case 6:
        return Add("HardSwish", {x});
      case 7:
        return Add("LeakyRelu", {x}, {{"alpha", 0.1F}});
      case 8:
        return Add("Elu", {x});
      case 9:
        return AddGate(x, "Sigmoid");
      case 10:
        return AddGate(x, "HardSigmoid");
      default:
        return Add(OneIn(2) ? "Abs" : "Neg", {x});
    }
  }

  void AddPRelu(ValueId x, const Dims& dims) {
    Dims slope(dims.size() - 1, 1);
    slope[0] = dims[1];
    Add("PRelu", {x, Constant(slope, 0.2, 0.2)});
  }

  void AddBinary(ValueId x, const Dims& dims) {
    const std::string op = Of<std::string>({"Add", "Add", "Add", "Mul", "Sub", "Max", "Min"});
    if (const auto other = PickLike(dims, x); other && !OneIn(3)) return Add(op, {x, *other});
    Dims small(dims.size(), 1);
    const std::size_t axis = OneIn(2) && dims.size() > 1 ? 1 : dims.size() - 1;
    if (!OneIn(4)) small[axis] = dims[axis];
    if (axis + 1 == dims.size() && OneIn(2)) small = {dims.back()};
    if (OneIn(4)) return Add("Div", {x, Positive(small)});
    const ValueId constant = Constant(small, 0.5);
    if (OneIn(4)) return Add(op, {constant, x});
    Add(op, {x, constant});
  }

  void AddConcat(ValueId x, const Dims& dims) {
    const std::int64_t axis = OneIn(3) ? From(0, std::ssize(dims) - 1) : 1;
    std::vector<ValueId> fitting;
    for (const ValueId value : live()) {
      Dims other = DimsOf(value);
      if (other.size() != dims.size()) continue;
      other[static_cast<std::size_t>(axis)] = dims[static_cast<std::size_t>(axis)];
      if (other == dims && Product(DimsOf(value)) > 0) fitting.push_back(value);
    }
    std::vector<ValueId> inputs = {x};
    for (std::int64_t i = From(1, 2); i > 0; --i) inputs.push_back(Of(fitting));
    if (Product(dims) < 20000) Add("Concat", std::move(inputs), {{"axis", axis}});
  }

  void AddSplit(ValueId x, const Dims& dims) {
    const std::size_t axis = OneIn(3) ? static_cast<std::size_t>(From(0, std::ssize(dims) - 1)) : 1;
    if (dims[axis] < 2) return;
    const std::int64_t first = OneIn(2) ? dims[axis] / 2 : From(1, dims[axis] - 1);
    Add("Split", {x, Integers({first, dims[axis] - first})},
        {{"axis", static_cast<std::int64_t>(axis)}}, 2);
  }

  void AddSlice(ValueId x, const Dims& dims) {
    const std::int64_t axis = From(0, std::ssize(dims) - 1);
    const std::int64_t size = dims[static_cast<std::size_t>(axis)];
    if (size < 2) return;
    const std::int64_t start = From(0, size - 2);
    Add("Slice", {x, Integers({start}), Integers({From(start + 1, size)}), Integers({axis}),
                  Integers({From(1, 2)})});
  }

  void AddTranspose(ValueId x, const Dims& dims) {
    Ints perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    Shuffle(perm);
    Add("Transpose", {x}, {{"perm", perm}});
  }

  void AddReshape(ValueId x, const Dims& dims) {
    if (dims.size() == 4 && OneIn(2)) return Add("Flatten", {x}, {{"axis", std::int64_t{1}}});
    if (dims.size() == 4) return Add("Reshape", {x, Integers({dims[0], dims[1], -1})});
    if (dims.size() == 3) return Add("Reshape", {x, Integers({dims[0] * dims[1], dims[2]})});
    for (const std::int64_t parts : {2, 3, 4}) {
      if (dims.back() % parts == 0) return Add("Reshape", {x, Integers({dims[0], parts, -1})});
    }
  }

  /// Adds a matrix product over the last axis.
  void AddProduct(ValueId x, const Dims& dims) {
    const std::int64_t k = dims.back();
    if (k > 2000) return;
    const std::int64_t n = Of<std::int64_t>({1, 3, 8, 16, 17, 32});
    const double scale = 1 / std::sqrt(static_cast<double>(k));
    if (dims.size() == 2 && OneIn(2)) {
      std::vector<ValueId> inputs = {x, Constant({n, k}, scale)};
      if (OneIn(2)) inputs.push_back(Constant({n}, 0.3));
      return Add("Gemm", std::move(inputs), {{"transB", std::int64_t{1}}});
    }
    if (dims.size() == 3 && OneIn(4)) {
      Add("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
      Add("MatMul", {x, live().back()});
      return Add("Mul", {live().back(), Scalar(scale)});
    }
    Add("MatMul", {x, Constant({k, n}, scale)});
    if (OneIn(2)) Add("Add", {live().back(), Constant({n}, 0.3)});
  }

  void AddSoftmax(ValueId x, const Dims& dims) {
    Add("Softmax", {x}, {{"axis", OneIn(3) ? From(0, std::ssize(dims) - 1) : std::int64_t{-1}}});
  }

  /// Adds an LSTM with time steps along the first axis and samples along the second.
  void AddLstm(ValueId x, const Dims& dims) {
    if (dims.size() != 3 || Product(dims) > 4000) return;
    const std::int64_t hidden = Of<std::int64_t>({1, 3, 8, 17});
    const std::string direction = Of<std::string>({"forward", "reverse", "bidirectional"});
    const std::int64_t ways = direction == "bidirectional" ? 2 : 1;
    const auto weights = [&](std::int64_t columns) {
      return Constant({ways, 4 * hidden, columns}, 1 / std::sqrt(static_cast<double>(columns)));
    };
    std::vector<ValueId> inputs = {x, weights(dims[2]), weights(hidden)};
    if (OneIn(2)) inputs.push_back(Constant({ways, 8 * hidden}, 0.3));
    if (OneIn(3)) {
      inputs.resize(5, kNoValue);
      inputs.push_back(Constant({ways, dims[1], hidden}, 0.5));
    }
    const std::size_t outputs = OneIn(2) ? 3 : 1;
    Add("LSTM", std::move(inputs), {{"direction", direction}, {"hidden_size", hidden}}, outputs,
        outputs == 3 && OneIn(3) ? 1 : 0);
  }

  void AddReduce(ValueId x, const Dims& dims) {
    if (dims.size() < 3) return;
    const std::string op = Of<std::string>(
        {"ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSum"});
    Ints axes = {From(0, std::ssize(dims) - 1)};
    if (OneIn(3)) axes = {1, -1};
    if (dims.size() == 4 && OneIn(2)) axes = {2, 3};
    // Keeps at least two dimensions, which other operators need.
    const bool keep = dims.size() < axes.size() + 2 || OneIn(2);
    AttrMap attrs = {{"keepdims", std::int64_t{keep ? 1 : 0}}};
    if (op == "ReduceSum") {
      Add(op, {x, Integers(axes)}, std::move(attrs));
      return Add("Mul", {live().back(), Scalar(0.1)});
    }
    attrs["axes"] = axes;
    Add(op, {x}, std::move(attrs));
  }

  void AddPad(ValueId x, const Dims& dims) {
    if (dims.size() != 4) return;
    const std::int64_t by = From(1, 2);
    Add("Pad", {x, Integers({0, 0, by, From(0, 1), 0, 0, 0, by})});
  }
};

}  // namespace

Graph RandomModel(std::uint64_t seed, const RandomModelOptions& options) {
  return Grower(seed).Grow(options);
}

}  // namespace msc
