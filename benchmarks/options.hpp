// Options of the programs of this folder: NAME=VALUE,VALUE...
#pragma once

#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The values of each option.
using Options = std::map<std::string, std::vector<std::string>>;

inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  return parts;
}

inline std::vector<std::size_t> numbers(const Options& options, const std::string& name) {
  std::vector<std::size_t> found;
  for (const std::string& text : options.at(name)) found.push_back(std::stoul(text));
  return found;
}

/// Runs a program with its defaults, but for what its arguments say. Gives its exit code.
template <typename Run>
int run_program(int argc, char** argv, Options options, Run run) try {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const auto known = options.find(word.substr(0, equals));
    if (equals == std::string::npos || known == options.end())
      throw std::invalid_argument("unknown option " + word);
    known->second = split(word.substr(equals + 1));
  }
  run(options);
  return std::cout.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
