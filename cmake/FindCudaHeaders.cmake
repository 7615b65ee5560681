# The headers of the CUDA driver API: from NVIDIA's wheel in the building Python, or from a toolkit.
# Gives the target cuda_headers.
include(WheelFile)
wheel_file(ISTHMUS_WHEEL_CUDA_HEADER "*/include/cudaTypedefs.h" "nvidia-*")
cmake_path(GET ISTHMUS_WHEEL_CUDA_HEADER PARENT_PATH ISTHMUS_WHEEL_CUDA_INCLUDE)
find_path(ISTHMUS_CUDA_INCLUDE cudaTypedefs.h
  HINTS ${ISTHMUS_WHEEL_CUDA_INCLUDE} ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda PATH_SUFFIXES include)
if(NOT ISTHMUS_CUDA_INCLUDE)
  message(FATAL_ERROR "No CUDA headers (cuda.h, cudaTypedefs.h): pip install nvidia-cuda-runtime, "
    "or set CUDA_HOME to a toolkit of CUDA 13.0 or later")
endif()
add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE ${ISTHMUS_CUDA_INCLUDE})
message(STATUS "CUDA headers: ${ISTHMUS_CUDA_INCLUDE}")
