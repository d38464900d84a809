#include "cost/measure/metric_run.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "compiler/base/error.h"
#include "cost/measure/child.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kMetricFileBytes = std::int64_t{1} << 30U;
constexpr std::int64_t kMetricOpenFiles = 1024;

/// Returns the value of a variable, or nothing.
std::optional<std::string> ValueIn(const std::vector<std::string>& environment,
                                   const std::string& name) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

/// Returns the path of a program, as a shell finds it; nothing if there is none.
std::optional<std::string> FindProgram(const std::string& name,
                                       const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string folders = ValueIn(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  folders += ':';
  for (std::size_t end = 0, begin = 0; (end = folders.find(':', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string path = folders.substr(begin, end - begin) + "/" + name;
    // Metrics run in other folders, so a relative part of PATH finds nothing.
    if (path.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

UserError CannotStart(const std::string& name, const std::string& why) {
  return UserError("metric '" + name + "': " + why +
                   "; the program and its files must be on every machine that measures");
}

/// Returns the command line that computes the metric.
std::vector<std::string> WordsOf(const MetricCall& call, const MetricHost& host) {
  std::vector<std::string> words;
  if (!call.spec.library.empty()) {
    Check(!host.program.empty(), "a host of shared objects knows the program that runs them");
    words = {host.program, "metric-child", "--"};
    words.insert(words.end(), call.spec.library.begin(), call.spec.library.end());
    return words;
  }
  words = call.spec.command;
  const auto program = FindProgram(words.at(0), host.environment);
  if (!program) throw CannotStart(call.name, "there is no program '" + words[0] + "' in PATH");
  words[0] = *program;
  return words;
}

Result<std::string> RunProcess(const MetricCall& call, const MetricHost& host,
                               std::chrono::milliseconds timeout,
                               const std::function<bool()>& stop) {
  ChildCommand command;
  command.argv = WordsOf(call, host);
  command.environment = host.environment;
  command.cores = host.cores;
  command.folder = call.folder;
  command.reply = ChildReply::kText;
  command.limits.timeout = timeout;
  command.limits.memory_bytes = host.memory_bytes;
  command.limits.file_bytes = kMetricFileBytes;
  command.limits.open_files = kMetricOpenFiles;
  // The longest text of a number is shorter than 32 characters.
  constexpr std::size_t kNumber = 32;
  command.limits.record_bytes = 4096 + kNumber * static_cast<std::size_t>(call.samples);
  try {
    Result<ChildReport> report = RunChild(command, stop);
    if (!report.ok()) return report.failure();
    return std::move(report.value().record);
  } catch (const SystemError& error) {
    throw CannotStart(call.name, error.what());
  }
}

Result<std::string> CallFunction(const MetricCall& call, const MetricHost& host,
                                 std::chrono::milliseconds timeout) {
  const auto function = host.functions.find(call.name);
  if (function == host.functions.end()) {
    throw UserError("metric '" + call.name +
                    "' is a Python function: start or continue the search by "
                    "mscgym.search(..., metrics={\"" +
                    call.name + "\": ...})");
  }
  return function->second(call.folder, timeout);
}

}  // namespace

std::vector<std::string> MetricEnvironment(int threads) {
  std::vector<std::string> more;
  for (const char* name : {"PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
    if (const char* value = std::getenv(name)) more.push_back(std::string(name) + "=" + value);
  }
  return ChildEnvironment(threads, /*bind=*/false, more);
}

Result<MetricValues> RunMetric(const MetricCall& call, const MetricHost& host,
                               const std::function<bool()>& stop) {
  const auto timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(1000 * call.spec.timeout_s));
  const Result<std::string> text = call.spec.function.empty()
                                       ? RunProcess(call, host, timeout, stop)
                                       : CallFunction(call, host, timeout);
  const auto named = [&](const Failure& failure) {
    if (failure == ToldToStop()) return failure;
    return Failure{failure.kind, "metric '" + call.name + "': " + failure.detail};
  };
  if (!text.ok()) return named(text.failure());
  Result<MetricValues> values = ReadMetricValues(text.value(), call.samples);
  if (!values.ok()) return named(values.failure());
  return values;
}

}  // namespace msc::cost
