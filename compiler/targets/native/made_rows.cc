#include "compiler/targets/native/made_rows.h"

namespace msc::native {

TileSchedule MadeRows::Tile(const VectorUnit& unit) const {
  const std::int64_t step = StepOf(x);
  return DefaultTile({.rows = x_dims[3],
                      .channels = channels,
                      .depth = (depth() + step - 1) / step,
                      .x = x,
                      .narrow = narrow},
                     unit);
}

std::int64_t RowsAtOnce(std::int64_t rows, std::int64_t row_bytes) {
  constexpr std::int64_t kCacheBytes = std::int64_t{128} * 1024;
  constexpr std::int64_t kLeastBlocks = 14;
  std::int64_t most = 1;
  for (std::int64_t n = 2; n * kLeastBlocks <= rows && n * row_bytes <= kCacheBytes; ++n) {
    if (rows % n == 0) most = n;
  }
  return most;
}

Body MadeRowsBody(Lowering& lowering, KernelWriter& writer, const MadeRows& rows,
                  const Chain& chain, const Epilogue& epilogue, const ReadWeights& read) {
  const std::int64_t pixels = rows.x_dims[3];
  const std::int64_t depth = rows.depth();
  std::int64_t elements = 0;
  View block = NewView(rows.x, {pixels, depth}, RowMajor(2), Halo(2), elements);
  block.buffer = lowering.Scratch(block.dtype, elements).buffer;
  (void)writer.Use(block, kernel::Access::kScratch);
  Product product{.x = block,
                  .x_zero = rows.x_zero,
                  .bias = rows.bias,
                  .narrow = rows.narrow,
                  .channels = rows.channels};
  product.x.dims = {rows.x_dims[0], 1, depth, rows.x_dims[2], pixels};
  // Stride 0 for n and h: every block overwrites the same memory.
  product.x.strides = {0, 0, 1, 0, block.strides[0]};
  product.x.halo = Halo(5);
  product.fill = [&](const Expr& n, const Expr& h, Body& body) {
    writer.Loop(pixels, body, [&](const Expr& pixel) {
      return LoopOver(writer, {depth}, lowering.unit().lanes, [&](const Place& k, Body& one) {
        Place from = k;
        from.at = {n, k.at[0], h, pixel};
        from.axis = 1;
        Place to = k;
        to.at = {pixel, k.at[0]};
        to.axis = 1;
        StoreAt(writer, block, to, chain.At(writer, from, one), one);
      });
    });
  };
  const TileSchedule tile = rows.Tile(lowering.unit());
  const PackedWeights packed = PackWeights(lowering, product, tile, read);
  return ProductBody(writer, lowering.unit(), product, tile, packed, epilogue);
}

}  // namespace msc::native
