# find_package(kernwright): dispatch headers are emitted while an application is built. docs/build.md is its page.
#
#   kernwright_add_dispatch(TARGET TASK RESULTS FILE [SHAPES FILE] [DEVICE KEY] [PREFIX P] [TYPE T] [VARIANTS K]
#                           [TEMPLATES FILE...] [OPTIONS ARGUMENT...] [SPLIT])
#   kernwright::kernwright       the library, for programs that tune by themselves
#
# Variables: KERNWRIGHT_EXECUTABLE  the program, for the machine that builds
#            KERNWRIGHT_TUNE        ON: tune here before emitting (needs a device)
#            KERNWRIGHT_TUNE_DEVICE, KERNWRIGHT_TUNE_BUDGET, KERNWRIGHT_STORE   as `kernwright tune` takes them

get_filename_component(_kernwright_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# What lies beside this file was built for the machine that the application is for.
if(CMAKE_CROSSCOMPILING)
  find_program(
    KERNWRIGHT_EXECUTABLE kernwright
    NO_PACKAGE_ROOT_PATH NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH NO_CMAKE_FIND_ROOT_PATH
    DOC "kernwright, for the machine that builds")
else()
  find_program(KERNWRIGHT_EXECUTABLE kernwright HINTS "${_kernwright_prefix}/bin" DOC
                                                      "kernwright, for the machine that builds")
endif()

if(NOT KERNWRIGHT_EXECUTABLE)
  set(kernwright_FOUND FALSE)
  set(kernwright_NOT_FOUND_MESSAGE
      "the program kernwright was not found: give -DKERNWRIGHT_EXECUTABLE=PATH, a kernwright for the machine that builds")
  return()
endif()
execute_process(
  COMMAND "${KERNWRIGHT_EXECUTABLE}" --version
  RESULT_VARIABLE _kernwright_status
  OUTPUT_QUIET ERROR_QUIET)
if(NOT _kernwright_status STREQUAL "0")
  set(kernwright_FOUND FALSE)
  set(kernwright_NOT_FOUND_MESSAGE
      "${KERNWRIGHT_EXECUTABLE} does not run here (${_kernwright_status}): give -DKERNWRIGHT_EXECUTABLE=PATH, a kernwright for the machine that builds"
  )
  return()
endif()

option(KERNWRIGHT_TUNE "Tune on this machine before dispatch headers are emitted" OFF)
set(KERNWRIGHT_TUNE_DEVICE "" CACHE STRING "Device to tune: opencl:P:D or part of a name; empty: the first GPU, else CPU")
set(KERNWRIGHT_TUNE_BUDGET "" CACHE STRING "Budget of each shape: 200, 60s or both (200,60s); empty: the program's own")
set(KERNWRIGHT_STORE "${CMAKE_BINARY_DIR}/kernwright.db" CACHE FILEPATH "Where what is measured is kept")

if(NOT TARGET kernwright::kernwright AND EXISTS "${_kernwright_prefix}/lib/libkernwright.so")
  add_library(kernwright::kernwright SHARED IMPORTED)
  set_target_properties(
    kernwright::kernwright
    PROPERTIES IMPORTED_LOCATION "${_kernwright_prefix}/lib/libkernwright.so"
               INTERFACE_INCLUDE_DIRECTORIES "${_kernwright_prefix}/include/kernwright")
endif()

# PATH as seen from the caller's folder -> VARIABLE
macro(_kernwright_absolute variable path)
  get_filename_component(${variable} "${path}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
endmacro()

# Files that make up a task of the caller's own -> VARIABLE; none for a task that comes with Kernwright.
function(_kernwright_task_files variable task)
  set(files "")
  foreach(place "${task}" "tasks/${task}")
    _kernwright_absolute(path "${place}")
    if(IS_DIRECTORY "${path}")
      file(GLOB_RECURSE files CONFIGURE_DEPENDS "${path}/*")
      break()
    elseif(EXISTS "${path}")
      set(files "${path}")
      break()
    endif()
  endforeach()
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()

# Tunes into RESULTS of the build folder, beginning with what the source tree has. Runs of several targets do not overlap:
# they would disturb each other's times.
function(_kernwright_tune tuned target task)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "NAME;RESULTS;SHAPES;TYPE" "TEMPLATES;DEPENDS")
  set(options "")
  foreach(file IN LISTS arg_TEMPLATES)
    list(APPEND options --template "${file}")
  endforeach()
  if(arg_SHAPES)
    list(APPEND options --shapes "${arg_SHAPES}")
  endif()
  if(arg_TYPE)
    list(APPEND options --type "${arg_TYPE}")
  endif()
  if(KERNWRIGHT_TUNE_DEVICE)
    list(APPEND options --device "${KERNWRIGHT_TUNE_DEVICE}")
  endif()
  if(KERNWRIGHT_TUNE_BUDGET)
    list(APPEND options --budget "${KERNWRIGHT_TUNE_BUDGET}")
  endif()
  set(import "")
  set(known "")
  if(EXISTS "${arg_RESULTS}")
    set(import COMMAND "${KERNWRIGHT_EXECUTABLE}" results import "${arg_RESULTS}" --store "${KERNWRIGHT_STORE}")
    set(known "${arg_RESULTS}")
  endif()
  add_custom_command(
    OUTPUT "${tuned}" ${import}
    COMMAND "${KERNWRIGHT_EXECUTABLE}" tune "${task}" --store "${KERNWRIGHT_STORE}" ${options}
    COMMAND "${KERNWRIGHT_EXECUTABLE}" results export --task "${arg_NAME}" --store "${KERNWRIGHT_STORE}" -o "${tuned}"
    DEPENDS ${known} ${arg_SHAPES} ${arg_TEMPLATES} ${arg_DEPENDS}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Tuning ${arg_NAME}" USES_TERMINAL VERBATIM)
  add_custom_target(kernwright_tune_${target}_${arg_NAME} DEPENDS "${tuned}")
  get_property(before GLOBAL PROPERTY KERNWRIGHT_LAST_TUNED)
  if(before)
    add_dependencies(kernwright_tune_${target}_${arg_NAME} ${before})
  endif()
  set_property(GLOBAL PROPERTY KERNWRIGHT_LAST_TUNED kernwright_tune_${target}_${arg_NAME})

  # What was tuned goes into the source tree only when asked.
  add_custom_target(
    kernwright_save_${target}_${arg_NAME}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different "${tuned}" "${arg_RESULTS}"
    DEPENDS "${tuned}"
    VERBATIM)
  add_dependencies(kernwright_save_${target}_${arg_NAME} kernwright_tune_${target}_${arg_NAME})
  if(NOT TARGET kernwright_save)
    add_custom_target(kernwright_save)
  endif()
  add_dependencies(kernwright_save kernwright_save_${target}_${arg_NAME})
endfunction()

# What kernwright_add_dispatch was given (arg_..) and cannot use ends the configuration.
function(_kernwright_check_arguments where target task)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${where}: there is no target ${target}; add it first")
  endif()
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${where}: cannot use \"${arg_UNPARSED_ARGUMENTS}${arg_KEYWORDS_MISSING_VALUES}\"")
  endif()
  if(NOT arg_RESULTS)
    message(FATAL_ERROR "${where}: give RESULTS FILE, as `kernwright results export --task ${task} -o FILE` writes it")
  endif()
endfunction()

# Options of `kernwright emit` that kernwright_add_dispatch was given (arg_..) -> VARIABLE; SHAPES is a path or empty.
function(_kernwright_emit_options variable shapes)
  set(options ${arg_OPTIONS})
  foreach(option DEVICE PREFIX TYPE VARIANTS)
    if(DEFINED arg_${option})
      string(TOLOWER "--${option}" spelt)
      list(APPEND options ${spelt} "${arg_${option}}")
    endif()
  endforeach()
  if(shapes)
    list(APPEND options --shapes "${shapes}")
  endif()
  if(arg_SPLIT)
    list(APPEND options --split)
  endif()
  set(${variable} "${options}" PARENT_SCOPE)
endfunction()

function(kernwright_add_dispatch target task)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SPLIT" "RESULTS;SHAPES;DEVICE;PREFIX;TYPE;VARIANTS" "TEMPLATES;OPTIONS")
  set(where "kernwright_add_dispatch(${target} ${task})")
  _kernwright_check_arguments("${where}" ${target} "${task}")
  _kernwright_absolute(results "${arg_RESULTS}")
  if(NOT EXISTS "${results}" AND NOT KERNWRIGHT_TUNE)
    message(FATAL_ERROR "${where}: ${results} is not there; -DKERNWRIGHT_TUNE=ON makes results on this machine")
  endif()
  set(shapes "")
  if(arg_SHAPES)
    _kernwright_absolute(shapes "${arg_SHAPES}")
  endif()
  set(templates "")
  foreach(file IN LISTS arg_TEMPLATES)
    _kernwright_absolute(path "${file}")
    if(EXISTS "${path}")
      list(APPEND templates "${path}")
    else()
      message(FATAL_ERROR "${where}: template ${path} is not there")
    endif()
  endforeach()
  _kernwright_task_files(task_files "${task}")
  get_filename_component(name "${task}" NAME_WE)
  set(prefix kw_)
  if(arg_PREFIX)
    set(prefix "${arg_PREFIX}")
  endif()

  # A folder for each target: two may emit the same task with different options.
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/kernwright/${target}")
  file(MAKE_DIRECTORY "${folder}")
  set(header "${folder}/${prefix}${name}.h")
  set(outputs "${header}")
  if(arg_SPLIT)
    list(APPEND outputs "${folder}/${prefix}${name}.c")
  endif()
  _kernwright_emit_options(options "${shapes}")

  if(KERNWRIGHT_TUNE)
    set(tuned "${folder}/${name}.results.jsonl")
    _kernwright_tune(
      "${tuned}" ${target} "${task}" NAME ${name} RESULTS "${results}" SHAPES "${shapes}" TYPE "${arg_TYPE}"
      TEMPLATES ${templates} DEPENDS ${task_files})
    set(results "${tuned}")
  endif()
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND "${KERNWRIGHT_EXECUTABLE}" emit "${task}" --from "${results}" -o "${header}" ${options}
    DEPENDS "${results}" ${shapes} ${templates} ${task_files} "${KERNWRIGHT_EXECUTABLE}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Emitting ${prefix}${name}.h" VERBATIM)
  add_custom_target(kernwright_${target}_${name} DEPENDS ${outputs})
  if(KERNWRIGHT_TUNE)
    add_dependencies(kernwright_${target}_${name} kernwright_tune_${target}_${name})
  endif()
  add_dependencies(${target} kernwright_${target}_${name})

  target_sources(${target} PRIVATE ${outputs})
  target_include_directories(${target} PRIVATE "${folder}")
  if(arg_SPLIT)
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT "C" IN_LIST languages)
      set_source_files_properties("${folder}/${prefix}${name}.c" PROPERTIES LANGUAGE CXX)
    endif()
  endif()
endfunction()
