/// \file
/// NumPy arrays as arrays of the library, and back: a view where the types allow one, else a checked conversion. Arrays in a
/// GPU's memory: by DLPack, whose consumer takes the address and whose deleter ends the owner.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/vertex_data.h"

namespace chatty::python {

namespace nb = nanobind;

/// Any NumPy array of numbers, perhaps one that must not be written.
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

/// Vertices from an array of whole numbers. A view of arrays of 32 bits; others are converted. `limit`: throws InputError
/// for an entry that is negative or not below it, with its position; 0 leaves values below 2^32 - 1 to the caller. `name` is
/// the array's in errors.
Array<VertexId> VerticesOf(const AnyArray& array, std::string_view name, std::uint64_t limit);
/// A view of an array of whole numbers of 32 bits, whose entries the caller checks. `name` is the array's in errors.
Array<VertexId> ViewAsVertices(const AnyArray& array, std::string_view name);
/// Offsets from an array of whole numbers. A view of arrays of 64 bits; others are converted. Negative entries become ones
/// that are larger than any number of edges.
Array<EdgeIndex> OffsetsOf(const AnyArray& array, std::string_view name);
/// Weights: views of int32 and float32 arrays; other whole numbers become int32, other real ones float32. Throws InputError
/// for a weight that is not a number or does not fit, with its position.
Weights WeightsOf(const AnyArray& array, std::string_view name);
/// A copy with the type of a program's vertex data. Throws InputError for another type.
VertexArray VertexDataOf(const AnyArray& array, std::string_view name);

/// Copies of arrays that are views; others as they are.
void Own(Adjacency& adjacency);

/// A NumPy array that owns these values.
nb::object ToNumpy(ErasedValues values);
/// A DLPack capsule of these values, `size` entries in the memory of a GPU, and of their owner. Its deleter may run on any
/// thread.
nb::object ToDlpack(std::shared_ptr<std::byte> values, ScalarType type, std::size_t size, int gpu);

/// A NumPy array with the entries of an array of one dimension, or of a contiguous one of two, in a GPU's memory: `array` is
/// its DLPack capsule. Copies behind the work of CUDA's default stream. `name` is the array's in errors. Throws InputError
/// for a type that NumPy does not have and for other layouts, CapabilityError in a build without CUDA.
nb::object FromDlpack(const nb::ndarray<nb::ro>& array, std::string_view name);
/// As FromDlpack, from an address: `shape` and `strides` in bytes, a NumPy dtype as text and the width of an entry, as in a
/// __cuda_array_interface__. `stream` is that which the copy waits for, 1 for the default stream. Throws InputError unless
/// there is a stride for each extent.
nb::object FromAddress(std::uintptr_t address, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides, const std::string& dtype, std::size_t width,
                       std::uintptr_t stream, std::string_view name);

/// A NumPy array of these entries, which must not be written. `owner` keeps them in memory.
template <class T>
nb::object ViewAsNumpy(const T* data, std::size_t size, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {size}, owner));
}

}  // namespace chatty::python
