# `find_package(ROCM)` where there is no rocm-cmake: its functions install, package and check, which no profile needs.
# Those that give a value give one; the others do nothing.
set(ROCM_FOUND TRUE)
set(_rocm_modules "${CMAKE_BINARY_DIR}/CMakeFiles/rocm-modules")
foreach(_rocm_name SetupVersion CreatePackage InstallTargets InstallSymlinks PackageConfigHelpers CheckTargetIds Clients
        HeaderWrapper Utilities ProperLinks Analyzers ClangTidy CppCheck DoxygenDoc SphinxDoc Docs Test TestExecutables)
  file(WRITE "${_rocm_modules}/ROCM${_rocm_name}.cmake" "")
endforeach()
list(APPEND CMAKE_MODULE_PATH "${_rocm_modules}")

foreach(_rocm_name install install_targets install_symlink_subdir export_targets create_package package_add_dependencies
        package_add_deb_dependencies package_add_rpm_dependencies package_setup_component
        package_setup_client_component set_soversion wrap_header_dir wrap_header_file enable_clang_tidy enable_cppcheck
        mark_as_analyzer clang_tidy_check add_doxygen_doc add_sphinx_doc mark_as_doc find_program_version
        write_package_template_functions join_if_set defer list_split)
  cmake_language(EVAL CODE "macro(rocm_${_rocm_name})\nendmacro()")
endforeach()

function(rocm_setup_version)
  cmake_parse_arguments(_rocm "" "VERSION" "" ${ARGN})
  string(REGEX MATCHALL "[0-9]+" _rocm_numbers "${_rocm_VERSION}.0.0.0")
  set(_rocm_parts MAJOR MINOR PATCH TWEAK)
  foreach(_rocm_of PROJECT ${PROJECT_NAME})
    set(${_rocm_of}_VERSION "${_rocm_VERSION}" PARENT_SCOPE)
    foreach(_rocm_at 0 1 2 3)
      list(GET _rocm_numbers ${_rocm_at} _rocm_number)
      list(GET _rocm_parts ${_rocm_at} _rocm_part)
      set(${_rocm_of}_VERSION_${_rocm_part} "${_rocm_number}" PARENT_SCOPE)
    endforeach()
  endforeach()
endfunction()

function(rocm_get_version _rocm_output)
  set(${_rocm_output} "0.0.0" PARENT_SCOPE)
endfunction()

function(rocm_check_target_ids _rocm_output)
  set(${_rocm_output} "@ARCH@" PARENT_SCOPE)
endfunction()

function(rocm_local_targets _rocm_output)
  set(${_rocm_output} "@ARCH@" PARENT_SCOPE)
endfunction()
