#include "gym/app/input_files.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>

#include "compiler/base/error.h"
#include "cost/samples/array_file.h"
#include "cost/samples/convert.h"

namespace msc::gym {
namespace {

bool DiffersInBatchAlone(const Dims& given, const Dims& wanted) {
  return !given.empty() && given.size() == wanted.size() && given[0] != wanted[0] &&
         std::equal(given.begin() + 1, given.end(), wanted.begin() + 1);
}

/// Returns whether the model's open dimensions can take the sizes of `given`.
bool CanBe(const Shape& asked, const Dims& given) {
  if (asked.size() != given.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (asked[i].known() && asked[i].size() != given[i]) return false;
  }
  return true;
}

/// Returns advice on how to make the given shape fit; empty if it cannot.
std::string Advice(const Dims& given, const Dims& wanted, const CompiledInput& input) {
  const bool batch = DiffersInBatchAlone(given, wanted);
  const ValueType* asked = input.asked;
  if (asked == nullptr) {
    return batch ? ": the artefact was compiled for a batch of " + std::to_string(wanted[0]) : "";
  }
  if (asked->shape && CanBe(*asked->shape, given)) {
    if (batch && input.batch_option && !asked->shape->front().symbol().empty()) {
      return ": give --batch " + std::to_string(given[0]);
    }
    std::string sizes;
    for (const std::int64_t size : given)
      sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
    return ": give --shape " + input.name + "=" + sizes;
  }
  return batch ? ": the model's batch is fixed" : "";
}

/// Throws UserError for a number that the input's type in the model's file does not have.
void CheckNumbers(const Tensor& tensor, const std::string& file, const CompiledInput& input) {
  if (input.in_file == nullptr) return;
  const std::optional<double> other = FirstNotIn(*input.in_file, tensor);
  if (!other) return;
  std::ostringstream text;
  text << "'" << file << "' holds " << *other << ", which the model's input '" << input.name
       << "' of " << input.in_file->name << " cannot represent";
  throw UserError(text.str());
}

}  // namespace

void CheckInputCount(const std::vector<std::string>& files, std::size_t inputs) {
  if (files.size() <= inputs) return;
  throw UserError("--input names " + std::to_string(files.size()) +
                  " files; inputs of the model: " + std::to_string(inputs));
}

Tensor ReadInput(const std::string& file, const std::string& name, DType dtype) {
  return cost::ConvertedTo(cost::ReadNpyArray(file), dtype, {.path = file, .name = name});
}

std::vector<Tensor> ReadEach(std::size_t count, const std::function<Tensor(std::size_t)>& read) {
  std::vector<Tensor> tensors;
  std::string wrong;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      tensors.push_back(read(i));
    } catch (const UserError& error) {
      wrong += (wrong.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (!wrong.empty()) throw UserError(wrong);
  return tensors;
}

Tensor ReadWholeInput(const std::string& file, const CompiledInput& input) {
  Tensor tensor = ReadInput(file, input.name, input.type.dtype);
  const Dims wanted = StaticDims(input.type.shape.value()).value();
  if (tensor.dims() == wanted) {
    CheckNumbers(tensor, file, input);
    return tensor;
  }
  throw UserError("'" + file + "' holds an array " + ToString(tensor.dims()) +
                  "; the model's input '" + input.name + "' needs " + ToString(wanted) +
                  Advice(tensor.dims(), wanted, input));
}

}  // namespace msc::gym
