#include "compiler/targets/native/product.h"

#include <utility>
#include <vector>

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

void Append(Body from, Body& to) {
  for (kernel::Stmt& stmt : from) to.push_back(std::move(stmt));
}

class ProductWriter {
 public:
  ProductWriter(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                const TileSchedule& tile, const PackedWeights& packed, const Epilogue& epilogue)
      : writer_(writer),
        lanes_(unit.lanes),
        product_(product),
        tile_(tile),
        epilogue_(epilogue),
        x_(writer.Use(product.x, Access::kRead)),
        w_(writer.Use(packed.weights, Access::kRead)),
        start_(product.bytes() ? writer.Use(packed.start, Access::kRead) : BufferRef{}),
        sum_{product.bytes() ? DType::kI32 : DType::kF32, unit.lanes},
        tiles_(product.channels, unit.lanes, tile.vectors) {}

  [[nodiscard]] Body Write(LoopKind kind);
  [[nodiscard]] Body WriteOne(const Expr& n, const Expr& group, const Expr& row);

 private:
  /// Indices of the enclosing loops.
  struct At {
    Expr n;
    Expr group;
    Expr channel;  ///< first channel of the group in the packed order
    Expr row;
    Expr tile;  ///< tile of channels
  };
  /// The size of a register tile.
  struct Size {
    int columns;
    int vectors;
    int valid;  ///< existing lanes of the last vector; 0 for all
  };
  /// Writes all rows, or the only one.
  template <class Make>
  void EachRow(Body& body, const Make& make);
  void WriteTiles(At at, Body& body);
  void WriteRows(At at, const Expr& tile, Body& body);
  void WriteRow(const At& at, int vectors, int valid, Body& body);
  void WriteTile(const At& at, const Expr& index, Size size, Body& body);
  void WriteSums(const At& at, const Expr& column, Size size, std::vector<VarId>& sums, Body& body);
  [[nodiscard]] Place PlaceOf(const At& at, const Expr& column, Size size, int i) const;
  /// Positions of the first entries of a run or step.
  struct First {
    Expr x;
    Expr w;
    /// Position in the next tile's weights that the step prefetches; null for none.
    Expr ahead;
  };
  /// Return `taps` for the case that they read values of X, not zeros alone.
  [[nodiscard]] Body IfRowInside(const At& at, const Expr& kh, Body taps);
  [[nodiscard]] Body IfColumnsInside(const Expr& column, Size size, const Expr& kw, Body taps);
  [[nodiscard]] First FirstOf(const At& at, const Expr& index, const Expr& column, Size size,
                              Body& body);
  void WriteRun(const First& first, Size size, const std::vector<VarId>& sums, Body& body);
  void WriteStep(const First& first, Size size, int entries, const std::vector<VarId>& sums,
                 Body& body);
  /// Returns the number of register tiles that read the same weights.
  [[nodiscard]] std::int64_t TilesOfRows() const {
    const std::int64_t rows = only_row_ ? 1 : epilogue_.out().dims[3];
    return rows * CeilDiv(epilogue_.out().dims[4], tile_.columns);
  }
  /// Returns the number of weights that each step prefetches for the next tile of channels; 0 for
  /// none.
  [[nodiscard]] std::int64_t FetchedAStep(int vectors) const;
  /// Returns one f32 of X, two bf16 or four bytes, repeated over all lanes. Only the first
  /// `entries` of the narrow ones exist (0: all of them).
  [[nodiscard]] Expr Spread(const Expr& index, int entries, Body& body);

  KernelWriter& writer_;
  int lanes_;
  const Product& product_;
  const TileSchedule& tile_;
  const Epilogue& epilogue_;
  BufferRef x_;
  BufferRef w_;
  BufferRef start_;
  Type sum_;
  ChannelTiles tiles_;
  Expr only_row_ = nullptr;  ///< the only row to write, if set
};

template <class Make>
void ProductWriter::EachRow(Body& body, const Make& make) {
  if (only_row_) {
    Append(make(only_row_), body);
  } else {
    writer_.Loop(epilogue_.out().dims[3], body, make);
  }
}

