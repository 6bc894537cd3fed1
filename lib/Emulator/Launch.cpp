//===- Launch.cpp - Starts the waves of a launch --------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state in which a wave starts: LLVM's AMDGPUUsage, sections "Initial
// Kernel Execution State" and "Kernel Descriptor".
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/Executor.h"

#include "Operation.h"

#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace kimi::emulator;
namespace hsa = llvm::amdhsa;

/// LDS that one workgroup can have on gfx950, in bytes.
constexpr uint32_t MaxLds = 160 * 1024;
/// Kernel argument segments are 64-byte aligned, so that much beyond their end
/// can be read by a wide scalar load.
constexpr uint32_t KernargAlignment = 64;
/// AQL kernel dispatch packet, in bytes.
constexpr uint32_t PacketSize = 64;

namespace {

/// The kernel argument segment: what the caller passed, and the hidden
/// arguments that the kernel declares.
class Kernarg {
public:
  Kernarg(uint32_t size) {
    uint32_t padded = std::max<uint32_t>(llvm::alignTo(size, KernargAlignment),
                                         KernargAlignment);
    storage.resize(padded + KernargAlignment);
    uintptr_t address = reinterpret_cast<uintptr_t>(storage.data());
    begin =
        storage.data() + (llvm::alignTo(address, KernargAlignment) - address);
    this->size = padded;
  }
  void put(uint32_t offset, const void *data, uint32_t bytes) {
    std::copy_n(static_cast<const uint8_t *>(data), bytes, begin + offset);
    written.emplace_back(offset, bytes);
  }
  template <typename T> void put(uint32_t offset, T value, uint32_t bytes) {
    put(offset, static_cast<const void *>(&value),
        std::min<uint32_t>(bytes, sizeof(T)));
  }
  /// The bytes, as a mask, of the dword at `offset` that hold no value.
  uint32_t undefinedBits(uint32_t offset) const {
    uint32_t bits = ~0u;
    for (auto [begin, bytes] : written)
      for (unsigned i = 0; i < 4; ++i)
        if (offset + i >= begin && offset + i < begin + bytes)
          bits &= ~(0xffu << 8 * i);
    return bits;
  }
  /// Maps the segment; only what was put holds values.
  llvm::Error map(Memory &memory) {
    if (llvm::Error error = memory.map(
            begin, size, Memory::ReadOnly | Memory::Padded, "kernel arguments"))
      return error;
    for (auto [offset, bytes] : written)
      llvm::cantFail(memory.markInitialized(begin + offset, bytes));
    return llvm::Error::success();
  }

  uint8_t *begin;
  uint32_t size;
  std::vector<std::pair<uint32_t, uint32_t>> written;

private:
  std::vector<uint8_t> storage;
};

/// Unmaps what a launch has mapped.
class ScopedMappings {
public:
  explicit ScopedMappings(Memory &memory) : memory(memory) {}
  ~ScopedMappings() {
    for (const void *address : addresses)
      llvm::consumeError(memory.unmap(address));
  }
  void add(const void *address) { addresses.push_back(address); }

private:
  Memory &memory;
  std::vector<const void *> addresses;
};

} // namespace

static llvm::Error checkDispatch(const Kernel &kernel,
                                 const Dispatch &dispatch) {
  auto fail = [&](const std::string &message) {
    return llvm::createStringError("kernel '" + kernel.name + "': " + message);
  };
  uint64_t groups = 1, items = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (dispatch.workgroups[i] == 0)
      return fail(llvm::formatv("the grid {0},{1},{2} is empty",
                                dispatch.workgroups[0], dispatch.workgroups[1],
                                dispatch.workgroups[2]));
    if (dispatch.workgroupSize[i] == 0)
      return fail(llvm::formatv(
          "the workgroup size {0},{1},{2} is empty", dispatch.workgroupSize[0],
          dispatch.workgroupSize[1], dispatch.workgroupSize[2]));
    groups *= dispatch.workgroups[i];
    items *= std::min<uint64_t>(dispatch.workgroupSize[i], 1u << 16);
    if (groups > UINT32_MAX)
      return fail("the grid has more than 2^32-1 workgroups");
  }
  const uint32_t *required = kernel.requiredWorkgroupSize;
  if (required[0] &&
      !std::equal(required, required + 3, dispatch.workgroupSize))
    return fail(llvm::formatv(
        "the workgroup size is {0},{1},{2}, but the kernel requires "
        "{3},{4},{5}",
        dispatch.workgroupSize[0], dispatch.workgroupSize[1],
        dispatch.workgroupSize[2], required[0], required[1], required[2]));
  uint32_t limit = kernel.maxWorkgroupSize ? kernel.maxWorkgroupSize : 1024;
  if (items > std::min(limit, 1024u))
    return fail(llvm::formatv("a workgroup of {0} work-items is over the "
                              "limit of {1}",
                              items, std::min(limit, 1024u)));
  uint64_t lds = uint64_t(kernel.ldsSize) + dispatch.dynamicLdsSize;
  if (lds > MaxLds)
    return fail(llvm::formatv("{0} bytes of LDS are over the limit of {1}", lds,
                              MaxLds));
  size_t needed = 0;
  for (const KernelArgument &argument : kernel.arguments)
    if (!argument.isHidden())
      needed = std::max<size_t>(needed, argument.offset + argument.size);
  if (kernel.arguments.empty())
    needed = kernel.kernargSize;
  if (dispatch.kernarg.size() < needed ||
      dispatch.kernarg.size() > std::max<size_t>(kernel.kernargSize, needed))
    return fail(llvm::formatv("{0} bytes of arguments were passed; the kernel "
                              "takes {1}",
                              dispatch.kernarg.size(), needed));
  if (kernel.scratchSize ||
      (kernel.rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_PRIVATE_SEGMENT))
    return fail("scratch memory is not modelled");
  return llvm::Error::success();
}

