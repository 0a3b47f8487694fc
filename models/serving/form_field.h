#pragma once
// A part of a form, as multipart/form-data has them.

#include <string>

namespace vkformer {

struct FormField {
  std::string name;
  std::string file;  ///< the name that the client calls a file by; "" for what is none
  std::string value = {};
};

}  // namespace vkformer
