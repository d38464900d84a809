#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace msc {

/// Reason why a candidate could not be built or measured. The list is closed: processes exchange it
/// and journals store it, so the meaning of each name must not change.
enum class FailureKind : std::uint8_t {
  kUnsupported,  ///< no target supports the graph with this strategy
  kCompile,      ///< a target accepted the graph but failed to build it
  kTimeout,      ///< the measuring child process did not answer in time
  kCrash,        ///< the measuring child process died of a signal or broke the protocol
  kWrongOutput,  ///< outputs differ from the reference beyond the tolerance, or are not finite
  kOutOfMemory,  ///< the measuring child process reached its memory limit
  kLost,         ///< its worker was lost too often, or its child process was stopped from outside
};

/// Returns "unsupported", "compile", "timeout", "crash", "wrong_output", "out_of_memory" or "lost".
[[nodiscard]] std::string_view Name(FailureKind kind);
[[nodiscard]] std::optional<FailureKind> ParseFailureKind(std::string_view name);

struct Failure {
  FailureKind kind = FailureKind::kCrash;
  std::string detail;  ///< one line of text for the user
  bool operator==(const Failure&) const = default;
};

/// A value, or a Failure that says why there is none. For outcomes that a search expects; all other
/// errors are exceptions.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Result(Failure failure) : state_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

}  // namespace msc
