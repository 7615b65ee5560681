// The libraries export exactly what their headers declare.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <isthmus/isthmus.h>

namespace isthmus::test {
namespace {

using Names = std::set<std::string>;

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Names declared(const char* header, const char* macro) {
  const std::string text = text_of(header);
  const std::regex declaration(std::string(macro) + R"([^;(]*?(\w+)\s*\()");
  Names names;
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
    names.insert((*at)[1]);
  names.erase("__attribute__");  // used in the macro's own definition
  return names;
}

// The words in column `column`, from 0, of a program's output.
Names words(const std::string& command, std::size_t column) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  Names names;
  std::array<char, 4096> line{};
  while (fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::istringstream fields(line.data());
    std::string word;
    for (std::size_t field = 0; field <= column; ++field) fields >> word;
    names.insert(word.substr(0, word.find('@')));
  }
  return names;
}

// Sanitizers add their own symbols.
Names exported(const char* library, const std::string& prefix) {
  Names names;
  for (const std::string& name : words(std::string("nm -D --defined-only ") + library, 2)) {
    const bool foreign = name.rfind("__", 0) == 0 || name.rfind("_Z", 0) == 0;
    if (name.rfind(prefix, 0) == 0 || !foreign) names.insert(name);
  }
  return names;
}

std::string soname(const char* library) {
  const Names lines =
      words(std::string("readelf -d ") + library + " | grep SONAME | tr -d '[]'", 4);
  return lines.size() == 1 ? *lines.begin() : "none";
}

// Its C++ exports are in tests/golden/exported_symbols.txt.
TEST(Exports, LibisthmusExportsItsHeaderForC) {
  const Names names = declared(ISTHMUS_H, "ISTHMUS_API");
  EXPECT_TRUE(names.contains("isthmus_window_open"));
  Names found = exported(LIBISTHMUS, "isthmus_");
  std::erase_if(found, [](const std::string& name) { return name.rfind("ISTHMUS_", 0) == 0; });
  EXPECT_EQ(found, names);
}

TEST(Exports, LibgdrapiExportsItsHeaderAndTheSymbolOfOldPrograms) {
  Names names = declared(GDRAPI_H, "ISTHMUS_GDR_API");
  EXPECT_EQ(names.size(), 16U);
  names.insert("gdr_get_info");
  EXPECT_EQ(exported(LIBGDRAPI, "gdr_"), names);
}

TEST(Exports, TheLibrariesHaveTheNamesThatProgramsLookFor) {
  EXPECT_EQ(soname(LIBGDRAPI), "libgdrapi.so.2");
  const std::string version = isthmus_version();
  EXPECT_EQ(soname(LIBISTHMUS), "libisthmus.so." + version.substr(0, version.find('.')));
}

}  // namespace
}  // namespace isthmus::test
