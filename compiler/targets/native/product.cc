#include "compiler/targets/native/product.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::BufferRef;
using kernel::Int;
using kernel::LoopKind;
using kernel::Op;
using kernel::Type;
using kernel::VarId;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

class ProductWriter {
 public:
  ProductWriter(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                const TileSchedule& tile, const View& weights, const Epilogue& epilogue)
      : writer_(writer),
        lanes_(unit.lanes),
        product_(product),
        tile_(tile),
        epilogue_(epilogue),
        x_(writer.Use(product.x, Access::kRead)),
        w_(writer.Use(weights, Access::kRead)),
        tiles_(product.channels, unit.lanes, tile.vectors) {}

  [[nodiscard]] Body Write(LoopKind kind);
  [[nodiscard]] Body WriteOne(const Expr& n, const Expr& group);

 private:
  /// What is fixed from the outer loops inwards.
  struct At {
    Expr n;
    Expr group;
    Expr weights;  ///< first element of the group's
    Expr row;
    Expr tile;  ///< of channels
  };
  /// A register tile.
  struct Size {
    int columns;
    int vectors;
    int valid;  ///< lanes of the last vector that exist; 0 for all
  };
  [[nodiscard]] std::int64_t Depth() const {
    return product_.kernel_h * product_.kernel_w * product_.depth();
  }
  void WriteTiles(At at, Body& body);
  void WriteRows(At at, const Expr& tile, Body& body);
  void WriteRow(const At& at, int vectors, int valid, Body& body);
  void WriteTile(const At& at, const Expr& column, Size size, Body& body);
  void WriteDepth(const Expr& x_first, const Expr& w_first, Size size,
                  const std::vector<VarId>& sums, Body& body);

  KernelWriter& writer_;
  int lanes_;
  const Product& product_;
  const TileSchedule& tile_;
  const Epilogue& epilogue_;
  BufferRef x_;
  BufferRef w_;
  ChannelTiles tiles_;
};

void Append(Body from, Body& to) {
  for (kernel::Stmt& stmt : from) to.push_back(std::move(stmt));
}

Body ProductWriter::Write(LoopKind kind) {
  const Dims& dims = epilogue_.out().dims;
  const bool rows_outer = tile_.order == LoopOrder::kRowsOuter;
  const std::int64_t inner = rows_outer ? dims[3] : tiles_.count();
  const std::int64_t extent = dims[0] * dims[1] * inner;
  return writer_.Loop(extent, kind, [&](const Expr& index) {
    Body body;
    const auto cut = [&](const Expr& value, std::int64_t by) {
      return std::pair{writer_.Bind(Binary(Op::kDiv, value, Int(by)), body),
                       writer_.Bind(Binary(Op::kMod, value, Int(by)), body)};
    };
    const auto [outer, last] = cut(index, inner);
    const auto [n, group] = cut(outer, dims[1]);
    const Expr weights = writer_.Bind(group * (tiles_.padded(lanes_) * Depth()), body);
    At at{.n = n, .group = group, .weights = weights, .row = nullptr, .tile = nullptr};
    if (rows_outer) {
      at.row = last;
      WriteTiles(at, body);
    } else {
      WriteRows(at, last, body);
    }
    return body;
  });
}

Body ProductWriter::WriteOne(const Expr& n, const Expr& group) {
  Body body;
  At at{.n = n, .group = group, .weights = Int(0), .row = nullptr, .tile = nullptr};
  if (tile_.order == LoopOrder::kRowsOuter) {
    writer_.Loop(epilogue_.out().dims[3], body, [&](const Expr& row) {
      Body inside;
      at.row = row;
      WriteTiles(at, inside);
      return inside;
    });
    return body;
  }
  writer_.Loop(tiles_.count(), body, [&](const Expr& tile) {
    Body inside;
    WriteRows(at, tile, inside);
    return inside;
  });
  return body;
}

/// All tiles of channels of one row.
void ProductWriter::WriteTiles(At at, Body& body) {
  writer_.Loop(tiles_.full, body, [&](const Expr& tile) {
    Body row;
    at.tile = tile;
    WriteRow(at, tile_.vectors, 0, row);
    return row;
  });
  if (tiles_.edge_vectors == 0) return;
  at.tile = Int(tiles_.full);
  WriteRow(at, tiles_.edge_vectors, tiles_.edge_valid, body);
}

