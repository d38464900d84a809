#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Returns the end of an error message about an unknown `word`. If one of `known` is within an edit
/// distance of a third of the word's length (or of 2, if the word has at least four letters): ";
/// did you mean 'x'?" with the nearest. Otherwise: "; known: a, b, ...", cut after about 200
/// letters.
[[nodiscard]] std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace msc
