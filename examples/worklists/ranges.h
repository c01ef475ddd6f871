/// \file
/// What the examples on worklists share: devices, which of them owns a vertex, and data in a device's memory. Kernels of a
/// GPU reach only what is there; on a host device it is host memory.
#pragma once

#include <chatty/chatty.h>
#include <chatty/framework/worklist/worklist.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace worklists {

/// Throws UsageError with the usage for an option, or for more than `most` arguments.
inline void CheckArguments(int argc, char** argv, int most, std::string_view usage) {
  if (argc > most + 1 || (argc > 1 && std::string_view(argv[1]).starts_with("--"))) {
    chatty::Throw<chatty::UsageError>("usage: {}", usage);
  }
}

/// Whether the command line names a graph: "-" is the example's own.
inline bool IsNamed(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) != "-"; }

/// Each device owns a range of vertices.
struct Ranges {
  chatty::VertexId vertices, of_a_device;

  CHATTY_FN std::uint32_t Owner(chatty::VertexId v) const { return static_cast<std::uint32_t>(v / of_a_device); }
  CHATTY_FN chatty::VertexId Begin(std::size_t device) const {
    const auto begin = static_cast<chatty::VertexId>(device * of_a_device);
    return begin < vertices ? begin : vertices;
  }
};

/// The devices that --devices names, and their ranges.
struct Devices {
  Devices(const chatty::Graph& graph, std::string_view text) : owners(chatty::OpenDevices(chatty::ParseDevices(text))) {
    for (const auto& owner : owners) all.push_back(owner.get());
    const auto count = static_cast<chatty::VertexId>(all.size());
    ranges = {graph.vertices(), std::max<chatty::VertexId>(1, (graph.vertices() + count - 1) / count)};
  }
  std::vector<std::unique_ptr<chatty::Device>> owners;
  std::vector<chatty::Device*> all;  ///< not owned
  Ranges ranges{};
};

/// An array in a device's memory. The device must outlive it.
template <class T>
class OnDevice {
 public:
  OnDevice(chatty::Device& device, std::span<const T> values) : device_(&device) {
    device.MakeCurrent();
    buffer_ = chatty::Buffer<T>(device, values.size());
    device.CopyIn(buffer_.data(), values.data(), values.size_bytes(), device.stream());
    device.stream().Synchronize();
  }
  OnDevice(chatty::Device& device, std::size_t size, T value) : OnDevice(device, std::vector<T>(size, value)) {}

  T* data() const { return buffer_.data(); }
  std::vector<T> Read() const {
    std::vector<T> values(buffer_.size());
    device_->MakeCurrent();
    device_->CopyOut(values.data(), buffer_.data(), buffer_.bytes(), device_->stream());
    device_->stream().Synchronize();
    return values;
  }

 private:
  chatty::Device* device_;
  chatty::Buffer<T> buffer_;
};

/// The out-edges of a device's own vertices, as programs see them.
struct Rows {
  chatty::VertexId begin;              // the first own vertex
  const chatty::EdgeIndex* offsets;    // by own vertex, and one more
  const chatty::VertexId* neighbours;  // by own edge

  /// @{
  /// The own edges of v.
  CHATTY_FN chatty::EdgeIndex Begin(chatty::VertexId v) const { return offsets[v - begin] - offsets[0]; }
  CHATTY_FN chatty::EdgeIndex End(chatty::VertexId v) const { return offsets[v - begin + 1] - offsets[0]; }
  /// @}
};

/// Rows in the memory of device d.
class OwnRows {
 public:
  OwnRows(const Devices& devices, std::size_t d, const chatty::Graph& graph)
      : begin_(devices.ranges.Begin(d)),
        end_(devices.ranges.Begin(d + 1)),
        offsets_(*devices.all[d], std::span(graph.out().offsets.data() + begin_, end_ - begin_ + 1)),
        neighbours_(*devices.all[d], std::span(graph.out().neighbours.data() + graph.out().offsets[begin_],
                                               graph.out().offsets[end_] - graph.out().offsets[begin_])) {}

  chatty::VertexId begin() const { return begin_; }  ///< own vertices
  chatty::VertexId end() const { return end_; }
  std::size_t vertices() const { return end_ - begin_; }
  Rows ref() const { return {begin_, offsets_.data(), neighbours_.data()}; }

 private:
  chatty::VertexId begin_, end_;
  OnDevice<chatty::EdgeIndex> offsets_;
  OnDevice<chatty::VertexId> neighbours_;
};

}  // namespace worklists
