// `vkformer data`: corpora that are made, not found.

#include "models/data/number_words.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

using Part = NumberSplit::Part;

struct CorpusPart {
  Part part;
  const char* name;
};
constexpr CorpusPart corpus_parts[] = {{Part::train, "train"}, {Part::valid, "valid"}, {Part::test, "test"}};

/// One line a number; the caller commits.
std::unique_ptr<AtomicFile> write_lines(const std::filesystem::path& path, const NumberSplit& split, Part part,
                                        const NumberWords& words) {
  constexpr size_t piece = 1 << 20;
  auto file = std::make_unique<AtomicFile>(path);
  std::string lines;
  const auto flush = [&] {
    file->write(std::as_bytes(std::span(lines)));
    lines.clear();
  };
  for (int64_t i = 0; i < split.size(part); ++i) {
    lines += words.spell(split.number(part, i)) + '\n';
    if (lines.size() >= piece) flush();
  }
  flush();
  return file;
}

}  // namespace

void write_numbers(const NumbersFlags& flags) {
  if (flags.source == flags.target)
    throw UsageError(fmt::format("source and target are both '{}'; give two languages", flags.source));
  const NumberSplit split(flags.split);
  const std::string languages[] = {flags.source, flags.target};
  const NumberWords words[] = {NumberWords(flags.source), NumberWords(flags.target)};
  const std::filesystem::path folder = flags.out;
  std::filesystem::create_directories(folder);
  const auto path = [&](const char* name, size_t side) { return folder / fmt::format("{}.{}", name, languages[side]); };
  for (const CorpusPart& part : corpus_parts)
    for (const size_t side : {size_t{0}, size_t{1}})
      check(!std::filesystem::exists(path(part.name, side)), "{} is there already; give a new --out",
            path(part.name, side).generic_string());
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const CorpusPart& part : corpus_parts)
    for (const size_t side : {size_t{0}, size_t{1}})
      files.push_back(write_lines(path(part.name, side), split, part.part, words[side]));
  for (const auto& file : files) file->commit();
  const auto pair = [&](const char* name) {
    return fmt::format("{} {}", path(name, 0).generic_string(), path(name, 1).generic_string());
  };
  print(
      "{} pairs to train on, {} for validation, {} for test: vkformer train models/configs/tiny-numbers.json "
      "--pairs {} --valid {} --out RUN\n",
      split.size(Part::train), split.size(Part::valid), split.size(Part::test), pair("train"), pair("valid"));
}

}  // namespace vkformer
