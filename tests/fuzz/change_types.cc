// Changes of inputs, weights and the types that values are declared to have.

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "tests/fuzz/model_changes.h"

namespace msc::fuzz::detail {
namespace {

using onnx::ModelProto;
using onnx::TensorProto;

onnx::ValueInfoProto* AnyInput(ModelProto& model, Rng& rng) {
  auto& inputs = *model.mutable_graph()->mutable_input();
  if (inputs.empty()) return nullptr;
  return &inputs[static_cast<int>(rng.Below(static_cast<std::uint64_t>(inputs.size())))];
}

onnx::TensorShapeProto& ShapeOf(onnx::ValueInfoProto& value) {
  return *value.mutable_type()->mutable_tensor_type()->mutable_shape();
}

void StrangeDim(onnx::TensorShapeProto::Dimension& dim, Rng& rng) {
  switch (rng.Below(5)) {
    case 0:
      dim.set_dim_param(Chance(rng, 3) ? "" : "batch");
      break;
    case 1:
      dim.Clear();
      break;
    default:
      dim.set_dim_value(StrangeNumber(dim.dim_value(), rng));
  }
}

void StrangeShape(onnx::TensorShapeProto& shape, Rng& rng) {
  auto& dims = *shape.mutable_dim();
  if (dims.empty() || Chance(rng, 4)) {
    dims.Add()->set_dim_value(1 + static_cast<std::int64_t>(rng.Below(4)));
    if (Chance(rng, 2)) dims.SwapElements(0, dims.size() - 1);
  } else if (Chance(rng, 3)) {
    dims.DeleteSubrange(static_cast<int>(rng.Below(static_cast<std::uint64_t>(dims.size()))), 1);
  } else if (Chance(rng, 4)) {
    std::reverse(dims.begin(), dims.end());
  } else {
    StrangeDim(dims[static_cast<int>(rng.Below(static_cast<std::uint64_t>(dims.size())))], rng);
  }
}

bool InputShape(ModelProto& model, Rng& rng) {
  onnx::ValueInfoProto* input = AnyInput(model, rng);
  if (input == nullptr) return false;
  StrangeShape(ShapeOf(*input), rng);
  return true;
}

bool InputDim(ModelProto& model, Rng& rng) {
  onnx::ValueInfoProto* input = AnyInput(model, rng);
  if (input == nullptr || ShapeOf(*input).dim().empty()) return false;
  auto& dims = *ShapeOf(*input).mutable_dim();
  StrangeDim(dims[static_cast<int>(rng.Below(static_cast<std::uint64_t>(dims.size())))], rng);
  return true;
}

bool InputRank(ModelProto& model, Rng& rng) {
  onnx::ValueInfoProto* input = AnyInput(model, rng);
  if (input == nullptr) return false;
  auto& dims = *ShapeOf(*input).mutable_dim();
  const int rank = static_cast<int>(rng.Below(7));
  while (dims.size() > rank) dims.RemoveLast();
  while (dims.size() < rank) dims.Add()->set_dim_value(1 + static_cast<std::int64_t>(rng.Below(9)));
  return true;
}

bool InputType(ModelProto& model, Rng& rng) {
  onnx::ValueInfoProto* input = AnyInput(model, rng);
  if (input == nullptr) return false;
  input->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(rng.Below(18)));
  return true;
}

bool InputUntyped(ModelProto& model, Rng& rng) {
  onnx::ValueInfoProto* input = AnyInput(model, rng);
  if (input == nullptr) return false;
  switch (rng.Below(4)) {
    case 0:
      input->clear_type();
      break;
    case 1:
      input->mutable_type()->mutable_tensor_type()->clear_shape();
      break;
    case 2:
      input->mutable_type()
          ->mutable_sequence_type()
          ->mutable_elem_type()
          ->mutable_tensor_type()
          ->set_elem_type(1);
      break;
    default:
      input->mutable_type()
          ->mutable_optional_type()
          ->mutable_elem_type()
          ->mutable_tensor_type()
          ->set_elem_type(1);
  }
  return true;
}

TensorProto* AnyInitializer(ModelProto& model, Rng& rng) {
  auto& all = *model.mutable_graph()->mutable_initializer();
  if (all.empty()) return nullptr;
  return &all[static_cast<int>(rng.Below(static_cast<std::uint64_t>(all.size())))];
}

/// -1 where it has none that could be in a file: an earlier change may have made it so.
std::int64_t Elements(const TensorProto& tensor) {
  constexpr std::int64_t kMost = 1 << 26;
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0 || dim > kMost) return -1;
    count *= dim;
    if (count > kMost) return -1;
  }
  return count;
}

