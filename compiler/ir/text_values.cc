#include "compiler/ir/text_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/element.h"
#include "compiler/ir/hex.h"

namespace msc::detail {
namespace {

std::string RandomPart(DType dtype, Rng& rng) {
  switch (dtype) {
    case DType::kBool:
      return std::to_string(rng.Below(2));
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return std::to_string(static_cast<int>(rng.Below(255)) - 127);
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return std::to_string(rng.Below(256));
    default:
      return FloatText(static_cast<float>(rng.Normal()));
  }
}

}  // namespace

void TakeMark(Lexer& lexer, const char* mark) {
  if (!lexer.Peek().IsMark(mark)) lexer.FailExpected(std::string("'") + mark + "'");
  (void)lexer.Take();
}

std::string TakeNumber(Lexer& lexer, const char* what) {
  const TokenKind kind = lexer.Peek().kind;
  if (kind != TokenKind::kNumber && kind != TokenKind::kWord) lexer.FailExpected(what);
  std::string text = lexer.Take().text;
  if (text != "nan" || !lexer.Peek().IsMark("(")) return text;
  (void)lexer.Take();
  if (lexer.Peek().kind != TokenKind::kNumber) lexer.FailExpected("the bits of a NaN, 0x...");
  text += "(" + lexer.Take().text + ")";
  TakeMark(lexer, ")");
  return text;
}

Tensor ValuesParser::Make(DType dtype, const Dims& dims, std::size_t at) {
  try {
    return {dtype, dims};
  } catch (const UserError& error) {
    lexer_.Fail(at, error.what());
  }
}

Tensor ValuesParser::MakeGenerated(DType dtype, const Dims& dims, std::size_t at) {
  std::uint64_t bytes = 0;
  try {
    bytes = static_cast<std::uint64_t>(ElementCount(dims)) *
            std::max<std::size_t>(ByteSize(dtype), sizeof(std::string));
  } catch (const UserError& error) {
    lexer_.Fail(at, error.what());
  }
  if (bytes > generated_left_) lexer_.Fail(at, "splat and random may make 64 MiB in all");
  generated_left_ -= bytes;
  return Make(dtype, dims, at);
}

Tensor ValuesParser::Parse(DType dtype, const Dims& dims) {
  const Token& next = lexer_.Peek();
  if (dtype == DType::kUndefined) lexer_.Fail(next.at, "a constant needs an element type");
  if (next.IsMark("...")) {
    lexer_.Fail(next.at, "these values were left out when the graph was printed for people");
  }
  if (next.IsMark("[")) return ParseList(dtype, dims);
  if (next.IsWord("hex")) return ParseHex(dtype, dims);
  if (next.IsWord("splat")) return ParseSplat(dtype, dims);
  if (next.IsWord("random")) return ParseRandom(dtype, dims);
  lexer_.FailExpected("'[', hex, splat or random");
}

Tensor ValuesParser::ParseList(DType dtype, const Dims& dims) {
  const std::size_t at = lexer_.Peek().at;
  TakeMark(lexer_, "[");
  std::int64_t count = 0;
  try {
    count = ElementCount(dims);
  } catch (const UserError& error) {
    lexer_.Fail(at, error.what());
  }
  const auto wrong = [&] {
    lexer_.Fail(at, "a list for " + ToString(dims) + " has " + std::to_string(count) + " values");
  };
  // Check the count before allocating memory: each value takes at least one byte of text.
  if (static_cast<std::uint64_t>(count) > lexer_.left() + 1) wrong();
  Tensor tensor = Make(dtype, dims, at);
  for (std::int64_t i = 0; i < count; ++i) {
    if (lexer_.Peek().IsMark("]")) wrong();
    if (i != 0) TakeMark(lexer_, ",");
    ParseElement(tensor, static_cast<std::size_t>(i));
  }
  if (lexer_.Peek().IsMark(",")) wrong();
  TakeMark(lexer_, "]");
  return tensor;
}

void ValuesParser::ParseElement(Tensor& tensor, std::size_t index) {
  if (tensor.dtype() == DType::kString) {
    if (lexer_.Peek().kind != TokenKind::kString) lexer_.FailExpected("a text in quotes");
    tensor.mutable_strings()[index] = lexer_.Take().text;
  } else if (PartsOf(tensor.dtype()) == 2) {
    TakeMark(lexer_, "(");
    ParsePart(tensor, 2 * index);
    TakeMark(lexer_, ",");
    ParsePart(tensor, 2 * index + 1);
    TakeMark(lexer_, ")");
  } else {
    ParsePart(tensor, index);
  }
}

void ValuesParser::ParsePart(Tensor& tensor, std::size_t part) {
  const std::size_t at = lexer_.Peek().at;
  const std::string text = TakeNumber(lexer_, "a number");
  if (!ReadPart(text, tensor, part)) {
    lexer_.Fail(at, "'" + text + "' is no " + std::string(Name(tensor.dtype())));
  }
}

Tensor ValuesParser::ParseHex(DType dtype, const Dims& dims) {
  const std::size_t at = lexer_.Take().at;
  if (lexer_.Peek().kind != TokenKind::kString) lexer_.FailExpected("bytes in hex, in quotes");
  if (dtype == DType::kString) lexer_.Fail(at, "texts cannot be given in hex");
  const std::string digits = lexer_.Take().text;
  std::uint64_t bytes = 0;
  try {
    bytes = static_cast<std::uint64_t>(ElementCount(dims)) * ByteSize(dtype);
  } catch (const UserError& error) {
    lexer_.Fail(at, error.what());
  }
  if (digits.size() != 2 * bytes) {
    lexer_.Fail(at, std::string(Name(dtype)) + ToString(dims) + " takes " +
                        std::to_string(2 * bytes) + " hex digits, not " +
                        std::to_string(digits.size()));
  }
  Tensor tensor = Make(dtype, dims, at);
  if (!ReadHex(digits, tensor.MutableRaw())) lexer_.Fail(at, "hex digits are 0-9 and a-f");
  return tensor;
}

Tensor ValuesParser::ParseSplat(DType dtype, const Dims& dims) {
  const std::size_t at = lexer_.Take().at;
  Tensor one = Make(dtype, {1}, at);
  ParseElement(one, 0);
  Tensor tensor = MakeGenerated(dtype, dims, at);
  std::fill(tensor.mutable_strings().begin(), tensor.mutable_strings().end(),
            one.strings().empty() ? std::string() : one.strings().front());
  const std::size_t step = one.bytes();
  for (std::size_t i = 0; i < tensor.bytes(); i += step) {
    std::memcpy(tensor.MutableRaw().data() + i, one.Raw().data(), step);
  }
  return tensor;
}

Tensor ValuesParser::ParseRandom(DType dtype, const Dims& dims) {
  const std::size_t at = lexer_.Take().at;
  const std::string text = TakeNumber(lexer_, "a seed");
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto got = std::from_chars(text.data(), end, seed);
  if (got.ec != std::errc() || got.ptr != end) lexer_.Fail(at, "a seed is a whole number");
  if (dtype == DType::kString) lexer_.Fail(at, "random makes numbers, not texts");
  Tensor tensor = MakeGenerated(dtype, dims, at);
  Rng rng(seed);
  const std::size_t parts = static_cast<std::size_t>(tensor.size()) * PartsOf(dtype);
  for (std::size_t i = 0; i < parts; ++i) {
    Check(ReadPart(RandomPart(dtype, rng), tensor, i), "a random number fits its type");
  }
  return tensor;
}

}  // namespace msc::detail
