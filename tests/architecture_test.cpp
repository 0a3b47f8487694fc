// docs/architecture.svg names the verbs, the families, the parts of models/ and the ops that the tree has; and rules of
// all kernels and headers.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;
using NameSet = std::set<std::string>;

const fs::path project_folder = fs::path(VKFORMER_FIXTURES).parent_path().parent_path();

std::string text_of_file(const fs::path& file) {
  std::ifstream stream(file);
  REQUIRE(stream);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The first group of each match.
NameSet first_groups(const std::string& text, const char* expression) {
  const std::regex pattern(expression);
  NameSet names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

NameSet drawn_names(const std::string& kind) {
  return first_groups(text_of_file(project_folder / "docs/architecture.svg"),
                      ("<tspan class=\"" + kind + "\">([a-z0-9_-]+)</tspan>").c_str());
}

NameSet folders_of(const fs::path& folder, const NameSet& others) {
  NameSet names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !others.contains(entry.path().filename().generic_string()))
      names.insert(entry.path().filename().generic_string());
  return names;
}

}  // namespace

TEST_CASE("the picture of the levels shows every verb, family, part and op, and no others") {
  NameSet verbs;
  for (const fs::directory_entry& entry : fs::directory_iterator(project_folder / "tools/cli"))
    if (entry.path().filename().generic_string().starts_with("verbs_"))
      verbs.merge(first_groups(text_of_file(entry.path()), R"(app\.add_subcommand\(\s*"([a-z]+)\")"));
  CHECK(verbs.size() > 20);
  CHECK(drawn_names("verb") == verbs);
  CHECK(drawn_names("op") == folders_of(project_folder / "shaders", {"common"}));
  CHECK(drawn_names("part") == folders_of(project_folder / "models", {"families", "configs"}));
  NameSet families;
  for (const std::string& types :
       first_groups(text_of_file(project_folder / "models/families/registry.cpp"), R"(\{\{(\"[^}]*\")\})"))
    families.merge(first_groups(types, R"(\"([a-z0-9_-]+)\")"));
  CHECK(drawn_names("family") == families);
}

TEST_CASE("kernels number rows of workgroups and ask no more of a dispatch's size, so that it can be cut") {
  const auto count = [](const std::string& text, std::string_view part) {
    size_t times = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
    return times;
  };
  size_t all = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(project_folder / "shaders")) {
    if (entry.path().extension() != ".comp" && entry.path().extension() != ".glsl") continue;
    CAPTURE(entry.path());
    const std::string text = text_of_file(entry.path());
    CHECK(count(text, "gl_NumWorkGroups") == count(text, "gl_WorkGroupID.y * gl_NumWorkGroups.x"));
    all += count(text, "gl_NumWorkGroups");
  }
  CHECK(all > 20);
}

// Two types of one name in one program are one to the linker, which keeps either's functions.
TEST_CASE("no two headers define types of one name") {
  std::map<std::string, std::string> header_of;
  for (const char* folder : {"runtime", "models", "shaders", "tools/cli"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(project_folder / folder)) {
      if (entry.path().extension() != ".h") continue;
      const std::string text = text_of_file(entry.path()), header = entry.path().generic_string();
      std::string space;
      for (const std::string& name : first_groups(text, R"(\nnamespace ([\w:]+) \{)")) space += name + "::";
      for (const std::string& type : first_groups(text, R"(\n(?:struct|class|enum class|enum) (\w+)[^;\n]*\{)")) {
        const auto [found, is_new] = header_of.emplace(space + type, header);
        CAPTURE(space + type, found->second, header);
        CHECK(is_new);
      }
    }
  CHECK(header_of.size() > 500);
}
