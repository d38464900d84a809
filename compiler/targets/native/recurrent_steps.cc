#include <algorithm>
#include <array>
#include <utility>

#include "compiler/targets/native/product_weights.h"
#include "compiler/targets/native/recurrent.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::BufferRef;
using kernel::Int;
using kernel::Op;
using kernel::Type;
using kernel::VarId;

/// Returns tanh(x) as 2 sigmoid(2 x) - 1, which takes half the instructions. Its absolute error is
/// that of a float near 1, like those of the sigmoids that it is multiplied with or added to.
Expr TanhOf(const Expr& x) {
  const Expr one = kernel::Float(1, x->type.lanes);
  const Expr two = kernel::Float(2, x->type.lanes);
  return kernel::Unary(Op::kSigmoid, x * two) * two - one;
}

/// Writes the loops of the steps for one chunk of samples and one direction.
class StepWriter {
 public:
  StepWriter(Lowering& lowering, KernelWriter& writer, const Recurrent& recurrent,
             const StepMemory& memory, const SampleChunks& chunks)
      : writer_(writer),
        recurrent_(recurrent),
        memory_(memory),
        rows_(chunks.rows),
        lanes_(lowering.unit().lanes),
        vector_{DType::kF32, lanes_},
        padded_(memory.sums.dims[4]) {
    const std::int64_t count = rows_ * padded_;
    state_ = Scratch(lowering, 2 * count);
    if (recurrent.cell == RecurrentCell::kLstm) cell_ = Scratch(lowering, count);
    if (recurrent.cell == RecurrentCell::kGru) {
      update_ = Scratch(lowering, count);
      kept_ = Scratch(lowering, count);
    }
    std::size_t partial = 0;
    for (const GatePass& pass : memory.passes) {
      const Tile whole{.pass = &pass, .vectors = pass.vectors};
      if (PartsOf(whole).size() > 1) partial = std::max(partial, pass.vectors * pass.gates.size());
    }
    if (partial > 0) {
      partial_ = Scratch(lowering, rows_ * static_cast<std::int64_t>(partial) * lanes_);
    }
  }

  /// `first` is the first sample.
  [[nodiscard]] Body Write(const Expr& direction, const Expr& first);

 private:
  /// Indices and sizes of a register tile.
  struct Tile {
    const GatePass* pass = nullptr;
    Expr row = {};      ///< first sample within the chunk
    Expr unit = {};     ///< first unit
    Expr weights = {};  ///< first weight
    int rows = 1;
    int vectors = 1;
    int valid = 0;  ///< existing lanes of the last vector; 0 for all
  };
  /// One vector of units of one sample.
  struct Spot {
    Expr row;   ///< within the chunk
    Expr unit;  ///< the first
    int valid;  ///< existing lanes; 0 for all
  };
  [[nodiscard]] BufferRef Scratch(Lowering& lowering, std::int64_t count) {
    return writer_.Use(lowering.Scratch(DType::kF32, count), Access::kScratch);
  }
  /// Returns the place in scratch memory of a vector of units.
  [[nodiscard]] Expr At(const Spot& spot) const { return spot.row * padded_ + spot.unit; }
  [[nodiscard]] Expr Read(BufferRef buffer, const Expr& index) const {
    return kernel::Load(buffer, index, vector_);
  }
  void Write(BufferRef buffer, const Expr& index, Expr value, Body& body) const {
    body.push_back({kernel::Store{.buffer = buffer, .index = index, .value = std::move(value)}});
  }
  /// Calls make(spot, body) for all vectors of units of all samples of the chunk.
  template <class Make>
  void EachSpot(Body& body, const Make& make);
  void WriteStart(Body& body);
  void WriteEnd(Body& body);
  void WritePass(const GatePass& pass, Body& body);
  void WriteRows(Tile tile, Body& body);
  /// Some entries of the state. Sums of parts that are not the last go to memory.
  struct Part {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    bool last = true;
  };
  [[nodiscard]] std::vector<Part> PartsOf(const Tile& tile) const;
  void WriteTile(const Tile& tile, const Part& part, Body& body);
  void WriteProduct(const Tile& tile, const Part& part, const std::vector<VarId>& sums, Body& body);
  /// Returns what a sum starts from.
  [[nodiscard]] Expr StartOf(const Spot& spot, std::int64_t gate);
  /// Returns W x and biases of a gate.
  [[nodiscard]] Expr FromInput(const Spot& spot, std::int64_t gate);
  void Finish(const GatePass& pass, const Spot& spot, std::span<const Expr> gates, Body& body);
  void FinishLstm(const Spot& spot, std::span<const Expr> gates, Body& body);
  void FinishReset(const Spot& spot, std::span<const Expr> gates, Body& body);
  /// Stores z h + (1 - z) n as the new state.
  void FinishMixed(const Spot& spot, const Expr& update, const Expr& fresh, Body& body);
  void StoreState(const Spot& spot, const Expr& h, Body& body);
  /// Returns the place [direction, sample, unit] in a state outside.
  [[nodiscard]] Expr Outside(const View& view, const Spot& spot) const {
    return KernelWriter::IndexOf(view,
                                 std::array<Expr, 3>{direction_, first_ + spot.row, spot.unit});
  }

