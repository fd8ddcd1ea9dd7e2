// The loops over one band of a forest, on its bare arrays.
#pragma once

#include "cpu/cclabel/forest.hpp"

namespace regions {

// How many bits are set.
uint32_t count_row(const Word* row, int words);

// Unites what touches; larger roots are linked below smaller ones, so roots are first runs.
void unite_band(uint32_t* parent, const Contacts& contacts, const Word* lower, const Word* upper,
                uint32_t lower_first, uint32_t upper_first, int words);

// Links each node first..end - 1 to its grandparent (path halving), and lists the births: runs that
// still are their own parent. Returns how many they are.
uint32_t halve_paths(uint32_t* parent, uint32_t first, uint32_t end, uint32_t* birth);

// Moves the births without a pixel in `upper` behind the others; `below` is workspace.
void order_births(uint32_t* birth, uint32_t count, uint32_t first_run, const Word* starts,
                  const Word* upper, const Word* lower, int words, uint32_t* below);

// Gives each node first..end - 1 its parent's label.
void label_runs(const uint32_t* parent, uint32_t* label, uint32_t first, uint32_t end);

}  // namespace regions
