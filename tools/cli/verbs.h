#pragma once
// The flags of each verb; internal to command_line.cpp and verbs*.cpp, which alone include the command-line library: it
// takes the compiler longer than all else.

#include <CLI/CLI.hpp>

#include "tools/cli/commands.h"

namespace vkformer {

// Flags that several verbs have.
/// -d and what goes with it, of a verb for which several devices may share a model.
void add_device_flags(CLI::App& command, CommonFlags& flags);
void add_common_flags(CLI::App& command, CommonFlags& flags, bool several_devices = true);
void add_profile_flag(CLI::App& command, CommonFlags& flags);
/// --device-memory, --host-memory.
void add_memory_flags(CLI::App& command, CommonFlags& flags);
void add_segment_flag(CLI::App& command, CommonFlags& flags);
void add_facts_flag(CLI::App& command, CommonFlags& flags);
void add_tuning_flag(CLI::App& command, CommonFlags& flags);
void add_tune_flag(CLI::App& command, CommonFlags& flags);
/// Names of the types in which weights may be stored: f32, f16, bf16, q8_0, q4_k, ..
std::vector<std::string> weight_types();
/// --dtype, of stored weights: any of them.
void add_weight_dtype(CLI::App& command, std::string& dtype, const char* help);
/// --adapter.
void add_adapter(CLI::App& command, std::string& folder);
void add_mmproj(CLI::App& command, std::string& file);
/// -f, the text of a verb that takes one; `others`: what it excludes.
void add_text_file(CLI::App& command, std::string& file, std::initializer_list<CLI::Option*> others);
/// --cache-dtype, of keys and values.
void add_cache_dtype(CLI::App& command, std::string& dtype);
/// Names of the types that training computes in.
std::vector<std::string> precisions();
/// Types as llama.cpp and PyTorch write them become ours: "Q8_0" q8_0, "float16" f16.
CLI::Validator type_name();
void add_stride(CLI::App& command, int64_t& stride);

/// Refuses NaN, which is in every range of the command-line library, and infinities. All options of floats get it; one
/// whose type has another name in the help asks for it.
CLI::Validator finite_number();

/// Ranges of numbers. The command-line library's own write DBL_MAX with 309 digits, and 0.9999999 as 1.000000.
CLI::Validator between(double least, double most);
CLI::Validator positive();
CLI::Validator not_negative();

/// Refuses a file that could not be written when the work is done: with another ending than these, or in a folder that
/// takes none.
CLI::Validator result_file(std::vector<std::string> endings);

/// Notes the names of the options that are on the command line.
void remember_given(CLI::App& command, std::set<std::string>& given);

void add_train_verb(CLI::App& app);
void add_evaluate_verb(CLI::App& app);
/// generate, chat, translate
void add_generation_verbs(CLI::App& app);
/// train, those that write text, classify, fill, tag, answer, attention, info, convert, logits
void add_model_verbs(CLI::App& app);
/// data, tokens, encode, decode, score
void add_data_verbs(CLI::App& app);
/// devices, ops, conform, verify, bench, tune, pipelines, profile
void add_device_verbs(CLI::App& app);

}  // namespace vkformer
