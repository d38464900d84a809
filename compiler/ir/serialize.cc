#include "compiler/ir/serialize.h"

#include <cstdint>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize_format.h"

namespace msc {

void SaveGraph(const Graph& graph, const std::string& stem) {
  TensorDigests digests;
  SaveGraph(graph, stem, digests);
}

void SaveGraph(const Graph& graph, const std::string& stem, TensorDigests& digests) {
  AtomicFile weights(stem + ".weights");
  const std::string json =
      detail::WriteGraph(graph, digests, [&](std::string_view bytes) { weights.Append(bytes); });
  // Write the JSON last: its digests show whether the weights belong to it.
  weights.Commit();
  WriteFileAtomic(stem + ".json", json);
}

Graph LoadGraph(const std::string& stem) {
  constexpr std::uint64_t kMaxWeights = std::uint64_t{64} << 30U;
  const std::string json = ReadFile(stem + ".json");
  const InputFile weights(stem + ".weights", kMaxWeights);
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
    if (weights.Read(offset, out) != out.size()) {
      throw UserError("'" + stem + ".weights' became shorter while it was read");
    }
  };
  return detail::ReadGraph(json, {.size = weights.size(), .read = read}, stem + ".json");
}

}  // namespace msc
