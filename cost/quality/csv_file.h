#pragma once

#include <string>

#include "compiler/ir/tensor.h"
#include "cost/quality/array_file.h"

namespace msc::cost {

/// Reads rows of numbers separated by commas, plain or gzip, one f32 [1, columns] at a time. A
/// first line with a word in it names the columns; empty lines are passed over; quotes around a
/// cell are dropped, and commas between quotes separate all the same. `without` is a column to
/// leave out, by name or by number from 0; empty = none. UserError naming line and column for what
/// is no finite number, and for lines of another length; lines have at most 16 MiB. Lines behind
/// the rows that are asked for are not looked at.
void VisitCsv(const std::string& path, const std::string& without, const RowRange& rows,
              const RowVisitor& visit);

/// One column of whole numbers: i64 [N].
[[nodiscard]] Tensor ReadCsvColumn(const std::string& path, const std::string& column,
                                   const RowRange& rows = {});

}  // namespace msc::cost
