/* SPDX-License-Identifier: MIT */
/* Functions for host and device: cuda_fp16.h, cuda_bf16.h and cuda_fp8.h include it once each, and take its names back at their ends; no guard. */
#ifdef __CUDA__
#define CUDA_LITE_HD_MEMBER __attribute__((host)) __attribute__((device))
#else
#define CUDA_LITE_HD_MEMBER
#endif
#define CUDA_LITE_HD static inline CUDA_LITE_HD_MEMBER
#if defined(__CUDA__) && defined(__CUDA_ARCH__)
#define CUDA_LITE_ON_DEVICE 1
#else
#define CUDA_LITE_ON_DEVICE 0
#endif
