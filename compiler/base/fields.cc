#include "compiler/base/fields.h"

namespace msc {

nlohmann::json ParseJson(std::string_view text, const std::string& what) {
  // A nesting bomb would overflow the stack of a recursive user of the tree; nothing of ours is
  // deep.
  constexpr int kMaxDepth = 64;
  try {
    const auto refuse_deep = [&](int depth, nlohmann::json::parse_event_t /*event*/,
                                 nlohmann::json& /*parsed*/) {
      if (depth > kMaxDepth) throw UserError(what + ": JSON nested deeper than 64 levels");
      return true;
    };
    return nlohmann::json::parse(text.begin(), text.end(), refuse_deep);
  } catch (const nlohmann::json::parse_error& error) {
    throw UserError(what + " is not valid JSON at byte " + std::to_string(error.byte));
  } catch (const nlohmann::json::out_of_range&) {
    throw UserError(what + " holds a number that is out of range");
  }
}

}  // namespace msc
