// docs/architecture.svg names the verbs, the families, the parts of models/ and the ops that the tree has.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const fs::path project = fs::path(VKFORMER_FIXTURES).parent_path().parent_path();

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  REQUIRE(stream);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The first group of each match.
Names matches(const std::string& text, const char* expression) {
  const std::regex pattern(expression);
  Names names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

Names drawn(const std::string& kind) {
  return matches(content_of(project / "docs/architecture.svg"),
                 ("<tspan class=\"" + kind + "\">([a-z0-9_]+)</tspan>").c_str());
}

Names folders_of(const fs::path& folder, const Names& others) {
  Names names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !others.contains(entry.path().filename().string()))
      names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("the picture of the levels shows every verb, family, part and op, and no others") {
  Names verbs;
  for (const char* file : {"verbs_data.cpp", "verbs_devices.cpp", "verbs_models.cpp", "verbs_train.cpp"})
    verbs.merge(matches(content_of(project / "tools/cli" / file), R"(app\.add_subcommand\(\s*"([a-z]+)\")"));
  CHECK(verbs.size() > 20);
  CHECK(drawn("verb") == verbs);
  CHECK(drawn("op") == folders_of(project / "shaders", {"common"}));
  CHECK(drawn("part") == folders_of(project / "models", {"families", "configs"}));
  Names families;
  for (const std::string& types : matches(content_of(project / "models/families/registry.cpp"), R"(\{\{(\"[^}]*\")\})"))
    families.merge(matches(types, R"(\"([a-z0-9_]+)\")"));
  CHECK(drawn("family") == families);
}
