#pragma once
// JSON files read with suspicion: every error names the file and the place in it.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Files above this many bytes are refused; the largest tokenizer.json in use has about 35 MB.
inline constexpr size_t json_size_limit = size_t{64} << 20;
/// Deeper nesting is refused: printing and copying a value recurse once a level.
inline constexpr int json_depth_limit = 64;
/// Of members that an object may have where their order counts.
inline constexpr size_t json_ordered_limit = 1000;

/// Parses a whole text. `name` is what errors call it, usually the file's path. Throws Error on what is not JSON (with
/// line and column), on nesting deeper than json_depth_limit, and on an object that has one key twice.
nlohmann::json parse_json(std::string_view text, std::string_view name);
/// The same with the keys of objects in the order of the text. Objects of more than json_ordered_limit members are
/// refused, too: each key is looked for among all before it.
nlohmann::ordered_json parse_json_in_order(std::string_view text, std::string_view name);

/// One object of a JSON file. Copies are cheap and share the file's content.
class JsonObject {
 public:
  /// Throws Error like parse_json, and when the file cannot be read, is too large, or is not an object. Infinity, which
  /// Python writes, is null.
  static JsonObject load(const std::filesystem::path& path, size_t size_limit = json_size_limit);
  static JsonObject parse(std::string_view text, std::string name);
  /// One that was made by the program.
  static JsonObject make(nlohmann::json value, std::string name);

  /// Whether the key is there and not null.
  bool has(std::string_view key) const;
  /// Whether it is there, be it null.
  bool contains(std::string_view key) const;
  /// From now on keeps each key that this object, or a copy of it, is asked for.
  void keep_asked(std::shared_ptr<std::set<std::string, std::less<>>> asked) { asked_ = std::move(asked); }
  /// What errors call this object: "gpt2/config.json", or "gpt2/config.json, rope_scaling" for an object in it.
  const std::string& name() const { return name_; }
  const nlohmann::json& value() const { return *here_; }

 private:
  friend JsonObject require_object(const JsonObject&, std::string_view);
  friend std::vector<JsonObject> require_objects(const JsonObject&, std::string_view);
  JsonObject(std::shared_ptr<const nlohmann::json> file, const nlohmann::json* here, std::string name);

  std::shared_ptr<const nlohmann::json> file_;
  const nlohmann::json* here_;
  std::string name_;
  std::shared_ptr<std::set<std::string, std::less<>>> asked_;
};

// The field `key`. Each throws Error, naming file and key, when the field is absent, null, of another type or outside
// [min, max]. A whole number is also a fine number; 3.0 is not an integer.
int64_t require_integer(const JsonObject&, std::string_view key, int64_t min, int64_t max);
double require_number(const JsonObject&, std::string_view key, double min, double max);
bool require_boolean(const JsonObject&, std::string_view key);
std::string require_string(const JsonObject&, std::string_view key);
JsonObject require_object(const JsonObject&, std::string_view key);
/// An array of objects.
std::vector<JsonObject> require_objects(const JsonObject&, std::string_view key);

// The same with a value for an absent or null field.
int64_t integer_or(const JsonObject&, std::string_view key, int64_t otherwise, int64_t min, int64_t max);
double number_or(const JsonObject&, std::string_view key, double otherwise, double min, double max);
bool boolean_or(const JsonObject&, std::string_view key, bool otherwise);
std::string string_or(const JsonObject&, std::string_view key, std::string otherwise);

/// Writes `value`, indented and with a final newline, in place of the file at `path` (see AtomicFile). Throws Error,
/// also for strings that are not UTF-8.
void write_json(const std::filesystem::path& path, const nlohmann::json& value);

}  // namespace vkformer
