// SPDX-License-Identifier: MIT
typedef int (*function)(int);
extern __device__ int twice(int);
extern __device__ int counter;
extern __device__ function functions[2];
extern __constant__ int table[4];
int value();
void set_table(int);
int from_other(int *);
