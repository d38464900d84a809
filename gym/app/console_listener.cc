#include "gym/app/console_listener.h"

#include "gym/app/stop.h"

namespace msc::gym {

void ConsoleListener::ReportProgress(const std::string& text) {
  line_.Show(text);
}

void ConsoleListener::ReportLine(const std::string& text) {
  line_.PrintLine(text);
}

void ConsoleListener::Warn(const std::string& text) {
  line_.PrintLine("mscgym: " + text);
}

bool ConsoleListener::StopRequested() {
  return msc::gym::StopRequested();
}

}  // namespace msc::gym
