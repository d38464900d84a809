#pragma once

// Expressions of kernels as C++. Private to this folder.

#include <cstdint>
#include <string>

#include "compiler/codegen/cpp/preamble.h"
#include "compiler/kernel/expr.h"

namespace msc {

std::string Name(kernel::VarId var);
std::string Name(kernel::BufferRef buffer);
std::string IntegerLiteral(DType dtype, std::int64_t value);

bool IsBoolVector(kernel::Type type);

/// Returns any expression except a vector of bool. Adds to `preamble` what the text needs, as do
/// the following functions.
std::string ValueText(const kernel::Expr& expr, Preamble& preamble);

/// Returns a vector of bool as signed integers of `bytes` bytes.
std::string MaskText(const kernel::Expr& expr, int bytes, Preamble& preamble);

/// Returns the type of a variable that holds values of `type`.
std::string VariableType(kernel::Type type, Preamble& preamble);

/// Returns a value in the form that a variable holds.
std::string StoredText(const kernel::Expr& value, Preamble& preamble);

}  // namespace msc
