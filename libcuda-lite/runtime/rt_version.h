/* SPDX-License-Identifier: MIT */
/* Which libcudart is being compiled: the layouts and signatures of cuda_runtime_api.h. */
#ifndef RT_VERSION_H
#define RT_VERSION_H

#ifndef CUDART_MAJOR
#error "compile with -DCUDART_MAJOR=12 or -DCUDART_MAJOR=13"
#elif CUDART_MAJOR == 12
#define CUDART_VERSION 12080
#elif CUDART_MAJOR == 13
#define CUDART_VERSION 13010
#else
#error "CUDART_MAJOR is 12 or 13"
#endif

#endif
