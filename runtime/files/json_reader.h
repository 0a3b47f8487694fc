#pragma once
// The events of a JSON parser made a value; internal to json_file.cpp.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Builds the value in time that grows with the text alone (a value with n members is no slower than n values), and
/// refuses what the library takes in silence: one key twice in an object, and nesting that recursion could not survive.
/// `name` is what errors call the text.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(std::string_view name) : name_(name) {}
  /// What was read. Once.
  nlohmann::json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in texts
  bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
  bool key(string_t& key) override;
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
  bool end_array() override { return close(); }
  /// Throws what the parser found; json_file.cpp says where that is.
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override;

 private:
  bool add(nlohmann::json value) {
    place(std::move(value));
    return true;
  }
  nlohmann::json& place(nlohmann::json value);
  bool open(nlohmann::json container);
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;  ///< the objects and lists around what comes next
  nlohmann::json* member_ = nullptr;   ///< of the innermost object, whose key was read
};

}  // namespace vkformer
