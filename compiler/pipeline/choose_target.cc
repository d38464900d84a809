#include "compiler/pipeline/choose_target.h"

#include <optional>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/quantize.h"

namespace msc {
namespace {

constexpr const char* kProbe = R"(graph probe {
  input %x : f32[1,16,8,8]
  const %w : f32[16,16,3,3] = random 1
  const %b : f32[16] = random 2
  %y = Conv(%x, %w, %b) @layer {pads = [1, 1, 1, 1]}
  output %y
})";

/// Returns the precision in which the target runs an int8 layer; nothing if it cannot be compiled
/// here.
std::optional<std::string> PrecisionOn(const std::string& target, const TargetRegistry& registry) {
  if (registry.Find(target) == nullptr) return std::nullopt;
  Graph probe = ParseGraph(kProbe);
  InferTypes(probe);
  Strategy int8;
  int8.target = target;
  int8.quantize.layers["layer"] = Precision::kInt8;
  int8.quantize.activations = {{"x", {.scale = 0.0625}}, {"y", {.scale = 0.5}}};
  const Result<Executable> built = Compile(probe, int8, registry, {});
  if (!built.ok()) return std::nullopt;
  return AchievedPrecision(built.value(), target, "layer");
}

}  // namespace

std::string ChooseTarget(const TargetRegistry& registry) {
  std::string otherwise = "reference";
  for (const char* const target : {"onednn", "native", "onnxruntime", "xnnpack"}) {
    std::optional<std::string> precision;
    try {
      precision = PrecisionOn(target, registry);
    } catch (const UserError&) {
      continue;  // it needs something that this machine does not have
    }
    if (precision == Name(Precision::kInt8)) return target;
    if (precision && otherwise == "reference") otherwise = target;
  }
  return otherwise;
}

}  // namespace msc
