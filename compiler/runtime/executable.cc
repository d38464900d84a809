#include "compiler/runtime/executable.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "compiler/base/error.h"

namespace msc {
namespace {

void CheckTensor(const Tensor& tensor, const ValueType& type, const Dims& dims,
                 const std::string& what) {
  if (tensor.dtype() == type.dtype && tensor.dims() == dims) return;
  throw UserError(what + " must be " + std::string(Name(type.dtype)) + ToString(dims) + ", not " +
                  std::string(Name(tensor.dtype())) + ToString(tensor.dims()));
}

}  // namespace

void Executable::Free::operator()(std::byte* bytes) const noexcept {
  std::free(bytes);
}

void Executable::SetConstant(BufferId constant, const TensorPtr& tensor) {
  const auto place = std::find_if(constants_.begin(), constants_.end(),
                                  [&](const Constant& known) { return known.buffer == constant; });
  Check(place != constants_.end() && place->offset == 0 && place->bytes == tensor->bytes(),
        "a constant is replaced by one of its size");
  for (const Constant& part : constants_) {
    if (part.owner != place->owner) continue;
    // Steps only read constants: the builder's contract.
    addresses_[static_cast<std::size_t>(part.buffer)] =
        const_cast<std::byte*>(tensor->Raw().data()) + part.offset;
  }
  keep_alive_[place->owner] = tensor;
}

std::vector<Tensor> Executable::NewOutputs() const {
  std::vector<Tensor> outputs;
  outputs.reserve(output_types_.size());
  for (std::size_t i = 0; i < output_types_.size(); ++i) {
    outputs.emplace_back(output_types_[i].dtype, output_dims_[i]);
  }
  return outputs;
}

void Executable::Bind(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (inputs.size() != input_types_.size()) {
    throw UserError("the model takes " + std::to_string(input_types_.size()) + " inputs, not " +
                    std::to_string(inputs.size()));
  }
  if (outputs.size() != output_types_.size()) {
    throw UserError("the model gives " + std::to_string(output_types_.size()) + " outputs, not " +
                    std::to_string(outputs.size()));
  }
  // The texts of errors are only made when there is one: this runs before every inference.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != input_types_[i].dtype || inputs[i].dims() != input_dims_[i]) {
      CheckTensor(inputs[i], input_types_[i], input_dims_[i], "input " + std::to_string(i));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype() != output_types_[i].dtype || outputs[i].dims() != output_dims_[i]) {
      CheckTensor(outputs[i], output_types_[i], output_dims_[i], "output " + std::to_string(i));
    }
  }
  for (const Bound& bound : inputs_) {
    // Steps only read inputs: the builder's contract.
    addresses_[static_cast<std::size_t>(bound.buffer)] =
        const_cast<std::byte*>(inputs[bound.tensor].Raw().data()) + bound.offset;
  }
  for (const Bound& bound : outputs_) {
    addresses_[static_cast<std::size_t>(bound.buffer)] =
        outputs[bound.tensor].MutableRaw().data() + bound.offset;
  }
}

void Executable::CopyOutputs(std::span<Tensor> outputs) const {
  for (const Copy& copy : copies_) {
    if (copy.bytes == 0) continue;
    std::memcpy(outputs[copy.output].MutableRaw().data(),
                addresses_[static_cast<std::size_t>(copy.from)], copy.bytes);
  }
}

void Executable::RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Bind(inputs, outputs);
  const StepContext context(addresses_);
  for (const Step& step : steps_) step.run(context);
  CopyOutputs(outputs);
}

std::vector<Tensor> Executable::Run(std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs = NewOutputs();
  RunInto(inputs, outputs);
  return outputs;
}

std::vector<Tensor> Executable::Profile(std::span<const Tensor> inputs,
                                        std::vector<StepTime>& times) {
  using Clock = std::chrono::steady_clock;
  std::vector<Tensor> outputs = NewOutputs();
  Bind(inputs, outputs);
  const StepContext context(addresses_);
  times.clear();
  times.reserve(steps_.size());
  for (const Step& step : steps_) {
    const Clock::time_point start = Clock::now();
    step.run(context);
    times.push_back({.name = step.name,
                     .target = step.target,
                     .precision = step.precision,
                     .nodes = step.nodes,
                     .time = Clock::now() - start});
  }
  CopyOutputs(outputs);
  return outputs;
}

}  // namespace msc
