#pragma once

#include <string>

#include "gym/console/progress_line.h"
#include "gym/search/host.h"

namespace msc::gym {

/// Prints what a search reports to stderr, and stops it when a signal asks for that (stop.h).
class ConsoleListener : public SearchListener {
 public:
  void ReportProgress(const std::string& text) override;
  void ReportLine(const std::string& text) override;
  void Warn(const std::string& text) override;
  [[nodiscard]] bool StopRequested() override;
  /// Ends the progress line, before other output.
  void End() { line_.End(); }

 private:
  ProgressLine line_;
};

}  // namespace msc::gym
