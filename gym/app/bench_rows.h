#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "compiler/runtime/executable.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/analytic/roof.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// A compressed form of the model that `mscgym bench` times, with its name in the table.
struct Variant {
  std::string name;  ///< "f32", "bf16", "int8" or "strategy"
  Strategy strategy = {};
  std::string why = {};  ///< why the variant is unavailable; empty if it is available
};

/// A node of a row's lowered graph.
struct BenchNode {
  OpCost cost;
  std::string kind;                       ///< layer_kind.h
  std::vector<std::string> origins = {};  ///< nodes of the variant's graph that it computes
};

/// A row of the table: a variant on a target.
struct BenchRow {
  std::string target;   ///< as given on the command line
  std::string variant;  ///< name of the variant
  std::string why;      ///< why figures are missing; empty if they are not
  /// `why` is an output that is not finite although the uncompressed model's is.
  bool not_finite = false;
  std::optional<Executable> executable;
  std::vector<Tensor> outputs;                   ///< for the timed inputs
  std::map<std::string, BenchNode> nodes;        ///< of the lowered graph, by name
  std::map<std::string, std::size_t> elsewhere;  ///< steps on other targets than the row's
  double roof_seconds = 0;  ///< least time of the variant's arithmetic on this machine
  double max_error = 0;     ///< of the outputs against the variant's first row, as cost::Difference
  std::optional<double> f32_error;  ///< likewise of a compressed variant against the first f32 row
  cost::Latency latency;            ///< relative to the first row with figures
};

/// Settings that all rows share.
struct BenchSetup {
  const Graph* graph = nullptr;  ///< canonical
  std::int64_t batch = 1;        ///< if the model does not fix it
  bool fixed_inputs = false;     ///< whether inputs of the file are constants of the graph
  CompileOptions compile;
  std::vector<Tensor> inputs = {};  ///< timed inputs
  /// All given samples, including `inputs`; empty: inputs are random.
  std::vector<Tensor> samples = {};
  cost::Roof roof = {};
};

/// Returns seeded random values: normally distributed for f32, zeros for other types.
[[nodiscard]] std::vector<Tensor> RandomInputs(const std::vector<ValueType>& types,
                                               std::uint64_t seed);

/// Returns the types of the graph's inputs with every symbol bound by `bindings`, else to 1.
[[nodiscard]] std::vector<ValueType> BoundInputs(const Graph& graph, const ShapeBindings& bindings);

/// Reads one .npy file per input into `inputs` and `samples`: [N, ...] for a model that takes
/// [batch, ...], with N at least its batch. UserError if a file does not fit the model.
void ReadInputs(const std::vector<std::string>& files, BenchSetup& setup);

/// Returns the variant that runs every layer that allows it in `precision`. int8 is calibrated by
/// minimum and maximum on the setup's samples. Without samples it uses seeded random inputs, which
/// is good for timing but not for accuracy, and warns on stderr. `why` says why a variant is
/// impossible.
[[nodiscard]] Variant AllLayersIn(Precision precision, const BenchSetup& setup,
                                  const TargetRegistry& targets);

/// Compiles a variant for `spec`, a target with its options, and runs it once. Expected failures go
/// into `why`.
[[nodiscard]] BenchRow MakeRow(const std::string& spec, const Variant& variant,
                               const BenchSetup& setup, const TargetRegistry& targets);

/// Makes the row of ONNX Runtime: for f32 it runs the bytes of `file`, for other variants the model
/// that `mscgym export --for onnxruntime` writes.
[[nodiscard]] BenchRow MakePeerRow(const std::string& file, const Variant& variant,
                                   const BenchSetup& setup, const TargetRegistry& targets);
/// Target name of the rows of ONNX Runtime.
inline constexpr const char* kPeer = "(onnxruntime)";
/// Target name of rows whose strategy assigns regions to targets itself.
inline constexpr const char* kMixed = "(mixed)";

/// Compares the outputs of each row with those of the variant's first row and of the first f32 row.
/// An f32 row that differs from the first gets a reason instead of figures, and so does a
/// compressed row whose outputs on given samples are unrelated to those of f32. On random inputs a
/// compressed row is timed regardless, and stderr reports its error. Values that are not finite are
/// correct if the first row has the same.
void CompareOutputs(const BenchSetup& setup, std::vector<BenchRow>& rows);

}  // namespace msc::gym