  KernelWriter& writer_;
  const Recurrent& recurrent_;
  const StepMemory& memory_;
  std::int64_t rows_;
  int lanes_;
  Type vector_;
  std::int64_t padded_;
  BufferRef state_;    ///< [2, rows, padded]: the state before and after a step, in turn
  BufferRef cell_;     ///< [rows, padded] of an LSTM
  BufferRef update_;   ///< likewise of a GRU: its gate z
  BufferRef kept_;     ///< likewise: r h
  BufferRef partial_;  ///< [rows, vectors, gates, lanes]: sums of the first parts of a tile
  // Of the point that is written.
  Expr direction_;
  Expr first_;
  Expr time_;
  Expr before_;  ///< place of the state before the step
  Expr after_;
};

template <class Make>
void StepWriter::EachSpot(Body& body, const Make& make) {
  const std::int64_t full = recurrent_.hidden / lanes_;
  const auto rest = static_cast<int>(recurrent_.hidden % lanes_);
  writer_.Loop(rows_, body, [&](const Expr& row) {
    Body inside;
    writer_.Loop(full, inside, [&](const Expr& v) {
      Body one;
      make(Spot{.row = row, .unit = v * lanes_, .valid = 0}, one);
      return one;
    });
    if (rest > 0) make(Spot{.row = row, .unit = Int(full * lanes_), .valid = rest}, inside);
    return inside;
  });
}

void StepWriter::WriteStart(Body& body) {
  const auto initial = [&](const std::optional<View>& view, const Spot& spot) {
    if (!view) return kernel::Float(0, lanes_);
    return kernel::Load(writer_.Use(*view, Access::kRead), Outside(*view, spot), vector_,
                        spot.valid);
  };
  EachSpot(body, [&](const Spot& spot, Body& one) {
    Write(state_, At(spot), initial(memory_.h0, spot), one);
    if (recurrent_.cell != RecurrentCell::kLstm) return;
    Write(cell_, At(spot), initial(memory_.c0, spot), one);
  });
}

void StepWriter::WriteEnd(Body& body) {
  const Expr last = Int(recurrent_.steps % 2 * rows_ * padded_);
  const auto copy = [&](BufferRef from, const Expr& index, const View& to, const Spot& spot,
                        Body& one) {
    one.push_back({kernel::Store{.buffer = writer_.Use(to, Access::kWrite),
                                 .index = Outside(to, spot),
                                 .value = Read(from, index),
                                 .valid = spot.valid}});
  };
  if (!memory_.y_h && !memory_.y_c) return;
  EachSpot(body, [&](const Spot& spot, Body& one) {
    if (memory_.y_h) copy(state_, last + At(spot), *memory_.y_h, spot, one);
    if (memory_.y_c) copy(cell_, At(spot), *memory_.y_c, spot, one);
  });
}

