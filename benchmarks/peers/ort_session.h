#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc {

/// Why ONNX Runtime cannot be used here, or empty if it can: see
/// compiler/targets/onnxruntime/api.h; its C headers must have been there when this was built. For
/// tests and benchmarks, to skip with a reason.
[[nodiscard]] std::string OrtAbsence();

/// "1.30.0". UserError if absent.
[[nodiscard]] std::string OrtVersion();

/// A model loaded by ONNX Runtime on the CPU: all graph optimizations, `threads` intra-op threads,
/// one inter-op thread. The peer that our results are compared with. One thread at a time.
class OrtSession {
 public:
  /// `model` holds the bytes of an ONNX file. UserError if ONNX Runtime is absent or refuses it.
  OrtSession(std::string_view model, int threads);
  /// UserError too if the file cannot be read.
  [[nodiscard]] static OrtSession FromFile(const std::string& path, int threads);
  OrtSession(OrtSession&& other) noexcept;
  OrtSession& operator=(OrtSession&& other) noexcept;
  ~OrtSession();

  [[nodiscard]] const std::vector<std::string>& inputs() const;
  [[nodiscard]] const std::vector<std::string>& outputs() const;
  /// Inputs in the order of inputs(), read in place; all outputs, copied. Not for strings.
  /// UserError with ONNX Runtime's message if it refuses them.
  [[nodiscard]] std::vector<Tensor> Run(std::span<const Tensor> inputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msc
