# Every outside library, found once. scripts/setup installs them (Debian packages).
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Armadillo REQUIRED)
if(MSC_WITH_ONEDNN)
  find_package(dnnl REQUIRED)
endif()

# Optional targets: ON when what they need is found, an error when asked for and absent.
function(msc_option_if_found option help)
  set(found ON)
  foreach(thing IN LISTS ARGN)
    if(NOT ${thing})
      set(found OFF)
      list(APPEND missing ${thing})
    endif()
  endforeach()
  option(${option} "${help}" ${found})
  if(${option} AND NOT found)
    message(FATAL_ERROR "${option} is ON, but not found: ${missing}")
  endif()
endfunction()
set(ort "${PROJECT_SOURCE_DIR}/third_party/onnxruntime")
find_path(MSC_ORT_INCLUDE_DIR onnxruntime_c_api.h HINTS ENV MSC_ORT_INCLUDE "${ort}/include"
  PATH_SUFFIXES onnxruntime onnxruntime/core/session)
# Loaded at run time; without it the target says so then.
find_file(MSC_ORT_LIBRARY NAMES libonnxruntime.so.1 libonnxruntime.so HINTS "${ort}"
  PATH_SUFFIXES lib)
msc_option_if_found(MSC_WITH_ONNXRUNTIME "The onnxruntime target" MSC_ORT_INCLUDE_DIR)
find_path(MSC_XNNPACK_INCLUDE_DIR xnnpack.h)
find_library(MSC_XNNPACK_LIBRARY XNNPACK)
find_library(MSC_PTHREADPOOL_LIBRARY pthreadpool)
msc_option_if_found(MSC_WITH_XNNPACK "The xnnpack target"
  MSC_XNNPACK_INCLUDE_DIR MSC_XNNPACK_LIBRARY MSC_PTHREADPOOL_LIBRARY)
find_path(MSC_CBC_INCLUDE_DIR coin/Cbc_C_Interface.h)
find_library(MSC_CBC_LIBRARY CbcSolver)
msc_option_if_found(MSC_WITH_CBC "The search ilp of partitions"
  MSC_CBC_INCLUDE_DIR MSC_CBC_LIBRARY)
find_path(MSC_TORCH_INCLUDE_DIR ATen/core/Tensor.h)
find_library(MSC_TORCH_LIBRARY torch_cpu)
find_library(MSC_C10_LIBRARY c10)
set(MSC_TORCH_FOUND ${MSC_TORCH_LIBRARY})
# Vectors cross between libtorch's headers, compiled here, and its library, compiled without checks: the address
# sanitizer takes those for overflows.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(MSC_TORCH_FOUND OFF)
endif()
msc_option_if_found(MSC_WITH_LIBTORCH "Training, by libtorch"
  MSC_TORCH_FOUND MSC_TORCH_INCLUDE_DIR MSC_C10_LIBRARY)

if(MSC_WITH_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