Body StepWriter::Write(const Expr& direction, const Expr& first) {
  Body body;
  direction_ = direction;
  first_ = first;
  WriteStart(body);
  writer_.Loop(recurrent_.steps, body, [&](const Expr& step) {
    Body inside;
    const Expr back = Int(recurrent_.steps - 1) - step;
    const Expr time = recurrent_.directions == 2
                          ? kernel::Select(Binary(Op::kLess, direction, Int(1)), step, back)
                          : (recurrent_.reverse ? back : step);
    time_ = writer_.Bind(time, inside);
    const std::int64_t size = rows_ * padded_;
    before_ = writer_.Bind(Binary(Op::kMod, step, Int(2)) * size, inside);
    after_ = writer_.Bind(Int(size) - before_, inside);
    for (const GatePass& pass : memory_.passes) WritePass(pass, inside);
    return inside;
  });
  WriteEnd(body);
  return body;
}

void StepWriter::WritePass(const GatePass& pass, Body& body) {
  const ChannelTiles tiles(recurrent_.hidden, lanes_, pass.vectors);
  // Weights of one unit in all gates of the pass.
  const std::int64_t each = recurrent_.hidden * static_cast<std::int64_t>(pass.gates.size());
  const Expr own = direction_ * (padded_ * each);
  writer_.Loop(tiles.full, body, [&](const Expr& tile) {
    Body inside;
    WriteRows({.pass = &pass,
               .unit = tile * tiles.width,
               .weights = writer_.Bind(own + tile * (tiles.width * each), inside),
               .vectors = pass.vectors},
              inside);
    return inside;
  });
  if (tiles.edge_vectors == 0) return;
  WriteRows({.pass = &pass,
             .unit = Int(tiles.full * tiles.width),
             .weights = writer_.Bind(own + tiles.full * tiles.width * each, body),
             .vectors = tiles.edge_vectors,
             .valid = tiles.edge_valid},
            body);
}

/// Writes one tile of units for all samples of the chunk.
void StepWriter::WriteRows(Tile tile, Body& body) {
  const int rows = tile.pass->rows;
  const std::int64_t full = rows_ / rows;
  for (const Part& part : PartsOf(tile)) {
    tile.rows = rows;
    writer_.Loop(full, body, [&](const Expr& block) {
      Body inside;
      tile.row = block * rows;
      WriteTile(tile, part, inside);
      return inside;
    });
    tile.rows = static_cast<int>(rows_ % rows);
    if (tile.rows == 0) continue;
    tile.row = Int(full * rows);
    WriteTile(tile, part, body);
  }
}

std::vector<StepWriter::Part> StepWriter::PartsOf(const Tile& tile) const {
  // All samples read the weights of a part from the L1 cache, of which they take some half.
  constexpr std::int64_t kMostBytes = std::int64_t{20} * 1024;
  const std::int64_t width = tile.vectors * static_cast<std::int64_t>(tile.pass->gates.size());
  const std::int64_t bytes = recurrent_.hidden * width * lanes_ * 4;
  // Without other samples, nothing reads them again.
  const bool again = rows_ > tile.pass->rows;
  const std::int64_t count = again ? (bytes + kMostBytes - 1) / kMostBytes : 1;
  const std::int64_t size = (recurrent_.hidden + count - 1) / count;
  std::vector<Part> parts;
  for (std::int64_t begin = 0; begin < recurrent_.hidden; begin += size) {
    const std::int64_t left = recurrent_.hidden - begin;
    parts.push_back({.begin = begin, .count = std::min(size, left), .last = left <= size});
  }
  return parts;
}

