// What every yardstick in C++ has in common.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

inline std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// For each line of standard input, does the work once and answers with how much was handled and the nanoseconds it took.
template <class Work>
int take_turns(Work work) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    const std::size_t handled = work();
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    std::cout << handled << ' ' << time.count() << std::endl;
  }
  return 0;
}
