#include "gym/app/json_output.h"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace msc::gym {
namespace {

template <class Json>
void Print(const std::string& format, const Json& result) {
  nlohmann::ordered_json all = {{"format", format}};  // first, where a reader looks for it
  for (const auto& [key, value] : result.items()) all[key] = value;
  std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

void PrintJsonResult(const std::string& format, const nlohmann::json& result) {
  Print(format, result);
}

void PrintJsonResult(const std::string& format, const nlohmann::ordered_json& result) {
  Print(format, result);
}

void PrintJsonError(int exit_code, const std::string& message) {
  Print("msc-error-1", nlohmann::ordered_json{{"exit_code", exit_code}, {"error", message}});
}

}  // namespace msc::gym
