#include "cost/samples/csv_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"
#include "cost/samples/byte_source.h"

namespace msc::cost {
namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 24U;
constexpr std::size_t kMaxListed = 80;

/// Byte order mark that spreadsheets put in front of UTF-8.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

std::vector<std::string_view> Cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(Trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

template <class T>
std::optional<T> Parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns whether a cell can be the name of a column: a word other than "nan" and "inf".
bool IsName(std::string_view cell) {
  if (cell.empty() || Parse<double>(cell)) return false;
  const auto first = static_cast<unsigned char>(cell.front());
  return std::isalpha(first) != 0 || first == '_' || first >= 0x80;
}

class Lines {
 public:
  explicit Lines(const std::string& path) : source_(path) {}

  /// Returns the next line that is not empty, or nothing at the end. Valid until the next call.
  std::optional<std::string_view> Next() {
    while (true) {
      const std::size_t end = buffer_.find('\n', at_);
      if (end == std::string::npos && !ended_) {
        Refill();
        continue;
      }
      if (end == std::string::npos && at_ == buffer_.size()) return std::nullopt;
      const std::string_view line = std::string_view(buffer_).substr(
          at_, end == std::string::npos ? std::string::npos : end - at_);
      at_ = end == std::string::npos ? buffer_.size() : end + 1;
      ++number_;
      if (!Trimmed(line).empty()) return line;
    }
  }
  [[nodiscard]] std::int64_t number() const { return number_; }

 private:
  void Refill() {
    buffer_.erase(0, at_);
    at_ = 0;
    const std::string more = source_.Some(std::size_t{1} << 16U);
    ended_ = more.empty();
    buffer_ += more;
    if (buffer_.size() > kMaxLine && buffer_.find('\n') == std::string::npos) {
      throw UserError("'" + source_.path() + "' has a line of more than 16 MiB");
    }
  }

  ByteSource source_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool ended_ = false;
  std::int64_t number_ = 0;
};

class Table {
 public:
  explicit Table(const std::string& path) : path_(path), lines_(path) {
    line_ = lines_.Next();
    if (!line_) throw UserError("'" + path_ + "' holds no numbers");
    if (line_->starts_with(kByteOrderMark)) line_->remove_prefix(kByteOrderMark.size());
    const std::vector<std::string_view> cells = Cells(*line_);
    columns_ = cells.size();
    if (std::none_of(cells.begin(), cells.end(), IsName)) return;
    names_.assign(cells.begin(), cells.end());
    line_ = lines_.Next();
  }

  /// Returns the index of a column given by name or number. UserError if there is none.
  [[nodiscard]] std::size_t Column(const std::string& column) const {
    const auto named = std::find(names_.begin(), names_.end(), column);
    if (named != names_.end()) return static_cast<std::size_t>(named - names_.begin());
    const auto number = Parse<std::size_t>(column);
    if (number && *number < columns_) return *number;
    std::string known;
    for (const std::string& name : names_) {
      if (known.size() < kMaxListed) known += (known.empty() ? ", such as " : ", ") + name;
    }
    throw UserError("'" + path_ + "' has no column '" + column + "'; it has " +
                    std::to_string(columns_) + ", numbered from 0" + known);
  }
  [[nodiscard]] std::size_t columns() const { return columns_; }

  /// Calls `take` with the cells of each requested row.
  template <class Take>
  std::int64_t ForRows(const RowRange& rows, const Take& take) {
    std::int64_t row = 0;
    for (; line_ && (rows.count == 0 || row < rows.first + rows.count); line_ = lines_.Next()) {
      if (row++ < rows.first) continue;
      const std::vector<std::string_view> cells = Cells(*line_);
      if (cells.size() != columns_) {
        throw UserError("'" + path_ + "', line " + std::to_string(lines_.number()) + " has " +
                        std::to_string(cells.size()) + " columns; the first has " +
                        std::to_string(columns_));
      }
      take(cells);
    }
    const std::int64_t taken = row - std::min(row, rows.first);
    if (rows.first == 0 && taken == 0) throw UserError("'" + path_ + "' holds no numbers");
    if (taken == 0 || (rows.count > 0 && taken < rows.count)) {
      throw UserError("'" + path_ + "' has " + std::to_string(row) + " samples; " +
                      std::to_string(rows.count) + " from number " + std::to_string(rows.first) +
                      " on were requested");
    }
    return taken;
  }

  [[noreturn]] void Reject(std::size_t column, std::string_view cell, const char* wanted) const {
    throw UserError("'" + path_ + "', line " + std::to_string(lines_.number()) + ", column " +
                    std::to_string(column) + ": '" + std::string(cell.substr(0, 40)) +
                    "' is not a " + wanted);
  }

 private:
  const std::string& path_;
  Lines lines_;
  std::optional<std::string_view> line_;
  std::vector<std::string> names_;
  std::size_t columns_ = 0;
};

}  // namespace

void VisitCsv(const std::string& path, const std::vector<std::string>& without,
              const RowRange& rows, const RowVisitor& visit) {
  Table table(path);
  std::vector<bool> left_out(table.columns());
  for (const std::string& column : without) left_out[table.Column(column)] = true;
  const auto kept = std::count(left_out.begin(), left_out.end(), false);
  Tensor row(DType::kF32, {1, std::int64_t{kept}});
  table.ForRows(rows, [&](const std::vector<std::string_view>& cells) {
    auto to = row.MutableValues<float>().begin();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (left_out[i]) continue;
      // Parse as double: a number too small for a float becomes 0 instead of an error.
      const auto wide = Parse<double>(cells[i]);
      const auto value = static_cast<float>(wide.value_or(HUGE_VAL));
      if (!std::isfinite(value)) table.Reject(i, cells[i], "finite number");
      *to++ = value;
    }
    visit(row);
  });
}

Tensor ReadCsvColumn(const std::string& path, const std::string& column, const RowRange& rows) {
  Table table(path);
  const std::size_t index = table.Column(column);
  std::vector<std::int64_t> whole;
  std::vector<double> values;
  const std::int64_t count = table.ForRows(rows, [&](const std::vector<std::string_view>& cells) {
    const auto value = Parse<double>(cells[index]);
    if (!value || !std::isfinite(*value)) table.Reject(index, cells[index], "finite number");
    values.push_back(*value);
    if (const auto integer = Parse<std::int64_t>(cells[index])) whole.push_back(*integer);
  });
  if (whole.size() == values.size()) {
    return Tensor::From<std::int64_t>(DType::kI64, {count}, whole);
  }
  return Tensor::From<double>(DType::kF64, {count}, values);
}

std::vector<std::string> ReadCsvTexts(const std::string& path, const std::string& column,
                                      const RowRange& rows) {
  Table table(path);
  const std::size_t index = table.Column(column);
  std::vector<std::string> texts;
  (void)table.ForRows(
      rows, [&](const std::vector<std::string_view>& cells) { texts.emplace_back(cells[index]); });
  return texts;
}

}  // namespace msc::cost
