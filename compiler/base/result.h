#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace msc {

/// Why a candidate could not be built or measured. A closed list: it crosses ranks and is stored in
/// journals, so the names below never change their meaning.
enum class FailureKind : std::uint8_t {
  kUnsupported,  ///< no target takes the graph as the strategy asks
  kCompile,      ///< a target accepted the graph and then failed to build it
  kTimeout,      ///< the measuring child did not answer in time
  kCrash,        ///< the measuring child died of a signal or broke the protocol
  kWrongOutput,  ///< outputs differ from the reference beyond the tolerance, or are not finite
  kOutOfMemory,  ///< the measuring child hit its memory limit
  kLost,         ///< its worker was lost too often, or its child killed or stopped from outside
};

/// "unsupported", "compile", "timeout", "crash", "wrong_output", "out_of_memory", "lost".
[[nodiscard]] std::string_view Name(FailureKind kind);
[[nodiscard]] std::optional<FailureKind> ParseFailureKind(std::string_view name);

struct Failure {
  FailureKind kind = FailureKind::kCrash;
  std::string detail;  ///< one line for a person
  bool operator==(const Failure&) const = default;
};

/// A value, or the reason there is none. For outcomes that a search expects; everything else
/// throws.
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
