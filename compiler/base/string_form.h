#pragma once

namespace msc {

/// How fields.h reads and writes a T that JSON holds as a string, such as an enum. To be
/// specialized, with
///
///   static std::string Write(const T& value);
///   static T Read(const std::string& text);  // throws UserError
template <class T>
struct StringForm;

/// A field that JSON holds as a string with the JSON text of `value`. For a field list:
///
///   JsonText recipe{self.recipe};
///   visit("recipe", recipe, "settings of the training");
template <class T>
struct JsonText {
  T& value;
};
template <class T>
JsonText(T&) -> JsonText<T>;

}  // namespace msc
