// LSTM, GRU and RNN.

#include <string>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {
namespace {

/// One LSTM and the constants it reads: `inputs` behind X, W and R, `outputs` as written.
struct LstmShape {
  std::string label;
  std::string direction = "forward";
  int steps = 5, batch = 2, inputs = 7, hidden = 4;
  std::string more = "";
  std::string outputs = "%y, %h, %c";
};

std::string LstmText(const LstmShape& s) {
  const std::string d = s.direction == "bidirectional" ? "2" : "1";
  const std::string state = d + "," + N(s.batch) + "," + N(s.hidden);
  std::string text = "graph g {\n  input %x : f32[" + N(s.steps) + "," + N(s.batch) + "," +
                     N(s.inputs) + "]\n  input %h0 : f32[" + state + "]\n  const %c0 : f32[" +
                     state + "] = random 6\n  const %w : f32[" + d + "," + N(4 * s.hidden) + "," +
                     N(s.inputs) + "] = random 3\n  const %r : f32[" + d + "," + N(4 * s.hidden) +
                     "," + N(s.hidden) + "] = random 4\n  const %b : f32[" + d + "," +
                     N(8 * s.hidden) + "] = random 5\n  const %p : f32[" + d + "," +
                     N(3 * s.hidden) + "] = random 7\n  const %l : i32[" + N(s.batch) + "] = [";
  for (int i = 0; i < s.batch; ++i) text += (i > 0 ? ", " : "") + N(1 + (s.steps + i) % s.steps);
  text += "]\n  " + s.outputs + " = LSTM(%x, %w, %r" + s.more + ") {direction = \"" + s.direction +
          "\", hidden_size = " + N(s.hidden) + "}\n";
  for (const std::string name : {"%y", "%h", "%c"}) {
    if (s.outputs.find(name) != std::string::npos) text += "  output " + name + "\n";
  }
  return text + "}";
}

// Two layers of a text recogniser: what lies between them and behind them moves the directions.
std::string StackedLstmText(int steps, int hidden) {
  const std::string h = N(hidden);
  const std::string both = N(2 * hidden);
  const std::string rows = N(4 * hidden);
  return "graph g {\n  input %x : f32[2," + N(steps) + ",6]\n  const %w1 : f32[2," + rows +
         ",6] = random 3\n  const %r1 : f32[2," + rows + "," + h +
         "] = random 4\n  const %b1 : f32[2," + N(8 * hidden) +
         "] = random 5\n  const %w2 : f32[2," + rows + "," + both +
         "] = random 6\n  const %r2 : f32[2," + rows + "," + h + "] = random 7\n  const %f : f32[" +
         both +
         ",9] = random 8\n  const %s : i64[3] = [0, 0, -1]\n"
         "  %t = Transpose(%x) {perm = [1, 0, 2]}\n"
         "  %a, %ah, %ac = LSTM(%t, %w1, %r1, %b1) {direction = \"bidirectional\"}\n"
         "  %m = Transpose(%a) {perm = [0, 2, 1, 3]}\n  %n = Reshape(%m, %s)\n"
         "  %e = LSTM(%n, %w2, %r2, _, _, %ah, %ac) {direction = \"bidirectional\"}\n"
         "  %g = Transpose(%e) {perm = [2, 0, 1, 3]}\n  %o = Reshape(%g, %s)\n"
         "  %p = MatMul(%o, %f)\n  %y = Softmax(%p)\n  output %y\n  output %ac\n}";
}

/// One GRU or RNN, like LstmShape.
struct CellShape {
  std::string label;
  int steps = 5, batch = 2, inputs = 7, hidden = 4;
  std::string more = "";
  std::string outputs = "%y, %h";
  std::string attrs = "";
};

std::string CellText(const std::string& op, const std::string& direction, const CellShape& s) {
  const std::string d = direction == "bidirectional" ? "2" : "1";
  const int gates = op == "GRU" ? 3 : 1;
  const std::string rows = N(gates * s.hidden);
  std::string text = "graph g {\n  input %x : f32[" + N(s.steps) + "," + N(s.batch) + "," +
                     N(s.inputs) + "]\n  input %h0 : f32[" + d + "," + N(s.batch) + "," +
                     N(s.hidden) + "]\n  const %w : f32[" + d + "," + rows + "," + N(s.inputs) +
                     "] = random 3\n  const %r : f32[" + d + "," + rows + "," + N(s.hidden) +
                     "] = random 4\n  const %b : f32[" + d + "," + N(2 * gates * s.hidden) +
                     "] = random 5\n  const %l : i32[" + N(s.batch) + "] = [";
  for (int i = 0; i < s.batch; ++i) text += (i > 0 ? ", " : "") + N(1 + (s.steps + i) % s.steps);
  text += "]\n  const %full : i32[" + N(s.batch) + "] = [";
  for (int i = 0; i < s.batch; ++i) text += (i > 0 ? ", " : "") + N(s.steps);
  text += "]\n  " + s.outputs + " = " + op + "(%x, %w, %r" + s.more + ") {direction = \"" +
          direction + "\", hidden_size = " + N(s.hidden) + s.attrs + "}\n";
  for (const std::string name : {"%y", "%h"}) {
    if (s.outputs.find(name) != std::string::npos) text += "  output " + name + "\n";
  }
  return text + "}";
}

/// Activations of this name for each direction.
std::string Activations(const std::string& name, const std::string& direction) {
  const std::string one = "\"" + name + "\"";
  return ", activations = [" + one + (direction == "bidirectional" ? ", " + one : "") + "]";
}

void AddCells(const std::string& op, const std::string& direction, const std::string& attrs,
              std::vector<GraphCase>& cases) {
  for (const CellShape& shape :
       {CellShape{.label = "plain"}, CellShape{.label = "biased", .hidden = 17, .more = ", %b"},
        CellShape{.label = "state", .batch = 3, .more = ", %b, _, %h0"},
        CellShape{.label = "one_step", .steps = 1, .more = ", %b, _, %h0"},
        CellShape{.label = "sequence_alone", .steps = 12, .batch = 1, .outputs = "%y"},
        CellShape{.label = "last_alone", .inputs = 1, .more = ", %b", .outputs = "_, %h"},
        CellShape{.label = "lengths", .batch = 4, .more = ", %b, %l, %h0"},
        CellShape{.label = "full_lengths", .batch = 4, .more = ", %b, %full, %h0"},
        CellShape{.label = "wide", .batch = 5, .inputs = 40, .hidden = 64, .more = ", %b"},
        CellShape{.label = "chunks", .steps = 3, .batch = 35, .hidden = 24, .more = ", %b"}}) {
    CellShape typed = shape;
    typed.attrs = attrs;
    cases.push_back(
        {op + "_" + direction + "_" + shape.label + attrs, CellText(op, direction, typed)});
  }
}

std::vector<GraphCase> GruCases() {
  std::vector<GraphCase> cases;
  AddCells("GRU", "forward", "", cases);
  AddCells("GRU", "bidirectional", "", cases);
  AddCells("GRU", "bidirectional", ", linear_before_reset = 1", cases);
  AddCells("GRU", "reverse", ", linear_before_reset = 1", cases);
  AddCells("GRU", "reverse", ", clip = 0.5", cases);
  return cases;
}

std::vector<GraphCase> RnnCases() {
  std::vector<GraphCase> cases;
  AddCells("RNN", "reverse", "", cases);
  AddCells("RNN", "bidirectional", Activations("Relu", "bidirectional"), cases);
  AddCells("RNN", "bidirectional", Activations("Softsign", "bidirectional"), cases);
  return cases;
}

std::vector<GraphCase> RecurrentCases() {
  std::vector<GraphCase> cases;
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    for (const LstmShape& shape :
         {LstmShape{.label = "plain"}, LstmShape{.label = "biased", .hidden = 17, .more = ", %b"},
          LstmShape{.label = "states", .batch = 3, .more = ", %b, _, %h0, %c0"},
          LstmShape{.label = "one_state", .steps = 1, .more = ", _, _, _, %c0"},
          LstmShape{.label = "sequence_alone", .steps = 12, .batch = 1, .outputs = "%y"},
          LstmShape{.label = "last_alone", .inputs = 1, .more = ", %b", .outputs = "_, %h"},
          LstmShape{.label = "cell_alone", .hidden = 1, .outputs = "_, _, %c"},
          LstmShape{.label = "lengths", .batch = 4, .more = ", %b, %l, %h0, %c0"},
          LstmShape{.label = "peepholes", .more = ", %b, _, %h0, %c0, %p"},
          LstmShape{.label = "chunks", .steps = 3, .batch = 35, .hidden = 24, .more = ", %b"},
          LstmShape{.label = "wide", .batch = 5, .inputs = 40, .hidden = 64, .more = ", %b"}}) {
      LstmShape turned = shape;
      turned.direction = direction;
      cases.push_back({direction + "_" + shape.label, LstmText(turned)});
    }
  }
  cases.push_back({"stacked", StackedLstmText(9, 20)});
  return cases;
}

}  // namespace

std::vector<CaseFamily> RecurrentFamilies() {
  return {
      {"recurrent", RecurrentCases}, {"gated_recurrent", GruCases}, {"plain_recurrent", RnnCases}};
}

}  // namespace msc
