#pragma once

#include <string>

#include "compiler/ir/tensor.h"
#include "cost/samples/array_file.h"

namespace msc::cost {

/// Reads rows of numbers separated by commas, plain or gzip, as one f32 [1, columns] at a time.
///
/// If the first line contains a word, it names the columns. Empty lines are skipped. Quotes around
/// a cell are dropped; commas between quotes still separate cells. `without` is a column to leave
/// out, by name or by number from 0; empty = none. UserError naming line and column for a cell that
/// is not a finite number; UserError also for a line of another length and for lines of more than
/// 16 MiB. Lines behind the requested rows are not checked.
void VisitCsv(const std::string& path, const std::string& without, const RowRange& rows,
              const RowVisitor& visit);

/// Reads one column of whole numbers as i64 [N]. UserError as for VisitCsv.
[[nodiscard]] Tensor ReadCsvColumn(const std::string& path, const std::string& column,
                                   const RowRange& rows = {});

}  // namespace msc::cost
