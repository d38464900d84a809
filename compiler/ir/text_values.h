#pragma once

// Parser of the values of a constant in the text form. Private to compiler/ir.

#include <cstddef>
#include <cstdint>

#include "compiler/ir/tensor.h"
#include "compiler/ir/text_lex.h"

namespace msc::detail {

/// Parses the values of tensors. Counts the bytes that `splat` and `random` may still generate,
/// because only these two can take more memory than their text.
class ValuesParser {
 public:
  explicit ValuesParser(Lexer& lexer) : lexer_(lexer) {}

  [[nodiscard]] Tensor Parse(DType dtype, const Dims& dims);

 private:
  [[nodiscard]] Tensor Make(DType dtype, const Dims& dims, std::size_t at);
  [[nodiscard]] Tensor MakeGenerated(DType dtype, const Dims& dims, std::size_t at);
  [[nodiscard]] Tensor ParseList(DType dtype, const Dims& dims);
  [[nodiscard]] Tensor ParseHex(DType dtype, const Dims& dims);
  [[nodiscard]] Tensor ParseSplat(DType dtype, const Dims& dims);
  [[nodiscard]] Tensor ParseRandom(DType dtype, const Dims& dims);
  void ParseElement(Tensor& tensor, std::size_t index);
  void ParsePart(Tensor& tensor, std::size_t part);

  Lexer& lexer_;
  std::uint64_t generated_left_ = std::uint64_t{64} << 20U;
};

/// Takes a number, a word such as `inf` or `true`, or `nan(0x...)`, and returns its text.
[[nodiscard]] std::string TakeNumber(Lexer& lexer, const char* what);
void TakeMark(Lexer& lexer, const char* mark);

}  // namespace msc::detail
