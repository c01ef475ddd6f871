#include "arrays.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/gpu_memory.h"
#include "chatty/core/parallel.h"

namespace chatty::python {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;

/// Calls body(T{}) for the type of the array's entries. Throws InputError for a type that is none of a number.
template <class Body>
auto WithDtype(const AnyArray& array, std::string_view name, Body&& body) {
  const nb::dlpack::dtype type = array.dtype();
  if (type.lanes == 1) {
    switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
      case nb::dlpack::dtype_code::Int:
        if (type.bits == 8) return body(std::int8_t{});
        if (type.bits == 16) return body(std::int16_t{});
        if (type.bits == 32) return body(std::int32_t{});
        if (type.bits == 64) return body(std::int64_t{});
        break;
      case nb::dlpack::dtype_code::UInt:
        if (type.bits == 8) return body(std::uint8_t{});
        if (type.bits == 16) return body(std::uint16_t{});
        if (type.bits == 32) return body(std::uint32_t{});
        if (type.bits == 64) return body(std::uint64_t{});
        break;
      case nb::dlpack::dtype_code::Float:
        if (type.bits == 32) return body(float{});
        if (type.bits == 64) return body(double{});
        break;
      default:
        break;
    }
  }
  Throw<InputError>("{} have a dtype that is no integer of 8 to 64 bits, float32 or float64; convert them with astype",
                    name);
}

/// Keeps an array of Python in memory. The last copy of the pointer may end on any thread.
std::shared_ptr<const void> Keep(const AnyArray& array) {
  return {new AnyArray(array), [](const AnyArray* kept) {
            if (!nb::is_alive()) return;  // the interpreter has ended, and the array with it
            const nb::gil_scoped_acquire lock;
            delete kept;
          }};
}

void CheckShape(const AnyArray& array, std::string_view name) {
  if (array.ndim() != 1)
    Throw<InputError>("{} have {} dimensions; they must be a one-dimensional array", name, array.ndim());
  if (array.size() > 1 && array.stride(0) != 1) Throw<InputError>("{} are not contiguous; copy them first", name);
}

template <class T>
Array<T> View(const AnyArray& array) {
  return Array<T>::View(const_cast<T*>(static_cast<const T*>(array.data())), array.size(), Keep(array));
}

/// Each entry by convert(entry, index).
template <class To, class From, class Convert>
Array<To> Converted(const AnyArray& array, Convert&& convert) {
  const auto* from = static_cast<const From*>(array.data());
  Array<To> to(array.size());
  const nb::gil_scoped_release released;
  ParallelChunks(array.size(), 0, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = convert(from[i], i);
  });
  return to;
}

[[noreturn]] void ThrowNotWhole(std::string_view name, std::size_t bytes) {
  Throw<InputError>("{} have the dtype float{}; vertices are whole numbers, so convert them with astype", name, 8 * bytes);
}

template <class T>
void ThrowNotVertex(std::string_view name, std::size_t i, T value, std::uint64_t limit) {
  Throw<InputError>("{}: entry {} is {}, which is no vertex: they are 0 to {}", name, i, value,
                    limit == 0 ? std::uint64_t{kNoVertex} - 1 : limit - 1);
}

/// A NumPy array of this shape, and where its entries are.
std::pair<nb::object, void*> NewNumpy(const std::vector<std::int64_t>& shape, const std::string& dtype) {
  nb::list extents;
  for (const std::int64_t extent : shape) extents.append(extent);
  nb::object array = nb::module_::import_("numpy").attr("empty")(nb::tuple(extents), dtype.c_str());
  void* const entries = nb::cast<nb::ndarray<nb::device::cpu>>(array).data();
  return {std::move(array), entries};
}

/// What NumPy calls a type. Throws InputError for one that is none of a number.
std::string NumpyName(nb::dlpack::dtype type, std::string_view name) {
  const auto text = [&](char kind) { return fmt::format("{}{}", kind, type.bits / 8); };
  if (type.lanes == 1 && type.bits % 8 == 0) {
    switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
      case nb::dlpack::dtype_code::Int:
        return text('i');
      case nb::dlpack::dtype_code::UInt:
        return text('u');
      case nb::dlpack::dtype_code::Float:
        return text('f');
      case nb::dlpack::dtype_code::Bool:
        return text('b');
      default:
        break;
    }
  }
  Throw<InputError>("{} have a dtype that is no number here; convert them to float32 or to integers", name);
}

}  // namespace

