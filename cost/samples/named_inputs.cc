#include "cost/samples/named_inputs.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "compiler/base/error.h"
#include "cost/samples/array_file.h"
#include "cost/samples/convert.h"
#include "cost/samples/zip_file.h"

namespace msc::cost {
namespace {

constexpr std::string_view kMember = ".npy";

void CheckPlain(const DataConfig& config) {
  const bool scaled = config.mean != std::vector<double>{0} || config.std != std::vector<double>{1};
  if (!scaled && config.layout == "as_is" && !config.resize) return;
  throw UserError(
      "'mean', 'std', 'layout' and 'resize' are for models with one input of 32-bit floats");
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

}  // namespace

std::vector<std::string> ArraysOf(const DataConfig& config, std::span<const InputForm> inputs) {
  CheckPlain(config);
  if (inputs.size() == 1 &&
      (config.format == "npy" || config.images.find(".npz:") != std::string::npos)) {
    return {config.images};
  }
  if (config.format != "npz") {
    throw UserError(
        "give the samples for " +
        (inputs.size() == 1 ? "an input of integers" : std::to_string(inputs.size()) + " inputs") +
        " as an archive with one array for each input, by its name: format npz, not " +
        config.format);
  }
  const std::vector<ZipMember> members = ZipMembers(config.images);
  std::vector<std::string> arrays;
  std::int64_t samples = 0;
  for (const InputForm& input : inputs) {
    const std::string member = input.name + std::string(kMember);
    const bool there = std::any_of(members.begin(), members.end(),
                                   [&](const ZipMember& each) { return each.name == member; });
    if (!there) {
      throw UserError("'" + config.images + "' has no array '" + input.name +
                      "', which the model's input of that name needs; it holds " + Listed(members));
    }
    arrays.push_back(config.images + ":" + input.name);
    const std::int64_t own = ReadArrayForm("npz", arrays.back()).dims[0];
    if (arrays.size() == 1) samples = own;
    if (own != samples) {
      throw UserError("'" + config.images + "' holds " + std::to_string(samples) +
                      " samples for the input '" + inputs[0].name + "' and " + std::to_string(own) +
                      " for '" + input.name + "'");
    }
  }
  return arrays;
}

Tensor ConvertExactly(const Tensor& raw, const InputForm& input, const Dims& sample,
                      const std::string& path) {
  Dims dims = {1};
  dims.insert(dims.end(), sample.begin(), sample.end());
  Tensor out =
      ConvertedTo(raw, input.dtype, {.path = path, .name = input.name, .noun = " samples"});
  if (!AllFinite(out)) throw UserError("'" + path + "' holds a sample that is not finite");
  return out.Reshaped(std::move(dims));
}

}  // namespace msc::cost