Body ProductWriter::Write(LoopKind kind) {
  const Dims& dims = epilogue_.out().dims;
  const bool rows_outer = tile_.order == LoopOrder::kRowsOuter;
  const std::int64_t inner = rows_outer ? dims[3] : tiles_.count();
  // Threads share only the outermost loop. One loop therefore runs over n, groups and rows or
  // tiles, and its index is cut apart inside.
  const std::int64_t extent = dims[0] * dims[1] * inner;
  return writer_.Loop(extent, kind, [&](const Expr& index) {
    Body body;
    const auto cut = [&](const Expr& value, std::int64_t by) {
      return std::pair{writer_.Bind(Binary(Op::kDiv, value, Int(by)), body),
                       writer_.Bind(Binary(Op::kMod, value, Int(by)), body)};
    };
    const auto [outer, last] = cut(index, inner);
    const auto [n, group] = cut(outer, dims[1]);
    const Expr channel = writer_.Bind(group * tiles_.padded(lanes_), body);
    At at{.n = n, .group = group, .channel = channel, .row = nullptr, .tile = nullptr};
    if (rows_outer) {
      at.row = last;
      if (product_.fill) product_.fill(n, last, body);
      WriteTiles(at, body);
    } else {
      WriteRows(at, last, body);
    }
    return body;
  });
}

