#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/ir/element.h"
#include "compiler/ir/text.h"
#include "compiler/ir/text_lex.h"
#include "compiler/ir/text_values.h"
#include "compiler/ir/verifier.h"

namespace msc {
namespace {

using detail::Lexer;
using detail::Token;
using detail::TokenKind;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), values_(lexer_) {}

  Graph ParseAll() {
    Graph graph = ParseGraph(0);
    if (lexer_.Peek().kind != TokenKind::kEnd) lexer_.FailExpected("the end");
    return graph;
  }

 private:
  // --- helpers ---
  bool TakeIf(const char* mark) {
    if (!lexer_.Peek().IsMark(mark)) return false;
    (void)lexer_.Take();
    return true;
  }
  void TakeWord(const char* word) {
    if (!lexer_.Peek().IsWord(word)) lexer_.FailExpected(word);
    (void)lexer_.Take();
  }
  std::string TakeWordOrString(const char* what) {
    const TokenKind kind = lexer_.Peek().kind;
    if (kind != TokenKind::kWord && kind != TokenKind::kString) lexer_.FailExpected(what);
    return lexer_.Take().text;
  }
  std::string TakeString(const char* what) {
    if (lexer_.Peek().kind != TokenKind::kString) lexer_.FailExpected(what);
    return lexer_.Take().text;
  }
  Token TakeValueName() {
    if (lexer_.Peek().kind != TokenKind::kValue) lexer_.FailExpected("a value, %name");
    return lexer_.Take();
  }
  std::int64_t ToInteger(const std::string& text, std::size_t at) const {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, value);
    if (got.ec != std::errc() || got.ptr != end) {
      lexer_.Fail(at, "'" + text + "' is no 64-bit integer");
    }
    return value;
  }
  /// Calls `action` and reports a UserError of the graph as an error at the byte offset `at`.
  template <class Action>
  auto Located(std::size_t at, Action action) {
    try {
      return action();
    } catch (const UserError& error) {
      lexer_.Fail(at, error.what());
    }
  }

  Graph ParseGraph(int depth);
  void ParseStatement(Graph& graph, int depth);
  void ParseConstant(Graph& graph);
  void ParseOutputs(Graph& graph);
  void ParseNode(Graph& graph, int depth);
  ValueType ParseType();
  ValueType ParseTensorType();
  ValueType ParseOptionalType() { return TakeIf(":") ? ParseType() : ValueType{}; }
  Dim ParseDim();
  std::vector<std::optional<Token>> ParseResultNames();
  void ParseOperator(Node& node);
  ValueId ParseRead(const Graph& graph);
  std::vector<ValueId> ParseReads(const Graph& graph);
  AttrMap ParseAttrs(int depth);
  Attr ParseAttr(int depth);
  Attr ParseNumber();
  Attr ParseList(int depth);
  Attr ParseEmptyList();
  TensorPtr ParseTensor();
  Dims StaticDimsOf(const ValueType& type, std::size_t at) const;

  Lexer lexer_;
  detail::ValuesParser values_;
};

Graph Parser::ParseGraph(int depth) {
  if (depth > kMaxGraphDepth) {
    lexer_.Fail(lexer_.Peek().at,
                "graphs are nested deeper than " + std::to_string(kMaxGraphDepth) + " levels");
  }
  TakeWord("graph");
  Graph graph(TakeWordOrString("the graph's name"));
  detail::TakeMark(lexer_, "{");
  while (!TakeIf("}")) ParseStatement(graph, depth);
  return graph;
}

