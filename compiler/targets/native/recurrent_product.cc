#include <algorithm>
#include <utility>

#include "compiler/targets/native/product_weights.h"
#include "compiler/targets/native/recurrent.h"

namespace msc::native {
namespace {

using kernel::Int;
using kernel::VarId;

/// Returns the tile of a pass over these gates.
GatePass PassOf(std::vector<std::int64_t> gates, const Recurrent& recurrent, const VectorUnit& unit,
                std::int64_t rows) {
  // Sums and entries of the state are in registers; a quarter of the registers is left for the
  // latter and for weights. More samples than these would read more entries than they save weights.
  const int budget = unit.registers * 3 / 4;
  const int most_rows = unit.registers > 16 ? 6 : 4;
  const auto spread = [](std::int64_t total, int most) {
    const std::int64_t parts = (total + most - 1) / most;
    return static_cast<int>((total + parts - 1) / parts);
  };
  GatePass pass{.gates = std::move(gates)};
  const auto count = static_cast<int>(pass.gates.size());
  pass.rows = spread(rows, std::clamp(budget / count, 1, most_rows));
  const std::int64_t vectors = (recurrent.hidden + unit.lanes - 1) / unit.lanes;
  pass.vectors = spread(vectors, std::max(1, budget / (count * pass.rows)));
  return pass;
}

/// Calls visit(tile, vectors) for each tile of units.
template <class Visit>
void EachTile(const ChannelTiles& tiles, int vectors, const Visit& visit) {
  for (std::int64_t tile = 0; tile < tiles.full; ++tile) visit(tile, vectors);
  if (tiles.edge_vectors > 0) visit(tiles.full, tiles.edge_vectors);
}

/// Writes the weights of one direction in the order of GatePass::weights.
void PackDirection(const Recurrent& recurrent, const GatePass& pass, int lanes, std::int64_t d,
                   float* to) {
  const ChannelTiles tiles(recurrent.hidden, lanes, pass.vectors);
  const auto r = recurrent.r->Values<float>();
  EachTile(tiles, pass.vectors, [&](std::int64_t tile, int vectors) {
    for (std::int64_t k = 0; k < recurrent.hidden; ++k) {
      for (int v = 0; v < vectors; ++v) {
        for (const std::int64_t gate : pass.gates) {
          const std::int64_t first = tile * tiles.width + std::int64_t{v} * lanes;
          for (std::int64_t unit = first; unit < first + lanes; ++unit) {
            const std::int64_t row = (d * recurrent.gates + gate) * recurrent.hidden + unit;
            // Units that do not exist have zeros.
            *to++ = unit < recurrent.hidden
                        ? r[static_cast<std::size_t>(row * recurrent.hidden + k)]
                        : 0.0F;
          }
        }
      }
    }
  });
}

/// Adds the products of entry `k` of the state.
void WriteEntry(KernelWriter& writer, const GateProduct& product, const Expr& k,
                std::span<const VarId> sums, Body& body) {
  const kernel::Type vector{DType::kF32, product.lanes};
  const Expr from =
      writer.Bind(product.first_weight + k * (std::int64_t{product.width} * product.lanes), body);
  const auto weight = [&](int i) {
    return kernel::Load(product.weights, from + std::int64_t{i} * product.lanes, vector);
  };
  const auto entry = [&](int row) {
    const Expr index = product.first_entry + (k + row * product.row_entries);
    return kernel::Broadcast(kernel::Load(product.state, index, {DType::kF32, 1}), product.lanes);
  };
  // The fewer of the two stay in registers beside the sums; of the others there is one at a time.
  const bool holds_state = product.rows <= product.width;
  const int held_count = holds_state ? product.rows : product.width;
  const int other_count = holds_state ? product.width : product.rows;
  std::vector<Expr> held;
  held.reserve(static_cast<std::size_t>(held_count));
  for (int i = 0; i < held_count; ++i) {
    held.push_back(writer.Bind(holds_state ? entry(i) : weight(i), body));
  }
  for (int j = 0; j < other_count; ++j) {
    const Expr other = writer.Bind(holds_state ? weight(j) : entry(j), body);
    for (int i = 0; i < held_count; ++i) {
      const int at = holds_state ? i * product.width + j : j * product.width + i;
      const VarId sum = sums[static_cast<std::size_t>(at)];
      body.push_back({kernel::Assign{
          .var = sum,
          .value = kernel::Var(sum, vector) + other * held[static_cast<std::size_t>(i)]}});
    }
  }
}

}  // namespace

std::vector<GatePass> PackPasses(Lowering& lowering, const Recurrent& recurrent,
                                 std::int64_t rows) {
  const VectorUnit& unit = lowering.unit();
  std::vector<GatePass> passes;
  const auto add = [&](std::vector<std::int64_t> gates) {
    passes.push_back(PassOf(std::move(gates), recurrent, unit, rows));
  };
  if (recurrent.cell == RecurrentCell::kGru) {
    // The product of the last gate needs r of all units first.
    add({0, 1});
    add({2});
  } else {
    std::vector<std::int64_t> gates;
    for (std::int64_t gate = 0; gate < recurrent.gates; ++gate) gates.push_back(gate);
    add(std::move(gates));
  }
  for (GatePass& pass : passes) {
    const ChannelTiles tiles(recurrent.hidden, unit.lanes, pass.vectors);
    const std::int64_t own =
        tiles.padded(unit.lanes) * recurrent.hidden * static_cast<std::int64_t>(pass.gates.size());
    pass.weights = lowering.Constant(DType::kF32, recurrent.directions * own, [&](Tensor& tensor) {
      float* const to = tensor.MutableValues<float>().data();
      for (std::int64_t d = 0; d < recurrent.directions; ++d) {
        PackDirection(recurrent, pass, unit.lanes, d, to + d * own);
      }
    });
  }
  return passes;
}

void WriteGateProduct(KernelWriter& writer, const GateProduct& product, std::int64_t begin,
                      std::int64_t count, std::span<const VarId> sums, Body& body) {
  constexpr std::int64_t kUnroll = 4;
  const std::int64_t whole = count / kUnroll;
  writer.Loop(whole, body, [&](const Expr& turn) {
    Body inside;
    for (std::int64_t i = 0; i < kUnroll; ++i) {
      WriteEntry(writer, product, turn * kUnroll + (begin + i), sums, inside);
    }
    return inside;
  });
  for (std::int64_t k = whole * kUnroll; k < count; ++k) {
    WriteEntry(writer, product, Int(begin + k), sums, body);
  }
}

}  // namespace msc::native
