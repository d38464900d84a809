#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// Which integers a reader wants activations in.
enum class ActivationForm : std::uint8_t {
  kAsDecided,  ///< i8 and u8, as the strategy has them
  kUnsigned,   ///< u8 with any zero point; the same numbers as i8 whose zero point is 128 less
  kSymmetric,  ///< i8 with zero point 0; a range that is not symmetric loses levels
};

/// A runtime that reads exported Q/DQ models, and the form in which it finds its integer kernels.
/// To support another runtime, add a row to the table in reader.cc.
struct ReaderRules {
  std::string_view name;     ///< as in --for
  std::string_view runtime;  ///< for messages
  ActivationForm activations = ActivationForm::kAsDecided;
  /// Whether integers that a Concat joins, or that are made of what it joined, are u8. Otherwise
  /// this runtime would take i8 for u8 there.
  bool unsigned_concat = false;
  /// Whether an integer Conv must be followed by QuantizeLinear. Otherwise its kernel also computes
  /// the activation, and adds a residual, before it rounds.
  bool rounds_convolutions = false;
  /// Whether biases are i32 behind DequantizeLinear. Otherwise they are the same numbers in f32.
  bool integer_biases = false;
  /// Whether the vector that is added behind a MatMul becomes a matrix of one row.
  bool row_biases = false;
  /// Whether int8 weights may have a zero point. Otherwise such layers stay f32.
  bool affine_weights = true;
  std::int64_t least_opset = 13;  ///< the first with scales per channel
};

/// Returns all readers; the first is "any", for a reader that is not known.
[[nodiscard]] std::span<const ReaderRules> AllReaders();
/// UserError, which lists the names, if there is no such reader.
[[nodiscard]] const ReaderRules& FindReader(std::string_view name);

/// What FitToReader changed that a user may want to know.
struct ReaderFit {
  std::int64_t rounded = 0;  ///< values that only this reader rounds to 8 bits
  std::int64_t coarser = 0;  ///< values that have fewer levels than decided
  /// int8 layers that this reader computes in f32, and why, in graph order.
  std::vector<std::string> float_layers = {};
};

/// Gives the Q/DQ nodes of a graph, as ApplyQuantizePlan makes them, the form of a reader. The same
/// layers stay int8, on the same grids where the reader can represent them. `scales` are those of
/// the plan, by value name; values that only this reader rounds take theirs from it.
ReaderFit FitToReader(const ReaderRules& reader, const std::map<std::string, TensorScale>& scales,
                      Graph& graph);

}  // namespace msc