void Parser::ParseStatement(Graph& graph, int depth) {
  const Token& next = lexer_.Peek();
  if (next.IsWord("meta")) {
    (void)lexer_.Take();
    std::string key = TakeString("a key in quotes");
    detail::TakeMark(lexer_, "=");
    graph.SetMetadata(std::move(key), TakeString("a text in quotes"));
  } else if (next.IsWord("input") || next.IsWord("captured")) {
    const bool input = lexer_.Take().text == "input";
    const Token name = TakeValueName();
    const ValueType type = ParseOptionalType();
    Located(name.at, [&] {
      return input ? graph.AddInput(name.text, type) : graph.AddCaptured(name.text, type);
    });
  } else if (next.IsWord("const")) {
    ParseConstant(graph);
  } else if (next.IsWord("output")) {
    ParseOutputs(graph);
  } else if (next.kind == TokenKind::kValue || next.IsWord("_") || next.IsMark("(")) {
    ParseNode(graph, depth);
  } else {
    lexer_.FailExpected("a statement (meta, input, captured, const, %value = ..., output) or '}'");
  }
}

Dims Parser::StaticDimsOf(const ValueType& type, std::size_t at) const {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  if (!dims || type.container != Container::kTensor) {
    lexer_.Fail(at, "a constant needs a tensor type with a number for every dimension, not " +
                        ToString(type));
  }
  return *dims;
}

void Parser::ParseConstant(Graph& graph) {
  (void)lexer_.Take();
  const Token name = TakeValueName();
  detail::TakeMark(lexer_, ":");
  const std::size_t at = lexer_.Peek().at;
  const ValueType type = ParseType();
  const Dims dims = StaticDimsOf(type, at);
  detail::TakeMark(lexer_, "=");
  Tensor tensor = values_.Parse(type.dtype, dims);
  Located(name.at, [&] {
    return graph.AddConstant(name.text, std::make_shared<const Tensor>(std::move(tensor)));
  });
}

void Parser::ParseOutputs(Graph& graph) {
  (void)lexer_.Take();
  do {
    const Token name = TakeValueName();
    const ValueId id = graph.FindValue(name.text);
    if (id == kNoValue) {
      lexer_.Fail(name.at, "value %" + detail::NameOrQuote(name.text) + " is not known here");
    }
    graph.AddOutput(id);
  } while (TakeIf(","));
}

ValueType Parser::ParseType() {
  if (lexer_.Peek().IsWord("seq")) {
    (void)lexer_.Take();
    detail::TakeMark(lexer_, "(");
    ValueType type = ParseTensorType();
    detail::TakeMark(lexer_, ")");
    type.container = Container::kSequence;
    return type;
  }
  if (!lexer_.Peek().IsWord("opt")) return ParseTensorType();
  (void)lexer_.Take();
  detail::TakeMark(lexer_, "(");
  const bool sequence = lexer_.Peek().IsWord("seq");
  ValueType type = sequence ? ParseType() : ParseTensorType();
  type.container = sequence ? Container::kOptionalSequence : Container::kOptional;
  detail::TakeMark(lexer_, ")");
  return type;
}

ValueType Parser::ParseTensorType() {
  const auto dtype = ParseDType(lexer_.Peek().text);
  if (lexer_.Peek().kind != TokenKind::kWord || !dtype) {
    lexer_.FailExpected("an element type such as f32 or i64");
  }
  (void)lexer_.Take();
  ValueType type{.dtype = *dtype};
  detail::TakeMark(lexer_, "[");
  if (TakeIf("*")) {
    detail::TakeMark(lexer_, "]");
  } else {
    type.shape.emplace();
    while (!TakeIf("]")) {
      if (!type.shape->empty()) detail::TakeMark(lexer_, ",");
      type.shape->push_back(ParseDim());
    }
  }
  return type;
}

Dim Parser::ParseDim() {
  if (TakeIf("?")) return {};
  if (lexer_.Peek().kind != TokenKind::kNumber) {
    return Dim::Symbol(TakeWordOrString("a dimension: number, symbol or '?'"));
  }
  const Token number = lexer_.Take();
  const std::int64_t size = ToInteger(number.text, number.at);
  if (size < 0) lexer_.Fail(number.at, "a dimension is not negative");
  return size;
}

std::vector<std::optional<Token>> Parser::ParseResultNames() {
  std::vector<std::optional<Token>> names;
  if (TakeIf("(")) {
    detail::TakeMark(lexer_, ")");
    return names;
  }
  do {
    if (lexer_.Peek().IsWord("_")) {
      (void)lexer_.Take();
      names.emplace_back();
    } else {
      names.emplace_back(TakeValueName());
    }
  } while (TakeIf(","));
  return names;
}

