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

/// What `mscgym bench` compares: the model with decisions taken, under a name for the table.
struct Variant {
  std::string name;  ///< "f32", "bf16", "int8" or "strategy"
  Strategy strategy = {};
  /// Of int8 as the peer likes it: with zero points, and of ValuesBetween, too.
  std::map<std::string, TensorScale> peer_scales = {};
  std::string why = {};  ///< why there is no such variant; empty if there is
};

/// A node of a row's lowered graph.
struct BenchNode {
  OpCost cost;
  std::string kind;                  ///< layer_kind.h
  std::vector<std::string> origins;  ///< nodes of the variant's graph that it stands for
};

/// One row of the table: a variant on a target.
struct BenchRow {
  std::string target;       ///< as it was asked for
  std::string variant;      ///< name of the variant
  std::string why;          ///< why there are no figures; empty if there are
  bool not_finite = false;  ///< the reason: an output is, and the uncompressed model's is
  std::optional<Executable> executable;
  std::vector<Tensor> outputs;             ///< of the inputs that are timed
  std::map<std::string, BenchNode> nodes;  ///< of the lowered graph, by name
  std::size_t steps_elsewhere = 0;         ///< steps that another target than the row's runs
  double roof_seconds = 0;                 ///< least time of the variant's multiplications here
  double max_error = 0;  ///< of outputs, against the variant's first row, as cost::Difference
  std::optional<double> f32_error;  ///< likewise of a compressed variant against the first f32 row
  cost::Latency latency;            ///< against the first row that has figures
};

/// What all rows have in common.
struct BenchSetup {
  const Graph* graph = nullptr;  ///< canonical
  std::int64_t batch = 1;        ///< where the model leaves it open
  CompileOptions compile;
  std::vector<Tensor> inputs;   ///< what is timed
  std::vector<Tensor> samples;  ///< all that was given, inputs first; none: inputs are random
  cost::Roof roof;
};

/// Seeded random values: normal for f32, zeros for other types.
[[nodiscard]] std::vector<Tensor> RandomInputs(const std::vector<ValueType>& types,
                                               std::uint64_t seed);

/// Types of the graph's inputs with every symbol bound: by `bindings`, else to 1.
[[nodiscard]] std::vector<ValueType> BoundInputs(const Graph& graph, const ShapeBindings& bindings);

/// Reads a .npy file an input into `inputs` and `samples`: [N, ...] where the model takes
/// [batch, ...], N no less than its batch. UserError where they are not what the model takes.
void ReadInputs(const std::vector<std::string>& files, BenchSetup& setup);

/// Every layer that allows it in `precision`. int8 is calibrated by minimum and maximum on the
/// setup's samples, or on seeded random inputs where there are none: good for timing, not for
/// accuracy, which it says on stderr; `why` says where that cannot be done.
[[nodiscard]] Variant AllLayersIn(Precision precision, const BenchSetup& setup,
                                  const TargetRegistry& targets);

/// Compiles a row for a target with its options, `spec`, and runs it once. What is expected to go
/// wrong stands in `why`.
[[nodiscard]] BenchRow MakeRow(const std::string& spec, const Variant& variant,
                               const BenchSetup& setup, const TargetRegistry& targets);

/// ONNX Runtime beside our compiler: on the bytes of `file` for f32, on the QDQ model that
/// `mscgym export` writes for other variants.
[[nodiscard]] BenchRow MakePeerRow(const std::string& file, const Variant& variant,
                                   const BenchSetup& setup, const TargetRegistry& targets);
/// What the target of such rows is called.
inline constexpr const char* kPeer = "(onnxruntime)";
/// Likewise of rows whose strategy says itself who runs what.
inline constexpr const char* kMixed = "(mixed)";

/// Compares outputs with those of the variant's first row, and of the first f32 row if there is
/// one. f32 rows that differ from the first, and compressed ones that compute something else than
/// f32 on inputs that were given, get a reason instead of figures. On random inputs a compressed
/// row is timed whatever it makes of them, and stderr says how far it is off. Numbers that are not
/// finite are right where the first row has the same.
void CompareOutputs(const BenchSetup& setup, std::vector<BenchRow>& rows);

}  // namespace msc::gym
