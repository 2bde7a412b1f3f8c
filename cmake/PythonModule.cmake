# The extension module, made with nanobind of the Python that builds: .venv's, or the one that makes a wheel.
if(NOT SKBUILD)
  set(Python_EXECUTABLE ${COEQUAL_VENV}/bin/python)
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

function(coequal_python_module name folder)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(TRANSFORM arg_DEPENDS PREPEND coequal_)
  nanobind_add_module(${name} STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS ${sources})
  target_compile_options(nanobind-static PRIVATE -w)  # not our code
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  target_compile_definitions(${name} PRIVATE COEQUAL_VERSION="${PROJECT_VERSION}")
  # libz3 comes from the package z3-solver, which lies beside this one.
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../z3/lib")
  install(TARGETS ${name} LIBRARY DESTINATION coequal)
  if(SKBUILD)
    return()
  endif()
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/python/coequal)
  nanobind_add_stub(${name}_stub MODULE ${name} OUTPUT ${PROJECT_SOURCE_DIR}/python/coequal/${name}.pyi
                    PYTHON_PATH ${PROJECT_SOURCE_DIR}/python/coequal DEPENDS ${name})
endfunction()
