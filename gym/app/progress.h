#pragma once

#include <chrono>
#include <string>

namespace msc::gym {

/// A progress line on stderr. On a terminal it is rewritten in place; otherwise a new line appears
/// every few seconds, plus the last line of each kind. The text up to a space or ']' tells the
/// kind.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Ends the live line, or prints the last line if it was withheld.
  ~ProgressLine();

  void Show(const std::string& text);
  /// Ends the live line and prints `text` on a line of its own in any case.
  void Say(const std::string& text);

 private:
  void Flush();

  bool terminal_;
  bool open_ = false;
  std::string last_;
  std::string held_;  // without a terminal: the last text if not printed yet
  std::chrono::steady_clock::time_point shown_{};
};

/// Returns "00:14:05".
[[nodiscard]] std::string FormatDuration(std::chrono::duration<double> duration);

}  // namespace msc::gym