Expr StepWriter::FromInput(const Spot& spot, std::int64_t gate) {
  const View& sums = memory_.sums;
  const std::array<Expr, 5> at{time_, first_ + spot.row, direction_, Int(gate), spot.unit};
  return Read(writer_.Use(sums, Access::kRead), KernelWriter::IndexOf(sums, at));
}

Expr StepWriter::StartOf(const Spot& spot, std::int64_t gate) {
  // The product that r scales starts from its own bias.
  const bool late = recurrent_.cell == RecurrentCell::kLateGru && gate == 2;
  if (!late) return FromInput(spot, gate);
  return Read(writer_.Use(memory_.late_bias, Access::kRead), direction_ * padded_ + spot.unit);
}

void StepWriter::WriteTile(const Tile& tile, const Part& part, Body& body) {
  const GatePass& pass = *tile.pass;
  const std::int64_t width = tile.vectors * static_cast<std::int64_t>(pass.gates.size());
  std::vector<Spot> spots;
  std::vector<VarId> sums;
  const auto place_of = [&](std::size_t sum) {
    return tile.row * (width * lanes_) + static_cast<std::int64_t>(sum) * lanes_;
  };
  for (int row = 0; row < tile.rows; ++row) {
    for (int v = 0; v < tile.vectors; ++v) {
      spots.push_back({.row = tile.row + std::int64_t{row},
                       .unit = tile.unit + std::int64_t{v} * lanes_,
                       .valid = v + 1 == tile.vectors ? tile.valid : 0});
      for (const std::int64_t gate : pass.gates) {
        const Expr before =
            part.begin == 0 ? StartOf(spots.back(), gate) : Read(partial_, place_of(sums.size()));
        sums.push_back(writer_.NewVar());
        body.push_back({kernel::Let{.var = sums.back(), .value = before}});
      }
    }
  }
  WriteProduct(tile, part, sums, body);
  for (std::size_t i = 0; i < sums.size() && !part.last; ++i) {
    Write(partial_, place_of(i), kernel::Var(sums[i], vector_), body);
  }
  if (!part.last) return;
  const std::size_t gates = pass.gates.size();
  for (std::size_t i = 0; i < spots.size(); ++i) {
    std::vector<Expr> values;
    for (std::size_t g = 0; g < gates; ++g) {
      values.push_back(kernel::Var(sums[i * gates + g], vector_));
    }
    Finish(pass, spots[i], values, body);
  }
}

/// Adds the product of the state with the weights of a tile to its sums.
void StepWriter::WriteProduct(const Tile& tile, const Part& part, const std::vector<VarId>& sums,
                              Body& body) {
  const GatePass& pass = *tile.pass;
  // The second pass of a GRU multiplies r h.
  const bool kept = recurrent_.cell == RecurrentCell::kGru && pass.gates.front() == 2;
  const Expr row = (kept ? Int(0) : before_) + tile.row * padded_;
  const GateProduct product{.weights = writer_.Use(pass.weights, Access::kRead),
                            .first_weight = tile.weights,
                            .state = kept ? kept_ : state_,
                            .first_entry = writer_.Bind(row, body),
                            .row_entries = padded_,
                            .rows = tile.rows,
                            .width = tile.vectors * static_cast<int>(pass.gates.size()),
                            .lanes = lanes_};
  WriteGateProduct(writer_, product, part.begin, part.count, sums, body);
}

