#pragma once
// Classes by their names.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

class ClassPlaces {
 public:
  /// `names` must outlive it.
  explicit ClassPlaces(const std::vector<std::string>& names);
  /// The place of `name` among the names. Throws Error, which begins with `place` and says that no training `what`
  /// ("row has the label") it, for one that is not there.
  int32_t of(std::string_view name, std::string_view what, std::string_view place) const;

 private:
  const std::vector<std::string>& names_;
  std::map<std::string_view, int32_t> places_;
};

}  // namespace vkformer
