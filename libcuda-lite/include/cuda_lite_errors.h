/* SPDX-License-Identifier: MIT */
/*
 * The driver API's result codes, one line each: name, value, what happened.
 *
 * Included by cuda.h; cuGetErrorName/cuGetErrorString expand the same list, so a code cannot exist
 * without a name and a text. Names and values are the published ones; the texts are ours.
 */
#ifndef CUDA_LITE_ERRORS_H
#define CUDA_LITE_ERRORS_H

#define CUDA_LITE_RESULT_LIST(X) \
	X(CUDA_SUCCESS, 0, "no error") \
	X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument") \
	X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory") \
	X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error") \
	X(CUDA_ERROR_DEINITIALIZED, 4, "driver shutting down") \
	X(CUDA_ERROR_PROFILER_DISABLED, 5, "profiler disabled while using external profiling tool") \
	X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6, "profiler not initialized") \
	X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7, "profiler already started") \
	X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8, "profiler already stopped") \
	X(CUDA_ERROR_STUB_LIBRARY, 34, "a stub library was loaded instead of the driver") \
	X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, "the call needs a newer driver") \
	X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "the device is busy or unavailable") \
	X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected") \
	X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal") \
	X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102, "the device has no valid license") \
	X(CUDA_ERROR_INVALID_IMAGE, 200, "the module image is invalid") \
	X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context") \
	X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202, "the context is already current") \
	X(CUDA_ERROR_MAP_FAILED, 205, "mapping failed") \
	X(CUDA_ERROR_UNMAP_FAILED, 206, "unmapping failed") \
	X(CUDA_ERROR_ARRAY_IS_MAPPED, 207, "the array is mapped") \
	X(CUDA_ERROR_ALREADY_MAPPED, 208, "the resource is already mapped") \
	X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image in the module fits this device") \
	X(CUDA_ERROR_ALREADY_ACQUIRED, 210, "the resource is already acquired") \
	X(CUDA_ERROR_NOT_MAPPED, 211, "the resource is not mapped") \
	X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212, "the resource is not mapped as an array") \
	X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213, "the resource is not mapped as a pointer") \
	X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "uncorrectable ECC error") \
	X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, "the device does not have this limit") \
	X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216, "the context is in use by another thread") \
	X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, "peer access is not possible between these devices") \
	X(CUDA_ERROR_INVALID_PTX, 218, "the PTX could not be compiled") \
	X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219, "invalid graphics context") \
	X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220, "uncorrectable NVLink error") \
	X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "the PTX compiler was not found") \
	X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "the PTX version is newer than this driver knows") \
	X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223, "PTX compilation is disabled") \
	X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224, "the execution affinity is not supported") \
	X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225, "the code synchronizes on the device side, which is not supported") \
	X(CUDA_ERROR_CONTAINED, 226, "a contained error was met") \
	X(CUDA_ERROR_INVALID_SOURCE, 300, "the device kernel source is invalid") \
	X(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found") \
	X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "a symbol of a shared object was not found") \
	X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, "a shared object could not be initialized") \
	X(CUDA_ERROR_OPERATING_SYSTEM, 304, "a call to the operating system failed") \
	X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle") \
	X(CUDA_ERROR_ILLEGAL_STATE, 401, "the object is in the wrong state for this call") \
	X(CUDA_ERROR_LOSSY_QUERY, 402, "the query would lose information") \
	X(CUDA_ERROR_NOT_FOUND, 500, "the named symbol was not found") \
	X(CUDA_ERROR_NOT_READY, 600, "device not ready") \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered") \
	X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch") \
	X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was ended") \
	X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703, "launch with an incompatible texturing mode") \
	X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled") \
	X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access has not been enabled") \
	X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is active: it cannot be set now") \
	X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "the context is destroyed") \
	X(CUDA_ERROR_ASSERT, 710, "device-side assert triggered") \
	X(CUDA_ERROR_TOO_MANY_PEERS, 711, "peer mapping resources exhausted") \
	X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "the memory is already registered") \
	X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "the memory is not registered") \
	X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "hardware stack error") \
	X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "an illegal instruction was encountered") \
	X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address") \
	X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "the operation is not defined for this address space") \
	X(CUDA_ERROR_INVALID_PC, 718, "invalid program counter") \
	X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure") \
	X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "too many blocks in cooperative launch") \
	X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721, "tensor memory was not freed") \
	X(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted") \
	X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported") \
	X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "the system is not ready") \
	X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "display driver and CUDA driver do not match") \
	X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, "forward compatibility is not supported on this device") \
	X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805, "no connection to the MPS server") \
	X(CUDA_ERROR_MPS_RPC_FAILURE, 806, "the MPS server's answer failed") \
	X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807, "the MPS server is not ready") \
	X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808, "too many MPS clients") \
	X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809, "too many MPS connections") \
	X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810, "the MPS client was ended by the server") \
	X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811, "dynamic parallelism is not supported") \
	X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812, "dynamic parallelism: versions do not match") \
	X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing") \
	X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "the capture failed because of an earlier error") \
	X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "the operation would merge two captures") \
	X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture was not begun in this stream") \
	X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "the capture has streams that were not joined") \
	X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "a dependency would cross the capture's border") \
	X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "the operation would make an implicit dependency on a capture") \
	X(CUDA_ERROR_CAPTURED_EVENT, 907, "the event was recorded in a capture") \
	X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "the capture was begun by another thread") \
	X(CUDA_ERROR_TIMEOUT, 909, "timeout") \
	X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, "the graph update breaks constraints") \
	X(CUDA_ERROR_EXTERNAL_DEVICE, 911, "an error came from outside CUDA") \
	X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "invalid cluster size") \
	X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913, "the function is not loaded") \
	X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, "invalid resource type") \
	X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, "invalid resource configuration") \
	X(CUDA_ERROR_KEY_ROTATION, 916, "key rotation") \
	X(CUDA_ERROR_STREAM_DETACHED, 917, "the stream's green context is destroyed") \
	X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

typedef enum cudaError_enum {
#define CUDA_LITE_RESULT_ENUM(name, value, text) name = value,
	CUDA_LITE_RESULT_LIST(CUDA_LITE_RESULT_ENUM)
#undef CUDA_LITE_RESULT_ENUM
	CUDA_LITE_RESULT_LAST = 999
} CUresult;

#endif