/// Fills in hidden arguments (AMDGPUUsage, metadata, `.value_kind`). Others
/// stay uninitialised, so that a kernel that reads one is told.
static void putHiddenArguments(const Kernel &kernel, const Dispatch &dispatch,
                               Kernarg &kernarg) {
  unsigned dimensions =
      dispatch.workgroups[2] * dispatch.workgroupSize[2] > 1   ? 3
      : dispatch.workgroups[1] * dispatch.workgroupSize[1] > 1 ? 2
                                                               : 1;
  for (const KernelArgument &argument : kernel.arguments) {
    if (!argument.isHidden() ||
        uint64_t(argument.offset) + argument.size > kernarg.size)
      continue;
    llvm::StringRef kind = argument.valueKind;
    auto put = [&](uint64_t value) {
      kernarg.put(argument.offset, value, argument.size);
    };
    for (unsigned i = 0; i < 3; ++i) {
      char axis = "xyz"[i];
      if (kind == std::string("hidden_block_count_") + axis)
        put(dispatch.workgroups[i]);
      else if (kind == std::string("hidden_group_size_") + axis)
        put(dispatch.workgroupSize[i]);
      else if (kind == std::string("hidden_remainder_") + axis ||
               kind == std::string("hidden_global_offset_") + axis)
        put(0);
    }
    if (kind == "hidden_grid_dims")
      put(dimensions);
    else if (kind == "hidden_dynamic_lds_size")
      put(dispatch.dynamicLdsSize);
    else if (kind == "hidden_none")
      put(0);
  }
}

/// The AQL packet that the dispatch pointer names.
static void fillPacket(uint8_t *packet, const Kernel &kernel,
                       const Dispatch &dispatch, const Kernarg &kernarg) {
  using namespace llvm::support::endian;
  std::fill_n(packet, PacketSize, 0);
  write16le(packet, 2); // a kernel dispatch
  write16le(packet + 2, 3);
  for (unsigned i = 0; i < 3; ++i) {
    write16le(packet + 4 + 2 * i, dispatch.workgroupSize[i]);
    write32le(packet + 12 + 4 * i,
              dispatch.workgroups[i] * dispatch.workgroupSize[i]);
  }
  write32le(packet + 24, kernel.scratchSize);
  write32le(packet + 28, kernel.ldsSize + dispatch.dynamicLdsSize);
  write64le(packet + 40, reinterpret_cast<uintptr_t>(kernarg.begin));
}