/// Values as raw bytes, so that they can be cut and stretched; of types of 4 and 8 bytes.
bool MakeRaw(TensorProto& tensor) {
  if (tensor.has_raw_data()) return true;
  std::string raw;
  const auto take = [&](const auto& list) {
    raw.assign(reinterpret_cast<const char*>(list.data()),
               static_cast<std::size_t>(list.size()) * sizeof(*list.data()));
  };
  if (tensor.data_type() == TensorProto::FLOAT) {
    take(tensor.float_data());
  } else if (tensor.data_type() == TensorProto::INT64) {
    take(tensor.int64_data());
  } else if (tensor.data_type() == TensorProto::INT32) {
    take(tensor.int32_data());
  } else {
    return false;
  }
  tensor.clear_float_data();
  tensor.clear_int64_data();
  tensor.clear_int32_data();
  tensor.set_raw_data(std::move(raw));
  return true;
}

/// Other dims for the same number of values.
bool WeightReshaped(ModelProto& model, Rng& rng) {
  TensorProto* tensor = AnyInitializer(model, rng);
  if (tensor == nullptr || Elements(*tensor) < 0) return false;
  auto& dims = *tensor->mutable_dims();
  if (dims.empty() || Chance(rng, 3)) {
    dims.Add(1);
    if (Chance(rng, 2)) dims.SwapElements(0, dims.size() - 1);
  } else if (dims.size() > 1 && Chance(rng, 2)) {
    const std::int64_t last = dims[dims.size() - 1];
    dims.RemoveLast();
    dims[static_cast<int>(rng.Below(static_cast<std::uint64_t>(dims.size())))] *= last;
  } else {
    std::reverse(dims.begin(), dims.end());
  }
  return true;
}

/// One dim larger, smaller or 0, with as many values.
bool WeightResized(ModelProto& model, Rng& rng) {
  TensorProto* tensor = AnyInitializer(model, rng);
  if (tensor == nullptr || tensor->dims().empty() || Elements(*tensor) < 1 || !MakeRaw(*tensor)) {
    return false;
  }
  const auto width = static_cast<std::int64_t>(tensor->raw_data().size()) / Elements(*tensor);
  auto& dims = *tensor->mutable_dims();
  auto& dim = dims[static_cast<int>(rng.Below(static_cast<std::uint64_t>(dims.size())))];
  const std::int64_t choices[] = {0, 1, 2, dim - 1, dim + 1, dim / 2, 2 * dim};
  dim = OneOf(choices, rng);
  const auto bytes = static_cast<std::size_t>(Elements(*tensor) * width);
  std::string& raw = *tensor->mutable_raw_data();
  const std::string pattern = raw;
  raw.resize(bytes);
  for (std::size_t i = pattern.size(); i < bytes; ++i) raw[i] = pattern[i % pattern.size()];
  return true;
}

/// A dim that the values do not bear out.
bool WeightDim(ModelProto& model, Rng& rng) {
  TensorProto* tensor = AnyInitializer(model, rng);
  if (tensor == nullptr || tensor->dims().empty()) return false;
  auto& dims = *tensor->mutable_dims();
  auto& dim = dims[static_cast<int>(rng.Below(static_cast<std::uint64_t>(dims.size())))];
  dim = StrangeNumber(dim, rng);
  return true;
}

int WidthOf(int type) {
  switch (type) {
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
    case TensorProto::UINT64:
    case TensorProto::COMPLEX64:
      return 8;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 4;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return 2;
    case TensorProto::COMPLEX128:
      return 16;
    default:
      return 1;
  }
}

/// Another type; the bytes are cut or repeated until there are as many values.
bool WeightType(ModelProto& model, Rng& rng) {
  TensorProto* tensor = AnyInitializer(model, rng);
  if (tensor == nullptr || Elements(*tensor) < 0 || !MakeRaw(*tensor)) return false;
  const int type = static_cast<int>(rng.Below(18));
  tensor->set_data_type(type);
  if (type == TensorProto::STRING || Chance(rng, 8)) return true;  // the bytes do not fit then
  std::string& raw = *tensor->mutable_raw_data();
  const std::string pattern = raw.empty() ? std::string(1, '\0') : raw;
  raw.resize(static_cast<std::size_t>(Elements(*tensor) * WidthOf(type)));
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = pattern[i % pattern.size()];
  if (type == TensorProto::BOOL) {
    for (char& value : raw) value = static_cast<char>(value & 1);
  }
  return true;
}

