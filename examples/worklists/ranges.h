/// \file
/// What the examples on worklists share: devices, and which of them owns a vertex.
#pragma once

#include <chatty/chatty.h>
#include <chatty/framework/worklist/worklist.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

namespace worklists {

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

}  // namespace worklists
