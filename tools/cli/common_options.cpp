// Options that several verbs have, and what all options of a kind may be.

#include "tools/cli/command_line.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/ranges.h>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/memory_limits.h"
#include "tools/cli/output.h"
#include "tools/cli/verbs.h"

namespace vkformer {

void add_profile_flag(CLI::App& command, CommonFlags& flags) {
  command
      .add_option("--profile", flags.profile,
                  "time every dispatch: table on stderr unless --quiet, and into FILE a page (.html) or a trace that "
                  "Perfetto opens and `vkformer profile` compares (.json)")
      ->type_name("FILE")
      ->check(result_file({".html", ".json"}));
}

void add_facts_flag(CLI::App& command, CommonFlags& flags) {
  command
      .add_option(
          "--facts", flags.facts,
          "choose and launch kernels as on the device of this file (`vkformer devices --json` there), within its "
          "limits; subgroups stay this device's")
      ->type_name("FILE");
}

void add_segment_flag(CLI::App& command, CommonFlags& flags) {
  command
      .add_option(
          "--segment-seconds", flags.segment_seconds,
          "estimated device time of one submission: less for a device that its driver resets; tiny values split "
          "every dispatch")
      ->check(positive())
      ->capture_default_str();
}

void add_memory_flags(CLI::App& command, CommonFlags& flags) {
  const auto parsed_by = [](bool device) {
    return CLI::Validator(
        [device](std::string& text) {
          try {
            memory_limits(device ? text : "", device ? "" : text);
            return text.empty() ? std::string("it is empty; give a size like 6G") : std::string();
          } catch (const Error& error) {
            return std::string(error.what());
          }
        },
        "");
  };
  command
      .add_option("--device-memory", flags.device_memory,
                  "what may be used of the device's memory, like 6G or 80% of what is free: weights beyond it lie in "
                  "host memory, which the device reads over its bus (default: all that is free)")
      ->type_name("SIZE")
      ->check(parsed_by(true));
  command
      .add_option("--host-memory", flags.host_memory,
                  "most host memory for such weights, like 16G; 0: a model without room on the device is refused")
      ->type_name("SIZE")
      ->check(parsed_by(false));
}

void add_device_flags(CLI::App& command, CommonFlags& flags) {
  command.add_option("-d,--device", flags.device,
                     "device number or part of its name (see 'vkformer devices'), or 'reference' for the CPU; "
                     "several, such as 0,1, share a model's layers");
  command
      .add_option("--tensor-split", flags.shares,
                  "how much of the weights each of several devices gets, such as 3,1 (default: by their free memory)")
      ->delimiter(',')
      ->check(positive());
}

void add_common_flags(CLI::App& command, CommonFlags& flags, bool several_devices) {
  if (several_devices)
    add_device_flags(command, flags);
  else
    command.add_option("-d,--device", flags.device,
                       "device number or part of its name (see 'vkformer devices'), or 'reference' for the CPU");
  add_profile_flag(command, flags);
  add_facts_flag(command, flags);
  add_memory_flags(command, flags);
  add_segment_flag(command, flags);
  add_tuning_flag(command, flags);
  command.add_flag("--json", flags.json, "machine-readable output");
  command.add_flag("-q,--quiet", flags.quiet, "results only");
}

void add_tuning_flag(CLI::App& command, CommonFlags& flags) {
  flags.tuning.clear();
  command
      .add_option(
          "--tuning", flags.tuning,
          "measured choices of kernels (see 'vkformer tune'; default: this device's own); none: heuristics only")
      ->type_name("FILE");
}

std::vector<std::string> weight_types() {
  std::vector<std::string> names;
  for (size_t i = 0; i < dtype_count; ++i)
    if (const auto type = static_cast<DType>(i); type != DType::i32) names.emplace_back(name_of(type));
  return names;
}

std::vector<std::string> precisions() { return {"f32", "f16", "bf16"}; }

CLI::Validator type_name() {
  return {[](std::string& name) {
            static const std::map<std::string, std::string> others{
                {"float32", "f32"}, {"fp32", "f32"}, {"float", "f32"},    {"float16", "f16"},
                {"fp16", "f16"},    {"half", "f16"}, {"bfloat16", "bf16"}};
            name = CLI::detail::to_lower(name);
            if (const auto found = others.find(name); found != others.end()) name = found->second;
            return std::string();
          },
          ""};
}

void add_weight_dtype(CLI::App& command, std::string& dtype, const char* help) {
  CLI::Option* option =
      command.add_option("--dtype", dtype, help)->transform(type_name())->check(CLI::IsMember(weight_types()));
  if (!dtype.empty()) option->capture_default_str();
}

void add_adapter(CLI::App& command, std::string& folder) {
  command.add_option("--adapter", folder, "an adapter (PEFT's folder, or a run's) of this model")->type_name("FOLDER");
}

void add_mmproj(CLI::App& command, std::string& file) {
  command
      .add_option("--mmproj", file,
                  "the eyes of a .gguf, as llama.cpp has them (default: of a folder its only *mmproj*.gguf)")
      ->type_name("FILE");
}

void add_text_file(CLI::App& command, std::string& file, std::initializer_list<CLI::Option*> others) {
  CLI::Option* option =
      command.add_option("-f,--file", file, "the text from a file, without its last line break")->type_name("FILE");
  for (CLI::Option* other : others) option->excludes(other);
}

void add_cache_dtype(CLI::App& command, std::string& dtype) {
  command
      .add_option(
          "--cache-dtype", dtype,
          "type of the keys and values that are kept of each position (default: on a GPU that of 16-bit weights, "
          "f16 beside encoded ones, else f32)")
      ->transform(type_name())
      ->check(CLI::IsMember(precisions()));
}

void add_stride(CLI::App& command, int64_t& stride) {
  command
      .add_option("--stride", stride,
                  "tokens that neighbouring windows of a long text share (default: 128, or a third of the context)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
}

void add_tune_flag(CLI::App& command, CommonFlags& flags) {
  command.add_flag("--tune", flags.tune,
                   "first measure kernels for nodes that were never measured here, and keep that");
}

CLI::Validator finite_number() {
  return {[](std::string& text) {
            const double value = std::strtod(text.c_str(), nullptr);
            const auto kept = static_cast<float>(value);  // as devices keep it
            if (std::isfinite(kept) && (kept != 0 || value == 0)) return std::string();
            return fmt::format("{} is no finite number{}", printable(text, 40),
                               std::isfinite(value) ? " that 32 bits hold" : "");
          },
          ""};
}

namespace {

/// Of numbers for which `fits`; others get `text` and `complaint`.
CLI::Validator numbers(std::function<bool(double)> fits, std::string complaint) {
  return {[=](std::string& text) {
            double value = 0;
            if (!CLI::detail::lexical_cast(text, value)) return fmt::format("{} is no number", in_quotes(text, 40));
            // Beyond 64 bits the library takes the largest integer instead, without a word.
            const bool whole = text.find_first_not_of("+-0123456789") == std::string::npos;
            if (whole && std::abs(value) >= 0x1p63) return fmt::format("{} is too large", printable(text, 40));
            return fits(value) ? std::string() : fmt::format("{} {}", printable(text, 40), complaint);
          },
          ""};
}

}  // namespace

CLI::Validator between(double least, double most) {
  return numbers([=](double value) { return value >= least && value <= most; },
                 fmt::format("is not between {} and {}", least, most));
}

CLI::Validator positive() {
  return numbers([](double value) { return value > 0; }, "is not above 0");
}

CLI::Validator not_negative() {
  return numbers([](double value) { return value >= 0; }, "is below 0");
}

CLI::Validator result_file(std::vector<std::string> endings) {
  return {[endings = std::move(endings)](std::string& file) {
            if (std::ranges::none_of(endings, [&](const std::string& ending) { return file.ends_with(ending); }))
              return fmt::format("{} does not end with {}", in_quotes(file, 60), fmt::join(endings, " or "));
            try {
              const AtomicFile probe(file);
            } catch (const Error& error) {
              return std::string(error.what());
            }
            return std::string();
          },
          ""};
}

}  // namespace vkformer