/// Sets the registers that the hardware sets before the first instruction.
static llvm::Error initialize(Wave &wave, const Kernel &kernel,
                              const Dispatch &dispatch, const Kernarg &kernarg,
                              const uint8_t *packet) {
  unsigned sgpr = 0;
  auto put = [&](uint32_t value) {
    if (sgpr >= SgprLimit)
      return;
    wave.scalar[sgpr] = value;
    wave.scalarUndefined[sgpr++] = 0;
  };
  auto put64 = [&](uint64_t value) {
    put(uint32_t(value));
    put(uint32_t(value >> 32));
  };
  auto has = [&](unsigned mask) { return (kernel.properties & mask) != 0; };
  auto unsupported = [&](const char *what) {
    return llvm::createStringError("kernel '" + kernel.name + "': " + what +
                                   " is not modelled");
  };
  if (kernel.rsrc1 & hsa::COMPUTE_PGM_RSRC1_GFX9_PLUS_FP16_OVFL)
    return unsupported("the f16 overflow mode");
  // User SGPRs, in this order.
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER))
    return unsupported("the private segment buffer");
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_PTR))
    put64(reinterpret_cast<uintptr_t>(packet));
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_QUEUE_PTR))
    sgpr += 2; // undefined
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_KERNARG_SEGMENT_PTR))
    put64(reinterpret_cast<uintptr_t>(kernarg.begin));
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_ID))
    put64(0);
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_FLAT_SCRATCH_INIT))
    sgpr += 2; // undefined
  if (has(hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE))
    put(kernel.scratchSize);
  unsigned preload =
      AMDHSA_BITS_GET(kernel.kernargPreload, hsa::KERNARG_PRELOAD_SPEC_LENGTH);
  unsigned preloadAt =
      AMDHSA_BITS_GET(kernel.kernargPreload, hsa::KERNARG_PRELOAD_SPEC_OFFSET);
  for (unsigned i = 0; i < preload; ++i) {
    uint32_t offset = 4 * (preloadAt + i);
    if (offset + 4 > kernarg.size)
      return llvm::createStringError(
          "kernel '" + kernel.name +
          "': it preloads arguments beyond the argument segment");
    put(llvm::support::endian::read32le(kernarg.begin + offset));
    wave.scalarUndefined[sgpr - 1] = kernarg.undefinedBits(offset);
  }
  unsigned userSgprs = AMDHSA_BITS_GET(
      kernel.rsrc2, hsa::COMPUTE_PGM_RSRC2_GFX6_GFX120_USER_SGPR_COUNT);
  if (sgpr > userSgprs)
    return llvm::createStringError(
        llvm::formatv("kernel '{0}': the descriptor enables {1} user SGPRs "
                      "but counts {2}",
                      kernel.name, sgpr, userSgprs));
  // System SGPRs follow the counted user ones.
  sgpr = userSgprs;
  const uint32_t *id = wave.workgroup->id;
  if (kernel.rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_X)
    put(id[0]);
  if (kernel.rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Y)
    put(id[1]);
  if (kernel.rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Z)
    put(id[2]);
  if (kernel.rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_INFO)
    sgpr += 1; // undefined

  // Work-item ids are packed in v0, ten bits each.
  unsigned ids = AMDHSA_BITS_GET(
      kernel.rsrc2, hsa::COMPUTE_PGM_RSRC2_ENABLE_VGPR_WORKITEM_ID);
  const uint32_t *size = dispatch.workgroupSize;
  uint32_t items = size[0] * size[1] * size[2];
  wave.exec = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint32_t item = wave.index * WaveSize + lane;
    if (item >= items)
      break;
    uint32_t x = item % size[0], y = item / size[0] % size[1],
             z = item / size[0] / size[1];
    wave.lanes(0)[lane] =
        x | (ids >= 1 ? y << 10 : 0) | (ids >= 2 ? z << 20 : 0);
    wave.exec |= uint64_t(1) << lane;
  }
  wave.define(0, wave.exec);

  auto modeField = [&](uint32_t value, unsigned shift) {
    wave.mode |= value << shift;
  };
  modeField(
      AMDHSA_BITS_GET(kernel.rsrc1, hsa::COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_32),
      ModeRound32Shift);
  modeField(AMDHSA_BITS_GET(kernel.rsrc1,
                            hsa::COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_16_64),
            ModeRound64Shift);
  modeField(AMDHSA_BITS_GET(kernel.rsrc1,
                            hsa::COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_32),
            ModeDenorm32Shift);
  modeField(AMDHSA_BITS_GET(kernel.rsrc1,
                            hsa::COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_16_64),
            ModeDenorm64Shift);
  if (kernel.rsrc1 & hsa::COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_DX10_CLAMP)
    wave.mode |= ModeDX10Clamp;
  if (kernel.rsrc1 & hsa::COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_IEEE_MODE)
    wave.mode |= ModeIEEE;
  return llvm::Error::success();
}

/// Vector memory loads in program order ahead of the first wait for them.
static uint64_t countLoadsBeforeFirstWait(const Program &program,
                                          const Kernel &kernel, int32_t entry) {
  uint64_t loads = 0;
  uint32_t end = kernel.entryOffset + kernel.codeSize;
  for (size_t i = entry; i < program.size(); ++i) {
    const Instruction &inst = program[i];
    if (!inst.operation || (kernel.codeSize && inst.offset >= end))
      break;
    if (inst.operation->cls == InstructionClass::GlobalLoad)
      ++loads;
    unsigned bits = inst.immediate & 0xffff;
    if (inst.operation->cls == InstructionClass::Wait &&
        ((bits & 15) | (bits >> 14 & 3) << 4) < 63)
      break;
  }
  return loads;
}

