#pragma once
// What the configs of several families say in the same way.

#include "runtime/files/json_file.h"

namespace vkformer {

/// Which of `known` the config's `architectures` names: its index. An absent key is the first, unless `required`.
/// Throws Error naming file and key for any other, several or none.
size_t architecture_of(const JsonObject& config, const std::vector<std::string>& known, bool required = false);

// Beyond these a config is taken for damaged.
inline constexpr int64_t most_width = 1 << 20;  ///< of layers, heads and what is in them
inline constexpr int64_t most_layers = 10000;
inline constexpr int64_t most_positions = 1 << 24;
inline constexpr int64_t most_rows = 1 << 24;  ///< of tables: vocabularies, segments
/// Most classes a classifier may have.
inline constexpr int64_t most_classes = int64_t{1} << 20;
/// The list under `key`, which has one of the `known` names for each of so many layers. Throws Error naming file and
/// key, and the first two names, where it is anything else.
std::vector<std::string> require_layer_names(const JsonObject& config, const char* key,
                                             const std::vector<std::string_view>& known, size_t layers);
/// Names of the classes: those of id2label, or LABEL_0 .. where the config gives only their number, num_labels (2).
/// Throws Error naming file and key for fewer than `fewest`.
std::vector<std::string> classes_of(const JsonObject& config, size_t fewest);
/// Throws Error for a problem_type whose loss is not a cross-entropy of classes.
void check_problem(const JsonObject& config);
/// What a classifier's logits mean.
enum class Problem : uint8_t {
  one_class,   ///< one of the classes holds: a softmax
  each_class,  ///< each has a sigmoid of its own: there is one alone, or several may hold
  number,      ///< the only one is a number (regression)
};
/// As problem_type says it or, where that is missing, pipelines of transformers have it. Throws Error for another, and
/// for a number beside others.
Problem problem_of(const JsonObject& config, size_t classes);

}  // namespace vkformer
