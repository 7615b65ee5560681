// A folder that replaces "/" during a test, with only the files that the test needs.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

namespace isthmus::host {

class FixtureTree {
public:
  FixtureTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "isthmus-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    root_ = pattern;
  }
  ~FixtureTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FixtureTree(const FixtureTree&) = delete;
  FixtureTree& operator=(const FixtureTree&) = delete;

  const std::filesystem::path& root() const { return root_; }

  FixtureTree& file(const std::filesystem::path& relative, std::string_view text) {
    std::filesystem::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative) << text;
    return *this;
  }

  FixtureTree& folder(const std::filesystem::path& relative) {
    std::filesystem::create_directories(root_ / relative);
    return *this;
  }

  FixtureTree& link(const std::filesystem::path& relative, const std::filesystem::path& target) {
    std::filesystem::create_directories((root_ / relative).parent_path());
    std::filesystem::create_symlink(target, root_ / relative);
    return *this;
  }

private:
  std::filesystem::path root_;
};

}  // namespace isthmus::host
