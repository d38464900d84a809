#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "cost/measure/metric.h"

namespace msc::cost {

/// A metric in this process: gets the folder that a command would run in and its time limit, and
/// returns the text that it would print. May be called by several threads at a time.
using MetricFunction = std::function<Result<std::string>(const std::string& folder,
                                                         std::chrono::milliseconds timeout)>;
using MetricFunctions = std::map<std::string, MetricFunction>;  ///< by name of the metric

/// Where metrics run.
struct MetricHost {
  std::string scratch = "/tmp";  ///< for the folders that metrics read
  std::string program = {};      ///< path of mscgym, which runs shared objects
  std::vector<std::string> environment =
      {};                          ///< all of it, "NAME=value"; programs are found in PATH
  std::vector<int> cores = {};     ///< that metrics are bound to; empty = any
  std::int64_t memory_bytes = 0;   ///< memory limit; 0 = unlimited
  MetricFunctions functions = {};  ///< metrics in this process
};

/// Returns the environment of metrics: that of a child with `threads` threads and, if they are set
/// here, PATH, HOME, PYTHONPATH, VIRTUAL_ENV and LD_LIBRARY_PATH. Nothing else is passed on, so
/// that results do not depend on what is set by chance.
[[nodiscard]] std::vector<std::string> MetricEnvironment(int threads);

/// A metric, what it is called, and the samples that `folder` holds (metric_folder.h).
struct MetricCall {
  std::string name;
  MetricSpec spec;
  std::string folder;  ///< working directory of the command
  std::int64_t samples = 0;
};

/// Runs a metric once, in a process of its own (RunChild) unless it is a function of this process.
/// Every failure names the metric: kTimeout, kCrash (also for an answer that is none), or kLost if
/// something else ended it. UserError if its program cannot be started, or if a Python function is
/// missing.
[[nodiscard]] Result<MetricValues> RunMetric(const MetricCall& call, const MetricHost& host,
                                             const std::function<bool()>& stop = {});

}  // namespace msc::cost
