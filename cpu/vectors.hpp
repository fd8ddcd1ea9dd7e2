// Vectors of the machine, named by how many 32-bit lanes they have. (g++ 12 takes no template
// argument for a vector's size.) Functions that take or give one are inlined, so no calling
// convention is concerned.
#pragma once

#include <cstdint>

#pragma GCC diagnostic ignored "-Wpsabi"

namespace regions {

// Of kLanes lanes: Floats, Signed and Unsigned; Words are the same bits by 64, Bytes a byte a lane.
template <int kLanes>
struct VectorTypes;
template <>
struct VectorTypes<4> {
  typedef float Floats __attribute__((vector_size(16)));
  typedef int32_t Signed __attribute__((vector_size(16)));
  typedef uint32_t Unsigned __attribute__((vector_size(16)));
  typedef uint64_t Words __attribute__((vector_size(16)));
  typedef int8_t Bytes __attribute__((vector_size(4)));
};
template <>
struct VectorTypes<8> {
  typedef float Floats __attribute__((vector_size(32)));
  typedef int32_t Signed __attribute__((vector_size(32)));
  typedef uint32_t Unsigned __attribute__((vector_size(32)));
  typedef uint64_t Words __attribute__((vector_size(32)));
  typedef int8_t Bytes __attribute__((vector_size(8)));
};
template <>
struct VectorTypes<16> {
  typedef float Floats __attribute__((vector_size(64)));
  typedef int32_t Signed __attribute__((vector_size(64)));
  typedef uint32_t Unsigned __attribute__((vector_size(64)));
  typedef uint64_t Words __attribute__((vector_size(64)));
  typedef int8_t Bytes __attribute__((vector_size(16)));
};

}  // namespace regions