void Parser::ParseOperator(Node& node) {
  node.op = TakeWordOrString("an operator");
  while (TakeIf(".")) {
    node.domain += (node.domain.empty() ? "" : ".") + node.op;
    node.op = TakeWordOrString("an operator");
  }
}

ValueId Parser::ParseRead(const Graph& graph) {
  if (lexer_.Peek().IsWord("_")) {
    (void)lexer_.Take();
    return kNoValue;
  }
  const Token name = TakeValueName();
  const ValueId id = graph.FindValue(name.text);
  if (id == kNoValue) {
    lexer_.Fail(name.at, "value %" + detail::NameOrQuote(name.text) + " is not known here");
  }
  return id;
}

std::vector<ValueId> Parser::ParseReads(const Graph& graph) {
  std::vector<ValueId> reads;
  detail::TakeMark(lexer_, "(");
  while (!TakeIf(")")) {
    if (!reads.empty()) detail::TakeMark(lexer_, ",");
    reads.push_back(ParseRead(graph));
  }
  return reads;
}

/// Returns the outer values that the nested graphs of `node` capture, each once.
std::vector<ValueId> CapturesOf(const Graph& graph, const Node& node) {
  std::vector<ValueId> captures;
  const auto add = [&](const GraphPtr& nested) {
    for (const ValueId inner : nested->captured()) {
      const ValueId outer = graph.FindValue(nested->value(inner).name);
      const bool known = std::find(captures.begin(), captures.end(), outer) != captures.end();
      if (outer != kNoValue && !known) captures.push_back(outer);
    }
  };
  for (const auto& [name, attr] : node.attrs) {
    if (const auto* one = std::get_if<GraphPtr>(&attr)) add(*one);
    if (const auto* many = std::get_if<std::vector<GraphPtr>>(&attr)) {
      std::for_each(many->begin(), many->end(), add);
    }
  }
  return captures;
}

void Parser::ParseNode(Graph& graph, int depth) {
  const std::size_t at = lexer_.Peek().at;
  const auto names = ParseResultNames();
  detail::TakeMark(lexer_, "=");
  Node node;
  ParseOperator(node);
  node.inputs = ParseReads(graph);
  if (lexer_.Peek().kind == TokenKind::kNode) node.name = lexer_.Take().text;
  const bool lists_captures = lexer_.Peek().IsWord("captures");
  if (lists_captures) {
    (void)lexer_.Take();
    const std::size_t list = lexer_.Peek().at;
    node.captures = ParseReads(graph);
    if (std::count(node.captures.begin(), node.captures.end(), kNoValue) != 0) {
      lexer_.Fail(list, "a capture cannot be absent");
    }
  }
  if (lexer_.Peek().IsMark("{")) node.attrs = ParseAttrs(depth);
  if (!lists_captures) node.captures = CapturesOf(graph, node);

  std::vector<ValueType> types(names.size());
  if (TakeIf(":")) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i != 0) detail::TakeMark(lexer_, ",");
      if (names[i]) {
        types[i] = ParseType();
      } else {
        TakeWord("_");
      }
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& name = names[i];
    node.outputs.push_back(
        name ? Located(name->at, [&] { return graph.AddValue(name->text, types[i]); }) : kNoValue);
  }
  Located(at, [&] { return graph.AddNode(std::move(node)); });
}

AttrMap Parser::ParseAttrs(int depth) {
  AttrMap attrs;
  detail::TakeMark(lexer_, "{");
  while (!TakeIf("}")) {
    if (!attrs.empty()) detail::TakeMark(lexer_, ",");
    const std::size_t at = lexer_.Peek().at;
    std::string name = TakeWordOrString("an attribute's name");
    if (attrs.contains(name)) {
      lexer_.Fail(at, "attribute " + detail::WordOrQuote(name) + " is given twice");
    }
    detail::TakeMark(lexer_, "=");
    attrs.emplace(std::move(name), ParseAttr(depth));
  }
  return attrs;
}

