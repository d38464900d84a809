#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
#include "cost/samples/data_config.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// Default numbers of samples of `mscgym track`: of files, if there are so many, and of random
/// ones.
inline constexpr std::int64_t kTrackSamples = 64;
inline constexpr std::int64_t kRandomSamples = 8;

/// Where the samples of `mscgym track` come from: exactly one of `inputs`, `data` and `random`.
struct TrackSampleOptions {
  std::vector<std::string> inputs =
      {};                 ///< one .npy file for each input of the model, in its order
  std::string data = {};  ///< file or folder that all tools read, as `form` says
  cost::DataConfig form = {};
  std::optional<std::uint64_t> random = {};  ///< seed of normally distributed numbers
  std::optional<std::int64_t> samples = {};  ///< how many; default: all of `inputs`, or as above
};

/// Adds --input, --data with the options of its form, --random and --samples.
void AddTrackSampleOptions(CLI::App& command, TrackSampleOptions& options);

/// Decides where `graph` counts samples and says so, as PlaceSamplesOf. Without `data` all inputs
/// count them along axis 0, but those without axes are the same for all. UserError if not exactly
/// one source is given.
void PlaceTrackSamples(Graph& graph, const TrackSampleOptions& options);

/// Samples for all calls of a model.
struct TrackSamples {
  /// Rows of all samples; nullptr if the arrays of --input do not count samples alike, so that they
  /// are the inputs of a single call.
  std::shared_ptr<const SampleSource> source;
  std::vector<Tensor> first_call;  ///< the inputs of the first call
};
/// Opens the samples. `canonical` is the model, `bound` the same with the sizes of a call.
/// UserError as OpenSamples and ReadInput, and if the samples do not fill a call.
[[nodiscard]] TrackSamples OpenTrackSamples(const TrackSampleOptions& options,
                                            const Graph& canonical, const Graph& bound);

}  // namespace msc::gym
