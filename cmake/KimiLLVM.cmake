# Finds LLVM and MLIR, and says which version was found when it is not the one
# that this project is written against. find_package(MLIR 22.1) cannot do that:
# MLIR's version file accepts an exact match only.

set(KIMI_LLVM_VERSION 22.1)

if(NOT MLIR_DIR AND NOT CMAKE_PREFIX_PATH AND EXISTS /usr/lib/llvm-22)
  # Where Debian installs libmlir-22-dev.
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
endif()
find_package(MLIR CONFIG QUIET)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "MLIR was not found. Install Debian's libmlir-22-dev, or set MLIR_DIR to "
    "the lib/cmake/mlir folder of an LLVM/MLIR ${KIMI_LLVM_VERSION} install.")
endif()
if(NOT LLVM_PACKAGE_VERSION MATCHES "^${KIMI_LLVM_VERSION}\\.")
  message(FATAL_ERROR
    "This project needs LLVM/MLIR ${KIMI_LLVM_VERSION}; "
    "${LLVM_PACKAGE_VERSION} was found in ${MLIR_DIR}. "
    "Set MLIR_DIR to the lib/cmake/mlir folder of a ${KIMI_LLVM_VERSION} install.")
endif()
message(STATUS "LLVM/MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
if(NOT TARGET MLIR OR NOT TARGET LLVM)
  message(FATAL_ERROR
    "${MLIR_DIR} has no shared libMLIR and libLLVM. They are needed: the plugin "
    "and the host that loads it must share one copy of LLVM.")
endif()

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# mlir_tablegen looks for included .td files in the directory's include path.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