Attr Parser::ParseAttr(int depth) {
  const Token& next = lexer_.Peek();
  if (next.kind == TokenKind::kString) return lexer_.Take().text;
  if (next.IsWord("graph")) return std::make_shared<const Graph>(ParseGraph(depth + 1));
  if (next.IsWord("tensor")) return ParseTensor();
  if (next.IsMark("[")) return ParseList(depth);
  if (next.kind == TokenKind::kNumber || next.IsWord("inf") || next.IsWord("nan")) {
    return ParseNumber();
  }
  return ParseEmptyList();
}

Attr Parser::ParseNumber() {
  const std::size_t at = lexer_.Peek().at;
  const std::string text = detail::TakeNumber(lexer_, "a number");
  if (text.find_first_of(".en") == std::string::npos) return ToInteger(text, at);
  float value = 0;
  if (!detail::ReadFloat(text, value)) lexer_.Fail(at, "'" + text + "' is no f32");
  return value;
}

Attr Parser::ParseEmptyList() {
  const Token kind = lexer_.Peek();
  Attr list;
  if (kind.IsWord("ints")) {
    list = std::vector<std::int64_t>();
  } else if (kind.IsWord("floats")) {
    list = std::vector<float>();
  } else if (kind.IsWord("strings")) {
    list = std::vector<std::string>();
  } else if (kind.IsWord("tensors")) {
    list = std::vector<TensorPtr>();
  } else if (kind.IsWord("graphs")) {
    list = std::vector<GraphPtr>();
  } else {
    lexer_.FailExpected("an attribute: number, text, list, tensor or graph");
  }
  (void)lexer_.Take();
  detail::TakeMark(lexer_, "[");
  detail::TakeMark(lexer_, "]");
  return list;
}

TensorPtr Parser::ParseTensor() {
  TakeWord("tensor");
  const std::size_t at = lexer_.Peek().at;
  const ValueType type = ParseType();
  const Dims dims = StaticDimsOf(type, at);
  detail::TakeMark(lexer_, "=");
  return std::make_shared<const Tensor>(values_.Parse(type.dtype, dims));
}

/// Appends an item to the list. Returns false if the list holds another type.
struct ListAppender {
  Attr& list;

  template <class T>
  bool operator()(T&& item) const {
    using List = std::vector<std::decay_t<T>>;
    if constexpr (std::is_constructible_v<Attr, List>) {
      if (std::get_if<List>(&list) == nullptr) return false;
      std::get<List>(list).push_back(std::forward<T>(item));
      return true;
    } else {
      return false;
    }
  }
};

/// Returns an empty list for items of the type of `item`.
struct ListOf {
  template <class T>
  Attr operator()(const T& /*item*/) const {
    if constexpr (std::is_constructible_v<Attr, std::vector<T>>) {
      return std::vector<T>();
    } else {
      return std::int64_t{0};
    }
  }
};

Attr Parser::ParseList(int depth) {
  const std::size_t start = lexer_.Peek().at;
  detail::TakeMark(lexer_, "[");
  if (lexer_.Peek().IsMark("]")) {
    lexer_.Fail(start,
                "an empty list names its kind: ints[], floats[], strings[], tensors[] or "
                "graphs[]");
  }
  std::optional<Attr> list;
  do {
    const std::size_t at = lexer_.Peek().at;
    if (lexer_.Peek().IsMark("[")) lexer_.Fail(at, "lists hold no lists");
    Attr item = ParseAttr(depth);
    if (!list) list = std::visit(ListOf{}, item);
    if (!std::visit(ListAppender{*list}, std::move(item))) {
      lexer_.Fail(at, "the items of a list are of one kind (1 is an integer, 1.0 a float)");
    }
  } while (TakeIf(","));
  detail::TakeMark(lexer_, "]");
  return *std::move(list);
}

}  // namespace

Graph ParseGraph(std::string_view text) {
  Graph graph = Parser(text).ParseAll();
  Verify(graph);
  return graph;
}

}  // namespace msc