Body ProductWriter::WriteOne(const Expr& n, const Expr& group, const Expr& row) {
  only_row_ = row;
  Body body;
  At at{.n = n, .group = group, .channel = Int(0), .row = nullptr, .tile = nullptr};
  if (tile_.order == LoopOrder::kRowsOuter) {
    EachRow(body, [&](const Expr& each) {
      Body inside;
      at.row = each;
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

/// Writes all tiles of channels for one row.
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

/// Writes all rows for one tile of channels.
void ProductWriter::WriteRows(At at, const Expr& tile, Body& body) {
  const auto all_rows = [&](const Expr& which, int vectors, int valid) {
    Body loop;
    at.tile = which;
    EachRow(loop, [&](const Expr& each) {
      Body inside;
      at.row = each;
      WriteRow(at, vectors, valid, inside);
      return inside;
    });
    return loop;
  };
  // The partial tile has code of its own, because the sums are registers: their number is fixed at
  // compile time.
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
    WriteTile(at, tile, {tile_.columns, vectors, valid}, inside);
    return inside;
  });
  if (rest > 0) WriteTile(at, Int(full), {rest, vectors, valid}, body);
}

/// Returns the place of sum `i` of a tile.
Place ProductWriter::PlaceOf(const At& at, const Expr& column, Size size, int i) const {
  const int v = i % size.vectors;
  return {.at = {at.n, at.group, at.tile * tiles_.width + std::int64_t{v} * lanes_, at.row,
                 column + std::int64_t{i / size.vectors}},
          .axis = 2,
          .lanes = lanes_,
          .valid = v + 1 == size.vectors ? size.valid : 0};
}

/// Defines the sums of a tile, which start from 0, from earlier sums, or from the term for bias and
/// zero point.
void ProductWriter::WriteSums(const At& at, const Expr& column, Size size, std::vector<VarId>& sums,
                              Body& body) {
  std::vector<Expr> start(static_cast<std::size_t>(size.vectors), kernel::Float(0, lanes_));
  for (int v = 0; v < size.vectors && product_.bytes(); ++v) {
    const Expr index = at.channel + at.tile * tiles_.width + std::int64_t{v} * lanes_;
    start[static_cast<std::size_t>(v)] = writer_.Bind(kernel::Load(start_, index, sum_), body);
  }
  for (int i = 0; i < size.columns * size.vectors; ++i) {
    sums.push_back(writer_.NewVar());
    const Expr before = product_.start
                            ? LoadAt(writer_, *product_.start, PlaceOf(at, column, size, i))
                            : start[static_cast<std::size_t>(i % size.vectors)];
    body.push_back({kernel::Let{.var = sums.back(), .value = before}});
  }
}

std::int64_t ProductWriter::FetchedAStep(int vectors) const {
  // With more tiles, the first reading of the weights hardly matters, and the steps would prefetch
  // each cache line repeatedly.
  // With rows outside, the weights stay in cache. With a single tile of rows, no other tile could
  // prefetch for it (decision 0016).
  constexpr std::int64_t kMaxTiles = 64;
  const std::int64_t tiles = TilesOfRows();
  if (tile_.order != LoopOrder::kChannelsOuter || tiles < 2 || tiles > kMaxTiles) return 0;
  return CeilDiv(product_.step() * vectors * lanes_, tiles);
}

ProductWriter::First ProductWriter::FirstOf(const At& at, const Expr& index, const Expr& column,
                                            Size size, Body& body) {
  const std::vector<Expr> x{at.n, at.group, Int(0), at.row * product_.stride_h,
                            column * product_.stride_w};
  First first;
  first.x = writer_.Bind(KernelWriter::IndexOf(product_.x, x), body);
  first.w = writer_.Bind((at.channel + at.tile * tiles_.width) * product_.weights(), body);
  if (FetchedAStep(size.vectors) == 0) return first;
  // The weights of the next tile follow those of this one. After the last tile the addresses lie
  // beyond the buffer, which a prefetch allows.
  const std::int64_t all = product_.weights() * size.vectors * lanes_;
  const Expr row = only_row_ ? Int(0) : at.row;
  const Expr tile = row * CeilDiv(epilogue_.out().dims[4], tile_.columns) + index;
  first.ahead = writer_.Bind(first.w + all + tile * CeilDiv(all, TilesOfRows()), body);
  return first;
}

Body ProductWriter::IfRowInside(const At& at, const Expr& kh, Body taps) {
  if (!product_.inside) return taps;
  const Product::Inside& inside = *product_.inside;
  Body body;
  const Expr row = writer_.Bind(at.row * product_.stride_h + kh * product_.dilation_h, body);
  body.push_back(
      {kernel::If{.condition = Binary(Op::kAnd, Binary(Op::kLessEqual, Int(inside.row), row),
                                      Binary(Op::kLess, row, Int(inside.row + inside.rows))),
                  .body = std::move(taps),
                  .otherwise = {}}});
  return body;
}

Body ProductWriter::IfColumnsInside(const Expr& column, Size size, const Expr& kw, Body taps) {
  // A joined run has the taps of all columns.
  if (!product_.inside || product_.joined()) return taps;
  const Product::Inside& inside = *product_.inside;
  Body body;
  const Expr first = writer_.Bind(column * product_.stride_w + kw * product_.dilation_w, body);
  const Expr last = first + (size.columns - 1) * product_.stride_w;
  body.push_back({kernel::If{
      .condition = Binary(Op::kAnd, Binary(Op::kLessEqual, Int(inside.column), last),
                          Binary(Op::kLess, first, Int(inside.column + inside.columns))),
      .body = std::move(taps),
      .otherwise = {}}});
  return body;
}

void ProductWriter::WriteTile(const At& at, const Expr& index, Size size, Body& body) {
  std::vector<VarId> sums;
  const Expr column = index * tile_.columns;
  WriteSums(at, column, size, sums, body);
  const First first = FirstOf(at, index, column, size, body);
  const std::int64_t ahead = FetchedAStep(size.vectors) * product_.run_steps();

  const View& x = product_.x;
  const std::int64_t step_h = product_.dilation_h * x.strides[3];
  const std::int64_t step_w = product_.dilation_w * x.strides[4];
  const std::int64_t run =
      product_.run_steps() * product_.step() * std::int64_t{size.vectors} * lanes_;
  // Each sum adds its products in one chain: by tap, then by depth. Neither tile, loop order nor
  // unrolling changes that order, so schedules add the same numbers in the same order.
  writer_.Loop(product_.kernel_h, body, [&](const Expr& kh) {
    Body rows;
    writer_.Loop(product_.runs(), rows, [&](const Expr& kw) {
      Body taps;
      const Expr tap = writer_.Bind(kh * product_.runs() + kw, taps);
      First here = {.x = writer_.Bind(first.x + kh * step_h + kw * step_w, taps),
                    .w = writer_.Bind(first.w + tap * run, taps),
                    .ahead = nullptr};
      if (ahead > 0) here.ahead = writer_.Bind(first.ahead + tap * ahead, taps);
      WriteRun(here, size, sums, taps);
      return IfColumnsInside(column, size, kw, std::move(taps));
    });
    return IfRowInside(at, kh, std::move(rows));
  });
  for (int i = 0; i < size.columns * size.vectors; ++i) {
    epilogue_.Store(writer_, PlaceOf(at, column, size, i),
                    kernel::Var(sums[static_cast<std::size_t>(i)], sum_), body);
  }
}

void ProductWriter::WriteRun(const First& first, Size size, const std::vector<VarId>& sums,
                             Body& body) {
  const std::int64_t step = product_.step();
  const std::int64_t w_step = step * size.vectors * lanes_;
  // Bytes past the last entry meet weights of 0. They are not read if no memory may follow, and
  // neither are bf16 entries, which may be infinite.
  // Zero times infinity would be NaN.
  const std::int64_t all = product_.run_steps();
  const auto rest = static_cast<int>(product_.run() % step);
  const bool read_on = product_.bytes() && product_.slack;
  const std::int64_t whole = rest > 0 && !read_on ? all - 1 : all;
  const std::int64_t unroll = tile_.unroll;
  const std::int64_t ahead = FetchedAStep(size.vectors);
  const auto at = [&](const Expr& k) {
    return First{.x = first.x + k * step,
                 .w = first.w + k * w_step,
                 .ahead = ahead > 0 ? first.ahead + k * ahead : nullptr};
  };
  writer_.Loop(whole / unroll, body, [&](const Expr& turn) {
    Body inside;
    for (std::int64_t i = 0; i < unroll; ++i) {
      WriteStep(at(turn * unroll + i), size, 0, sums, inside);
    }
    return inside;
  });
  for (std::int64_t k = whole - whole % unroll; k < whole; ++k) {
    WriteStep(at(Int(k)), size, 0, sums, body);
  }
  if (whole < all) {
    WriteStep(at(Int(whole)), size, rest, sums, body);
  }
}

Expr ProductWriter::Spread(const Expr& index, int entries, Body& body) {
  const DType dtype = product_.x.dtype;
  const auto step = static_cast<int>(product_.step());
  if (step == 1) {
    return kernel::Broadcast(writer_.Bind(kernel::Load(x_, index, {dtype, 1}), body), lanes_);
  }
  // Two bf16 or four bytes travel as one i32, so that one broadcast of 32 bits repeats them.
  const Expr word = writer_.Bind(
      kernel::Bits(kernel::Load(x_, index, {dtype, step}, entries), {DType::kI32, 1}), body);
  const DType as = dtype == DType::kBF16 ? dtype : DType::kU8;
  Expr all = kernel::Bits(kernel::Broadcast(word, lanes_), {as, step * lanes_});
  // i8 + 128 as u8: the same addition modulo 256.
  // kDot4 multiplies u8 by i8. PackStarts subtracts what the 128 adds to each sum.
  if (dtype == DType::kI8) all = std::move(all) + Int(128, {DType::kU8, 4 * lanes_});
  return writer_.Bind(std::move(all), body);
}

void ProductWriter::WriteStep(const First& first, Size size, int entries,
                              const std::vector<VarId>& sums, Body& body) {
  const int w_lanes = static_cast<int>(product_.step()) * lanes_;
  const Type weight{product_.bytes() ? DType::kI8 : product_.x.dtype, w_lanes};
  const Op dot = product_.narrow ? Op::kDot4Narrow : product_.bytes() ? Op::kDot4 : Op::kDot2;
  const auto added = [&](const Expr& sum, const Expr& x, const Expr& w) {
    if (product_.step() == 1) return sum + x * w;
    return kernel::Dot(dot, sum, x, w);
  };
  // The step loads one weight per vector and one entry of X per column, and uses each entry for all
  // vectors and each weight for all columns.
  std::vector<Expr> weights;
  weights.reserve(static_cast<std::size_t>(size.vectors));
  const Expr w_at = writer_.Bind(first.w, body);
  const Expr x_at = writer_.Bind(first.x, body);
  if (first.ahead) {
    constexpr std::int64_t kLine = 64;
    const std::int64_t line = kLine / static_cast<std::int64_t>(ByteSize(weight.dtype));
    for (std::int64_t i = 0; i < FetchedAStep(size.vectors); i += line) {
      body.push_back({kernel::Prefetch{.buffer = w_, .index = first.ahead + i}});
    }
  }
  for (int v = 0; v < size.vectors; ++v) {
    weights.push_back(
        writer_.Bind(kernel::Load(w_, w_at + std::int64_t{v} * w_lanes, weight), body));
  }
  const std::int64_t step = product_.stride_w * product_.x.strides[4];
  for (int column = 0; column < size.columns; ++column) {
    const Expr x = Spread(x_at + std::int64_t{column} * step, entries, body);
    for (int v = 0; v < size.vectors; ++v) {
      const VarId id = sums[static_cast<std::size_t>(std::int64_t{column} * size.vectors + v)];
      const Expr sum = kernel::Var(id, sum_);
      const Expr& w = weights[static_cast<std::size_t>(v)];
      body.push_back({kernel::Assign{.var = id, .value = added(sum, x, w)}});
    }
  }
}

}  // namespace

View SplitGroups(const View& view, std::int64_t groups) {
  View split = view;
  const std::int64_t each = view.dims[1] / groups;
  split.dims = {view.dims[0], groups, each, view.dims[2], view.dims[3]};
  split.strides = {view.strides[0], each * view.strides[1], view.strides[1], view.strides[2],
                   view.strides[3]};
  split.halo = Halo(split.dims.size());
  return split;
}

Body ProductBody(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                 const TileSchedule& tile, const PackedWeights& packed, const Epilogue& epilogue,
                 LoopKind kind) {
  return ProductWriter(writer, unit, product, tile, packed, epilogue).Write(kind);
}

Body ProductOf(KernelWriter& writer, const VectorUnit& unit, const Product& product,
               const TileSchedule& tile, const View& weights, const Epilogue& epilogue,
               const Expr& n, const Expr& group, const Expr& row) {
  return ProductWriter(writer, unit, product, tile, {weights, View()}, epilogue)
      .WriteOne(n, group, row);
}

}  // namespace msc::native
