#include "cost/samples/named_inputs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "cost/samples/array_file.h"
#include "cost/samples/convert.h"
#include "cost/samples/sample_files.h"
#include "cost/samples/sample_folder.h"
#include "cost/samples/zip_file.h"

namespace msc::cost {
namespace {

constexpr std::string_view kMember = ".npy";

void CheckPlain(const DataConfig& config) {
  const bool scaled = config.mean != std::vector<double>{0} ||
                      config.std != std::vector<double>{1} || config.scale != 0;
  if (!scaled && config.layout == "as_is" && config.image == ImageFit()) return;
  throw UserError(
      "'scale', 'mean', 'std', 'layout' and 'resize' are for models with one input of 32-bit "
      "floats");
}

/// Returns the names of the arrays in an archive, for a message.
std::string Listed(const std::vector<ZipMember>& members) {
  std::string names;
  for (const ZipMember& member : members) {
    if (names.size() > 200 || !member.name.ends_with(kMember)) continue;
    names +=
        (names.empty() ? "" : ", ") + member.name.substr(0, member.name.size() - kMember.size());
  }
  return names.empty() ? "none" : names;
}

/// Returns the dims of the array of an input in an archive. UserError if there is none.
Dims MemberDims(const std::string& archive, const InputForm& input) {
  const std::vector<ZipMember> members = ZipMembers(archive);
  const bool there = std::any_of(members.begin(), members.end(), [&](const ZipMember& each) {
    return each.name == input.name + std::string(kMember);
  });
  if (!there) {
    throw UserError("'" + archive + "' has no array '" + input.name +
                    "', which the model's input of that name needs; it holds " + Listed(members));
  }
  return ReadArrayForm("npz", archive + ":" + input.name).dims;
}

/// Returns whether the rows of `dims` are samples of `input`: each is a sample as the input counts
/// them, or the whole input.
bool HasRows(const Dims& dims, const InputForm& input) {
  if (dims.empty()) return false;
  const Dims row(dims.begin() + 1, dims.end());
  const bool counted = input.axis.counting == SampleCounting::kAlong && !input.shape.empty() &&
                       input.axis.axis < std::ssize(input.shape);
  return (counted && FittedDims(row, SampleShape(input))) ||
         FittedDims(row, input.shape).has_value();
}

/// Returns whether an array is one sample of `input`, or the whole input.
bool IsOne(const Dims& dims, const InputForm& input) {
  const bool open = !input.shape.empty() && !input.shape[0].known();
  // An open first axis would take any number of rows for the whole input.
  if (!open) return FittedDims(dims, input.shape).has_value();
  return (!dims.empty() && dims[0] == 1 && HasRows(dims, input)) ||
         FittedDims(dims, Shape(input.shape.begin() + 1, input.shape.end())).has_value();
}

/// Marks arrays with a single sample for all. UserError if arrays differ in their number otherwise.
void FindShared(const std::string& archive, std::span<const InputForm> inputs,
                std::vector<InputArray>& arrays) {
  // The array with the most rows tells the number; an input that leaves the number of samples open
  // goes before one whose first axis may be anything.
  std::optional<std::size_t> most;
  for (const bool open : {true, false}) {
    for (std::size_t i = 0; i < inputs.size() && !(most && open == false); ++i) {
      const bool is_open = !inputs[i].shape.empty() && !inputs[i].shape[0].known();
      if (is_open != open || !HasRows(arrays[i].dims, inputs[i])) continue;
      if (!most || arrays[i].dims[0] > arrays[*most].dims[0]) most = i;
    }
  }
  if (!most) most = 0;
  const std::int64_t samples = arrays[*most].dims.empty() ? 1 : arrays[*most].dims[0];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t own = arrays[i].dims.empty() ? 1 : arrays[i].dims[0];
    const bool scalar = inputs[i].shape.empty() && ElementCount(arrays[i].dims) == 1;
    if (own == samples && !arrays[i].dims.empty() && !scalar &&
        HasRows(arrays[i].dims, inputs[i])) {
      continue;
    }
    if (scalar || (own != samples && IsOne(arrays[i].dims, inputs[i]))) {
      arrays[i].for_all = true;
      continue;
    }
    if (own == samples) continue;  // reading tells how its shape differs
    const std::size_t a = std::min(i, *most);
    const std::size_t b = std::max(i, *most);
    throw UserError("'" + archive + "' holds " + std::to_string(a == i ? own : samples) +
                    " samples for the input '" + inputs[a].name + "' and " +
                    std::to_string(a == i ? samples : own) + " for '" + inputs[b].name + "'");
  }
}

}  // namespace

bool TakesArrays(const DataConfig& config, std::span<const InputForm> inputs) {
  if (inputs.size() != 1) return true;
  const bool image = inputs[0].dtype == DType::kU8 && config.format == "folder" &&
                     ListSamples(config.images).kind == FileKind::kImage;
  return inputs[0].dtype != DType::kF32 && !image;
}

std::vector<InputArray> ArraysOf(const DataConfig& config, std::span<const InputForm> inputs) {
  CheckPlain(config);
  std::vector<InputArray> arrays;
  if (config.format == "folder") {
    const SampleList list = ListSamples(config.images);
    if (list.kind == FileKind::kNpz || (list.kind == FileKind::kNpy && inputs.size() == 1)) {
      for (const InputForm& input : inputs) {
        InputArray& array = arrays.emplace_back(InputArray{.path = config.images, .dims = {1}});
        const Dims own = FirstDims(config, input.name).value_or(Dims());
        array.dims.insert(array.dims.end(), own.begin(), own.end());
      }
      return arrays;
    }
  }
  if (inputs.size() == 1 &&
      (config.format == "npy" || config.images.find(".npz:") != std::string::npos)) {
    return {{.path = config.images, .dims = ReadArrayForm(config.format, config.images).dims}};
  }
  if (config.format != "npz") {
    throw UserError(
        "give the samples for " +
        (inputs.size() == 1 ? "an input of integers" : std::to_string(inputs.size()) + " inputs") +
        " as an archive with one array for each input, by its name: format npz, not " +
        config.format);
  }
  for (const InputForm& input : inputs) {
    InputArray array{.path = config.images + ":" + input.name, .dims = {}};
    array.dims = MemberDims(config.images, input);
    arrays.push_back(std::move(array));
  }
  FindShared(config.images, inputs, arrays);
  return arrays;
}

Tensor ConvertExactly(const Tensor& raw, const InputForm& input, const Dims& sample,
                      const std::string& path) {
  Dims dims = {1};
  dims.insert(dims.end(), sample.begin(), sample.end());
  const Tensor out =
      ConvertedTo(raw, input.dtype, {.path = path, .name = input.name, .noun = " samples"});
  return out.Reshaped(std::move(dims));
}

}  // namespace msc::cost
