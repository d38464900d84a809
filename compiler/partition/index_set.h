#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace msc {

/// A set of indices below universe(), one bit each, processed a word at a time. Stores only the
/// words from the first to the last member, so that a small region of a large graph takes little
/// memory. Binary operations require equal universes (InternalError otherwise).
class IndexSet {
 public:
  /// Result of First, Last and Next if there is no such member.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  IndexSet() = default;
  explicit IndexSet(std::size_t universe) : universe_(universe) {}
  IndexSet(std::size_t universe, std::span<const std::size_t> members);
  /// Builds the set of all indices in [begin, end).
  [[nodiscard]] static IndexSet Range(std::size_t universe, std::size_t begin, std::size_t end);

  [[nodiscard]] std::size_t universe() const noexcept { return universe_; }
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  [[nodiscard]] std::size_t Count() const noexcept;
  [[nodiscard]] bool Contains(std::size_t index) const noexcept {
    const std::size_t word = index / 64 - first_word_;
    return word < words_.size() && ((words_[word] >> (index % 64)) & 1U) != 0;
  }
  [[nodiscard]] std::size_t First() const noexcept;
  [[nodiscard]] std::size_t Last() const noexcept;
  /// Returns the smallest member >= `from`.
  [[nodiscard]] std::size_t Next(std::size_t from) const noexcept;
  /// Returns the smallest index >= `from` that is not a member; universe() if all are members.
  [[nodiscard]] std::size_t FirstOutside(std::size_t from = 0) const noexcept;
  [[nodiscard]] bool Disjoint(const IndexSet& other) const;
  [[nodiscard]] bool Intersects(const IndexSet& other) const { return !Disjoint(other); }
  [[nodiscard]] bool SubsetOf(const IndexSet& other) const;
  [[nodiscard]] std::vector<std::size_t> Members() const;

  void Insert(std::size_t index);
  IndexSet& operator|=(const IndexSet& other);
  IndexSet& operator&=(const IndexSet& other);
  IndexSet& operator-=(const IndexSet& other);
  friend IndexSet operator|(IndexSet a, const IndexSet& b) { return a |= b; }
  friend IndexSet operator&(IndexSet a, const IndexSet& b) { return a &= b; }
  friend IndexSet operator-(IndexSet a, const IndexSet& b) { return a -= b; }

  bool operator==(const IndexSet&) const = default;
  /// Orders sets lexicographically: of two sets, the one that contains the first index in which
  /// they differ is the smaller. A set of a smaller universe comes first.
  std::strong_ordering operator<=>(const IndexSet& other) const;

  [[nodiscard]] std::size_t Hash() const noexcept;

  /// Calls `visit(index)` for every member in rising order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        visit((first_word_ + i) * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  /// Returns word number `word` of the whole bit set; 0 outside the stored range.
  [[nodiscard]] std::uint64_t Word(std::size_t word) const noexcept {
    return word - first_word_ < words_.size() ? words_[word - first_word_] : 0;
  }
  /// Drops zero words at both ends. Equality relies on this normal form.
  void Trim();

  std::size_t universe_ = 0;
  std::size_t first_word_ = 0;  // 0 if the set is empty
  std::vector<std::uint64_t> words_;
};

/// Returns text such as "{1,3..6,9}"; runs of three or more indices are shortened.
[[nodiscard]] std::string ToString(const IndexSet& set);

struct IndexSetHash {
  std::size_t operator()(const IndexSet& set) const noexcept { return set.Hash(); }
};

}  // namespace msc
