#include "gym/app/written_model.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/file.h"
#include "compiler/pipeline/export_onnx.h"

namespace msc::gym {

WrittenModel WriteModel(const Graph& canonical, const Strategy& strategy,
                        const WriteRequest& request) {
  const ReaderRules& rules = FindReader(request.reader);
  ReaderModel model = ModelForReader(canonical, strategy, rules);
  const OnnxFile written = WriteForReader(model, rules, request.opset);
  std::error_code absent;
  const std::uint64_t size = request.original.ends_with(".onnx")
                                 ? std::filesystem::file_size(request.original, absent)
                                 : 0;
  WriteFileAtomic(request.file, written.bytes);
  return {.file = request.file,
          .reader = request.reader,
          .runtime = std::string(rules.runtime),
          .opset = written.opset,
          .bytes = written.bytes.size(),
          .original = request.original,
          .original_bytes = absent ? 0 : size,
          .notes = std::move(model.notes)};
}

void PrintWritten(const WrittenModel& model) {
  std::printf("wrote %s for %s: opset %lld, %.2f MB", model.file.c_str(), model.runtime.c_str(),
              static_cast<long long>(model.opset), static_cast<double>(model.bytes) / 1e6);
  if (model.original_bytes > 0) {
    std::printf(", %.0f %% of %s",
                100 * static_cast<double>(model.bytes) / static_cast<double>(model.original_bytes),
                model.original.c_str());
  }
  std::printf("\n");
  for (const std::string& note : model.notes) std::printf("  %s\n", note.c_str());
}

nlohmann::json WrittenJson(const WrittenModel& model) {
  nlohmann::json json = {{"file", model.file},
                         {"for", model.reader},
                         {"opset", model.opset},
                         {"bytes", model.bytes},
                         {"notes", model.notes}};
  if (model.original_bytes > 0) json["original_bytes"] = model.original_bytes;
  return json;
}

}  // namespace msc::gym
