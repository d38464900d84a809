#include "compiler/partition/index_set.h"

#include <algorithm>

#include "compiler/base/error.h"

namespace msc {

IndexSet::IndexSet(std::size_t universe, std::span<const std::size_t> members)
    : universe_(universe) {
  for (const std::size_t member : members) Insert(member);
}

IndexSet IndexSet::Range(std::size_t universe, std::size_t begin, std::size_t end) {
  Check(begin <= end && end <= universe, "a range lies within its universe");
  IndexSet set(universe);
  if (begin == end) return set;
  set.first_word_ = begin / 64;
  set.words_.assign((end - 1) / 64 - begin / 64 + 1, ~std::uint64_t{0});
  set.words_.front() &= ~std::uint64_t{0} << (begin % 64);
  // `63 -` and `end - 1` keep the shift below 64, at which it would be undefined.
  set.words_.back() &= ~std::uint64_t{0} >> (63 - (end - 1) % 64);
  return set;
}

void IndexSet::Trim() {
  const auto nonzero = [](std::uint64_t word) { return word != 0; };
  const auto begin = std::find_if(words_.begin(), words_.end(), nonzero);
  const auto end = std::find_if(words_.rbegin(), std::make_reverse_iterator(begin), nonzero).base();
  first_word_ = begin == end ? 0 : first_word_ + static_cast<std::size_t>(begin - words_.begin());
  words_.erase(end, words_.end());
  words_.erase(words_.begin(), begin);
}

std::size_t IndexSet::Count() const noexcept {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::size_t IndexSet::First() const noexcept {
  if (words_.empty()) return kNone;
  return first_word_ * 64 + static_cast<std::size_t>(std::countr_zero(words_.front()));
}

std::size_t IndexSet::Last() const noexcept {
  if (words_.empty()) return kNone;
  return (first_word_ + words_.size()) * 64 - 1 -
         static_cast<std::size_t>(std::countl_zero(words_.back()));
}

std::size_t IndexSet::Next(std::size_t from) const noexcept {
  if (words_.empty() || from > Last()) return kNone;
  if (from <= First()) return First();
  std::size_t word = from / 64;
  std::uint64_t rest = Word(word) & (~std::uint64_t{0} << (from % 64));
  // `from` is at most the last member, so a word with a member follows.
  while (rest == 0) rest = Word(++word);
  return word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
}

std::size_t IndexSet::FirstOutside(std::size_t from) const noexcept {
  std::size_t index = from;
  while (index < universe_) {
    const std::uint64_t rest = ~Word(index / 64) >> (index % 64);
    if (rest != 0) {
      return std::min(universe_, index + static_cast<std::size_t>(std::countr_zero(rest)));
    }
    index = (index / 64 + 1) * 64;
  }
  return universe_;
}

bool IndexSet::Disjoint(const IndexSet& other) const {
  Check(universe_ == other.universe_, "sets of one universe are compared");
  const std::size_t begin = std::max(first_word_, other.first_word_);
  const std::size_t end =
      std::min(first_word_ + words_.size(), other.first_word_ + other.words_.size());
  for (std::size_t i = begin; i < end; ++i) {
    if ((Word(i) & other.Word(i)) != 0) return false;
  }
  return true;
}

bool IndexSet::SubsetOf(const IndexSet& other) const {
  Check(universe_ == other.universe_, "sets of one universe are compared");
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & ~other.Word(first_word_ + i)) != 0) return false;
  }
  return true;
}

std::vector<std::size_t> IndexSet::Members() const {
  std::vector<std::size_t> members;
  members.reserve(Count());
  ForEach([&](std::size_t index) { members.push_back(index); });
  return members;
}

void IndexSet::Insert(std::size_t index) {
  Check(index < universe_, "a member lies in the universe");
  const std::size_t word = index / 64;
  if (words_.empty()) {
    first_word_ = word;
    words_.push_back(0);
  } else if (word < first_word_) {
    words_.insert(words_.begin(), first_word_ - word, 0);
    first_word_ = word;
  } else if (word >= first_word_ + words_.size()) {
    words_.resize(word - first_word_ + 1, 0);
  }
  words_[word - first_word_] |= std::uint64_t{1} << (index % 64);
}

IndexSet& IndexSet::operator|=(const IndexSet& other) {
  Check(universe_ == other.universe_, "sets of one universe are united");
  if (other.words_.empty()) return *this;
  if (words_.empty()) return *this = other;
  if (other.first_word_ < first_word_) {
    words_.insert(words_.begin(), first_word_ - other.first_word_, 0);
    first_word_ = other.first_word_;
  }
  const std::size_t shift = other.first_word_ - first_word_;
  words_.resize(std::max(words_.size(), shift + other.words_.size()), 0);
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[shift + i] |= other.words_[i];
  return *this;
}

IndexSet& IndexSet::operator&=(const IndexSet& other) {
  Check(universe_ == other.universe_, "sets of one universe are intersected");
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.Word(first_word_ + i);
  Trim();
  return *this;
}

IndexSet& IndexSet::operator-=(const IndexSet& other) {
  Check(universe_ == other.universe_, "sets of one universe are subtracted");
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.Word(first_word_ + i);
  Trim();
  return *this;
}

std::strong_ordering IndexSet::operator<=>(const IndexSet& other) const {
  if (universe_ != other.universe_) return universe_ <=> other.universe_;
  const std::size_t end =
      std::max(first_word_ + words_.size(), other.first_word_ + other.words_.size());
  for (std::size_t i = std::min(first_word_, other.first_word_); i < end; ++i) {
    const std::uint64_t differ = Word(i) ^ other.Word(i);
    if (differ == 0) continue;
    // The lowest bit that differs: the set that has this member comes first.
    const std::uint64_t first = differ & (~differ + 1);
    return (Word(i) & first) != 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return std::strong_ordering::equal;
}

std::size_t IndexSet::Hash() const noexcept {
  // Multipliers of Fibonacci hashing and of MurmurHash3's finalizer. The shift brings high bits
  // down to where hash tables look.
  std::uint64_t hash = first_word_ * 0x9e3779b97f4a7c15U + universe_;
  for (const std::uint64_t word : words_) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

std::string ToString(const IndexSet& set) {
  std::string text;
  for (std::size_t begin = set.First(); begin != IndexSet::kNone;) {
    const std::size_t end = set.FirstOutside(begin);
    const std::size_t shown = end - begin >= 3 ? begin + 1 : end;
    for (std::size_t i = begin; i < shown; ++i) {
      text += (text.empty() ? "" : ",") + std::to_string(i);
    }
    if (shown != end) text += ".." + std::to_string(end - 1);
    begin = set.Next(end);
  }
  return "{" + text + "}";
}

}  // namespace msc
