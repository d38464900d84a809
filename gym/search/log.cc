#include "gym/search/log.h"

#include <utility>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "compiler/base/error.h"

namespace msc::gym {

struct RunLog::State {
  spdlog::logger logger;
};

namespace {

/// Error handler for spdlog, which by default only prints a write error (such as a full disk) to
/// stderr. spdlog calls it from a catch block, and again for what it throws itself; hence the first
/// handler.
[[noreturn]] void Reject(const std::string& what) {
  try {
    throw;
  } catch (const SystemError&) {
    throw;
  } catch (const std::exception&) {
    throw SystemError("cannot write the log: " + what);
  }
}

}  // namespace

RunLog::RunLog(const std::string& path, const std::string& level,
               std::function<void(const std::string&)> warn)
    : warn_(std::move(warn)) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw UserError("unknown log level '" + level + "'; known: debug, info, warning, error, off");
  }
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(path);
    state_ = std::make_unique<State>(State{spdlog::logger("search", std::move(sink))});
  } catch (const spdlog::spdlog_ex& error) {
    throw SystemError(std::string("cannot open the log: ") + error.what());
  }
  state_->logger.set_level(parsed);
  state_->logger.flush_on(spdlog::level::trace);
  state_->logger.set_error_handler(Reject);
}

RunLog::~RunLog() = default;

// The text is an argument, not the format, since it may contain model names with braces.
void RunLog::Info(const std::string& text) {
  state_->logger.info("{}", text);
}

void RunLog::Warn(const std::string& text) {
  state_->logger.warn("{}", text);
  warn_(text);
}

}  // namespace msc::gym