llvm::Expected<Profile> kimi::emulator::launch(const CodeObject &codeObject,
                                               Memory &memory,
                                               llvm::StringRef name,
                                               const Dispatch &dispatch,
                                               const LaunchOptions &options) {
  llvm::Expected<const Kernel *> found = codeObject.findKernel(name);
  if (!found)
    return found.takeError();
  const Kernel &kernel = **found;
  if (llvm::Error error = checkDispatch(kernel, dispatch))
    return error;

  ScopedMappings mappings(memory);
  uint32_t kernargSize =
      std::max<uint32_t>(kernel.kernargSize, dispatch.kernarg.size());
  Kernarg kernarg(kernargSize);
  std::copy(dispatch.kernarg.begin(), dispatch.kernarg.end(), kernarg.begin);
  for (const KernelArgument &argument : kernel.arguments)
    if (!argument.isHidden())
      kernarg.written.emplace_back(argument.offset, argument.size);
  if (kernel.arguments.empty() && !dispatch.kernarg.empty())
    kernarg.written.emplace_back(0, dispatch.kernarg.size());
  putHiddenArguments(kernel, dispatch, kernarg);
  if (llvm::Error error = kernarg.map(memory))
    return error;
  mappings.add(kernarg.begin);
  std::vector<uint8_t> packet(PacketSize);
  fillPacket(packet.data(), kernel, dispatch, kernarg);
  if (llvm::Error error =
          memory.map(packet.data(), PacketSize,
                     Memory::ReadOnly | Memory::Initialized, "dispatch packet"))
    return error;
  mappings.add(packet.data());
  // Constants lie in the code object's image.
  llvm::ArrayRef<uint8_t> image = codeObject.getImage();
  if (!image.empty() &&
      !memory.find(reinterpret_cast<uintptr_t>(image.data()), image.size())) {
    if (llvm::Error error =
            memory.map(const_cast<uint8_t *>(image.data()), image.size(),
                       Memory::ReadOnly | Memory::Initialized, "code object"))
      return error;
    mappings.add(image.data());
  }
  memory.beginLaunch();

  ExecutionContext context{
      codeObject.getProgram(), memory, options, {}, {}, 0, 0, 0, 0, true};
  context.kernelName = kernel.name;
  context.kernelOffset = kernel.entryOffset;
  context.programAddress = codeObject.getProgramAddress();
  context.kernargBegin = reinterpret_cast<uintptr_t>(kernarg.begin);
  context.kernargEnd = context.kernargBegin + kernarg.size;
  context.d16Preserves = codeObject.d16LoadsPreserve();

  // Firmware that preloads arguments skips the prologue that loads them for
  // firmware that does not.
  uint32_t entryOffset = kernel.entryOffset;
  if (AMDHSA_BITS_GET(kernel.kernargPreload, hsa::KERNARG_PRELOAD_SPEC_LENGTH))
    entryOffset += 256;
  int32_t entry = context.program.indexAt(entryOffset);
  if (entry < 0)
    return llvm::createStringError("kernel '" + kernel.name +
                                   "': its entry is no instruction");

  const uint32_t *size = dispatch.workgroupSize;
  uint32_t items = size[0] * size[1] * size[2];
  uint32_t waves = (items + WaveSize - 1) / WaveSize;
  Profile &profile = context.profile;
  profile.wavesPerWorkgroup = waves;
  profile.vgprs = kernel.allocatedVgprs;
  profile.accVgprs = kernel.allocatedAccVgprs;
  profile.sgprs = kernel.allocatedSgprs;
  profile.ldsBytes = kernel.ldsSize + dispatch.dynamicLdsSize;
  profile.loadsBeforeFirstVectorWait =
      countLoadsBeforeFirstWait(context.program, kernel, entry);

  Workgroup workgroup(context);
  for (uint32_t i = 0; i < waves; ++i) {
    workgroup.waves.push_back(std::make_unique<Wave>(kernel.allocatedVgprs,
                                                     kernel.allocatedAccVgprs,
                                                     kernel.allocatedSgprs));
    workgroup.waves.back()->workgroup = &workgroup;
    workgroup.waves.back()->index = i;
  }
  for (uint32_t z = 0; z < dispatch.workgroups[2]; ++z)
    for (uint32_t y = 0; y < dispatch.workgroups[1]; ++y)
      for (uint32_t x = 0; x < dispatch.workgroups[0]; ++x) {
        workgroup.id[0] = x;
        workgroup.id[1] = y;
        workgroup.id[2] = z;
        workgroup.lds.reset(profile.ldsBytes);
        for (std::unique_ptr<Wave> &wave : workgroup.waves) {
          wave->reset();
          wave->pc = entry;
          if (llvm::Error error =
                  initialize(*wave, kernel, dispatch, kernarg, packet.data()))
            return error;
        }
        if (llvm::Error error = workgroup.run())
          return error;
        ++workgroup.linearId;
        ++profile.workgroups;
        profile.waves += waves;
      }
  return profile;
}
