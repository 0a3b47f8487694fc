#pragma once
// Running text as sub-words.

#include "models/data/window_data.h"
#include "tools/cli/run_files.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

/// Throws UsageError for a token file without the folder of a tokenizer.
void check_tokenizer(const std::filesystem::path& folder, const RunFile& file);

/// The ids of a text, or of a token file with this tokenizer's ids. Throws Error, naming the file, for what is neither.
TokenSequence tokens_of_file(const TokenizerFiles& files, const Tokenizer& tokenizer, const RunFile& file);

/// Of the file with this role; for validation that of --valid or, without it, the end of the text.
TextSplit split_of_files(const std::function<TokenSequence(const RunFile&)>& tokens_of, const TrainFlags& flags,
                         const std::vector<RunFile>& files, const std::string& role);
/// Of sub-words.
TextSplit split_of_files(const TokenizerFiles& tokens, const Tokenizer& tokenizer, const TrainFlags& flags,
                         const std::vector<RunFile>& files, const std::string& role);

/// "900 tokens of text to train on, 100 for validation"
std::string describe(const TextSplit& text);

/// The tokenizer of such a job: see tokenizer_folder(), or made of the text. Throws as check_tokenizer().
TokenizerFiles tokenizer_of_text(const TrainFlags& flags, const std::filesystem::path& checkpoint, const RunFile& file,
                                 TokenizerTraining::Layout layout);

/// Sets the positions of a window where the flags have none: usual_positions, or what the model has if that is less.
/// Throws Error for more than it has.
void set_window(TrainFlags& flags, const Model& model);

/// How the flags want windows.
WindowData::Settings window_settings(const TrainFlags& flags);

}  // namespace vkformer
