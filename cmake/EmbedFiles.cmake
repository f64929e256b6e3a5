# Makes bytes of files part of a program: the assembler includes them, which takes no time and no
# memory of the compiler's.
#
# orrery_embed_files(TARGET target NAMESPACE orrery::kernel TYPE EmbeddedFile NAME KernelModels
#                    FILES a b)
# defines kEmbeddedKernelModels and kNumEmbeddedKernelModels in a source of the target.
function(orrery_embed_files)
  cmake_parse_arguments(E "" "TARGET;NAMESPACE;TYPE;NAME" "FILES" ${ARGN})
  set(assembly ".section .rodata\n")
  set(declarations "")
  set(entries "")
  list(LENGTH E_FILES count)
  set(index 0)
  foreach(file ${E_FILES})
    set(symbol orrery_${E_NAME}_${index})
    string(APPEND assembly ".balign 16\n.globl ${symbol}_begin\n.globl ${symbol}_end\n"
           "${symbol}_begin:\n.incbin \"${file}\"\n${symbol}_end:\n.byte 0\n")
    string(APPEND declarations
           "extern \"C\" const char ${symbol}_begin[];\nextern \"C\" const char ${symbol}_end[];\n")
    string(APPEND entries "    {${symbol}_begin, ${symbol}_end},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND assembly ".section .note.GNU-stack,\"\",%progbits\n")
  if(count EQUAL 0)
    set(entries "    {nullptr, nullptr},\n")
  endif()
  set(base ${CMAKE_CURRENT_BINARY_DIR}/embedded_${E_NAME})
  file(CONFIGURE OUTPUT ${base}.S CONTENT "${assembly}" @ONLY)
  file(CONFIGURE OUTPUT ${base}.cc CONTENT
"#include <cstddef>
namespace ${E_NAMESPACE} {
struct ${E_TYPE} {
  const char* begin;
  const char* end;
};
}  // namespace ${E_NAMESPACE}
${declarations}
namespace ${E_NAMESPACE} {
extern const ${E_TYPE} kEmbedded${E_NAME}[];
extern const std::size_t kNumEmbedded${E_NAME};
const ${E_TYPE} kEmbedded${E_NAME}[] = {
${entries}};
const std::size_t kNumEmbedded${E_NAME} = ${count};
}  // namespace ${E_NAMESPACE}
" @ONLY)
  set_source_files_properties(${base}.S PROPERTIES OBJECT_DEPENDS "${E_FILES}")
  target_sources(${E_TARGET} PRIVATE ${base}.S ${base}.cc)
endfunction()
