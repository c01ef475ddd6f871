/// \file
/// An owned, movable host array without initialisation. std::vector would first write zeros from one thread, which costs
/// time and places every page on that thread's NUMA node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/huge_pages.h"

namespace chatty {

/// Owner of `size()` objects of a trivially copyable T in host memory, aligned to 64 bytes; or a view of memory with another
/// owner (View), aligned as T is. A new array's contents are indeterminate unless a fill value is given. Move-only;
/// `Clone()` copies. Throws OutOfMemoryError.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "Array holds plain data");

 public:
  /// The element type, as in the standard library's containers.
  using value_type = T;

  Array() = default;
  /// `size` elements with indeterminate contents.
  explicit Array(std::size_t size) : data_(Allocate(size), {}), size_(size) {}
  /// `size` copies of `fill`.
  Array(std::size_t size, const T& fill) : Array(size) { std::fill_n(data_.get(), size, fill); }
  /// A copy of these elements.
  Array(std::initializer_list<T> values) : Array(values.size()) { std::copy(values.begin(), values.end(), begin()); }
  /// A copy of `values`.
  explicit Array(std::span<const T> values) : Array(values.size()) { std::copy(values.begin(), values.end(), begin()); }
  /// `size` elements with indeterminate contents, in huge pages where the system has them. Use it for arrays that are filled
  /// completely.
  static Array InHugePages(std::size_t size) {
    Array array;
    array.data_ = Pointer(Allocate(size, AllocateAligned), {});
    array.size_ = size;
    return array;
  }
  /// A writable view of the `size` elements at `data`. The array shares `owner`, which keeps the memory valid. Without an
  /// owner the caller keeps it valid.
  static Array View(T* data, std::size_t size, std::shared_ptr<const void> owner = nullptr) {
    Array array;
    array.data_ = Pointer(data, {true, std::move(owner)});
    array.size_ = size;
    return array;
  }

  /// Leaves `other` empty.
  Array(Array&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  /// Frees this array's memory; leaves `other` empty.
  Array& operator=(Array&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// A copy.
  Array Clone() const { return Array(std::span<const T>(data(), size_)); }

  /// @{
  /// Elements and extent as in std::vector; `bytes()` is size() * sizeof(T). There are no bounds checks.
  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return data_.get()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }
  T& back() noexcept { return data_.get()[size_ - 1]; }
  const T& back() const noexcept { return data_.get()[size_ - 1]; }
  T* begin() noexcept { return data_.get(); }
  T* end() noexcept { return data_.get() + size_; }
  const T* begin() const noexcept { return data_.get(); }
  const T* end() const noexcept { return data_.get() + size_; }
  std::span<T> span() noexcept { return {data_.get(), size_}; }
  std::span<const T> span() const noexcept { return {data_.get(), size_}; }
  /// @}

  /// Shortens the array to its first `size` elements and keeps the memory. `size` is at most size().
  void Truncate(std::size_t size) noexcept { size_ = size; }

 private:
  struct Release {
    bool view = false;
    std::shared_ptr<const void> owner;
    void operator()(T* p) const noexcept {
      if (!view) std::free(p);
    }
  };
  using Pointer = std::unique_ptr<T[], Release>;

  static T* Allocate(std::size_t size, void* (*allocate)(std::size_t, std::size_t) = std::aligned_alloc) {
    if (size == 0) return nullptr;
    constexpr std::size_t kAlign = alignof(T) > 64 ? alignof(T) : 64;
    if (size > (static_cast<std::size_t>(-1) / 2 - kAlign) / sizeof(T)) {
      Throw<OutOfMemoryError>("an array of {} elements of {} bytes is larger than the address space", size, sizeof(T));
    }
    const std::size_t bytes = (size * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    void* p = allocate(kAlign, bytes);
    if (p == nullptr) Throw<OutOfMemoryError>("out of host memory: {} bytes were requested", bytes);
    return static_cast<T*>(p);
  }

  Pointer data_;
  std::size_t size_ = 0;
};

}  // namespace chatty