void StepWriter::Finish(const GatePass& pass, const Spot& spot, std::span<const Expr> gates,
                        Body& body) {
  switch (recurrent_.cell) {
    case RecurrentCell::kLstm:
      FinishLstm(spot, gates, body);
      return;
    case RecurrentCell::kGru:
      if (pass.gates.size() == 2) {
        FinishReset(spot, gates, body);
      } else {
        FinishMixed(spot, Read(update_, At(spot)), gates[0], body);
      }
      return;
    case RecurrentCell::kLateGru: {
      const Expr update = kernel::Unary(Op::kSigmoid, gates[0]);
      const Expr reset = kernel::Unary(Op::kSigmoid, gates[1]);
      FinishMixed(spot, update, FromInput(spot, 2) + reset * gates[2], body);
      return;
    }
    case RecurrentCell::kRnn: {
      const Expr h =
          recurrent_.relu ? Binary(Op::kMax, kernel::Float(0, lanes_), gates[0]) : TanhOf(gates[0]);
      StoreState(spot, h, body);
      return;
    }
  }
}

void StepWriter::FinishLstm(const Spot& spot, std::span<const Expr> gates, Body& body) {
  // Gates i, o, f, c, as ONNX orders them.
  const auto sigmoid = [&](std::size_t gate) { return kernel::Unary(Op::kSigmoid, gates[gate]); };
  const Expr kept = sigmoid(2) * Read(cell_, At(spot));
  const Expr fresh = sigmoid(0) * TanhOf(gates[3]);
  const Expr cell = writer_.Bind(kept + fresh, body);
  Write(cell_, At(spot), cell, body);
  StoreState(spot, sigmoid(1) * TanhOf(cell), body);
}

void StepWriter::FinishReset(const Spot& spot, std::span<const Expr> gates, Body& body) {
  Write(update_, At(spot), kernel::Unary(Op::kSigmoid, gates[0]), body);
  const Expr reset = kernel::Unary(Op::kSigmoid, gates[1]);
  Write(kept_, At(spot), reset * Read(state_, before_ + At(spot)), body);
}

void StepWriter::FinishMixed(const Spot& spot, const Expr& update, const Expr& fresh, Body& body) {
  const Expr n = writer_.Bind(TanhOf(fresh), body);
  const Expr h = Read(state_, before_ + At(spot));
  StoreState(spot, update * (h - n) + n, body);
}

void StepWriter::StoreState(const Spot& spot, const Expr& h, Body& body) {
  const Expr value = writer_.Bind(h, body);
  Write(state_, after_ + At(spot), value, body);
  if (!memory_.y) return;
  const std::array<Expr, 4> at{time_, direction_, first_ + spot.row, spot.unit};
  body.push_back({kernel::Store{.buffer = writer_.Use(*memory_.y, Access::kWrite),
                                .index = KernelWriter::IndexOf(*memory_.y, at),
                                .value = value,
                                .valid = spot.valid}});
}

}  // namespace

void AddSteps(Lowering& lowering, const Recurrent& recurrent, const StepMemory& memory,
              const SampleChunks& chunks, Label label) {
  KernelWriter writer = lowering.Writer("recurrent_steps");
  StepWriter steps(lowering, writer, recurrent, memory, chunks);
  const std::int64_t extent = recurrent.directions * chunks.count;
  Body body = writer.Loop(extent, kernel::LoopKind::kParallel, [&](const Expr& index) {
    Body inside;
    const Expr direction = writer.Bind(Binary(Op::kDiv, index, Int(chunks.count)), inside);
    const Expr chunk = writer.Bind(Binary(Op::kMod, index, Int(chunks.count)), inside);
    const Expr first = writer.Bind(chunk * chunks.rows + chunks.first, inside);
    for (kernel::Stmt& stmt : steps.Write(direction, first)) inside.push_back(std::move(stmt));
    return inside;
  });
  // The product, and about 20 operations for each sigmoid and tanh.
  const double units = static_cast<double>(recurrent.gates * recurrent.hidden) *
                       static_cast<double>(recurrent.directions * chunks.rows * chunks.count) *
                       static_cast<double>(recurrent.steps);
  lowering.AddCall(std::move(writer), std::move(body),
                   units * (2.0 * static_cast<double>(recurrent.hidden) + 20.0), std::move(label));
}

}  // namespace msc::native
