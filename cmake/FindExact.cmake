# GMP, FLINT and Arb, which Debian ships without CMake packages.
find_library(GMP_LIBRARY gmp REQUIRED)
find_library(FLINT_LIBRARY flint REQUIRED)
find_library(ARB_LIBRARY NAMES flint-arb arb REQUIRED)
find_path(FLINT_INCLUDE_DIR flint/fmpq.h REQUIRED)
find_path(ARB_INCLUDE_DIR arb.h PATH_SUFFIXES flint flint-arb REQUIRED)
add_library(coequal_exact INTERFACE)
target_include_directories(coequal_exact SYSTEM INTERFACE ${FLINT_INCLUDE_DIR} ${ARB_INCLUDE_DIR})
target_link_libraries(coequal_exact INTERFACE ${ARB_LIBRARY} ${FLINT_LIBRARY} ${GMP_LIBRARY})
