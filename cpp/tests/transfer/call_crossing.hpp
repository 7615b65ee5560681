// A SlotCrossing that needs no kernel.
#pragma once

#include <span>

#include <gtest/gtest.h>

#include "driver/driver.hpp"
#include "transfer/staging/slot_crossing.hpp"

namespace isthmus::transfer {

/// Moves the bytes of slots by a call for each, in the stream that it is given.
class CallCrossing final : public SlotCrossing {
public:
  CallCrossing(const Driver& driver, CUdeviceptr begin) : driver_(driver), begin_(begin) {}
  void enqueue(std::span<const LinkCopy> copies, CUstream stream) const override {
    for (const LinkCopy& copy : copies) {
      EXPECT_EQ(copy.device % kGrainBytes, 0U);
      if (copy.to_device)
        driver_.call(symbol::memcpy_htod_async)(begin_ + copy.device, copy.host, copy.size_bytes,
                                                stream);
      else
        driver_.call(symbol::memcpy_dtoh_async)(copy.host, begin_ + copy.device, copy.size_bytes,
                                                stream);
    }
  }

private:
  const Driver& driver_;
  CUdeviceptr begin_;
};

}  // namespace isthmus::transfer
