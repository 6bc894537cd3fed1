# Helpers that give every target of this project the same flags. Libraries link
# the shared LLVM and MLIR only, never the component archives: a second copy of
# LLVM in one process registers its options twice and aborts.

set(KIMI_COMPILE_OPTIONS -Wall -Wextra -Wno-unused-parameter)
if(KIMI_WERROR)
  list(APPEND KIMI_COMPILE_OPTIONS -Werror)
endif()

function(kimi_target_defaults target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  target_compile_options(${target} PRIVATE ${KIMI_COMPILE_OPTIONS})
  if(KIMI_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${KIMI_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer-ignorelist.txt)
    target_link_options(${target} PRIVATE -fsanitize=${KIMI_SANITIZE})
  endif()
endfunction()

# For targets that use LLVM or MLIR headers: their include folders (as system
# headers) and their choice of RTTI and exceptions.
function(kimi_target_uses_llvm target)
  target_include_directories(${target} SYSTEM PUBLIC
    ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${target} PUBLIC ${LLVM_DEFINITIONS_LIST})
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  endif()
  if(NOT LLVM_ENABLE_EH)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  endif()
endfunction()

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(TRANSFORM LLVM_DEFINITIONS_LIST REPLACE "^-D" "")
