#pragma once

// Internal to this folder and benchmarks/peers: includes onnxruntime_c_api.h.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onnxruntime_c_api.h>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"

namespace msc::onnxruntime {

/// An object of the library with the function that frees it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// Returns why the library cannot be used here, or an empty text if it can. The first call loads
/// it: from the path in the environment variable MSC_ORT_LIBRARY, else from where CMake found it,
/// else from the system's folders. It is never unloaded, because its threads outlive its objects.
/// All functions of this header are thread-safe.
[[nodiscard]] const std::string& LibraryProblem();
/// Returns the version, such as "1.30.0". UserError if the library is absent.
[[nodiscard]] const std::string& Version();
/// Returns the functions of the library, in the newest version that both the library and its header
/// know. UserError if the library is absent.
[[nodiscard]] const OrtApi& Api();
/// Frees `status`. UserError with the library's message if it is an error.
void CheckStatus(OrtStatus* status);

struct SessionOptions {
  int threads = 1;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
  ShapeBindings sizes = {};  ///< of symbolic dimensions; the library optimizes for them
  /// If not null, receives the model as optimized by the library: the bytes of an ONNX file that
  /// uses operators of the library's own.
  std::string* optimized = nullptr;
};

/// Loads a model from the bytes of an ONNX file, on the CPU, with one inter-op thread and `threads`
/// intra-op threads. These stop spinning when a run ends, to leave the cores to other libraries.
/// UserError with the library's message if it rejects the model.
[[nodiscard]] Owned<::OrtSession> MakeSession(std::string_view model,
                                              const SessionOptions& options);
/// Returns the names of the symbolic dimensions of an input tensor; empty for a dimension without
/// one.
[[nodiscard]] std::vector<std::string> SymbolsOf(const ::OrtSession& session, std::size_t input);
[[nodiscard]] std::vector<std::string> InputNames(const ::OrtSession& session);
[[nodiscard]] std::vector<std::string> OutputNames(const ::OrtSession& session);

[[nodiscard]] Owned<OrtMemoryInfo> CpuMemory();
/// Returns a row-major tensor in memory of the caller, which must outlive it. Not for strings.
[[nodiscard]] Owned<OrtValue> Wrap(const OrtMemoryInfo& memory, DType dtype, const Dims& dims,
                                   void* bytes);

}  // namespace msc::onnxruntime
