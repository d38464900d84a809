#include "compiler/pipeline/shapes.h"

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;
constexpr std::size_t kMaxRank = 16;
constexpr std::size_t kMostFixed = std::size_t{1} << 24U;  // elements

/// Parses "1x3x640x640"; "" is a scalar.
std::optional<Dims> ReadDims(std::string_view text) {
  Dims dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || size > kMaxDim || dims.size() == kMaxRank) {
      return std::nullopt;
    }
    dims.push_back(size);
    if (next == end) return dims;
    if (*next != 'x' || next + 1 == end) return std::nullopt;
    at = next + 1;
  }
  return dims;
}

ValueId InputCalled(const Graph& graph, std::string_view name) {
  for (const ValueId id : graph.inputs()) {
    if (graph.value(id).name == name) return id;
  }
  return kNoValue;
}

/// Returns where ":=" separates an input's name from its value; npos if the text gives sizes.
std::size_t ValueMark(const std::string& text) {
  return text.find(":=");
}

[[noreturn]] void RefuseValue(const std::string& text, const std::string& why) {
  throw UserError("value '" + text + "': " + why);
}

double NumberIn(const std::string& text, const std::string& part) {
  if (part == "true") return 1;
  if (part == "false") return 0;
  double number = 0;
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, number);
  if (error != std::errc() || stop != end) RefuseValue(text, "write NAME:=16000 or NAME:=1,0,1");
  return number;
}

std::vector<double> NumbersIn(const std::string& text) {
  std::vector<double> numbers;
  std::size_t at = ValueMark(text) + 2;
  while (true) {
    const std::size_t end = text.find(',', at);
    numbers.push_back(NumberIn(text, text.substr(at, end - at)));
    if (end == std::string::npos) return numbers;
    at = end + 1;
  }
}

/// Returns a tensor of f64 as one of another type.
Tensor CastTo(const Tensor& numbers, DType dtype, const std::string& text) {
  const Node cast{.name = text, .op = "Cast", .attrs = {{"to", static_cast<std::int64_t>(dtype)}}};
  const Tensor* input = &numbers;
  return std::move(Ops().Get(cast).eval(cast, std::span(&input, 1)).front());
}

void SetShape(const std::string& text, Graph& graph, ShapeBindings& bindings) {
  const std::string place = "shape '" + text + "': ";
  // Names may contain '='; sizes do not.
  const std::size_t cut = text.rfind('=');
  const auto dims = ReadDims(std::string_view(text).substr(cut == std::string::npos ? 0 : cut + 1));
  if (!dims) throw UserError(place + "write NAME=1x3x224x224, sizes from 1 on");
  if (cut == std::string::npos && graph.inputs().size() != 1) {
    throw UserError(place + "the model has " + std::to_string(graph.inputs().size()) +
                    " inputs: write NAME=SIZES");
  }
  const ValueId id = cut == std::string::npos
                         ? graph.inputs().front()
                         : InputCalled(graph, std::string_view(text).substr(0, cut));
  if (id == kNoValue) {
    std::string known;
    for (const ValueId input : graph.inputs()) {
      known += (known.empty() ? "" : ", ") + graph.value(input).name;
    }
    throw UserError(place + "the model has no such input; it has: " + known);
  }
  ValueType type = graph.type(id);
  const auto refuse = [&] {
    throw UserError(place + "does not fit the model's " + ToString(graph.type(id)));
  };
  if (type.shape && type.shape->size() != dims->size()) refuse();
  for (std::size_t i = 0; type.shape && i < dims->size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    if (dim.known() && dim.size() != (*dims)[i]) refuse();
    if (dim.symbol().empty()) continue;
    if (bindings.try_emplace(dim.symbol(), (*dims)[i]).first->second != (*dims)[i]) {
      throw UserError(place + "dimension '" + dim.symbol() + "' has another size in another input");
    }
  }
  type.shape = ToShape(*dims);
  graph.SetType(id, std::move(type));
}

}  // namespace

void SetInputShapes(Graph& graph, std::span<const std::string> shapes) {
  if (shapes.empty()) return;
  ShapeBindings bindings;
  for (const std::string& text : shapes) {
    if (!FixesValue(text)) SetShape(text, graph, bindings);
  }
  InferTypes(graph, bindings);
}

bool FixesValue(const std::string& text) {
  return ValueMark(text) != std::string::npos;
}

TensorPtr FixedValue(const std::string& name, const ValueType& type,
                     std::span<const std::string> shapes) {
  for (const std::string& text : shapes) {
    if (!FixesValue(text) || text.substr(0, ValueMark(text)) != name) continue;
    std::vector<double> numbers = NumbersIn(text);
    if (type.container != Container::kTensor || type.dtype == DType::kUndefined ||
        type.dtype == DType::kString) {
      RefuseValue(text, "the input is " + ToString(type) + ", which numbers cannot be");
    }
    Dims dims = {std::ssize(numbers)};
    if (type.shape && StaticDims(*type.shape)) dims = *StaticDims(*type.shape);
    if (!type.shape && numbers.size() == 1) dims = {};
    if (type.shape && type.shape->size() != dims.size()) {
      RefuseValue(text, "the input is " + ToString(type) + "; only lists may have an open size");
    }
    const auto count = static_cast<std::size_t>(ElementCount(dims));
    if (count > kMostFixed) {
      RefuseValue(text, "the input is " + ToString(type) + "; at most " +
                            std::to_string(kMostFixed) + " elements are fixed");
    }
    if (numbers.size() == 1) numbers.resize(count, numbers.front());
    if (numbers.size() != count) {
      RefuseValue(text, "the input is " + ToString(type) + ", and " +
                            std::to_string(numbers.size()) + " numbers are given");
    }
    return std::make_shared<const Tensor>(
        CastTo(Tensor::From<double>(DType::kF64, dims, numbers), type.dtype, text));
  }
  return nullptr;
}

void CheckFixed(const std::set<std::string>& fixed, std::span<const std::string> shapes) {
  for (const std::string& text : shapes) {
    const std::size_t mark = ValueMark(text);
    if (mark == std::string::npos || fixed.contains(text.substr(0, mark))) continue;
    RefuseValue(text, "the model has no input '" + text.substr(0, mark) + "'");
  }
}

void NameOpenDims(Graph& graph) {
  std::string batch = "batch";
  for (const ValueId id : graph.inputs()) {
    const auto& shape = graph.type(id).shape;
    if (!shape || shape->empty() || shape->front().symbol().empty()) continue;
    batch = shape->front().symbol();
    break;
  }
  bool named = false;
  for (const ValueId id : graph.inputs()) {
    ValueType type = graph.type(id);
    for (std::size_t axis = 0; type.shape && axis < type.shape->size(); ++axis) {
      Dim& dim = (*type.shape)[axis];
      if (dim.known() || !dim.symbol().empty()) continue;
      dim = Dim::Symbol(axis == 0 ? batch : graph.value(id).name + "." + std::to_string(axis));
      named = true;
    }
    graph.SetType(id, std::move(type));
  }
  if (named) InferTypes(graph);
}

}  // namespace msc
