/* SPDX-License-Identifier: MIT */
#ifndef VGPU_FAILURES_H
#define VGPU_FAILURES_H

#include <stdio.h>

struct failures {
	char path[128];                 /* "": nobody asked */
	FILE *from;
	unsigned long long n, shown;
	unsigned most;                  /* that are told one by one */
};

/* Where the program's libraries tell which calls failed: makes it and names it to them. all: also calls inside of other calls. 0 or -1. */
int failures_open(struct failures *f, int all);
/* What has come since the last time, in compute-sanitizer's words. */
void failures_tell(struct failures *f, const char *log, int mangled);
/* The rest, how many were not told, and removes the file. How many failed. */
unsigned long long failures_close(struct failures *f, const char *log, int mangled);

#endif
