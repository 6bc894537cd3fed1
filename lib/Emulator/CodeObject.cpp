//===- CodeObject.cpp - Reads gfx950 ELF code objects ---------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/CodeObject.h"

#include "Metadata.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/AMDGPUMetadata.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <map>

using namespace kimi::emulator;
namespace ELF = llvm::ELF;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

/// Larger images are no kernels for which the emulator is meant; the limit
/// keeps a corrupt header from asking for the address space.
constexpr uint64_t MaxImageSize = uint64_t(1) << 28;

static llvm::Error malformed(const std::string &message) {
  return llvm::createStringError("not a loadable gfx950 code object: " +
                                 message);
}

size_t Kernel::explicitArguments() const {
  return llvm::count_if(arguments, [](const KernelArgument &argument) {
    return !argument.isHidden();
  });
}

uint64_t CodeObject::getProgramAddress() const {
  return reinterpret_cast<uintptr_t>(image.data()) + programOffset;
}

llvm::Expected<const Kernel *>
CodeObject::findKernel(llvm::StringRef name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  std::vector<llvm::StringRef> names;
  for (const Kernel &kernel : kernels)
    names.push_back(kernel.name);
  return llvm::createStringError(
      "no kernel '" + name +
      "'; the code object has: " + llvm::join(names, ", "));
}

/// The name of an AMDGPU chip that is not this one, for the error.
static std::string nameChip(unsigned flags) {
  unsigned mach = flags & ELF::EF_AMDGPU_MACH;
  switch (mach) {
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX900:
    return "gfx900";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX906:
    return "gfx906";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX908:
    return "gfx908";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A:
    return "gfx90a";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX942:
    return "gfx942";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100:
    return "gfx1100";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX1200:
    return "gfx1200";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201:
    return "gfx1201";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX1250:
    return "gfx1250";
  default:
    return llvm::formatv("machine number {0:x}", mach);
  }
}

