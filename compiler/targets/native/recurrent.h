#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/targets/native/lowering.h"
#include "compiler/targets/native/view.h"

namespace msc::native {

enum class RecurrentCell : std::uint8_t {
  kLstm,     ///< gates i, o, f, c
  kGru,      ///< gates z, r, h; the reset gate scales the state before its product
  kLateGru,  ///< the reset gate scales the product (linear_before_reset 1)
  kRnn,      ///< one gate
};

/// An LSTM, GRU or RNN in f32 with constant weights and sequences of full length.
struct Recurrent {
  RecurrentCell cell = RecurrentCell::kRnn;
  bool relu = false;     ///< of an RNN: its activation is Relu, not Tanh
  bool reverse = false;  ///< the only direction starts at the last step
  std::int64_t steps = 1;
  std::int64_t batch = 1;
  std::int64_t inputs = 1;
  std::int64_t hidden = 1;
  std::int64_t directions = 1;
  std::int64_t gates = 1;
  TensorPtr w;            ///< [directions, gates * hidden, inputs]
  TensorPtr r;            ///< [directions, gates * hidden, hidden]
  TensorPtr b = nullptr;  ///< [directions, 2 * gates * hidden], of w, then of r; null: zeros

  /// Returns a bias of w, or of r if `of_state`; 0 without biases.
  [[nodiscard]] float Bias(std::int64_t direction, std::int64_t gate, std::int64_t unit,
                           bool of_state) const;
};
/// Returns nullopt for other operators, types, activations, lengths, peepholes and clips, and if
/// an axis has no entries.
[[nodiscard]] std::optional<Recurrent> ReadRecurrent(const Lowering& lowering, const Node& node);

/// Some gates whose products with one state a kernel sums at once, in register tiles of `rows`
/// samples by `vectors` vectors of units of each gate.
struct GatePass {
  std::vector<std::int64_t> gates;
  int rows = 1;
  int vectors = 1;
  /// Packed by direction, tile of units, entry of the state, vector, gate and unit.
  View weights = View();
};
/// Returns the passes of a step for kernels of at most `rows` samples, and packs their weights.
[[nodiscard]] std::vector<GatePass> PackPasses(Lowering& lowering, const Recurrent& recurrent,
                                               std::int64_t rows);

/// The product of the state of some samples with the packed weights of a tile of units.
struct GateProduct {
  kernel::BufferRef weights;
  Expr first_weight;
  kernel::BufferRef state;
  Expr first_entry;              ///< entry 0 of the first sample's state
  std::int64_t row_entries = 0;  ///< from one sample's state to the next
  int rows = 1;                  ///< samples
  int width = 1;                 ///< vectors: those of all gates and units of the tile
  int lanes = 1;
};
/// Appends the loop that adds the products of entries begin .. begin + count - 1 of the state to
/// `sums`, [rows, width].
void WriteGateProduct(KernelWriter& writer, const GateProduct& product, std::int64_t begin,
                      std::int64_t count, std::span<const kernel::VarId> sums, Body& body);

/// Memory of the kernel of the steps. Units are padded to whole vectors where `padded` is named.
struct StepMemory {
  View sums;  ///< [steps, batch, directions, gates, padded]: W x and the biases
  View late_bias =
      View();  ///< [directions, padded] of a late GRU: bias of the product that r scales
  std::vector<GatePass> passes;
  std::optional<View> h0 = {};   ///< [directions, batch, hidden]; absent: zeros
  std::optional<View> c0 = {};   ///< likewise
  std::optional<View> y = {};    ///< [steps, directions, batch, hidden]
  std::optional<View> y_h = {};  ///< [directions, batch, hidden]
  std::optional<View> y_c = {};  ///< likewise
};
/// Samples that a kernel computes: `count` chunks of `rows` from sample `first` on.
struct SampleChunks {
  std::int64_t first = 0;
  std::int64_t rows = 1;
  std::int64_t count = 1;
};
/// Adds the call of a kernel that runs all steps. Threads share directions and chunks.
void AddSteps(Lowering& lowering, const Recurrent& recurrent, const StepMemory& memory,
              const SampleChunks& chunks, Label label);

}  // namespace msc::native
