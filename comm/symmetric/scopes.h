/// \file
/// The threads that make one call of a symmetric operation together. On host devices each of them is the calling thread.
#pragma once

#include "chatty/core/macros.h"

namespace chatty::symmetric {

/// The calling thread.
struct Thread {
  CHATTY_FN unsigned rank() const { return 0; }     ///< of the calling thread in the scope; 0 is the leader
  CHATTY_FN unsigned threads() const { return 1; }  ///< of the scope
  CHATTY_FN void Sync() const {}                    ///< a barrier of the scope, which orders its threads' memory
  /// A barrier that returns to every thread whether `value` is true of all threads.
  CHATTY_FN bool All(bool value) const { return value; }
};

/// The 32 lanes of the calling thread's warp, all of which make the call. Blocks have one dimension.
struct Warp {
  /// @{
  /// As of Thread.
#if CHATTY_DEVICE_CODE
  CHATTY_FN unsigned rank() const { return threadIdx.x % 32; }
  CHATTY_FN unsigned threads() const { return 32; }
  CHATTY_FN void Sync() const { __syncwarp(); }
  CHATTY_FN bool All(bool value) const {
    const bool all = __all_sync(0xffffffffu, value) != 0;
    __syncwarp();  // a vote alone orders no memory
    return all;
  }
#else
  CHATTY_FN unsigned rank() const { return 0; }
  CHATTY_FN unsigned threads() const { return 1; }
  CHATTY_FN void Sync() const {}
  CHATTY_FN bool All(bool value) const { return value; }
#endif
  /// @}
};

/// The threads of the calling thread's block, all of which make the call.
struct Block {
  /// @{
  /// As of Thread.
#if CHATTY_DEVICE_CODE
  CHATTY_FN unsigned rank() const { return threadIdx.x; }
  CHATTY_FN unsigned threads() const { return blockDim.x; }
  CHATTY_FN void Sync() const { __syncthreads(); }
  CHATTY_FN bool All(bool value) const { return __syncthreads_and(value) != 0; }
#else
  CHATTY_FN unsigned rank() const { return 0; }
  CHATTY_FN unsigned threads() const { return 1; }
  CHATTY_FN void Sync() const {}
  CHATTY_FN bool All(bool value) const { return value; }
#endif
  /// @}
};

/// The calling thread's block in its grid, which has one dimension. A host device is a grid of one block.
struct Grid {
#if CHATTY_DEVICE_CODE
  CHATTY_FN unsigned block() const { return blockIdx.x; }  ///< number of the block
  CHATTY_FN unsigned blocks() const { return gridDim.x; }  ///< of the grid
#else
  CHATTY_FN unsigned block() const { return 0; }   ///< number of the block
  CHATTY_FN unsigned blocks() const { return 1; }  ///< of the grid
#endif
  /// Number of the calling thread in the grid.
  CHATTY_FN unsigned rank() const { return block() * Block().threads() + Block().rank(); }
  CHATTY_FN unsigned threads() const { return blocks() * Block().threads(); }  ///< of the grid
};

}  // namespace chatty::symmetric
