#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Ends an error about a word that is none of `known`: "; did you mean 'x'?" for the one that takes
/// fewest letters put in, taken out or changed to get to, if that is at most a third of the word,
/// or two letters of at least four, else "; known: a, b, ..." as far as 200 letters go.
[[nodiscard]] std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace msc