static llvm::Error checkHeader(llvm::ArrayRef<uint8_t> bytes) {
  if (bytes.size() < ELF::EI_NIDENT ||
      !std::equal(bytes.begin(), bytes.begin() + 4, ELF::ElfMagic))
    return malformed("it is not an ELF file");
  if (bytes[ELF::EI_CLASS] != ELF::ELFCLASS64 ||
      bytes[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return malformed("it is not a 64-bit little-endian ELF file");
  if (bytes.size() < sizeof(ElfFile::Elf_Ehdr))
    return malformed("the ELF header is truncated");
  ElfFile::Elf_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_machine != ELF::EM_AMDGPU)
    return malformed(
        header.e_machine == ELF::EM_X86_64
            ? std::string("it is an x86-64 ELF file, not an AMDGPU one")
            : llvm::formatv("its ELF machine is {0}, not AMDGPU ({1})",
                            unsigned(header.e_machine),
                            unsigned(ELF::EM_AMDGPU))
                  .str());
  if ((header.e_flags & ELF::EF_AMDGPU_MACH) !=
      ELF::EF_AMDGPU_MACH_AMDGCN_GFX950)
    return malformed("it is for " + nameChip(header.e_flags) +
                     ", not for gfx950");
  if (header.e_ident[ELF::EI_OSABI] != ELF::ELFOSABI_AMDGPU_HSA)
    return malformed("its OS ABI is not AMDGPU HSA");
  unsigned abi = header.e_ident[ELF::EI_ABIVERSION];
  if (abi < ELF::ELFABIVERSION_AMDGPU_HSA_V4 ||
      abi > ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return malformed(llvm::formatv(
        "its ABI version is {0}; code object versions 4 to 6 are known", abi));
  if (header.e_type == ELF::ET_REL)
    return malformed("it is an object file that has not been linked "
                     "(ld.lld -shared)");
  if (header.e_type != ELF::ET_DYN)
    return malformed("its ELF type is not a shared object");
  return llvm::Error::success();
}

namespace {

/// A segment's place in the image.
struct Segment {
  uint64_t begin, end;
};

struct FunctionSymbol {
  uint64_t size = 0;
};

} // namespace

/// Fills in what the metadata says of the kernels.
static llvm::Error readMetadata(llvm::StringRef blob,
                                std::vector<Kernel> &kernels) {
  llvm::Expected<MetadataNode> root = MetadataNode::read(blob);
  if (!root)
    return malformed("its metadata note is not valid msgpack: " +
                     llvm::toString(root.takeError()));
  const MetadataNode *list = root->find("amdhsa.kernels");
  if (!list || list->kind != MetadataNode::Array)
    return malformed("its metadata has no amdhsa.kernels list");
  for (const MetadataNode &entry : list->elements) {
    const MetadataNode *symbol = entry.find(".symbol");
    if (!symbol || symbol->kind != MetadataNode::String)
      return malformed("a kernel's metadata has no .symbol");
    llvm::StringRef name = symbol->string;
    name.consume_back(".kd");
    auto kernel = llvm::find_if(
        kernels, [&](const Kernel &kernel) { return kernel.name == name; });
    if (kernel == kernels.end())
      return malformed("its metadata names the kernel '" + name.str() +
                       "', which has no descriptor");
    auto fail = [&](const std::string &message) {
      return malformed("kernel '" + name.str() + "': " + message);
    };
    kernel->vgprCount = entry.getInteger(".vgpr_count");
    kernel->accVgprCount = entry.getInteger(".agpr_count");
    kernel->sgprCount = entry.getInteger(".sgpr_count");
    kernel->maxWorkgroupSize = entry.getInteger(".max_flat_workgroup_size");
    if (uint32_t size = entry.getInteger(".kernarg_segment_size");
        size != kernel->kernargSize)
      return fail(llvm::formatv("the metadata says {0} bytes of arguments, the "
                                "descriptor {1}",
                                size, kernel->kernargSize));
    if (uint32_t wave = entry.getInteger(".wavefront_size"); wave != WaveSize)
      return fail(llvm::formatv("its wave size is {0}, not 64", wave));
    if (const MetadataNode *required = entry.find(".reqd_workgroup_size")) {
      if (required->kind != MetadataNode::Array ||
          required->elements.size() != 3)
        return fail(".reqd_workgroup_size is not three numbers");
      for (unsigned i = 0; i < 3; ++i)
        kernel->requiredWorkgroupSize[i] = required->elements[i].integer;
    }
    kernel->arguments.clear();
    const MetadataNode *arguments = entry.find(".args");
    if (!arguments)
      continue;
    if (arguments->kind != MetadataNode::Array)
      return fail(".args is not a list");
    // Hidden arguments may be listed anywhere; explicit ones come first here.
    std::vector<KernelArgument> hidden;
    for (const MetadataNode &node : arguments->elements) {
      KernelArgument argument;
      argument.offset = node.getInteger(".offset");
      argument.size = node.getInteger(".size");
      if (const MetadataNode *kind = node.find(".value_kind"))
        argument.valueKind = kind->string;
      uint64_t end = uint64_t(argument.offset) + argument.size;
      if (end > kernel->kernargSize)
        return fail(llvm::formatv("an argument lies at bytes {0} to {1} of a "
                                  "{2}-byte argument segment",
                                  argument.offset, end, kernel->kernargSize));
      (argument.isHidden() ? hidden : kernel->arguments)
          .push_back(std::move(argument));
    }
    for (KernelArgument &argument : hidden)
      kernel->arguments.push_back(std::move(argument));
  }
  return llvm::Error::success();
}

/// Reads a 64-byte kernel descriptor.
static llvm::Expected<Kernel> readDescriptor(llvm::StringRef name,
                                             llvm::ArrayRef<uint8_t> image,
                                             uint64_t address,
                                             const Segment &code) {
  using namespace llvm::support::endian;
  namespace hsa = llvm::amdhsa;
  auto fail = [&](const std::string &message) {
    return malformed("kernel '" + name.str() + "': " + message);
  };
  constexpr uint64_t Size = sizeof(hsa::kernel_descriptor_t);
  if (address > image.size() || image.size() - address < Size)
    return fail("its descriptor lies outside the loaded segments");
  const uint8_t *bytes = &image[address];
  Kernel kernel;
  kernel.name = name.str();
  kernel.ldsSize = read32le(bytes + hsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET);
  kernel.scratchSize = read32le(bytes + hsa::PRIVATE_SEGMENT_FIXED_SIZE_OFFSET);
  kernel.kernargSize = read32le(bytes + hsa::KERNARG_SIZE_OFFSET);
  int64_t entry = read64le(bytes + hsa::KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET);
  kernel.rsrc3 = read32le(bytes + hsa::COMPUTE_PGM_RSRC3_OFFSET);
  kernel.rsrc1 = read32le(bytes + hsa::COMPUTE_PGM_RSRC1_OFFSET);
  kernel.rsrc2 = read32le(bytes + hsa::COMPUTE_PGM_RSRC2_OFFSET);
  kernel.properties = read16le(bytes + hsa::KERNEL_CODE_PROPERTIES_OFFSET);
  kernel.kernargPreload = read16le(bytes + hsa::KERNARG_PRELOAD_OFFSET);
  // Argument segments of 64 KiB are far beyond what a launch can pass.
  if (kernel.kernargSize > 0x10000)
    return fail(llvm::formatv("{0} bytes of arguments", kernel.kernargSize));
  if (kernel.ldsSize > 160 * 1024)
    return fail(
        llvm::formatv("{0} bytes of LDS; gfx950 has 163840", kernel.ldsSize));
  uint64_t target = address + uint64_t(entry);
  if (target < code.begin || target >= code.end || target % 256)
    return fail(llvm::formatv("its entry {0:x} is no 256-byte aligned address "
                              "in the code",
                              target));
  kernel.entryOffset = target - code.begin;
  // Registers come in blocks (AMDGPUUsage, compute_pgm_rsrc1 and _rsrc3 for
  // gfx90a and gfx94x): 8 VGPRs, shared by both kinds; 16 SGPRs.
  unsigned total =
      8 *
      (AMDHSA_BITS_GET(kernel.rsrc1,
                       hsa::COMPUTE_PGM_RSRC1_GRANULATED_WORKITEM_VGPR_COUNT) +
       1);
  unsigned accumOffset =
      4 * (AMDHSA_BITS_GET(kernel.rsrc3,
                           hsa::COMPUTE_PGM_RSRC3_GFX90A_ACCUM_OFFSET) +
           1);
  total = std::min(total, NumVectorRegisters);
  kernel.allocatedVgprs = std::min({total, accumOffset, FirstAccVgpr});
  kernel.allocatedAccVgprs =
      std::min(total - kernel.allocatedVgprs, FirstAccVgpr);
  unsigned sgprBlocks =
      AMDHSA_BITS_GET(kernel.rsrc1,
                      hsa::COMPUTE_PGM_RSRC1_GRANULATED_WAVEFRONT_SGPR_COUNT) /
          2 +
      1;
  kernel.allocatedSgprs = std::min<unsigned>(16 * sgprBlocks, SgprLimit);
  return kernel;
}

/// Applies the dynamic relocations that position-independent data needs.
static llvm::Error relocate(const ElfFile &file, std::vector<uint8_t> &image) {
  using namespace llvm::support::endian;
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file.sections();
  if (!sections)
    return sections.takeError();
  uint64_t base = reinterpret_cast<uintptr_t>(image.data());
  for (const ElfFile::Elf_Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_RELA ||
        !(section.sh_flags & ELF::SHF_ALLOC))
      continue;
    llvm::Expected<ElfFile::Elf_Rela_Range> relocations = file.relas(section);
    if (!relocations)
      return relocations.takeError();
    for (const ElfFile::Elf_Rela &relocation : *relocations) {
      uint64_t offset = relocation.r_offset;
      if (offset > image.size() || image.size() - offset < 8)
        return malformed("a relocation lies outside the loaded segments");
      uint64_t value = base + uint64_t(int64_t(relocation.r_addend));
      switch (relocation.getType(false)) {
      case ELF::R_AMDGPU_RELATIVE64:
        break;
      case ELF::R_AMDGPU_ABS64: {
        llvm::Expected<const ElfFile::Elf_Shdr *> symbols =
            file.getSection(section.sh_link);
        if (!symbols)
          return symbols.takeError();
        llvm::Expected<const ElfFile::Elf_Sym *> symbol =
            file.getRelocationSymbol(relocation, *symbols);
        if (!symbol)
          return symbol.takeError();
        if (*symbol && (*symbol)->st_shndx == ELF::SHN_UNDEF)
          return malformed("it refers to an undefined symbol");
        value += *symbol ? uint64_t((*symbol)->st_value) : 0;
        break;
      }
      default:
        return malformed(llvm::formatv("relocations of type {0} are not known",
                                       relocation.getType(false)));
      }
      write64le(&image[offset], value);
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<CodeObject>>
CodeObject::load(llvm::ArrayRef<uint8_t> bytes) {
  if (llvm::Error error = checkHeader(bytes))
    return error;
  // The ELF readers want an aligned buffer that they do not outlive.
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  llvm::StringRef buffer(reinterpret_cast<const char *>(aligned.data()),
                         bytes.size());
  auto wrap = [](llvm::Error error) {
    return malformed(llvm::toString(std::move(error)));
  };
  llvm::Expected<ElfFile> file = ElfFile::create(buffer);
  if (!file)
    return wrap(file.takeError());

  std::unique_ptr<CodeObject> object(new CodeObject());
  object->d16Preserves =
      (file->getHeader().e_flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V4) ==
      ELF::EF_AMDGPU_FEATURE_SRAMECC_OFF_V4;

  // Segments.
  llvm::Expected<ElfFile::Elf_Phdr_Range> headers = file->program_headers();
  if (!headers)
    return wrap(headers.takeError());
  uint64_t imageSize = 0;
  for (const ElfFile::Elf_Phdr &header : *headers) {
    if (header.p_type != ELF::PT_LOAD)
      continue;
    if (header.p_offset > bytes.size() ||
        bytes.size() - header.p_offset < header.p_filesz)
      return malformed("a segment runs past the end of the file: the file is "
                       "truncated");
    if (header.p_filesz > header.p_memsz || header.p_vaddr > MaxImageSize ||
        header.p_memsz > MaxImageSize)
      return malformed("a segment has an impossible size");
    imageSize = std::max<uint64_t>(imageSize, header.p_vaddr + header.p_memsz);
  }
  if (!imageSize)
    return malformed("it has no loadable segment");
  object->image.assign(imageSize, 0);
  Segment code{0, 0};
  for (const ElfFile::Elf_Phdr &header : *headers) {
    if (header.p_type != ELF::PT_LOAD)
      continue;
    std::copy_n(bytes.begin() + header.p_offset, header.p_filesz,
                object->image.begin() + header.p_vaddr);
    if (!(header.p_flags & ELF::PF_X))
      continue;
    if (code.end)
      return malformed("it has more than one executable segment");
    code = {header.p_vaddr, header.p_vaddr + header.p_filesz};
  }
  if (code.begin == code.end)
    return malformed("it has no code");
  if (code.begin % 4)
    return malformed("its code is not aligned");
  object->programOffset = code.begin;

  // Symbols: kernel descriptors and functions.
  llvm::Expected<ElfFile::Elf_Shdr_Range> sections = file->sections();
  if (!sections)
    return wrap(sections.takeError());
  std::map<std::string, uint64_t> descriptors;
  std::map<uint64_t, FunctionSymbol> functions; // by offset in the code
  std::string metadata;
  for (const ElfFile::Elf_Shdr &section : *sections) {
    if (section.sh_type == ELF::SHT_NOTE) {
      llvm::Error noteError = llvm::Error::success();
      for (const ElfFile::Elf_Note note : file->notes(section, noteError))
        if (note.getName() == "AMDGPU" &&
            note.getType() == ELF::NT_AMDGPU_METADATA)
          metadata = note.getDescAsStringRef(
                             std::max<uint64_t>(section.sh_addralign, 4))
                         .str();
      if (noteError)
        return wrap(std::move(noteError));
      continue;
    }
    if (section.sh_type != ELF::SHT_DYNSYM &&
        section.sh_type != ELF::SHT_SYMTAB)
      continue;
    llvm::Expected<ElfFile::Elf_Sym_Range> symbols = file->symbols(&section);
    if (!symbols)
      return wrap(symbols.takeError());
    llvm::Expected<llvm::StringRef> strings =
        file->getStringTableForSymtab(section);
    if (!strings)
      return wrap(strings.takeError());
    for (const ElfFile::Elf_Sym &symbol : *symbols) {
      llvm::Expected<llvm::StringRef> name = symbol.getName(*strings);
      if (!name)
        return wrap(name.takeError());
      if (symbol.st_shndx == ELF::SHN_UNDEF)
        continue;
      if (symbol.getType() == ELF::STT_OBJECT && name->ends_with(".kd"))
        descriptors[name->drop_back(3).str()] = symbol.st_value;
      if (symbol.getType() == ELF::STT_FUNC && symbol.st_value >= code.begin &&
          symbol.st_value < code.end)
        functions[symbol.st_value - code.begin].size = symbol.st_size;
    }
  }
  if (descriptors.empty())
    return malformed("it has no kernel descriptor");
  for (const auto &[name, address] : descriptors) {
    llvm::Expected<Kernel> kernel =
        readDescriptor(name, object->image, address, code);
    if (!kernel)
      return kernel.takeError();
    auto function = functions.find(kernel->entryOffset);
    if (function != functions.end())
      kernel->codeSize = std::min<uint64_t>(
          function->second.size, code.end - code.begin - kernel->entryOffset);
    object->kernels.push_back(std::move(*kernel));
  }
  if (metadata.empty())
    return malformed("it has no metadata note");
  if (llvm::Error error = readMetadata(metadata, object->kernels))
    return error;
  if (llvm::Error error = relocate(*file, object->image))
    return wrap(std::move(error));

  std::vector<uint32_t> starts;
  for (const auto &[offset, function] : functions) {
    starts.push_back(offset);
    // What follows a function may be data.
    if (function.size && function.size % 4 == 0 &&
        function.size <= code.end - code.begin - offset)
      starts.push_back(offset + function.size);
  }
  for (const Kernel &kernel : object->kernels)
    starts.push_back(kernel.entryOffset);
  llvm::Expected<Program> program =
      Program::decode(llvm::ArrayRef<uint8_t>(object->image)
                          .slice(code.begin, code.end - code.begin),
                      starts);
  if (!program)
    return program.takeError();
  object->program = std::make_unique<Program>(std::move(*program));
  return object;
}

void CodeObject::print(llvm::raw_ostream &os) const {
  for (const Kernel &kernel : kernels) {
    os << "kernel: " << kernel.name << '\n'
       << "  code_bytes: " << kernel.codeSize << '\n'
       << "  vgprs: " << kernel.vgprCount << " (allocated "
       << kernel.allocatedVgprs << ")\n"
       << "  acc_vgprs: " << kernel.accVgprCount << " (allocated "
       << kernel.allocatedAccVgprs << ")\n"
       << "  sgprs: " << kernel.sgprCount << " (allocated "
       << kernel.allocatedSgprs << ")\n"
       << "  lds_bytes: " << kernel.ldsSize << '\n'
       << "  scratch_bytes: " << kernel.scratchSize << '\n'
       << "  kernarg_bytes: " << kernel.kernargSize << '\n'
       << "  max_workgroup_size: " << kernel.maxWorkgroupSize << '\n';
    if (kernel.requiredWorkgroupSize[0])
      os << "  required_workgroup_size: " << kernel.requiredWorkgroupSize[0]
         << ',' << kernel.requiredWorkgroupSize[1] << ','
         << kernel.requiredWorkgroupSize[2] << '\n';
    for (const KernelArgument &argument : kernel.arguments)
      os << "  argument: offset " << argument.offset << ", " << argument.size
         << " bytes, " << argument.valueKind << '\n';
  }
}
