/* SPDX-License-Identifier: MIT */
/*
 * The runtime API's error codes, one line each: name, value, what happened.
 *
 * Included by cuda_runtime_api.h; cudaGetErrorName/cudaGetErrorString expand the same list. Names and
 * values are the published ones; the texts are ours, short enough for a log line.
 */
#ifndef CUDA_LITE_RUNTIME_ERRORS_H
#define CUDA_LITE_RUNTIME_ERRORS_H

#define CUDA_LITE_RUNTIME_ERROR_LIST(X) \
	X(cudaSuccess, 0, "no error") \
	X(cudaErrorInvalidValue, 1, "invalid argument") \
	X(cudaErrorMemoryAllocation, 2, "out of memory") \
	X(cudaErrorInitializationError, 3, "initialization error") \
	X(cudaErrorCudartUnloading, 4, "driver shutting down") \
	X(cudaErrorProfilerDisabled, 5, "profiler disabled while using external profiling tool") \
	X(cudaErrorProfilerNotInitialized, 6, "profiler not initialized") \
	X(cudaErrorProfilerAlreadyStarted, 7, "profiler already started") \
	X(cudaErrorProfilerAlreadyStopped, 8, "profiler already stopped") \
	X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
	X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument") \
	X(cudaErrorInvalidSymbol, 13, "invalid device symbol") \
	X(cudaErrorInvalidHostPointer, 16, "invalid host pointer") \
	X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") \
	X(cudaErrorInvalidTexture, 18, "invalid texture reference") \
	X(cudaErrorInvalidTextureBinding, 19, "texture is not bound to a pointer") \
	X(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor") \
	X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction") \
	X(cudaErrorAddressOfConstant, 22, "address of a constant was taken") \
	X(cudaErrorTextureFetchFailed, 23, "texture fetch failed") \
	X(cudaErrorTextureNotBound, 24, "texture is not bound") \
	X(cudaErrorSynchronizationError, 25, "a synchronization failed") \
	X(cudaErrorInvalidFilterSetting, 26, "linear filtering is not possible for this texture") \
	X(cudaErrorInvalidNormSetting, 27, "this texture cannot be read as normalized float") \
	X(cudaErrorMixedDeviceExecution, 28, "device code and device emulation were mixed") \
	X(cudaErrorNotYetImplemented, 31, "not yet implemented") \
	X(cudaErrorMemoryValueTooLarge, 32, "memory size or pointer value too large") \
	X(cudaErrorStubLibrary, 34, "a stub library was loaded instead of the driver") \
	X(cudaErrorInsufficientDriver, 35, "the driver is older than this CUDA runtime") \
	X(cudaErrorCallRequiresNewerDriver, 36, "the call needs a newer driver") \
	X(cudaErrorInvalidSurface, 37, "invalid surface reference") \
	X(cudaErrorDuplicateVariableName, 43, "several global variables share one name") \
	X(cudaErrorDuplicateTextureName, 44, "several textures share one name") \
	X(cudaErrorDuplicateSurfaceName, 45, "several surfaces share one name") \
	X(cudaErrorDevicesUnavailable, 46, "the devices are busy or unavailable") \
	X(cudaErrorIncompatibleDriverContext, 49, "the current context does not fit the runtime") \
	X(cudaErrorMissingConfiguration, 52, "the launch was not configured") \
	X(cudaErrorPriorLaunchFailure, 53, "an earlier launch failed") \
	X(cudaErrorLaunchMaxDepthExceeded, 65, "nested launches are too deep") \
	X(cudaErrorLaunchFileScopedTex, 66, "a nested launch uses file-scoped textures") \
	X(cudaErrorLaunchFileScopedSurf, 67, "a nested launch uses file-scoped surfaces") \
	X(cudaErrorSyncDepthExceeded, 68, "synchronization nested too deep") \
	X(cudaErrorLaunchPendingCountExceeded, 69, "too many pending nested launches") \
	X(cudaErrorInvalidDeviceFunction, 98, "invalid device function") \
	X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
	X(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
	X(cudaErrorDeviceNotLicensed, 102, "the device has no valid license") \
	X(cudaErrorSoftwareValidityNotEstablished, 103, "the libraries could not be verified") \
	X(cudaErrorStartupFailure, 127, "the runtime failed to start") \
	X(cudaErrorInvalidKernelImage, 200, "the kernel image is invalid") \
	X(cudaErrorDeviceUninitialized, 201, "invalid device context") \
	X(cudaErrorMapBufferObjectFailed, 205, "mapping a buffer failed") \
	X(cudaErrorUnmapBufferObjectFailed, 206, "unmapping a buffer failed") \
	X(cudaErrorArrayIsMapped, 207, "the array is mapped") \
	X(cudaErrorAlreadyMapped, 208, "the resource is already mapped") \
	X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
	X(cudaErrorAlreadyAcquired, 210, "the resource is already acquired") \
	X(cudaErrorNotMapped, 211, "the resource is not mapped") \
	X(cudaErrorNotMappedAsArray, 212, "the resource is not mapped as an array") \
	X(cudaErrorNotMappedAsPointer, 213, "the resource is not mapped as a pointer") \
	X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error") \
	X(cudaErrorUnsupportedLimit, 215, "the device does not have this limit") \
	X(cudaErrorDeviceAlreadyInUse, 216, "the device is in use exclusively") \
	X(cudaErrorPeerAccessUnsupported, 217, "peer access is not possible between these devices") \
	X(cudaErrorInvalidPtx, 218, "the PTX could not be compiled") \
	X(cudaErrorInvalidGraphicsContext, 219, "invalid graphics context") \
	X(cudaErrorNvlinkUncorrectable, 220, "uncorrectable NVLink error") \
	X(cudaErrorJitCompilerNotFound, 221, "the PTX compiler was not found") \
	X(cudaErrorUnsupportedPtxVersion, 222, "the PTX version is newer than the driver knows") \
	X(cudaErrorJitCompilationDisabled, 223, "PTX compilation is disabled") \
	X(cudaErrorUnsupportedExecAffinity, 224, "the execution affinity is not supported") \
	X(cudaErrorUnsupportedDevSideSync, 225, "the code synchronizes on the device side, which is not supported") \
	X(cudaErrorContained, 226, "a contained error was met") \
	X(cudaErrorInvalidSource, 300, "the device kernel source is invalid") \
	X(cudaErrorFileNotFound, 301, "file not found") \
	X(cudaErrorSharedObjectSymbolNotFound, 302, "a symbol of a shared object was not found") \
	X(cudaErrorSharedObjectInitFailed, 303, "a shared object could not be initialized") \
	X(cudaErrorOperatingSystem, 304, "a call to the operating system failed") \
	X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") \
	X(cudaErrorIllegalState, 401, "the object is in the wrong state for this call") \
	X(cudaErrorLossyQuery, 402, "the query would lose information") \
	X(cudaErrorSymbolNotFound, 500, "the named symbol was not found") \
	X(cudaErrorNotReady, 600, "device not ready") \
	X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
	X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
	X(cudaErrorLaunchTimeout, 702, "the launch timed out and was ended") \
	X(cudaErrorLaunchIncompatibleTexturing, 703, "launch with an incompatible texturing mode") \
	X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
	X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
	X(cudaErrorSetOnActiveProcess, 708, "cannot be set while the process uses the device") \
	X(cudaErrorContextIsDestroyed, 709, "the context is destroyed") \
	X(cudaErrorAssert, 710, "device-side assert triggered") \
	X(cudaErrorTooManyPeers, 711, "peer mapping resources exhausted") \
	X(cudaErrorHostMemoryAlreadyRegistered, 712, "the memory is already registered") \
	X(cudaErrorHostMemoryNotRegistered, 713, "the memory is not registered") \
	X(cudaErrorHardwareStackError, 714, "hardware stack error") \
	X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered") \
	X(cudaErrorMisalignedAddress, 716, "misaligned address") \
	X(cudaErrorInvalidAddressSpace, 717, "the operation is not defined for this address space") \
	X(cudaErrorInvalidPc, 718, "invalid program counter") \
	X(cudaErrorLaunchFailure, 719, "unspecified launch failure") \
	X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
	X(cudaErrorTensorMemoryLeak, 721, "tensor memory was not freed") \
	X(cudaErrorNotPermitted, 800, "operation not permitted") \
	X(cudaErrorNotSupported, 801, "operation not supported") \
	X(cudaErrorSystemNotReady, 802, "the system is not ready") \
	X(cudaErrorSystemDriverMismatch, 803, "display driver and CUDA driver do not match") \
	X(cudaErrorCompatNotSupportedOnDevice, 804, "forward compatibility is not supported on this device") \
	X(cudaErrorMpsConnectionFailed, 805, "no connection to the MPS server") \
	X(cudaErrorMpsRpcFailure, 806, "the MPS server's answer failed") \
	X(cudaErrorMpsServerNotReady, 807, "the MPS server is not ready") \
	X(cudaErrorMpsMaxClientsReached, 808, "too many MPS clients") \
	X(cudaErrorMpsMaxConnectionsReached, 809, "too many MPS connections") \
	X(cudaErrorMpsClientTerminated, 810, "the MPS client was ended by the server") \
	X(cudaErrorCdpNotSupported, 811, "dynamic parallelism is not supported") \
	X(cudaErrorCdpVersionMismatch, 812, "dynamic parallelism: versions do not match") \
	X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
	X(cudaErrorStreamCaptureInvalidated, 901, "the capture failed because of an earlier error") \
	X(cudaErrorStreamCaptureMerge, 902, "the operation would merge two captures") \
	X(cudaErrorStreamCaptureUnmatched, 903, "the capture was not begun in this stream") \
	X(cudaErrorStreamCaptureUnjoined, 904, "the capture has streams that were not joined") \
	X(cudaErrorStreamCaptureIsolation, 905, "a dependency would cross the capture's border") \
	X(cudaErrorStreamCaptureImplicit, 906, "the operation would make an implicit dependency on a capture") \
	X(cudaErrorCapturedEvent, 907, "the event was recorded in a capture") \
	X(cudaErrorStreamCaptureWrongThread, 908, "the capture was begun by another thread") \
	X(cudaErrorTimeout, 909, "timeout") \
	X(cudaErrorGraphExecUpdateFailure, 910, "the graph update breaks constraints") \
	X(cudaErrorExternalDevice, 911, "an error came from outside CUDA") \
	X(cudaErrorInvalidClusterSize, 912, "invalid cluster size") \
	X(cudaErrorFunctionNotLoaded, 913, "the function is not loaded") \
	X(cudaErrorInvalidResourceType, 914, "invalid resource type") \
	X(cudaErrorInvalidResourceConfiguration, 915, "invalid resource configuration") \
	X(cudaErrorStreamDetached, 917, "the stream's green context is destroyed") \
	X(cudaErrorUnknown, 999, "unknown error") \
	X(cudaErrorApiFailureBase, 10000, "error of an old runtime")

enum cudaError {
#define CUDA_LITE_RUNTIME_ERROR_ENUM(name, value, text) name = value,
	CUDA_LITE_RUNTIME_ERROR_LIST(CUDA_LITE_RUNTIME_ERROR_ENUM)
#undef CUDA_LITE_RUNTIME_ERROR_ENUM
	CUDA_LITE_RUNTIME_ERROR_LAST = 10000
};
typedef enum cudaError cudaError_t;

#endif
