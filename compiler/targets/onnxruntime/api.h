#pragma once

// Of this folder and of benchmarks/peers: brings onnxruntime_c_api.h.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onnxruntime_c_api.h>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"

namespace msc::onnxruntime {

/// An object of the library's, with the function that frees it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// Why the library cannot be used here, or empty if it can. It is loaded at the first call, from
/// the path in the environment variable MSC_ORT_LIBRARY, else from where CMake found it, else from
/// the system's folders, and never unloaded: its threads outlive its objects. Thread-safe, as all
/// of this header.
[[nodiscard]] const std::string& Absence();
/// "1.30.0". UserError if absent.
[[nodiscard]] const std::string& Version();
/// The functions of the library, in the newest version that both it and the header know. UserError
/// if absent.
[[nodiscard]] const OrtApi& Api();
/// Frees `status`. UserError with the library's message if it is an error.
void CheckStatus(OrtStatus* status);

struct SessionOptions {
  int threads = 1;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
  ShapeBindings sizes = {};  ///< of symbolic dimensions, for the library to optimize with
  /// Gets the model as the library has optimized it, the bytes of an ONNX file with operators of
  /// its own; nullptr = it is not asked for.
  std::string* optimized = nullptr;
};

/// Loads a model from the bytes of an ONNX file, on the CPU: `threads` intra-op threads, which stop
/// spinning when a run ends so that they leave the cores to other libraries, and one inter-op
/// thread. UserError with the library's message if it refuses.
[[nodiscard]] Owned<::OrtSession> MakeSession(std::string_view model,
                                              const SessionOptions& options);
/// The names of the symbolic dimensions of an input tensor; empty where one has none.
[[nodiscard]] std::vector<std::string> SymbolsOf(const ::OrtSession& session, std::size_t input);
[[nodiscard]] std::vector<std::string> InputNames(const ::OrtSession& session);
[[nodiscard]] std::vector<std::string> OutputNames(const ::OrtSession& session);

[[nodiscard]] Owned<OrtMemoryInfo> CpuMemory();
/// A tensor in memory of ours, row-major, which must outlive it. Not for strings.
[[nodiscard]] Owned<OrtValue> Wrap(const OrtMemoryInfo& memory, DType dtype, const Dims& dims,
                                   void* bytes);

}  // namespace msc::onnxruntime
