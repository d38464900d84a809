#include "compiler/targets/native/packing.h"

namespace msc::native {

using kernel::Access;
using kernel::Int;

std::optional<View> AsBatch(const View& view, const Dims& batch) {
  Dims dims = batch;
  dims.insert(dims.end(), view.dims.end() - 2, view.dims.end());
  View wide = Broadcast(view, dims);
  // Broadcast gives axes of one entry stride 0; the matrix axes keep their strides.
  while (wide.rank() < 4) {
    wide.dims.insert(wide.dims.begin(), 1);
    wide.strides.insert(wide.strides.begin(), 0);
  }
  while (wide.rank() > 4) {
    if (wide.dims[1] == 1) {
      wide.strides[1] = wide.strides[0];
    } else if (wide.dims[0] != 1 && wide.strides[0] != wide.strides[1] * wide.dims[1]) {
      return std::nullopt;
    }
    wide.dims[1] *= wide.dims[0];
    wide.dims.erase(wide.dims.begin());
    wide.strides.erase(wide.strides.begin());
  }
  wide.halo = Halo(wide.rank());
  return wide;
}

View AsProduct(const View& view) {
  View product = view;
  product.dims = {view.dims[0], view.dims[1], view.dims[3], 1, view.dims[2]};
  product.strides = {view.strides[0], view.strides[1], view.strides[3], 0, view.strides[2]};
  product.halo = Halo(product.dims.size());
  return product;
}

View PackedMemory(Lowering& lowering, const Product& product, const TileSchedule& tile) {
  const int lanes = lowering.unit().lanes;
  const ChannelTiles tiles(product.channels, lanes, tile.vectors);
  return lowering.Scratch(DType::kF32, tiles.padded(lanes) * product.depth());
}

void WritePacking(KernelWriter& writer, const VectorUnit& unit, const TileSchedule& tile,
                  const View& w, const View& packed, const Expr& n, const Expr& g, Body& body) {
  const std::int64_t depth = w.dims[2];
  const int lanes = unit.lanes;
  const ChannelTiles tiles(w.dims[3], lanes, tile.vectors);
  const kernel::BufferRef from = writer.Use(w, Access::kRead);
  const kernel::BufferRef to = writer.Use(packed, Access::kScratch);
  const auto load = [&](const Expr& index, int width, int valid) {
    const kernel::Expr narrow = kernel::Load(from, index, {w.dtype, width}, valid);
    return kernel::Cast(narrow, {DType::kF32, width});
  };
  // Packs one tile: `vectors` vectors of channels for each entry of the depth.
  const auto pack = [&](const Expr& tile_index, int vectors, int valid, Body& out) {
    const Expr w_first = writer.Bind(
        KernelWriter::IndexOf(w, std::vector<Expr>{n, g, Int(0), tile_index * tiles.width}), out);
    const Expr to_first = writer.Bind(tile_index * (tiles.width * depth), out);
    if (w.strides[3] == 1) {
      writer.Loop(depth, out, [&](const Expr& k) {
        Body row;
        for (int v = 0; v < vectors; ++v) {
          const bool last = v + 1 == vectors;
          row.push_back({kernel::Store{
              .buffer = to,
              .index = to_first + (k * (std::int64_t{vectors} * lanes) + std::int64_t{v} * lanes),
              .value = load(w_first + (k * w.strides[2] + std::int64_t{v} * lanes), lanes,
                            last ? valid : 0)}});
        }
        return row;
      });
      return;
    }
    // Channels are not adjacent (a transposed matrix), so elements are copied one by one.
    const std::int64_t width = std::int64_t{vectors} * lanes;
    const std::int64_t real = valid == 0 ? width : width - lanes + valid;
    writer.Loop(real, out, [&](const Expr& c) {
      Body column;
      writer.Loop(depth, column, [&](const Expr& k) {
        Body one;
        one.push_back(
            {kernel::Store{.buffer = to,
                           .index = to_first + (k * width + c),
                           .value = load(w_first + (c * w.strides[3] + k * w.strides[2]), 1, 0)}});
        return one;
      });
      return column;
    });
    // Lanes without a channel get zeros here too, as partial loads give them.
    if (real == width) return;
    writer.Loop(width - real, out, [&](const Expr& c) {
      Body column;
      writer.Loop(depth, column, [&](const Expr& k) {
        Body one;
        one.push_back({kernel::Store{.buffer = to,
                                     .index = to_first + (k * width + (c + real)),
                                     .value = kernel::Float(0)}});
        return one;
      });
      return column;
    });
  };
  writer.Loop(tiles.full, body, [&](const Expr& index) {
    Body inside;
    pack(index, tile.vectors, 0, inside);
    return inside;
  });
  if (tiles.edge_vectors > 0) pack(Int(tiles.full), tiles.edge_vectors, tiles.edge_valid, body);
}

}  // namespace msc::native