/// All rows of one tile of channels.
void ProductWriter::WriteRows(At at, const Expr& tile, Body& body) {
  const auto all_rows = [&](const Expr& which, int vectors, int valid) {
    Body loop;
    at.tile = which;
    writer_.Loop(epilogue_.out().dims[3], loop, [&](const Expr& row) {
      Body inside;
      at.row = row;
      WriteRow(at, vectors, valid, inside);
      return inside;
    });
    return loop;
  };
  Body full = tiles_.full > 0 ? all_rows(tile, tile_.vectors, 0) : Body{};
  Body edge = tiles_.edge_vectors > 0
                  ? all_rows(Int(tiles_.full), tiles_.edge_vectors, tiles_.edge_valid)
                  : Body{};
  if (full.empty() || edge.empty()) {
    Append(std::move(full.empty() ? edge : full), body);
    return;
  }
  body.push_back({kernel::If{.condition = Binary(Op::kLess, tile, Int(tiles_.full)),
                             .body = std::move(full),
                             .otherwise = std::move(edge)}});
}

void ProductWriter::WriteRow(const At& at, int vectors, int valid, Body& body) {
  const std::int64_t width = epilogue_.out().dims[4];
  const std::int64_t full = width / tile_.columns;
  const auto rest = static_cast<int>(width % tile_.columns);
  writer_.Loop(full, body, [&](const Expr& tile) {
    Body inside;
    WriteTile(at, tile * tile_.columns, {tile_.columns, vectors, valid}, inside);
    return inside;
  });
  if (rest > 0) WriteTile(at, Int(full * tile_.columns), {rest, vectors, valid}, body);
}

void ProductWriter::WriteTile(const At& at, const Expr& column, Size size, Body& body) {
  std::vector<VarId> sums;
  const Type vector{DType::kF32, lanes_};
  for (int i = 0; i < size.columns * size.vectors; ++i) {
    sums.push_back(writer_.NewVar());
    body.push_back({kernel::Let{.var = sums.back(), .value = kernel::Float(0, lanes_)}});
  }
  const std::vector<Expr> first{at.n, at.group, Int(0), at.row * product_.stride_h,
                                column * product_.stride_w};
  const Expr x_first = writer_.Bind(KernelWriter::IndexOf(product_.x, first), body);
  const Expr w_first = writer_.Bind(at.weights + at.tile * (tiles_.width * Depth()), body);

  const View& x = product_.x;
  const std::int64_t step_h = product_.dilation_h * x.strides[3];
  const std::int64_t step_w = product_.dilation_w * x.strides[4];
  const std::int64_t tap = product_.depth() * size.vectors * lanes_;
  writer_.Loop(product_.kernel_h, body, [&](const Expr& kh) {
    Body rows;
    // Where the taps of one row lie side by side they are one long depth.
    const bool joined = step_w == product_.depth();
    writer_.Loop(joined ? 1 : product_.kernel_w, rows, [&](const Expr& kw) {
      Body taps;
      const Expr x_tap = writer_.Bind(x_first + kh * step_h + kw * step_w, taps);
      const Expr w_tap = writer_.Bind(w_first + (kh * product_.kernel_w + kw) * tap, taps);
      const std::int64_t depth = joined ? product_.kernel_w * product_.depth() : product_.depth();
      writer_.Loop(depth, taps, [&](const Expr& k) {
        Body step;
        WriteDepth(x_tap + k, w_tap + k * (std::int64_t{size.vectors} * lanes_), size, sums, step);
        return step;
      });
      return taps;
    });
    return rows;
  });
  for (int column_offset = 0; column_offset < size.columns; ++column_offset) {
    for (int v = 0; v < size.vectors; ++v) {
      const bool last = v + 1 == size.vectors;
      const Place place{.at = {at.n, at.group, at.tile * tiles_.width + std::int64_t{v} * lanes_,
                               at.row, column + std::int64_t{column_offset}},
                        .axis = 2,
                        .lanes = lanes_,
                        .valid = last ? size.valid : 0};
      const VarId sum = sums[static_cast<std::size_t>(column_offset * size.vectors + v)];
      epilogue_.Store(writer_, place, kernel::Var(sum, vector), body);
    }
  }
}

