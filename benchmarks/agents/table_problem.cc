#include "benchmarks/agents/table_problem.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"

namespace msc::bench {

using gym::Assignment;
using nlohmann::json;

namespace {

class TableProblem final : public gym::SearchProblem {
 public:
  explicit TableProblem(const std::string& text) : hash_(Sha256Hex(text)) {
    const json table = ParseJson(text, "the table");
    for (const json& decision : table.at("decisions")) {
      decisions_.push_back({.name = decision.at("name"),
                            .choices = decision.at("choices"),
                            .quantity = decision.value("quantity", std::string()),
                            .values = decision.value("values", std::vector<double>())});
    }
    gym::CheckDecisions(decisions_);
    metrics_ = table.at("metrics").get<std::vector<std::string>>();
    prior_.relevance = table.value("relevance", std::vector<double>());
    if (table.contains("estimates")) ReadJson(table["estimates"], "estimates", prior_.estimates);
    anchors_ = table.at("anchors").get<std::vector<Assignment>>();
    for (const json& row : table.at("results")) {
      auto& values = rows_.emplace_back();
      if (!row.is_null()) values = row.get<std::vector<double>>();
    }
    if (static_cast<double>(rows_.size()) != gym::SpaceSize(decisions_)) {
      throw UserError("the table has " + std::to_string(rows_.size()) +
                      " results, which is not one for each assignment");
    }
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }
  [[nodiscard]] std::vector<std::string> DoMetrics() const override { return metrics_; }
  [[nodiscard]] std::vector<std::pair<std::string, Assignment>> DoAnchors() const override {
    std::vector<std::pair<std::string, Assignment>> anchors;
    for (const Assignment& anchor : anchors_) {
      anchors.emplace_back(gym::ChoicesAsJson(decisions_, anchor), anchor);
    }
    return anchors;
  }
  void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !stop(); ++i) {
      gym::Evaluation evaluation;
      if (const auto& row = rows_[RowOf(decisions_, batch[i])]) {
        for (std::size_t m = 0; m < metrics_.size(); ++m) {
          evaluation.metrics[metrics_[m]] = row->at(m);
        }
      } else {
        evaluation.failure = Failure{FailureKind::kUnsupported, "the table has no result"};
      }
      done(i, evaluation);
    }
  }
  [[nodiscard]] gym::PriorKnowledge DoPrior() const override { return prior_; }
  [[nodiscard]] std::string DoDescribe(const Assignment& assignment) const override {
    return gym::ChoicesAsJson(decisions_, assignment);
  }
  [[nodiscard]] std::string DoHash() const override { return hash_; }

  std::string hash_;
  std::vector<gym::Decision> decisions_;
  std::vector<std::string> metrics_;
  gym::PriorKnowledge prior_;
  std::vector<Assignment> anchors_;
  std::vector<std::optional<std::vector<double>>> rows_;
};

}  // namespace

std::size_t RowOf(const std::vector<gym::Decision>& decisions, const Assignment& assignment) {
  std::size_t row = 0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    row = row * decisions[i].choices.size() + static_cast<std::size_t>(assignment[i]);
  }
  return row;
}

std::unique_ptr<gym::SearchProblem> LoadTable(const std::string& path) {
  const std::string text = ReadFile(path);
  try {
    return std::make_unique<TableProblem>(text);
  } catch (const std::exception& error) {
    throw UserError("'" + path + "': " + error.what());
  }
}

}  // namespace msc::bench
