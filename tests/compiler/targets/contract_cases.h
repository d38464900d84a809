#pragma once

// What contract_test.cc puts to every target.

#include <functional>
#include <string>
#include <vector>

namespace msc {

/// A graph as text, types of node outputs left out.
struct GraphCase {
  std::string label;
  std::string text;
};

/// Cases that are one test: a process each would take longer than the cases do. Made where they
/// are run: every process of ctest lists all tests.
struct CaseFamily {
  std::string label;
  std::function<std::vector<GraphCase>()> cases;
};

[[nodiscard]] std::vector<CaseFamily> FunctionFamilies();
[[nodiscard]] std::vector<CaseFamily> FusedFamilies();
[[nodiscard]] std::vector<CaseFamily> IndexFamilies();
[[nodiscard]] std::vector<CaseFamily> OperatorFamilies();
[[nodiscard]] std::vector<CaseFamily> RecurrentFamilies();
[[nodiscard]] std::vector<CaseFamily> TransformerFamilies();

/// A number in the text of a graph.
inline std::string N(int value) {
  return std::to_string(value);
}

}  // namespace msc