void ProductWriter::WriteDepth(const Expr& x_first, const Expr& w_first, Size size,
                               const std::vector<VarId>& sums, Body& body) {
  const Type vector{DType::kF32, lanes_};
  std::vector<Expr> weights;
  const Expr w_at = writer_.Bind(w_first, body);
  const Expr x_at = writer_.Bind(x_first, body);
  for (int v = 0; v < size.vectors; ++v) {
    weights.push_back(
        writer_.Bind(kernel::Load(w_, w_at + std::int64_t{v} * lanes_, vector), body));
  }
  const std::int64_t step = product_.stride_w * product_.x.strides[4];
  for (int column = 0; column < size.columns; ++column) {
    const Expr scalar =
        writer_.Bind(kernel::Load(x_, x_at + std::int64_t{column} * step, {DType::kF32, 1}), body);
    for (int v = 0; v < size.vectors; ++v) {
      const VarId sum = sums[static_cast<std::size_t>(column * size.vectors + v)];
      body.push_back({kernel::Assign{
          .var = sum,
          .value = kernel::Var(sum, vector) +
                   kernel::Broadcast(scalar, lanes_) * weights[static_cast<std::size_t>(v)]}});
    }
  }
}

}  // namespace

ChannelTiles::ChannelTiles(std::int64_t channels, int lanes, int vectors)
    : width(std::int64_t{lanes} * vectors), full(channels / width) {
  const std::int64_t rest = channels % width;
  edge_vectors = static_cast<int>(CeilDiv(rest, lanes));
  edge_valid = static_cast<int>(rest % lanes);
}

View SplitGroups(const View& view, std::int64_t groups) {
  View split = view;
  const std::int64_t each = view.dims[1] / groups;
  split.dims = {view.dims[0], groups, each, view.dims[2], view.dims[3]};
  split.strides = {view.strides[0], each * view.strides[1], view.strides[1], view.strides[2],
                   view.strides[3]};
  split.halo = Halo(split.dims.size());
  return split;
}

View PackWeights(Lowering& lowering, const Product& product, const TileSchedule& tile,
                 const WeightAt& at) {
  const int lanes = lowering.unit().lanes;
  const ChannelTiles tiles(product.channels, lanes, tile.vectors);
  const std::int64_t padded = tiles.padded(lanes);
  const std::int64_t taps = product.kernel_h * product.kernel_w;
  const std::int64_t count = product.groups() * padded * taps * product.depth();
  return lowering.Constant(DType::kF32, count, [&](Tensor& tensor) {
    float* out = tensor.MutableValues<float>().data();
    for (std::int64_t group = 0; group < product.groups(); ++group) {
      for (std::int64_t t = 0; t < tiles.count(); ++t) {
        const std::int64_t first = t * tiles.width;
        const std::int64_t width = std::min(tiles.width, padded - first);
        for (std::int64_t kh = 0; kh < product.kernel_h; ++kh) {
          for (std::int64_t kw = 0; kw < product.kernel_w; ++kw) {
            for (std::int64_t k = 0; k < product.depth(); ++k) {
              for (std::int64_t c = first; c < first + width; ++c) {
                *out++ = c < product.channels ? at(group, c, k, kh, kw) : 0.0F;
              }
            }
          }
        }
      }
    }
  });
}

Body ProductBody(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                 const TileSchedule& tile, const View& weights, const Epilogue& epilogue,
                 LoopKind kind) {
  return ProductWriter(writer, unit, product, tile, weights, epilogue).Write(kind);
}

Body ProductOf(KernelWriter& writer, const VectorUnit& unit, const Product& product,
               const TileSchedule& tile, const View& weights, const Epilogue& epilogue,
               const Expr& n, const Expr& group) {
  return ProductWriter(writer, unit, product, tile, weights, epilogue).WriteOne(n, group);
}

}  // namespace msc::native
