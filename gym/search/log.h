#pragma once

#include <functional>
#include <memory>
#include <string>

namespace msc::gym {

/// The log of a run, RUN/logs/search.log. It is appended to and flushed at every line, so that a
/// kill loses none. Warnings also go to `warn`. Levels as in spdlog: "debug", "info", "warning",
/// "error", "off".
class RunLog {
 public:
  /// Opens the log. SystemError if the file cannot be opened; UserError for an unknown level.
  RunLog(const std::string& path, const std::string& level,
         std::function<void(const std::string&)> warn);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  /// Write a line. SystemError if that fails.
  void Info(const std::string& text);
  void Warn(const std::string& text);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::function<void(const std::string&)> warn_;
};

}  // namespace msc::gym
