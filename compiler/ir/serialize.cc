#include "compiler/ir/serialize.h"

#include <cstdint>

#include "compiler/base/file.h"

namespace msc {

void SaveGraph(const Graph& graph, const std::string& stem) {
  TensorDigests digests;
  SaveGraph(graph, stem, digests);
}

void SaveGraph(const Graph& graph, const std::string& stem, TensorDigests& digests) {
  const GraphFiles files = ToFiles(graph, digests);
  // The JSON last: it holds the digests that tell whether the weights belong to it.
  WriteFileAtomic(stem + ".weights", files.weights);
  WriteFileAtomic(stem + ".json", files.json);
}

Graph LoadGraph(const std::string& stem) {
  constexpr std::uint64_t kMostWeights = std::uint64_t{64} << 30U;
  return FromFiles(
      {.json = ReadFile(stem + ".json"), .weights = ReadFile(stem + ".weights", kMostWeights)},
      stem + ".json");
}

}  // namespace msc