Array<VertexId> VerticesOf(const AnyArray& array, std::string_view name, std::uint64_t limit) {
  CheckShape(array, name);
  return WithDtype(array, name, [&]<class T>(T) -> Array<VertexId> {
    if constexpr (std::is_floating_point_v<T>) {
      ThrowNotWhole(name, sizeof(T));
    } else {
      const std::uint64_t most = limit == 0 ? std::uint64_t{kNoVertex} : limit;
      const auto wrong = [most](T value) { return std::cmp_less(value, 0) || std::cmp_greater_equal(value, most); };
      if constexpr (sizeof(T) == sizeof(VertexId)) {
        const T* const entries = static_cast<const T*>(array.data());
        {
          const nb::gil_scoped_release released;
          ParallelChunks(array.size(), 0, kGrain, [&](std::size_t begin, std::size_t end) {
            bool any = false;
            for (std::size_t i = begin; i < end; ++i) any |= wrong(entries[i]);
            for (std::size_t i = begin; any && i < end; ++i) {
              if (wrong(entries[i])) ThrowNotVertex(name, i, entries[i], limit);
            }
          });
        }
        return View<VertexId>(array);
      } else {
        return Converted<VertexId, T>(array, [&](T value, std::size_t i) {
          if (wrong(value)) ThrowNotVertex(name, i, +value, limit);
          return static_cast<VertexId>(value);
        });
      }
    }
  });
}

Array<VertexId> ViewAsVertices(const AnyArray& array, std::string_view name) {
  CheckShape(array, name);
  return WithDtype(array, name, [&]<class T>(T) -> Array<VertexId> {
    if constexpr (std::is_floating_point_v<T>) {
      ThrowNotWhole(name, sizeof(T));
    } else {
      CHATTY_CHECK(sizeof(T) == sizeof(VertexId), "vertices of another width need a conversion");
      return View<VertexId>(array);
    }
  });
}

Array<EdgeIndex> OffsetsOf(const AnyArray& array, std::string_view name) {
  CheckShape(array, name);
  return WithDtype(array, name, [&]<class T>(T) -> Array<EdgeIndex> {
    if constexpr (std::is_floating_point_v<T>) {
      Throw<InputError>("{} have the dtype float{}; offsets are whole numbers", name, 8 * sizeof(T));
    } else if constexpr (sizeof(T) == sizeof(EdgeIndex)) {
      return View<EdgeIndex>(array);
    } else {
      return Converted<EdgeIndex, T>(array, [](T value, std::size_t) { return static_cast<EdgeIndex>(value); });
    }
  });
}

Weights WeightsOf(const AnyArray& array, std::string_view name) {
  CheckShape(array, name);
  return WithDtype(array, name, [&]<class T>(T) -> Weights {
    if constexpr (std::is_same_v<T, std::int32_t>) {
      return View<std::int32_t>(array);
    } else if constexpr (std::is_floating_point_v<T>) {
      const auto check = [&](T weight, std::size_t i) {
        if (std::isnan(weight)) Throw<InputError>("{}: entry {} is nan; each edge needs a number", name, i);
        const auto narrow = static_cast<float>(weight);
        if (std::isinf(narrow) && !std::isinf(weight)) {
          Throw<InputError>("{}: entry {} is {}, which float32 does not hold; scale the weights", name, i, weight);
        }
        return narrow;
      };
      if constexpr (std::is_same_v<T, float>) {
        const float* const weights = static_cast<const float*>(array.data());
        {
          const nb::gil_scoped_release released;
          ParallelChunks(array.size(), 0, kGrain, [&](std::size_t begin, std::size_t end) {
            bool any = false;
            for (std::size_t i = begin; i < end; ++i) any |= weights[i] != weights[i];
            for (std::size_t i = begin; any && i < end; ++i) static_cast<void>(check(weights[i], i));
          });
        }
        return View<float>(array);
      } else {
        return Converted<float, T>(array, check);
      }
    } else {
      return Converted<std::int32_t, T>(array, [&](T value, std::size_t i) {
        if (!std::in_range<std::int32_t>(
                static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value))) {
          Throw<InputError>("{}: entry {} is {}, which int32 does not hold; convert the weights to float32", name, i,
                            +value);
        }
        return static_cast<std::int32_t>(value);
      });
    }
  });
}

