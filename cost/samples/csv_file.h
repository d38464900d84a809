#pragma once

#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "cost/samples/array_file.h"

namespace msc::cost {

/// Reads rows of numbers separated by commas, plain or gzip, as one f32 [1, columns] at a time.
///
/// If the first line contains a word, it names the columns. Empty lines are skipped. Quotes around
/// a cell are dropped; commas between quotes still separate cells. `without` are columns to leave
/// out, by name or by number from 0. UserError naming line and column for a cell that is not a
/// finite number; UserError also for a line of another length and for lines of more than 16 MiB.
/// Lines behind the requested rows are not checked.
void VisitCsv(const std::string& path, const std::vector<std::string>& without,
              const RowRange& rows, const RowVisitor& visit);

/// Reads one column as i64 [N] if it holds whole numbers, else as f64 [N]. UserError as for
/// VisitCsv.
[[nodiscard]] Tensor ReadCsvColumn(const std::string& path, const std::string& column,
                                   const RowRange& rows = {});

/// Reads one column of texts, without quotes around them. UserError as for VisitCsv.
[[nodiscard]] std::vector<std::string> ReadCsvTexts(const std::string& path,
                                                    const std::string& column,
                                                    const RowRange& rows = {});

}  // namespace msc::cost
