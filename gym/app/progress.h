#pragma once

#include <chrono>
#include <string>

namespace msc::gym {

/// A progress line on stderr: rewritten in place on a terminal, else a new line every few seconds,
/// and the last one of each kind. Lines of a kind begin alike, up to a space or ']'.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Ends the live line, or prints what was held back.
  ~ProgressLine();

  void Show(const std::string& text);
  /// Ends the live line and prints `text` on a line of its own, always.
  void Say(const std::string& text);

 private:
  void Flush();

  bool terminal_;
  bool open_ = false;
  std::string last_;
  std::string held_;  // off a terminal: the last text, where it was not printed
  std::chrono::steady_clock::time_point shown_{};
};

/// "00:14:05".
[[nodiscard]] std::string FormatDuration(std::chrono::duration<double> duration);

}  // namespace msc::gym