VertexArray VertexDataOf(const AnyArray& array, std::string_view name) {
  CheckShape(array, name);
  return WithDtype(array, name, [&]<class T>(T) -> VertexArray {
    if constexpr (sizeof(T) < 4) {
      Throw<InputError>("{} have numbers of {} bits; vertex data have 32 or 64", name, 8 * sizeof(T));
    } else {
      return VertexArray(VertexArray::Values(Array<T>(std::span(static_cast<const T*>(array.data()), array.size()))));
    }
  });
}

void Own(Adjacency& adjacency) {
  adjacency.neighbours = adjacency.neighbours.Clone();
  adjacency.offsets = adjacency.offsets.Clone();
  adjacency.weights = Clone(adjacency.weights);
}

nb::object ToNumpy(ErasedValues values) {
  auto* const kept = new Array<std::byte>(std::move(values.bytes));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Array<std::byte>*>(p); });
  const std::size_t size = kept->size() / SizeOf(values.type);
  return WithType(values.type, [&]<class T>(T) {
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(reinterpret_cast<T*>(kept->data()), {size}, owner));
  });
}

nb::object ToDlpack(std::shared_ptr<std::byte> values, ScalarType type, std::size_t size, int gpu) {
  using Owner = std::shared_ptr<std::byte>;
  void* const data = values.get();
  auto* const kept = new Owner(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Owner*>(p); });
  return WithType(type, [&]<class T>(T) {
    return nb::cast(nb::ndarray<T, nb::ndim<1>, nb::device::cuda>(static_cast<T*>(data), {size}, owner, {}, nb::dtype<T>(),
                                                                  nb::device::cuda::value, gpu));
  });
}

nb::object FromAddress(std::uintptr_t address, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides, const std::string& dtype, std::size_t width,
                       std::uintptr_t stream, std::string_view name) {
  if (strides.size() != shape.size())
    Throw<InputError>("{} have {} dimensions and {} strides; there is one for each", name, shape.size(), strides.size());
  std::size_t count = 1, pitch = width;
  for (const std::int64_t extent : shape) {
    if (extent < 0) Throw<InputError>("{} have a negative extent", name);
    count *= static_cast<std::size_t>(extent);
  }
  bool contiguous = true;
  std::int64_t expected = static_cast<std::int64_t>(width);
  for (std::size_t d = strides.size(); d-- > 0; expected *= shape[d])
    contiguous = contiguous && (shape[d] == 1 || strides[d] == expected);
  if (!contiguous && count > 1) {
    if (shape.size() != 1 || strides[0] < static_cast<std::int64_t>(width)) {
      Throw<InputError>("{} are neither contiguous nor one column of an array; copy them first", name);
    }
    pitch = static_cast<std::size_t>(strides[0]);
  }
  auto [array, data] = NewNumpy(shape, dtype);
  if (count > 0) {
    const auto* const values = reinterpret_cast<const void*>(address);
    const nb::gil_scoped_release released;
    const std::optional<int> gpu = GpuOf(values);
    if (!gpu) {
      Throw<CapabilityError>("{} are in the memory of a GPU that this {}; copy them to host memory first{}", name,
                             CudaDeviceCount() > 0 ? "process cannot use" : "build, or this machine, does not know",
                             CudaDeviceCount() > 0 ? "" : ", or use a build with CUDA where the GPU is");
    }
    CopyFromGpu(data, *gpu, values, count, width, pitch, reinterpret_cast<void*>(stream));
  }
  return std::move(array);
}

nb::object FromDlpack(const nb::ndarray<nb::ro>& array, std::string_view name) {
  const nb::dlpack::dtype type = array.dtype();
  const auto width = static_cast<std::int64_t>(type.bits / 8);
  std::vector<std::int64_t> shape, strides;
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    shape.push_back(static_cast<std::int64_t>(array.shape(d)));
    strides.push_back(array.stride(d) * width);
  }
  return FromAddress(reinterpret_cast<std::uintptr_t>(array.data()), shape, strides, NumpyName(type, name),
                     static_cast<std::size_t>(width), 0, name);
}

}  // namespace chatty::python
