#include "gym/python/python_listener.h"

#include <string_view>

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace msc::gym {
namespace {

/// Does nothing where sys.stderr is None, as in a program without a console.
void WriteToSysStderr(std::string_view text) {
  const py::gil_scoped_acquire acquired;
  const py::object file = py::module_::import("sys").attr("stderr");
  if (file.is_none()) return;
  file.attr("write")(py::str(text.data(), text.size()));
  file.attr("flush")();
}

}  // namespace

PythonListener::PythonListener() : line_(WriteToSysStderr, /*terminal=*/false) {}

void PythonListener::ReportProgress(const std::string& text) {
  line_.Show(text);
}

void PythonListener::ReportLine(const std::string& text) {
  line_.PrintLine(text);
}

void PythonListener::Warn(const std::string& text) {
  line_.PrintLine("mscgym: " + text);
}

bool PythonListener::StopRequested() {
  const py::gil_scoped_acquire acquired;
  interrupted_ = interrupted_ || PyErr_CheckSignals() != 0;
  return interrupted_;
}

}  // namespace msc::gym