template <class T>
void PutValue(std::string& raw, T value, Rng& rng) {
  const std::size_t at = rng.Below(raw.size() / sizeof(T));
  std::memcpy(raw.data() + at * sizeof(T), &value, sizeof(T));
}
template <class T>
T ValueAt(const std::string& raw, std::size_t at) {
  T value{};
  std::memcpy(&value, raw.data() + at * sizeof(T), sizeof(T));
  return value;
}

/// Values that nobody trains, and target shapes, axes and bounds that do not fit.
void StrangeValues(TensorProto& tensor, Rng& rng) {
  constexpr float kStrange[] = {0.0F,
                                -1.0F,
                                1e-30F,
                                3e38F,
                                std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
  if (!MakeRaw(tensor) || tensor.raw_data().size() < 8) return;
  std::string& raw = *tensor.mutable_raw_data();
  const std::size_t times = 1 + rng.Below(3);
  for (std::size_t i = 0; i < times; ++i) {
    if (tensor.data_type() == TensorProto::INT64) {
      PutValue(raw, StrangeNumber(ValueAt<std::int64_t>(raw, 0), rng), rng);
    } else if (tensor.data_type() == TensorProto::FLOAT) {
      PutValue(raw, OneOf(kStrange, rng), rng);
    } else {
      raw[rng.Below(raw.size())] = static_cast<char>(rng.Below(256));
    }
  }
}

bool WeightValues(ModelProto& model, Rng& rng) {
  TensorProto* tensor = AnyInitializer(model, rng);
  if (tensor == nullptr) return false;
  StrangeValues(*tensor, rng);
  return true;
}

/// As WeightValues, of the integers that shapes, axes and bounds are given by.
bool IntegerValues(ModelProto& model, Rng& rng) {
  std::vector<TensorProto*> integers;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.data_type() == TensorProto::INT64) integers.push_back(&tensor);
  }
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "Constant") continue;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) integers.push_back(attribute.mutable_t());
    }
  }
  if (integers.empty()) return false;
  StrangeValues(*OneOf(integers, rng), rng);
  return true;
}

/// A type that a value inside, or an output, does not have.
bool DeclaredType(ModelProto& model, Rng& rng) {
  auto& graph = *model.mutable_graph();
  onnx::ValueInfoProto* value = nullptr;
  if (!graph.output().empty() && Chance(rng, 2)) {
    value = graph.mutable_output(
        static_cast<int>(rng.Below(static_cast<std::uint64_t>(graph.output_size()))));
  } else {
    const std::vector<std::string> names = ValueNames(graph);
    if (names.empty()) return false;
    value = graph.add_value_info();
    value->set_name(OneOf(names, rng));
    value->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  }
  if (Chance(rng, 3)) {
    value->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(rng.Below(18)));
  } else {
    const std::size_t times = 1 + rng.Below(4);
    for (std::size_t i = 0; i < times; ++i) StrangeShape(ShapeOf(*value), rng);
  }
  return true;
}

bool Versions(ModelProto& model, Rng& rng) {
  if (Chance(rng, 5)) {
    model.set_ir_version(static_cast<std::int64_t>(rng.Below(16)));
    return true;
  }
  if (model.opset_import().empty()) return false;
  auto& set = *model.mutable_opset_import(
      static_cast<int>(rng.Below(static_cast<std::uint64_t>(model.opset_import_size()))));
  set.set_version(1 + static_cast<std::int64_t>(rng.Below(24)));
  if (Chance(rng, 10)) set.set_domain("ai.onnx.ml");
  return true;
}

constexpr ModelChange kChanges[] = {
    {"input shape", InputShape},
    {"input dim", InputDim},
    {"input rank", InputRank},
    {"input type", InputType},
    {"input untyped", InputUntyped},
    {"weight reshaped", WeightReshaped},
    {"weight resized", WeightResized},
    {"weight dim", WeightDim},
    {"weight type", WeightType},
    {"weight values", WeightValues},
    {"integer values", IntegerValues},
    {"declared type", DeclaredType},
    {"versions", Versions},
};

}  // namespace

std::span<const ModelChange> TypeChanges() {
  return kChanges;
}

}  // namespace msc::fuzz::detail
