#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace msc::gym {

/// A progress line. On a terminal it is rewritten in place; otherwise a new line appears every few
/// seconds, plus the last line of each kind. The text up to a space or ']' tells the kind.
class ProgressLine {
 public:
  /// Receives text to write at once, with its line ends.
  using Write = std::function<void(std::string_view text)>;
  /// Writes to stderr.
  ProgressLine();
  /// Writes to `write`, which may be a terminal that understands ANSI escape codes.
  ProgressLine(Write write, bool terminal);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Ends the live line, or prints the last line if it was withheld.
  ~ProgressLine();

  void Show(const std::string& text);
  /// Ends the live line and prints `text` on a line of its own in any case.
  void PrintLine(const std::string& text);
  /// Ends the live line; the next text starts a new one.
  void End();

 private:
  void Flush();

  Write write_;
  bool terminal_;
  bool open_ = false;
  std::string last_;
  std::string held_;  // without a terminal: the last text if not printed yet
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace msc::gym
