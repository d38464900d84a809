#include "compiler/targets/native/kernel_writer.h"

#include <algorithm>

#include "compiler/base/error.h"

namespace msc::native {
namespace {

std::size_t BytesOf(const kernel::ProgramBuffer& buffer, const View& view) {
  switch (buffer.kind) {
    case kernel::ProgramBuffer::Kind::kValue: {
      // The value is dense, so every view into it stays inside the value.
      return buffer.bytes;
    }
    case kernel::ProgramBuffer::Kind::kPrivate:
      return buffer.bytes;
    case kernel::ProgramBuffer::Kind::kConstant:
      return buffer.constant ? buffer.constant->bytes() : view.offset * ByteSize(view.dtype);
  }
  return 0;
}

}  // namespace

kernel::BufferRef KernelWriter::Use(const View& view, kernel::Access access) {
  const auto found = std::find(buffers_.begin(), buffers_.end(), view.buffer);
  const auto index = static_cast<std::uint32_t>(found - buffers_.begin());
  if (found != buffers_.end()) {
    kernel::Buffer& known = parameters_[index];
    Check(known.dtype == view.dtype, "one kernel sees a buffer as one type");
    if (known.access != access && known.access != kernel::Access::kScratch) {
      known.access = kernel::Access::kReadWrite;
    }
    return {index};
  }
  buffers_.push_back(view.buffer);
  const std::size_t bytes = BytesOf(program_.buffers.at(view.buffer), view);
  parameters_.push_back({.name = "b" + std::to_string(index),
                         .dtype = view.dtype,
                         .elements = static_cast<std::int64_t>(bytes / ByteSize(view.dtype)),
                         .access = access});
  return {index};
}

Expr KernelWriter::Bind(Expr value, Body& body) {
  if (value->op == kernel::Op::kInt || value->op == kernel::Op::kVar) return value;
  const kernel::VarId var = NewVar();
  const kernel::Type type = value->type;
  body.push_back({kernel::Let{.var = var, .value = std::move(value)}});
  return kernel::Var(var, type);
}

Expr KernelWriter::IndexOf(const View& view, std::span<const Expr> at) {
  Check(at.size() == view.rank(), "an index names every axis");
  Expr index = kernel::Int(view.offset);
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (view.strides[i] == 0) continue;
    index = std::move(index) + at[i] * view.strides[i];
  }
  return index;
}

kernel::KernelFunc KernelWriter::Finish(Body body, double flops) && {
  for (kernel::Buffer& parameter : parameters_) (void)builder_.AddBuffer(std::move(parameter));
  return std::move(builder_).Finish(std::move(body), flops);
}

}  // namespace msc::native
