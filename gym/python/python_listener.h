#pragma once

#include <string>

#include "gym/console/progress_line.h"
#include "gym/search/host.h"

namespace msc::gym {

/// Prints what a search reports to Python's sys.stderr, and stops it when a signal, such as Ctrl-C,
/// interrupts Python. Takes Python's lock when it needs it.
class PythonListener : public SearchListener {
 public:
  PythonListener();
  void ReportProgress(const std::string& text) override;
  void ReportLine(const std::string& text) override;
  void Warn(const std::string& text) override;
  /// Leaves Python's exception set when it first returns true.
  [[nodiscard]] bool StopRequested() override;

 private:
  ProgressLine line_;
  bool interrupted_ = false;
};

}  // namespace msc::gym
